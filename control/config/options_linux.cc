// SPDX-License-Identifier: Apache-2.0
#include "control/config/options.h"

namespace weft::config {

DataPlane DefaultDataPlane() { return DataPlane::kUserspace; }

absl::Status PodDeviceSupport() { return absl::OkStatus(); }

}  // namespace weft::config
