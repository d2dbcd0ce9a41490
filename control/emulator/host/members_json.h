// SPDX-License-Identifier: Apache-2.0
// Values about a host as JSON. A function `Fields(visit, value)` for each type names its members
// once; MembersWriter and MembersReader carry it out.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "control/emulator/host/host_state.h"
#include "nlohmann/json.hpp"

namespace weft::host {

using Json = nlohmann::ordered_json;

// "192.168.1.10/24": an address, not a prefix.
std::string AssignedText(const AssignedAddress& address);
std::optional<AssignedAddress> ParseAssigned(std::string_view text);

// Any JSON value; InvalidArgument: it is not JSON, nests too deep or is too long.
absl::StatusOr<Json> ParseHostDocument(std::string_view text);

// const T for a writer, T for a reader.
template <class V, class T>
using Described = typename V::template Value<T>;

// What an error calls a type whose JSON is its text form; empty: any other type.
template <class T>
inline constexpr std::string_view kTextValue = "";
template <>
inline constexpr std::string_view kTextValue<IpAddress> = "an address";
template <>
inline constexpr std::string_view kTextValue<IpPrefix> = "an address block";
template <>
inline constexpr std::string_view kTextValue<MacAddress> = "a MAC address";
template <>
inline constexpr std::string_view kTextValue<AssignedAddress> =
    "an address with its prefix length";

class MembersWriter {
 public:
  template <class T>
  using Value = const T;
  static constexpr bool kReads = false;

  template <class T>
  void Always(const char* key, const T& value, const std::type_identity_t<T>& = T()) {
    json_[key] = Encode(value);
  }
  // Omitted if it is `otherwise`.
  template <class T>
  void operator()(const char* key, const T& value, const std::type_identity_t<T>& otherwise = T()) {
    if (value != otherwise) Always(key, value);
  }

  template <class T>
  static Json Encode(const T& value) {
    if constexpr (std::is_same_v<T, AssignedAddress>) {
      return AssignedText(value);
    } else if constexpr (!kTextValue<T>.empty()) {
      return value.ToString();
    } else if constexpr (std::is_same_v<T, Milliseconds>) {
      return value.count();
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      MembersWriter visit;
      Fields(visit, value);
      return std::move(visit.json_);
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

// Reads the members of one object; the first error is kept in `status`, with its place.
class MembersReader {
 public:
  template <class T>
  using Value = T;
  static constexpr bool kReads = true;

  // `path`: "adapters[0]"; empty: the document.
  MembersReader(const Json& object, std::string path, absl::Status& status)
      : object_(object), path_(std::move(path)), status_(status) {
    if (!object.is_object()) RefuseAt(path_, "is not an object");
  }

  // `otherwise` if it is absent.
  template <class T>
  void operator()(const char* key, T& value, std::type_identity_t<T> otherwise = T()) {
    value = std::move(otherwise);
    if (const Json* const member = Find(key)) Decode(*member, PathOf(key), value);
  }
  template <class T>
  void Always(const char* key, T& value, std::type_identity_t<T> otherwise = T()) {
    (*this)(key, value, std::move(otherwise));
  }
  const Json* Find(const char* key) const {
    const auto at = object_.find(key);  // end() if it is not an object
    return at == object_.end() || at->is_null() ? nullptr : &*at;
  }
  void Refuse(const char* key, std::string_view why) { RefuseAt(PathOf(key), why); }

 private:
  template <class T>
  void Decode(const Json& json, const std::string& path, T& value) {
    if constexpr (!kTextValue<T>.empty()) {
      const std::optional<T> parsed = Parsed<T>(json.is_string() ? json.get<std::string>() : "");
      if (!parsed) return RefuseAt(path, absl::StrCat("is not ", kTextValue<T>));
      value = *parsed;
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!json.is_string()) return RefuseAt(path, "is not a string");
      value = json.get<std::string>();
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean()) return RefuseAt(path, "is not true or false");
      value = json.get<bool>();
    } else if constexpr (std::is_same_v<T, Milliseconds>) {
      std::uint64_t count = 0;
      Count(json, path, std::numeric_limits<std::int64_t>::max(), count);
      value = Milliseconds(static_cast<std::int64_t>(count));
    } else if constexpr (std::is_unsigned_v<T>) {
      Count(json, path, std::numeric_limits<T>::max(), value);
    } else {
      MembersReader visit(json, path, status_);
      Fields(visit, value);
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
  template <class T>
  static std::optional<T> Parsed(const std::string& text) {
    if constexpr (std::is_same_v<T, AssignedAddress>)
      return ParseAssigned(text);
    else
      return T::Parse(text);
  }
  template <class T>
  void Count(const Json& json, const std::string& path, std::uint64_t most, T& value) {
    if (!json.is_number_unsigned() || json.get<std::uint64_t>() > most)
      return RefuseAt(path, absl::StrCat("is not a whole number from 0 to ", most));
    value = static_cast<T>(json.get<std::uint64_t>());
  }

  std::string PathOf(const char* key) const {
    return path_.empty() ? key : absl::StrCat(path_, ".", key);
  }
  void RefuseAt(const std::string& path, std::string_view why) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(absl::StrCat(
        "host document: ", path, path.empty() ? "" : ": ", "it ", why, "; correct it"));
  }

  const Json& object_;
  std::string path_;
  absl::Status& status_;
};

template <class T>
absl::StatusOr<T> ParseHostValue(std::string_view text) {
  const absl::StatusOr<Json> document = ParseHostDocument(text);
  if (!document.ok()) return document.status();
  absl::Status status;
  T value;
  MembersReader visit(*document, "", status);
  Fields(visit, value);
  if (!status.ok()) return status;
  return value;
}

template <class V>
void Fields(V& visit, Described<V, Adapter>& adapter) {
  visit.Always("name", adapter.name);
  visit.Always("index", adapter.index);
  visit.Always("mac", adapter.mac);
  visit.Always("mtu", adapter.mtu, 1500);
  visit.Always("up", adapter.up, true);
  visit("loopback", adapter.loopback);
  visit("wireless", adapter.wireless);
  visit.Always("addresses", adapter.addresses);
  if constexpr (V::kReads) {
    if (adapter.index == 0) visit.Refuse("index", "is not a number from 1");
    if (adapter.name.empty()) visit.Refuse("name", "is empty");
  }
}

template <class V>
void Fields(V& visit, Described<V, Route>& route) {
  visit.Always("destination", route.destination);
  visit.Always("adapter", route.adapter_index);
  visit("gateway", route.gateway);
  visit("onlink", route.onlink);
  visit("metric", route.metric);
  visit("source", route.source);
  visit("marked", route.marked);
  if constexpr (V::kReads) {
    if (!visit.Find("destination")) visit.Refuse("destination", "is absent");
    for (const auto& address : {route.gateway, route.source}) {
      if (address && address->family() != route.destination.family())
        visit.Refuse("destination", "is of another family than the route's other addresses");
    }
  }
}

template <class V>
void Fields(V& visit, Described<V, StaticIp>& settings) {
  visit("addresses", settings.addresses);
  visit("nameServers", settings.name_servers);
  visit("metric", settings.metric);
}

template <class V>
void Fields(V& visit, Described<V, FirewallRule>& rule) {
  visit.Always("name", rule.name);
  visit.Always("udpPort", rule.port);
  visit("sources", rule.sources);
  if constexpr (V::kReads) {
    if (rule.sources && rule.sources->empty()) rule.sources.reset();
  }
}

}  // namespace weft::host
