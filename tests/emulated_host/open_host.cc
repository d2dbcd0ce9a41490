// SPDX-License-Identifier: Apache-2.0
// host::OpenHost of programs for tests (WEFT_EMULATED_HOST): the host of `flannelctl hns emulate`,
// at the path in the environment variable WEFT_HNS_EMULATOR.
#include <cstdlib>

#include "tests/emulated_host/remote_host.h"

namespace weft::host {

absl::StatusOr<std::unique_ptr<Host>> OpenHost() {
  const char* const path = std::getenv("WEFT_HNS_EMULATOR");
  if (path == nullptr)
    return absl::FailedPreconditionError(
        "WEFT_HNS_EMULATOR is not set; name the pipe or socket of flannelctl hns emulate");
  return std::make_unique<emulator::RemoteHost>(path);
}

}  // namespace weft::host
