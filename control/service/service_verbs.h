// SPDX-License-Identifier: Apache-2.0
// flanneld service install, uninstall, start, stop, status.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "absl/status/status.h"
#include "control/clock.h"
#include "control/service/service_command.h"
#include "control/service/service_manager.h"

namespace weft::service {

struct VerbContext {
  ServiceManager& manager;
  std::string program;  // this flanneld.exe, as a whole path
  std::ostream& out;
  const control::Clock& clock;
  std::function<void(control::Duration)> sleep;
};

// Each prints what it did; the error names the service, the cause and the next step. A service of
// that name that runs another program is refused. If one is killed in between, running it again
// completes it.

// OK: the service exists, and runs this program. NotFound: there is none.
absl::Status CheckOwnService(const std::string& name, const VerbContext& context);

// Makes the service, or changes it where it differs.
absl::Status Install(const Command& command, VerbContext& context);
// Stops the service first.
absl::Status Uninstall(const std::string& name, VerbContext& context);
absl::Status Start(const std::string& name, VerbContext& context);
absl::Status Stop(const std::string& name, VerbContext& context);
// OK: it runs.
absl::Status PrintStatus(const std::string& name, VerbContext& context);

}  // namespace weft::service
