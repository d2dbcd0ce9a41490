// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/open_host.h"

#include <string_view>

#include "control/emulator/open_host.h"

namespace weft::daemon {

absl::StatusOr<std::unique_ptr<host::Host>> OpenHost(const Options& options) {
  constexpr std::size_t kPrefix = std::string_view("emulator:").size();
  return options.host.empty() ? host::OpenHost() : emulator::OpenHost(options.host.substr(kPrefix));
}

}  // namespace weft::daemon
