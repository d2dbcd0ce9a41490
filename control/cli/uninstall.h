// SPDX-License-Identifier: Apache-2.0
// Removes flanneld from this node.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "control/cli/own_service.h"
#include "control/cli/reset.h"
#include "control/cli/verb.h"
#include "control/clock.h"

namespace weft::cli {

// Paths that are not given are those of the service's flanneld, else its defaults.
struct UninstallOptions {
  ledger::UndoOptions undo;
  std::string service_name = "flanneld";  // empty: no service
  std::string hns, admin;
  NodeFiles files;
  std::optional<std::string> source_vip_store;  // may be given as empty
};

struct UninstallContext {
  OwnService& service;
  const control::Clock& clock;
  std::function<void(control::Duration)> sleep;
};

// Refused before its first change while pods run. Then the service is stopped, what it made is
// deleted, and the service last: it has the paths that a second run needs after a kill.
ExitCode RunUninstall(const UninstallOptions& options, const UninstallContext& context, Io& io);

}  // namespace weft::cli
