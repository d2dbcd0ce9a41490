// SPDX-License-Identifier: Apache-2.0
// The service of Windows that runs the flanneld.exe next to this flannelctl.exe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "control/config/flag_values.h"
#include "control/service/service_manager.h"

namespace weft::cli {

struct OwnService {
  std::unique_ptr<service::ServiceManager> manager;  // null: this system has none
  std::string program;                               // flanneld.exe, a whole path
  std::string log_folder;                            // of a service without --log-dir
};

// PermissionDenied: `to_change`, and this process may not change services.
absl::StatusOr<OwnService> OpenOwnService(bool to_change);

// The flags in the command line of the service `name`; empty: there is no such service, or its
// words are not flanneld's.
absl::StatusOr<std::optional<config::FlagValues>> FlagsOfService(OwnService& service,
                                                                 const std::string& name);

}  // namespace weft::cli
