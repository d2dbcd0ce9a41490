// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/load_balancers.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "control/emulator/hns/model/features.h"

namespace weft::hns::emulator {
namespace {

constexpr std::size_t kMostBackends = 64;
constexpr std::uint64_t kDsrFlag = 1;
constexpr const char* kMembers[] = {"SourceVIP", "FrontendVIPs", "PortMappings", "Flags"};

// A front end, protocol and port can belong to one load balancer only.
bool Collide(const Json& a, const Json& b) {
  const auto& a_vips = ItemsOf(Field(a, "FrontendVIPs"));
  const auto& b_vips = ItemsOf(Field(b, "FrontendVIPs"));
  const bool same_vip =
      (a_vips.empty() && b_vips.empty()) || std::ranges::any_of(a_vips, [&](const Json& vip) {
        return std::ranges::find(b_vips, vip) != b_vips.end();
      });
  if (!same_vip) return false;
  for (const auto& mine : ItemsOf(Field(a, "PortMappings"))) {
    for (const auto& theirs : ItemsOf(Field(b, "PortMappings"))) {
      if (Field(mine, "Protocol") == Field(theirs, "Protocol") &&
          Field(mine, "ExternalPort") == Field(theirs, "ExternalPort")) {
        return true;
      }
    }
  }
  return false;
}

Reply CheckFeatures(const Settings& settings, const Json& document) {
  if ((NumberOf(Field(document, "Flags")) & kDsrFlag) != 0 &&
      !Supports(settings.version, Feature::kDsr)) {
    return Refuse(hresult::kInvalidArgument);
  }
  for (const auto& mapping : ItemsOf(Field(document, "PortMappings"))) {
    if (NumberOf(Field(mapping, "DistributionType")) != 0 &&
        !Supports(settings.version, Feature::kSessionAffinity)) {
      return Refuse(hresult::kInvalidArgument);
    }
  }
  return {};
}

Reply Read(Core& core, const Json& document, LoadBalancerObject& balancer) {
  for (const auto& item : ItemsOf(Field(document, "HostComputeEndpoints"))) {
    const auto endpoint = Guid::Parse(TextOf(item));
    if (!endpoint) return Refuse(kGuidConversionFailure);
    if (core.settings.backends_must_exist && !core.state.endpoints.contains(*endpoint))
      return Refuse(hresult::kEndpointNotFound);
    balancer.endpoints.push_back(*endpoint);
  }
  if (balancer.endpoints.size() > kMostBackends) {
    return Refuse(hresult::kInvalidArgument,
                  "Unable to initialize VFP LB rule: invalid number of destinations.");
  }
  for (const char* member : kMembers)
    Put(balancer.document, member, WithoutZeroes(Field(document, member)));
  for (const auto& [id, other] : core.state.load_balancers) {
    if (id == balancer.id || !Collide(other.document, balancer.document)) continue;
    // kubernetes#139503: kube-proxy gets this when it creates a load balancer again that outlived a
    // restart.
    const bool equal = other.document == balancer.document && other.endpoints == balancer.endpoints;
    return Refuse(equal ? kAlreadyExists : hresult::kPortAlreadyExists);
  }
  return CheckFeatures(core.settings, balancer.document);
}

}  // namespace

Reply CreateLoadBalancer(Core& core, const Guid& desired_id, const Json& document) {
  LoadBalancerObject balancer;
  balancer.id = IdFor(core, desired_id, document);
  if (balancer.id.is_zero()) return Refuse(kGuidConversionFailure);
  if (core.state.load_balancers.contains(balancer.id)) return Refuse(hresult::kObjectAlreadyExists);
  Reply reply = Read(core, document, balancer);
  if (!reply.ok()) return reply;
  reply.text = balancer.id.ToString();
  core.state.load_balancers.emplace(balancer.id, std::move(balancer));
  return reply;
}

Reply ModifyLoadBalancer(Core& core, LoadBalancerObject& balancer, const Json& request) {
  const bool update = WordOf(Field(request, "RequestType"), {"Add", "Remove", "Update"}) == 2;
  if (!update || !Supports(core.settings.version, Feature::kModifyLoadBalancer))
    return Refuse(hresult::kRequestUnsupported);
  LoadBalancerObject changed;
  changed.id = balancer.id;
  Reply reply = Read(core, Field(request, "Settings"), changed);
  if (reply.ok()) balancer = std::move(changed);
  return reply;
}

Reply DeleteLoadBalancer(Core& core, Guid id) {
  if (core.state.load_balancers.erase(id) == 0) return Refuse(hresult::kElementNotFound);
  return {};
}

std::string LoadBalancerV2(const LoadBalancerObject& balancer) {
  Json document = balancer.document;
  document["ID"] = balancer.id.ToString();
  document["SchemaVersion"] = {{"Major", 2}, {"Minor", 0}};
  Json endpoints = Json::array();
  for (const Guid& id : balancer.endpoints) endpoints.push_back(id.ToString());
  Put(document, "HostComputeEndpoints", std::move(endpoints));
  return Dump(document);
}

Json LoadBalancerV1(const LoadBalancerObject& balancer) {
  Json references = Json::array();
  for (const Guid& id : balancer.endpoints)
    references.push_back("/endpoints/" + id.ToUpperString());
  Json policies = Json::array();
  for (const auto& mapping : ItemsOf(Field(balancer.document, "PortMappings"))) {
    Json policy = {{"Type", "ELB"},
                   {"ILB", (NumberOf(Field(mapping, "Flags")) & 1) != 0},
                   {"DSR", (NumberOf(Field(balancer.document, "Flags")) & kDsrFlag) != 0}};
    Put(policy, "SourceVIP", Field(balancer.document, "SourceVIP"));
    Put(policy, "VIPs", Field(balancer.document, "FrontendVIPs"));
    for (const char* member : {"Protocol", "InternalPort", "ExternalPort"})
      Put(policy, member, Field(mapping, member));
    policies.push_back(std::move(policy));
  }
  return {{"ID", balancer.id.ToUpperString()},
          {"References", std::move(references)},
          {"Policies", std::move(policies)}};
}

std::optional<Json> LoadBalancerFromV1(const Json& list) {
  Json endpoints = Json::array();
  for (const auto& reference : ItemsOf(Field(list, "References"))) {
    const std::string path = TextOf(reference);
    endpoints.push_back(std::string(absl::StripPrefix(path, "/endpoints/")));
  }
  Json document = {{"ID", Field(list, "ID")}, {"HostComputeEndpoints", std::move(endpoints)}};
  Json& mappings = document["PortMappings"] = Json::array();
  for (const auto& policy : ItemsOf(Field(list, "Policies"))) {
    if (!absl::EqualsIgnoreCase(TextOf(Field(policy, "Type")), "ELB")) return std::nullopt;
    Json mapping = Json::object();
    for (const char* member : {"Protocol", "InternalPort", "ExternalPort"})
      Put(mapping, member, Field(policy, member));
    if (Field(policy, "ILB") == true) mapping["Flags"] = 1;
    if (Field(policy, "DSR") == true) document["Flags"] = kDsrFlag;
    Put(document, "SourceVIP", Field(policy, "SourceVIP"));
    Put(document, "FrontendVIPs", Field(policy, "VIPs"));
    mappings.push_back(std::move(mapping));
  }
  return document;
}

}  // namespace weft::hns::emulator
