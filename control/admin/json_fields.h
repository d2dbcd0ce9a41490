// SPDX-License-Identifier: Apache-2.0
// Plain structs to JSON and back from one description of their fields. Internal to the schema.
//
// A struct T is described by `template <class V> void Fields(V& visit, Described<V, T>& value)`,
// which names each field once, in the order in which it is to be written; JsonWriter and JsonReader
// carry the description out.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "control/lease/lease.h"
#include "nlohmann/json.hpp"

namespace weft::admin {

using Json = nlohmann::ordered_json;

// const T for a writer, T for a reader.
template <class V, class T>
using Described = typename V::template Value<T>;

// What an error calls a type whose JSON is its text form; empty: any other type.
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
  template <class T>
  using Value = const T;

  template <class T>
  void Required(const char* name, const T& value) {
    json_[name] = Encode(value);
  }
  template <class T>
  void Optional(const char* name, const std::optional<T>& value) {
    if (value) json_[name] = Encode(*value);
  }
  // The empty text is the absent field.
  void Optional(const char* name, const std::string& text) {
    if (!text.empty()) json_[name] = text;
  }
  // The empty array is the absent field.
  template <class T>
  void Optional(const char* name, const std::vector<T>& values) {
    if (!values.empty()) json_[name] = Encode(values);
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
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      JsonWriter writer;
      Fields(writer, value);
      return std::move(writer.json_);
    }
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
  template <class T>
  using Value = T;

  JsonReader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json_.is_object()) Refuse(path_, "is not an object");
  }
  const absl::Status& status() const { return status_; }

  template <class T>
  void Required(const char* name, T& value) {
    if (const Json* field = Find(name)) {
      Decode(*field, Path(name), value);
    } else {
      Refuse(Path(name), "is missing");
    }
  }
  template <class T>
  void Optional(const char* name, std::optional<T>& value) {
    if (const Json* field = Find(name)) Decode(*field, Path(name), value.emplace());
  }
  void Optional(const char* name, std::string& text) {
    if (const Json* field = Find(name)) Decode(*field, Path(name), text);
  }
  template <class T>
  void Optional(const char* name, std::vector<T>& values) {
    if (const Json* field = Find(name)) Decode(*field, Path(name), values);
  }
  void OptionalTime(const char* name, std::optional<std::int64_t>& seconds) {
    if (Find(name)) Time(name, seconds.emplace());
  }
  void Time(const char* name, std::int64_t& seconds) {
    std::string text;
    Required(name, text);
    absl::Time time;
    if (!absl::ParseTime(absl::RFC3339_full, text, &time, nullptr)) {
      Refuse(Path(name), absl::StrCat("\"", text, "\" is not an RFC 3339 time"));
    }
    if (status_.ok()) seconds = absl::ToUnixSeconds(time);
  }

 private:
  template <class T>
  void Decode(const Json& json, const std::string& path, T& value) {
    if (!status_.ok()) return;
    if constexpr (!kTextValue<T>.empty()) {
      std::string text;  // stays empty, which no type accepts, where json is not a string
      Decode(json, path, text);
      const std::optional<T> parsed = T::Parse(text);
      if (!parsed) return Refuse(path, absl::StrCat("\"", text, "\" is not ", kTextValue<T>));
      value = *parsed;
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!json.is_string()) return Refuse(path, "is not a string");
      value = json.get_ref<const std::string&>();
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean()) return Refuse(path, "is neither true nor false");
      value = json.get<bool>();
    } else if constexpr (std::is_unsigned_v<T>) {
      if (!json.is_number_unsigned()) return Refuse(path, "is not an unsigned number");
      if (json.get<std::uint64_t>() > std::numeric_limits<T>::max()) {
        return Refuse(path, absl::StrCat("exceeds ", std::numeric_limits<T>::max()));
      }
      value = json.get<T>();
    } else {
      JsonReader reader(json, path);
      if (reader.status_.ok()) Fields(reader, value);
      status_ = reader.status_;
    }
  }
  template <class T>
  void Decode(const Json& json, const std::string& path, std::vector<T>& values) {
    if (!json.is_array()) return Refuse(path, "is not an array");
    for (std::size_t i = 0; i < json.size(); ++i)
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
  void Refuse(std::string_view path, std::string_view why) {
    if (status_.ok())
      status_ =
          absl::InvalidArgumentError(absl::StrCat(path.empty() ? "the document" : path, " ", why));
  }

  const Json& json_;
  std::string path_;  // of this object; empty for the document
  absl::Status status_;
};

}  // namespace weft::admin
