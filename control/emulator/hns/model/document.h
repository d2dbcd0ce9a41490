// SPDX-License-Identifier: Apache-2.0
// JSON as HNS takes it: keys in any case, enumerations as words or numbers, absent means default.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

namespace weft::hns::emulator {

using Json = nlohmann::json;

// Deeper than any document of HNS; a saved state holds such documents.
inline constexpr int kDeepestDocument = 32, kDeepestWorld = 2 * kDeepestDocument;

// An object; empty text is an empty one. Refuses what is nested deeper.
std::optional<Json> ParseDocument(std::string_view text, int deepest = kDeepestDocument);
std::string Dump(const Json& value);

// The member `name`, compared without case; a null value where there is none.
const Json& Field(const Json& object, std::string_view name);
std::string TextOf(const Json& value);                // empty where it is no string
std::uint64_t NumberOf(const Json& value);            // 0 where it is no such number
const std::vector<Json>& ItemsOf(const Json& value);  // none where it is no array
// A word of `words`, without case, or its number; absent is 0. Empty: neither.
std::optional<std::size_t> WordOf(const Json& value, std::initializer_list<std::string_view> words);

// Puts `value` under `key`, unless it is what HNS leaves out: null, 0, false, "", [], {}.
void Put(Json& object, const char* key, Json value);
// Leaves the same out at every depth; not below "Settings", which is kept as it was sent.
Json WithoutZeroes(const Json& value);

}  // namespace weft::hns::emulator
