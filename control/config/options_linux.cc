// SPDX-License-Identifier: Apache-2.0
#include "control/config/options.h"

namespace weft::config {

DataPlane DefaultDataPlane() { return DataPlane::kUserspace; }
bool HasTunDevices() { return true; }

}  // namespace weft::config
