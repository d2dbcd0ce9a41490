// SPDX-License-Identifier: Apache-2.0
#include "hns/function_name.h"

#include <array>
#include <cstddef>

namespace weft::hns {
namespace {

// In the order of Operation and Kind.
constexpr std::array<std::array<std::string_view, 4>, 7> kNames = {{
    {"HcnEnumerateNetworks", "HcnEnumerateEndpoints", "HcnEnumerateNamespaces",
     "HcnEnumerateLoadBalancers"},
    {"HcnCreateNetwork", "HcnCreateEndpoint", "HcnCreateNamespace", "HcnCreateLoadBalancer"},
    {"HcnOpenNetwork", "HcnOpenEndpoint", "HcnOpenNamespace", "HcnOpenLoadBalancer"},
    {"HcnModifyNetwork", "HcnModifyEndpoint", "HcnModifyNamespace", "HcnModifyLoadBalancer"},
    {"HcnQueryNetworkProperties", "HcnQueryEndpointProperties", "HcnQueryNamespaceProperties",
     "HcnQueryLoadBalancerProperties"},
    {"HcnDeleteNetwork", "HcnDeleteEndpoint", "HcnDeleteNamespace", "HcnDeleteLoadBalancer"},
    {"HcnCloseNetwork", "HcnCloseEndpoint", "HcnCloseNamespace", "HcnCloseLoadBalancer"},
}};

}  // namespace

std::string_view FunctionName(Operation operation, Kind kind) {
  return kNames[static_cast<std::size_t>(operation)][static_cast<std::size_t>(kind)];
}

}  // namespace weft::hns
