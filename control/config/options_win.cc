// SPDX-License-Identifier: Apache-2.0
#include "control/config/options.h"

namespace weft::config {

DataPlane DefaultDataPlane() { return DataPlane::kHns; }

absl::Status PodDeviceSupport() {
  return absl::UnimplementedError(
      "--dataplane=userspace needs Npcap on Windows, which is not implemented yet; "
      "--dataplane=none takes the lease and writes subnet.env only");
}

}  // namespace weft::config
