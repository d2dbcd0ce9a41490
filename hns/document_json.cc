// SPDX-License-Identifier: Apache-2.0
#include "hns/document_json.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weft::hns {

absl::StatusOr<Json> ParseObject(std::string_view text, std::string_view what) {
  bool too_deep = false;
  const auto bounded = [&](int depth, Json::parse_event_t, Json&) {
    too_deep |= depth > kMaxDepth;
    return !too_deep;
  };
  Json json = Json::parse(text.begin(), text.end(), bounded, /*allow_exceptions=*/false);
  if (too_deep) {
    return absl::DataLossError(absl::StrCat(what, " nests deeper than ", kMaxDepth, " levels"));
  }
  if (!json.is_object()) {
    return absl::DataLossError(
        absl::StrCat(what, " is not a JSON object: ", text.size(), " octets"));
  }
  return json;
}

const Json& Member(const Json& object, std::string_view key) {
  static const Json* const absent = new Json();
  const Json* found = absent;
  if (!object.is_object()) return *found;
  for (auto member = object.begin(); member != object.end(); ++member) {
    if (absl::EqualsIgnoreCase(member.key(), key)) found = &*member;
  }
  return *found;
}

const Json& ArrayMember(const Json& object, std::string_view key) {
  static const Json* const empty = new Json(Json::array());
  const Json& member = Member(object, key);
  return member.is_array() ? member : *empty;
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
