// SPDX-License-Identifier: Apache-2.0
// The state and its settings as one JSON document.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "control/emulator/hns/model/hns_state.h"
#include "control/emulator/hns/model/settings.h"

namespace weft::hns::emulator {

std::string HnsStateText(const HnsState& state, const Settings& settings);
// An empty text is a new state. An absent member has its default; InvalidArgument names the value
// that cannot be read.
absl::Status ReadHnsState(std::string_view text, HnsState& state, Settings& settings);

}  // namespace weft::hns::emulator
