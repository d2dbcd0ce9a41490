// SPDX-License-Identifier: Apache-2.0
// Commands to an emulated node, as JSON: {"command":"restart","networks":"lost"}.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "control/emulator/emulated_node.h"
#include "control/emulator/hns/faults.h"
#include "hns/api/api.h"
#include "nlohmann/json.hpp"

namespace weft::emulator {

// {"function":"HcnModifyNetwork","code":"0x803B000D","first":1,"count":1,"delay_ms":0,
//  "error_record":"","done":false,"hangs":false}; absent members have Fault's defaults. "count" may
//  be "always".
absl::StatusOr<hns::emulator::Fault> ReadFault(const nlohmann::json& json);

// Returns an object.
absl::StatusOr<nlohmann::json> CarryOut(EmulatedNode& node, const nlohmann::json& command);
// The same as text. An error is in the reply's error record.
hns::Reply Command(EmulatedNode& node, const std::string& text);

}  // namespace weft::emulator
