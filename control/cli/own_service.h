// SPDX-License-Identifier: Apache-2.0
// The service of Windows that runs the flanneld.exe next to this flannelctl.exe.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "control/service/service_manager.h"

namespace weft::cli {

struct OwnService {
  std::unique_ptr<service::ServiceManager> manager;  // null: this system has none
  std::string program;                               // flanneld.exe, a whole path
  std::string log_folder;                            // of a service without --log-dir
};

// PermissionDenied: `to_change`, and this process may not change services.
absl::StatusOr<OwnService> OpenOwnService(bool to_change);

}  // namespace weft::cli
