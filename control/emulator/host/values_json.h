// SPDX-License-Identifier: Apache-2.0
// Values about a host as JSON (control/json_fields.h).
#pragma once

#include <concepts>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "control/host/host.h"
#include "control/json_fields.h"

namespace weft::control {

template <>
inline constexpr std::string_view kTextValue<host::AssignedAddress> =
    "an address with its prefix length";

}  // namespace weft::control

namespace weft::host {

using control::Json;

// Any JSON value; InvalidArgument: it is not JSON, nests too deep or is too long.
absl::StatusOr<Json> ParseHostDocument(std::string_view text);

template <class T>
absl::StatusOr<T> ParseHostValue(std::string_view text) {
  const absl::StatusOr<Json> document = ParseHostDocument(text);
  if (!document.ok()) return document.status();
  T value;
  control::JsonReader visit(*document, "");
  Fields(visit, value);
  if (visit.status().ok()) return value;
  return absl::InvalidArgumentError(
      absl::StrCat("host document: ", visit.status().message(), "; correct it"));
}

void Fields(auto& visit, control::Is<Adapter> auto& adapter) {
  visit.Always("name", adapter.name);
  visit.Always("index", adapter.index);
  visit.Always("mac", adapter.mac);
  visit.Always("mtu", adapter.mtu, 1500u);
  visit.Always("up", adapter.up, true);
  visit.Optional("loopback", adapter.loopback);
  visit.Optional("wireless", adapter.wireless);
  visit.Always("addresses", adapter.addresses);
  if constexpr (control::kReads<decltype(visit)>) {
    if (adapter.index == 0) visit.Refuse("index", "is not a number from 1");
    if (adapter.name.empty()) visit.Refuse("name", "is empty");
  }
}

void Fields(auto& visit, control::Is<Route> auto& route) {
  visit.Required("destination", route.destination);
  visit.Always("adapter", route.adapter_index);
  visit.Optional("gateway", route.gateway);
  visit.Optional("onlink", route.onlink);
  visit.Optional("metric", route.metric);
  visit.Optional("source", route.source);
  visit.Optional("marked", route.marked);
  if constexpr (control::kReads<decltype(visit)>) {
    for (const auto& address : {route.gateway, route.source}) {
      if (address && address->family() != route.destination.family())
        visit.Refuse("destination", "is of another family than the route's other addresses");
    }
  }
}

void Fields(auto& visit, control::Is<StaticIp> auto& settings) {
  visit.Optional("addresses", settings.addresses);
  visit.Optional("nameServers", settings.name_servers);
  visit.Optional("metric", settings.metric);
}

// Also of an EmulatedFirewallRule.
template <class T>
requires std::derived_from<T, FirewallRule>
void Fields(auto& visit, T& rule) {
  visit.Always("name", rule.name);
  visit.Always("udpPort", rule.port);
  visit.Optional("sources", rule.sources);
  if constexpr (requires { rule.group; }) visit.Optional("group", rule.group);
  if constexpr (control::kReads<decltype(visit)>)
    if (rule.sources && rule.sources->empty()) rule.sources.reset();
}

}  // namespace weft::host
