// SPDX-License-Identifier: Apache-2.0
// JSON objects as Go's encoding/json reads them: keys match without case, and the last of duplicate
// keys counts.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace weft::control {

// `text` with every key in ASCII lower case. A BOM is dropped. Errors: "line 3, column 17: ...", or
// what the text is instead of JSON.
absl::StatusOr<nlohmann::json> ParseFolded(std::string_view text);

}  // namespace weft::control
