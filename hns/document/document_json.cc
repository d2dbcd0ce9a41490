// SPDX-License-Identifier: Apache-2.0
#include "hns/document/document_json.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weft::hns {

int DepthOf(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      in_string = !in_string;
    } else if (in_string) {
      if (c == '\\') ++at;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

absl::StatusOr<Json> ParseObject(std::string_view text, std::string_view what) {
  if (DepthOf(text) > kMaxDepth)
    return absl::DataLossError(absl::StrCat(what, " nests deeper than ", kMaxDepth, " levels"));
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::DataLossError(
        absl::StrCat(what, " is not a JSON object: ", text.size(), " bytes"));
  }
  return json;
}

const Json& Member(const Json& object, std::string_view key) {
  static const Json* const kAbsent = new Json();
  const Json* found = kAbsent;
  if (!object.is_object()) return *found;
  for (auto member = object.begin(); member != object.end(); ++member)
    if (absl::EqualsIgnoreCase(member.key(), key)) found = &*member;
  return *found;
}

const Json& ArrayMember(const Json& object, std::string_view key) {
  static const Json* const kEmpty = new Json(Json::array());
  const Json& member = Member(object, key);
  return member.is_array() ? member : *kEmpty;
}

std::string TextMember(const Json& object, std::string_view key) {
  const Json& member = Member(object, key);
  return member.is_string() ? member.get<std::string>() : "";
}

std::optional<std::uint32_t> NumberMember(const Json& object, std::string_view key) {
  const Json& member = Member(object, key);
  if (!member.is_number_integer()) return std::nullopt;
  return static_cast<std::uint32_t>(member.get<std::int64_t>());
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace weft::hns
