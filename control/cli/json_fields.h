// SPDX-License-Identifier: Apache-2.0
// KEY=VALUE words as a JSON object.
#pragma once

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace weft::cli {

// true, false, digits, objects and lists are JSON; everything else is a string, "13.3" too.
absl::StatusOr<nlohmann::json> JsonFields(std::span<const std::string> words);

}  // namespace weft::cli
