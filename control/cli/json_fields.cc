// SPDX-License-Identifier: Apache-2.0
#include "control/cli/json_fields.h"

#include "absl/strings/str_cat.h"

namespace weft::cli {

absl::StatusOr<nlohmann::json> JsonFields(std::span<const std::string> words) {
  using Json = nlohmann::json;
  Json fields = Json::object();
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos)
      return absl::InvalidArgumentError(absl::StrCat("\"", word, "\" must be KEY=VALUE"));
    const std::string value = word.substr(equals + 1);
    Json json = Json::parse(value, nullptr, false);
    const bool is_json = json.is_boolean() || json.is_number_integer() || json.is_structured();
    fields[word.substr(0, equals)] = is_json ? std::move(json) : Json(value);
  }
  return fields;
}

}  // namespace weft::cli
