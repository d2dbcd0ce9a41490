// SPDX-License-Identifier: Apache-2.0
// JSON documents as YAML.
#pragma once

#include <string>

#include "nlohmann/json_fwd.hpp"

namespace weft::cli {

// Block style, fields in their order, a line end at the end. Reads back as the same values: strings
// that YAML would read as another type are quoted.
std::string ToYaml(const nlohmann::ordered_json& json);

}  // namespace weft::cli
