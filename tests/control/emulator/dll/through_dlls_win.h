// SPDX-License-Identifier: Apache-2.0
// A Windows program's path to HNS: binding, stand-in DLLs, socket. Needs the DLLs, built next to
// the tests.
#pragma once

#include "hns/api/api.h"

namespace weft::testing {

// All calls reach `service`, until the next ThroughDlls. One for the process, because a DLL opens
// its emulator once.
hns::Api& ThroughDlls(hns::Api& service);

}  // namespace weft::testing
