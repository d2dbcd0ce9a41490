// SPDX-License-Identifier: Apache-2.0
#include "hns/api/api.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace weft::hns {
namespace {

// In the order of Operation and Kind.
constexpr std::array<std::array<std::string_view, 4>, 10> kNames = {{
    {"HcnEnumerateNetworks", "HcnEnumerateEndpoints", "HcnEnumerateNamespaces",
     "HcnEnumerateLoadBalancers"},
    {"HcnCreateNetwork", "HcnCreateEndpoint", "HcnCreateNamespace", "HcnCreateLoadBalancer"},
    {"HcnOpenNetwork", "HcnOpenEndpoint", "HcnOpenNamespace", "HcnOpenLoadBalancer"},
    {"HcnModifyNetwork", "HcnModifyEndpoint", "HcnModifyNamespace", "HcnModifyLoadBalancer"},
    {"HcnQueryNetworkProperties", "HcnQueryEndpointProperties", "HcnQueryNamespaceProperties",
     "HcnQueryLoadBalancerProperties"},
    {"HcnDeleteNetwork", "HcnDeleteEndpoint", "HcnDeleteNamespace", "HcnDeleteLoadBalancer"},
    {"HcnCloseNetwork", "HcnCloseEndpoint", "HcnCloseNamespace", "HcnCloseLoadBalancer"},
    {kCallName, kCallName, kCallName, kCallName},
    {kSubscribeName, kSubscribeName, kSubscribeName, kSubscribeName},
    {kUnsubscribeName, kUnsubscribeName, kUnsubscribeName, kUnsubscribeName},
}};

}  // namespace

bool IsFunctionName(std::string_view name) {
  if (name.starts_with(std::string(kCallName) + " ")) return true;
  return std::ranges::any_of(kNames, [&](const auto& of_operation) {
    return std::ranges::find(of_operation, name) != of_operation.end();
  });
}

std::string_view ApiCall::function() const {
  return kNames[static_cast<std::size_t>(operation)][static_cast<std::size_t>(kind)];
}

std::string ApiCall::object() const {
  switch (operation) {
    case Operation::kEnumerate:
      return text;
    case Operation::kCreate:
    case Operation::kOpen:
    case Operation::kDelete:
      return id.ToString();
    case Operation::kCall:
      return method + " " + path;
    default:
      return {};
  }
}

bool ApiCall::is_modifying() const {
  if (operation == Operation::kCall) return method == "POST" || method == "DELETE";
  return operation == Operation::kCreate || operation == Operation::kModify ||
         operation == Operation::kDelete;
}

}  // namespace weft::hns
