// SPDX-License-Identifier: Apache-2.0
// The emulator that a stand-in DLL calls: the environment variable WEFT_HNS_EMULATOR names its
// pipe. For development; flanneld never loads a DLL because of the environment.
#pragma once

#include "control/emulator/remote/remote_api.h"

namespace weft::hns::emulator {

// One per process and DLL. Never destroyed: threads may be in it when the process exits.
RemoteApi& Service();

}  // namespace weft::hns::emulator
