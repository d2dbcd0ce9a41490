// SPDX-License-Identifier: Apache-2.0
// What a user does to an emulated node, as JSON: {"command":"restart","networks":"lost"}.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "control/emulator/emulated_node.h"
#include "control/emulator/hns/faults.h"
#include "hns/api/api.h"
#include "nlohmann/json.hpp"

namespace weft::emulator {

// {"function":"HcnModifyNetwork","code":"0x803B000D","first":1,"count":1,"delay_ms":0,
//  "error_record":"","done":false,"hangs":false}; what is left out is Fault's default.
//  "count":"always".
absl::StatusOr<hns::emulator::Fault> ReadFault(const nlohmann::json& json);

// The answer is an object.
absl::StatusOr<nlohmann::json> CarryOut(EmulatedNode& node, const nlohmann::json& command);
// The same as text. The reply's error record says what is wrong.
hns::Reply Command(EmulatedNode& node, const std::string& text);

}  // namespace weft::emulator
