// SPDX-License-Identifier: Apache-2.0
#include "hns/document/members_json.h"

#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::hns {

Json PoliciesOf(const std::vector<Policy>& policies) {
  Json list = Json::array();
  for (const Policy& policy : policies) {
    Json item = {{"Type", policy.type}, {"Settings", Json::object()}};
    if (!policy.settings.empty()) {
      item["Settings"] = Json::parse(policy.settings, nullptr, /*allow_exceptions=*/false);
      assert(!item["Settings"].is_discarded());
    }
    list.push_back(std::move(item));
  }
  return list;
}

std::vector<Policy> ReadPolicies(const Json& object) {
  std::vector<Policy> policies;
  for (const Json& item : ArrayMember(object, "Policies")) {
    Policy policy{TextMember(item, "Type"), "{}"};
    if (const auto number = NumberMember(item, "Type")) policy.type = absl::StrCat(*number);
    if (const Json& settings = Member(item, "Settings"); !settings.is_null())
      policy.settings = Dump(settings);
    policies.push_back(std::move(policy));
  }
  return policies;
}

Json RoutesOf(const std::vector<SubnetRoute>& routes) {
  Json list = Json::array();
  for (const SubnetRoute& route : routes) {
    Json item = {{"NextHop", route.next_hop.ToString()},
                 {"DestinationPrefix", route.destination.ToString()}};
    list.push_back(std::move(item));
  }
  return list;
}

std::vector<SubnetRoute> ReadRoutes(const Json& object) {
  std::vector<SubnetRoute> routes;
  for (const Json& item : ArrayMember(object, "Routes")) {
    const auto next_hop = IpAddress::Parse(TextMember(item, "NextHop"));
    const auto destination = IpPrefix::Parse(TextMember(item, "DestinationPrefix"));
    if (next_hop && destination) routes.push_back({*next_hop, *destination});
  }
  return routes;
}

void AddTail(Json& object) {
  object["Health"] = {{"Extra", Json::object()}};
  object["SchemaVersion"] = {{"Major", 2}, {"Minor", 0}};
}

}  // namespace weft::hns
