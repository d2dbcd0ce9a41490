// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/open_host.h"

#include "control/emulator/open_hns.h"
#include "control/emulator/open_host.h"

namespace weft::daemon {

absl::StatusOr<std::unique_ptr<host::Host>> OpenHost(const Options& options) {
  if (options.host.empty()) return host::OpenHost();
  return emulator::OpenHost(options.host.substr(emulator::kEmulatorPrefix.size()));
}

}  // namespace weft::daemon
