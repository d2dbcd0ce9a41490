// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/v1_policies.h"

#include <array>

#include "absl/strings/match.h"

namespace weft::hns::emulator {
namespace {

struct Names {
  std::string_view v2, v1;      // the type
  std::string_view key2, key1;  // a member with another name; empty: none
};
constexpr std::array kNames = {
    Names{"ProviderAddress", "PA", "ProviderAddress", "PA"},
    Names{"OutBoundNAT", "OutBoundNAT", "Exceptions", "ExceptionList"},
    Names{"SDNRoute", "ROUTE", "", ""},
    Names{"PortMapping", "NAT", "", ""},
    Names{"VLAN", "VLAN", "IsolationId", "VLAN"},
};

void Rename(Json& object, std::string_view from, std::string_view to) {
  const auto found = object.find(from);
  if (from.empty() || found == object.end()) return;
  Json value = std::move(*found);
  object.erase(found);
  object[std::string(to)] = std::move(value);
}

Json PolicyFromV1(const Json& flat) {
  Json settings = flat;
  settings.erase("Type");
  std::string type = TextOf(Field(flat, "Type"));
  for (const Names& names : kNames) {
    if (!absl::EqualsIgnoreCase(names.v1, type)) continue;
    type = std::string(names.v2);
    Rename(settings, names.key1, names.key2);
    break;
  }
  return {{"Type", type}, {"Settings", std::move(settings)}};
}

}  // namespace

Json EndpointPolicyToV1(std::string_view type, const Json& settings) {
  Json flat = settings;
  std::string name(type);
  for (const Names& names : kNames) {
    if (!absl::EqualsIgnoreCase(names.v2, type)) continue;
    name = std::string(names.v1);
    Rename(flat, names.key2, names.key1);
    break;
  }
  flat["Type"] = name;
  return flat;
}

Json EndpointPoliciesFromV1(const Json& array) {
  if (!array.is_array()) return array;
  Json policies = Json::array();
  for (const auto& item : array) {
    const bool flat = item.is_object() && Field(item, "Settings").is_null();
    policies.push_back(flat ? PolicyFromV1(item) : item);
  }
  return policies;
}

}  // namespace weft::hns::emulator
