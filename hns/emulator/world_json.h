// SPDX-License-Identifier: Apache-2.0
// The world and its settings as one JSON document.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "hns/emulator/settings.h"
#include "hns/emulator/world.h"

namespace weft::hns::emulator {

std::string WorldText(const World& world, const Settings& settings);
// An empty text is a new world. What is left out has its default; InvalidArgument names what cannot
// be read.
absl::Status ReadWorld(std::string_view text, World& world, Settings& settings);

}  // namespace weft::hns::emulator
