// SPDX-License-Identifier: Apache-2.0
// Load balancers; policy lists in v1.
#pragma once

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

Reply CreateLoadBalancer(Core& core, const Guid& id, const Json& document);
// Replaces the whole load balancer; since HNS 15.4.
Reply ModifyLoadBalancer(Core& core, LoadBalancerObject& balancer, const Json& request);
Reply DeleteLoadBalancer(Core& core, Guid id);

std::string LoadBalancerV2(const LoadBalancerObject& balancer);
Json LoadBalancerV1(const LoadBalancerObject& balancer);
// A v1 policy list, {"References":["/endpoints/ID"],"Policies":[{"Type":"ELB",...}]}, as a schema 2
// document. Empty: it is not one.
std::optional<Json> LoadBalancerFromV1(const Json& list);

}  // namespace weft::hns::emulator
