// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/json_value.h"

#include <tuple>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

absl::Status WrongType(element value, std::string_view field, std::string_view desired) {
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", Show(value), ", not ", desired));
}

}  // namespace

std::string Show(element value) {
  switch (value.type()) {
    case element_type::STRING:
      return Quoted(value.get_string().value_unsafe());
    case element_type::ARRAY:
      return "an array";
    case element_type::OBJECT:
      return "an object";
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE:
    case element_type::BOOL:
    case element_type::NULL_VALUE:
      return simdjson::minify(value);
  }
  return "?";
}

std::optional<element> Find(simdjson::dom::object object, std::string_view key) {
  std::optional<element> found;
  for (const auto [name, value] : object)
    if (name == key) found = value;
  if (found && found->is_null()) found.reset();
  return found;
}

absl::StatusOr<std::string_view> AsString(element value, std::string_view field) {
  if (!value.is_string()) return WrongType(value, field, "a string");
  return value.get_string().value_unsafe();
}

absl::StatusOr<simdjson::dom::object> AsObject(element value, std::string_view field) {
  if (!value.is_object()) return WrongType(value, field, "an object");
  return value.get_object().value_unsafe();
}

absl::StatusOr<simdjson::dom::array> AsArray(element value, std::string_view field) {
  if (!value.is_array()) return WrongType(value, field, "an array");
  return value.get_array().value_unsafe();
}

absl::StatusOr<std::string_view> StringMember(simdjson::dom::object object, std::string_view key,
                                              std::string_view field) {
  const auto value = Find(object, key);
  if (!value) return std::string_view();
  return AsString(*value, field);
}

absl::StatusOr<std::optional<simdjson::dom::object>> ObjectMember(simdjson::dom::object object,
                                                                  std::string_view key,
                                                                  std::string_view field) {
  const auto value = Find(object, key);
  if (!value) return std::nullopt;
  auto found = AsObject(*value, field);
  if (!found.ok()) return found.status();
  return *found;
}

std::optional<std::size_t> FindJsonError(std::string_view text) {
  const auto keep_nothing = [](int, nlohmann::json::parse_event_t, nlohmann::json&) {
    return false;
  };
  try {
    std::ignore = nlohmann::json::parse(text, keep_nothing);
  } catch (const nlohmann::json::parse_error& error) {
    return error.byte - 1;                      // counted from 1
  } catch (const nlohmann::json::exception&) {  // a number out of range
  }
  return std::nullopt;
}

}  // namespace weft::kube
