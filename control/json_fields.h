// SPDX-License-Identifier: Apache-2.0
// Plain structs to JSON and back from one description of their fields.
//
// A struct T is described by `void Fields(auto& visit, Is<T> auto& value)` in its own namespace,
// which names each field once, in the order in which it is to be written; JsonWriter and JsonReader
// carry the description out.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "vxlan/ip_prefix.h"
#include "vxlan/mac_address.h"

namespace weft::control {

using Json = nlohmann::ordered_json;

// Const for a writer.
template <class Value, class T>
concept Is = std::same_as<std::remove_const_t<Value>, T>;

// What an error calls a type whose JSON is its text form (ToString, Parse); empty: any other type.
template <class T>
inline constexpr std::string_view kTextValue = "";
template <>
inline constexpr std::string_view kTextValue<IpAddress> = "an IP address";
template <>
inline constexpr std::string_view kTextValue<IpPrefix> = "an address block";
template <>
inline constexpr std::string_view kTextValue<MacAddress> = "a MAC address";

class JsonWriter {
 public:
  void Required(const char* name, const auto& value) { json_[name] = Encode(value); }
  // An absent field is `otherwise`.
  template <class T>
  void Optional(const char* name, const T& value, const std::type_identity_t<T>& otherwise = T()) {
    if (value != otherwise) Required(name, value);
  }
  // The same, written nevertheless.
  template <class T>
  void Always(const char* name, const T& value, const std::type_identity_t<T>& = T()) {
    Required(name, value);
  }
  void OptionalTime(const char* name, const std::optional<std::int64_t>& seconds) {
    if (seconds) Time(name, *seconds);
  }
  // Unix seconds, written as RFC 3339 in UTC.
  void Time(const char* name, std::int64_t seconds) {
    json_[name] =
        absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(seconds), absl::UTCTimeZone());
  }

  template <class T>
  static Json Encode(const T& value) {
    if constexpr (!kTextValue<T>.empty()) {
      return value.ToString();
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                         std::is_same_v<T, Json>) {
      return value;
    } else if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
      return value.count();
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<std::underlying_type_t<T>>(value);
    } else {
      JsonWriter writer;
      Fields(writer, value);
      return std::move(writer.json_);
    }
  }
  template <class T>
  static Json Encode(const std::optional<T>& value) {
    return Encode(*value);
  }
  template <class T>
  static Json Encode(const std::vector<T>& values) {
    Json array = Json::array();
    for (const T& value : values) array.push_back(Encode(value));
    return array;
  }

 private:
  Json json_ = Json::object();
};

// Reads one object. The first error stays and names its field by path; later fields are then
// skipped.
class JsonReader {
 public:
  JsonReader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json_.is_object()) RefuseAt(path_, "is not an object");
  }
  const absl::Status& status() const { return status_; }

  void Required(const char* name, auto& value) {
    if (const Json* field = Find(name)) {
      Decode(*field, Path(name), value);
    } else {
      Refuse(name, "is missing");
    }
  }
  template <class T>
  void Optional(const char* name, T& value, std::type_identity_t<T> otherwise = T()) {
    value = std::move(otherwise);
    if (const Json* field = Find(name)) Decode(*field, Path(name), value);
  }
  template <class T>
  void Always(const char* name, T& value, std::type_identity_t<T> otherwise = T()) {
    Optional(name, value, std::move(otherwise));
  }
  void OptionalTime(const char* name, std::optional<std::int64_t>& seconds) {
    seconds.reset();
    if (Find(name)) Time(name, seconds.emplace());
  }
  void Time(const char* name, std::int64_t& seconds) {
    std::string text;
    Required(name, text);
    absl::Time time;
    if (!absl::ParseTime(absl::RFC3339_full, text, &time, nullptr))
      Refuse(name, absl::StrCat("\"", text, "\" is not an RFC 3339 time"));
    if (status_.ok()) seconds = absl::ToUnixSeconds(time);
  }
  // "leases[3].ipv4.subnet is missing", of the field `name`.
  void Refuse(const char* name, std::string_view why) { RefuseAt(Path(name), why); }

 private:
  template <class T>
  void Decode(const Json& json, const std::string& path, T& value) {
    if (!status_.ok()) return;
    if constexpr (!kTextValue<T>.empty()) {
      std::string text;  // stays empty, which no type accepts, where json is not a string
      Decode(json, path, text);
      const std::optional<T> parsed = T::Parse(text);
      if (!parsed) return RefuseAt(path, absl::StrCat("\"", text, "\" is not ", kTextValue<T>));
      value = *parsed;
    } else if constexpr (std::is_same_v<T, Json>) {
      value = json;
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!json.is_string()) return RefuseAt(path, "is not a string");
      value = json.get_ref<const std::string&>();
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean()) return RefuseAt(path, "is neither true nor false");
      value = json.get<bool>();
    } else if constexpr (std::is_unsigned_v<T>) {
      if (!json.is_number_unsigned()) return RefuseAt(path, "is not an unsigned number");
      if (json.get<std::uint64_t>() > std::numeric_limits<T>::max())
        return RefuseAt(path, absl::StrCat("exceeds ", std::numeric_limits<T>::max()));
      value = json.get<T>();
    } else if constexpr (std::is_same_v<T, std::int64_t> ||
                         std::is_same_v<T, std::chrono::milliseconds>) {
      std::uint64_t count = 0;
      Decode(json, path, count);
      if (count > std::numeric_limits<std::int64_t>::max()) return RefuseAt(path, "is too large");
      value = T(static_cast<std::int64_t>(count));
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      Decode(json, path, number);
      value = static_cast<T>(number);
    } else {
      JsonReader reader(json, path);
      if (reader.status_.ok()) Fields(reader, value);
      status_ = reader.status_;
    }
  }
  template <class T>
  void Decode(const Json& json, const std::string& path, std::optional<T>& value) {
    Decode(json, path, value.emplace());
  }
  template <class T>
  void Decode(const Json& json, const std::string& path, std::vector<T>& values) {
    if (!json.is_array()) return RefuseAt(path, "is not an array");
    for (std::size_t i = 0; i < json.size() && status_.ok(); ++i)
      Decode(json[i], absl::StrCat(path, "[", i, "]"), values.emplace_back());
  }

  const Json* Find(const char* name) const {
    if (!status_.ok()) return nullptr;
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }
  std::string Path(const char* name) const {
    return path_.empty() ? name : absl::StrCat(path_, ".", name);
  }
  void RefuseAt(std::string_view path, std::string_view why) {
    if (status_.ok())
      status_ =
          absl::InvalidArgumentError(absl::StrCat(path.empty() ? "the document" : path, " ", why));
  }

  const Json& json_;
  std::string path_;  // of this object; empty for the document
  absl::Status status_;
};

// Whether a description is carried out by a reader: `kReads<decltype(visit)>`.
template <class V>
inline constexpr bool kReads = std::same_as<std::remove_cvref_t<V>, JsonReader>;

// An enumerator as one of `words`, in the order of the enumeration; "" is omitted.
template <class V, class Enum, std::size_t N>
void Word(V& visit, const char* name, const std::string_view (&words)[N], Enum& value) {
  std::string word(words[static_cast<std::size_t>(value)]);
  visit.Optional(name, word);
  if constexpr (kReads<V>) {
    const std::string_view* const found = std::ranges::find(words, word);
    if (found == std::end(words)) return visit.Refuse(name, "is none that this version knows");
    value = static_cast<Enum>(found - std::begin(words));
  }
}

}  // namespace weft::control
