// SPDX-License-Identifier: Apache-2.0
// JSON as Go's encoding/json reads it: of equal keys the last counts; what is not UTF-8, and half a
// surrogate pair, reads as U+FFFD.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace weft::control {

// `text` with every key in ASCII lower case, since Go's structs match without case. A BOM is
// dropped. Errors: "line 3, column 17: ...", or what the text is instead of JSON.
absl::StatusOr<nlohmann::json> ParseFolded(std::string_view text);
// With the keys as they are, for Go's maps; refuses all that Go does: a BOM, 10,001 levels.
absl::StatusOr<nlohmann::json> ParseAsGo(std::string_view text);

}  // namespace weft::control
