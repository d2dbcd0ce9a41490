// SPDX-License-Identifier: Apache-2.0
// HNSCall: the same objects by path.
#pragma once

#include <string>

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

// The reply's text is HNSCall's response, {"Success":true,"Output":...}.
Reply CallV1(Core& core, const std::string& method, const std::string& path,
             const std::string& request);

}  // namespace weft::hns::emulator
