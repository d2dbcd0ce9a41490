// SPDX-License-Identifier: Apache-2.0
// Settings as JSON: {"version":"13.3","latency_ms":20,"atomic_batches":false}. An absent setting
// has its default.
#pragma once

#include "absl/status/statusor.h"
#include "control/emulator/hns/model/document.h"
#include "control/emulator/hns/model/settings.h"

namespace weft::hns::emulator {

Json SettingsJson(const Settings& settings);
// Refuses unknown names.
absl::StatusOr<Settings> ReadSettings(const Json& json);

}  // namespace weft::hns::emulator
