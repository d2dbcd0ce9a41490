// SPDX-License-Identifier: Apache-2.0
#include "hns/api/function_name.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

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

std::string_view FunctionName(Operation operation, Kind kind) {
  return kNames[static_cast<std::size_t>(operation)][static_cast<std::size_t>(kind)];
}

bool IsFunctionName(std::string_view name) {
  if (name.starts_with(std::string(kCallName) + " ")) return true;
  for (const auto& of_operation : kNames) {
    if (std::find(of_operation.begin(), of_operation.end(), name) != of_operation.end())
      return true;
  }
  return false;
}

}  // namespace weft::hns
