// SPDX-License-Identifier: Apache-2.0
// The emulator's levers as JSON, for RemoteApi::Control: {"command":"restart","networks":"lost"}.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hns/emulator/emulator.h"
#include "hns/emulator/faults.h"
#include "nlohmann/json.hpp"

namespace weft::hns::emulator {

// {"function":"HcnModifyNetwork","code":"0x803B000D","first":1,"count":1,"delay_ms":0,
//  "error_record":"","done":false,"hangs":false}; what is left out is Fault's default.
//  "count":"always".
absl::StatusOr<Fault> ReadFault(const nlohmann::json& json);

// The fields of restart and reboot; those that are left out are `restart`'s.
class CommandFields;
absl::StatusOr<Restart> ReadRestart(CommandFields& fields, Restart restart = {});

std::vector<std::string_view> CommandNames();
// fault, clear-faults, stop, start, restart, reboot, take-name, release-name, set, calls, handles,
// hanging, dump, load. The answer is an object.
absl::StatusOr<nlohmann::json> CarryOut(Emulator& emulator, const nlohmann::json& command);

}  // namespace weft::hns::emulator
