// SPDX-License-Identifier: Apache-2.0
// Reads JSON documents about a host.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "control/emulator/host/host_state.h"
#include "nlohmann/json.hpp"

namespace weft::host {

using Json = nlohmann::ordered_json;

// Any JSON value; InvalidArgument: it is not JSON, nests too deep or is too long.
absl::StatusOr<Json> ParseHostDocument(std::string_view text);

// Reads the members of one object; the first error is kept, with its place.
class MembersReader {
 public:
  MembersReader(const Json& object, std::string place, absl::Status& status)
      : object_(object), place_(std::move(place)), status_(status) {
    if (!object.is_object()) Refuse("", "is not an object");
  }

  const Json* Find(const char* key) const {
    const auto at = object_.find(key);  // end() if it is not an object
    return at == object_.end() || at->is_null() ? nullptr : &*at;
  }
  bool Bool(const char* key, bool otherwise) {
    const Json* value = Find(key);
    if (value && !value->is_boolean()) Refuse(key, "is not true or false");
    return value && value->is_boolean() ? value->get<bool>() : otherwise;
  }
  std::uint64_t Number(const char* key, std::uint64_t most, std::uint64_t otherwise = 0) {
    const Json* value = Find(key);
    if (!value) return otherwise;
    if (value->is_number_unsigned() && value->get<std::uint64_t>() <= most)
      return value->get<std::uint64_t>();
    Refuse(key, absl::StrCat("is not a whole number from 0 to ", most));
    return otherwise;
  }
  std::uint32_t U32(const char* key, std::uint32_t otherwise = 0) {
    return static_cast<std::uint32_t>(
        Number(key, std::numeric_limits<std::uint32_t>::max(), otherwise));
  }
  Milliseconds Time(const char* key) {
    return Milliseconds(
        static_cast<std::int64_t>(Number(key, std::numeric_limits<std::int64_t>::max())));
  }
  std::string Text(const char* key) {
    const Json* value = Find(key);
    if (value && !value->is_string()) Refuse(key, "is not a string");
    return value && value->is_string() ? value->get<std::string>() : "";
  }
  // Reads a member that is present; `parse` converts text to an optional.
  template <typename Parse>
  auto Parsed(const char* key, const Parse& parse) -> decltype(parse(std::string_view())) {
    if (!Find(key)) return std::nullopt;
    const std::string text = Text(key);
    auto value = parse(std::string_view(text));
    if (!value) Refuse(key, "cannot be read");
    return value;
  }
  template <typename Each>
  void List(const char* key, const Each& each) {
    const Json* value = Find(key);
    if (!value) return;
    if (!value->is_array()) return Refuse(key, "is not an array");
    for (std::size_t i = 0; i < value->size() && status_.ok(); ++i)
      each((*value)[i], absl::StrCat(place_, key, "[", i, "]"));
  }
  void Refuse(std::string_view key, std::string_view why) {
    if (!status_.ok()) return;
    std::string where = absl::StrCat(place_, key);
    if (!where.empty() && where.back() == '.') where.pop_back();
    status_ = absl::InvalidArgumentError(absl::StrCat(
        "host document: ", where, where.empty() ? "" : ": ", "it ", why, "; correct it"));
  }

 private:
  const Json& object_;
  std::string place_;  // "", "adapters[0]."
  absl::Status& status_;
};

}  // namespace weft::host
