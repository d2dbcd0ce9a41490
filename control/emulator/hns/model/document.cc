// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/document.h"

#include "absl/strings/match.h"
#include "hns/document/document_json.h"

namespace weft::hns::emulator {
namespace {

bool IsZero(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return true;
    case Json::value_t::boolean:
      return !value.get<bool>();
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return value == 0;
    case Json::value_t::string:
      return value.get_ref<const std::string&>().empty();
    default:
      return value.empty();
  }
}

}  // namespace

std::optional<Json> ParseDocument(std::string_view text, int deepest) {
  if (text.empty()) return Json::object();
  if (DepthOf(text) > deepest) return std::nullopt;
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return std::nullopt;
  return value;
}

std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json& Field(const Json& object, std::string_view name) {
  static const Json kNone;
  if (!object.is_object()) return kNone;
  const auto exact = object.find(name);
  if (exact != object.end()) return *exact;
  for (auto it = object.begin(); it != object.end(); ++it)
    if (absl::EqualsIgnoreCase(it.key(), name)) return it.value();
  return kNone;
}

std::string TextOf(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::uint64_t NumberOf(const Json& value) {
  const bool counts = value.is_number_integer() && value >= 0;
  return counts ? value.get<std::uint64_t>() : 0;
}

const std::vector<Json>& ItemsOf(const Json& value) {
  static const std::vector<Json> kNone;
  return value.is_array() ? value.get_ref<const std::vector<Json>&>() : kNone;
}

std::optional<std::size_t> WordOf(const Json& value,
                                  std::initializer_list<std::string_view> words) {
  if (value.is_null()) return 0;
  if (value.is_number_integer() && value >= 0 && value < words.size())
    return value.get<std::size_t>();
  if (!value.is_string()) return std::nullopt;
  std::size_t number = 0;
  for (const std::string_view word : words) {
    if (absl::EqualsIgnoreCase(word, value.get_ref<const std::string&>())) return number;
    ++number;
  }
  return std::nullopt;
}

void Put(Json& object, const char* key, Json value) {
  if (!IsZero(value)) object[key] = std::move(value);
}

Json WithoutZeroes(const Json& value) {
  if (value.is_array()) {
    Json items = Json::array();
    for (const auto& item : value) items.push_back(WithoutZeroes(item));
    return items;
  }
  if (!value.is_object()) return value;
  Json object = Json::object();
  for (auto it = value.begin(); it != value.end(); ++it) {
    if (it.key() == "Settings") {
      object[it.key()] = it.value();
    } else {
      Put(object, it.key().c_str(), WithoutZeroes(it.value()));
    }
  }
  return object;
}

}  // namespace weft::hns::emulator
