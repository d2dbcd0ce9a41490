// SPDX-License-Identifier: Apache-2.0
// Settings as JSON: {"version":"13.3","latency_ms":20,"atomic_batches":false}. What is left out has
// its default.
#pragma once

#include "absl/status/statusor.h"
#include "control/emulator/hns/model/document.h"
#include "control/emulator/hns/model/settings.h"

namespace weft::hns::emulator {

Json SettingsJson(const Settings& settings);
// Refuses a name that it does not know.
absl::StatusOr<Settings> ReadSettings(const Json& json);

}  // namespace weft::hns::emulator
