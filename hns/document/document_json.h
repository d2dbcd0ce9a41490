// SPDX-License-Identifier: Apache-2.0
// Reading HNS's JSON: keys match regardless of case, a member that is absent or of another type has
// its default, the order of keys is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace weft::hns {

using Json = nlohmann::ordered_json;

// Deepest nesting that is read; HNS's documents have eight.
inline constexpr int kMaxDepth = 64;

// How deep the brackets of `json` nest. For before it is parsed: nlohmann writes and destroys
// recursively. Not by the parser's callback, whose time grows with the square of a list's length.
int DepthOf(std::string_view json);

// Parses `text` as an object. DataLoss, naming `what`: it is not one, or nests deeper than
// kMaxDepth.
absl::StatusOr<Json> ParseObject(std::string_view text, std::string_view what);

// The member `key` of `object`, the last of several; null if it is absent or `object` is no object.
const Json& Member(const Json& object, std::string_view key);
// The member if it is an array, else an empty array.
const Json& ArrayMember(const Json& object, std::string_view key);
// Empty unless it is a string.
std::string TextMember(const Json& object, std::string_view key);
// The low 32 bits of a whole number.
std::optional<std::uint32_t> NumberMember(const Json& object, std::string_view key);

// One line. Bytes that are not UTF-8 become U+FFFD.
std::string Dump(const Json& json);

}  // namespace weft::hns
