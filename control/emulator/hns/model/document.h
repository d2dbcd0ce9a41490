// SPDX-License-Identifier: Apache-2.0
// JSON as HNS reads it: keys in any case, enumerations as words or numbers, absent means default.
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

// Depth limits: more than any document of HNS needs; a saved state contains such documents.
inline constexpr int kDeepestDocument = 32, kDeepestState = 2 * kDeepestDocument;

// Parses an object; empty text is an empty object. Empty: it is not an object, or nested deeper.
std::optional<Json> ParseDocument(std::string_view text, int deepest = kDeepestDocument);
std::string Dump(const Json& value);

// The member `name`, compared without case; a null value if absent.
const Json& Field(const Json& object, std::string_view name);
std::string TextOf(const Json& value);                // empty if it is not a string
std::uint64_t NumberOf(const Json& value);            // 0 if it is not such a number
const std::vector<Json>& ItemsOf(const Json& value);  // empty if it is not an array
// The index of a word in `words`, given as the word without case or as the index; absent is 0.
// Empty: neither.
std::optional<std::size_t> WordOf(const Json& value, std::initializer_list<std::string_view> words);

// Sets `key` to `value`, unless HNS omits such a value: null, 0, false, "", [], {}.
void Put(Json& object, const char* key, Json value);
// Omits such values at every depth, except below "Settings", which is kept as sent.
Json WithoutZeroes(const Json& value);

}  // namespace weft::hns::emulator
