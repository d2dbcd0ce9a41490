// SPDX-License-Identifier: Apache-2.0
#include "control/config/options.h"

namespace weft::config {

DataPlane DefaultDataPlane() { return DataPlane::kHns; }
bool HasTunDevices() { return false; }

}  // namespace weft::config
