// SPDX-License-Identifier: Apache-2.0
#include "control/own_facts.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "vxlan/text/printable.h"

namespace weft::control {
namespace {

absl::StatusOr<OwnFamilyFacts> FamilyFacts(const lease::OwnNode& node, IpFamily family,
                                           const IpPrefix& network,
                                           const std::optional<OwnFacts>& current) {
  const lease::OwnNodeFamily& half = family == IpFamily::kV4 ? node.v4 : node.v6;
  if (!half.subnet) {
    const bool v4 = family == IpFamily::kV4;
    const auto& other = (v4 ? node.v6 : node.v4).subnet;
    const std::string why =
        !node.problems.empty() ? absl::StrCat(" yet: ", absl::StrJoin(node.problems, "; "))
        : other                ? absl::StrCat(", only ", other->ToString(),
                                              ", and a Node's podCIDRs never change: let kube-controller-manager "
                                                             "allocate both families, then delete the Node, so that it "
                                                             "registers again; or set EnableIPv",
                               v4 ? "4" : "6", " to false in net-conf.json")
                               : " yet: let kube-controller-manager allocate node CIDRs";
    return absl::FailedPreconditionError(absl::StrCat("node ", Quoted(node.node.name), " has no ",
                                                      v4 ? "IPv4" : "IPv6", " podCIDR", why));
  }
  if (const absl::Status inside = CheckInsideNetwork(*half.subnet, network); !inside.ok()) {
    return absl::OutOfRangeError(
        absl::StrCat("node ", Quoted(node.node.name), ": ", inside.message()));
  }
  const MacAddress mac = half.published_vtep_mac.value_or(DeriveVtepMac(node.node.name));
  const bool is_published = current && current->of(family);
  return OwnFamilyFacts{*half.subnet, is_published ? current->of(family)->vtep_mac : mac};
}

}  // namespace

absl::Status NoSuchNode(std::string_view name, std::string_view in_other_case,
                        std::string_view given_by) {
  return absl::NotFoundError(absl::StrCat(
      "node ", Quoted(name), " is not among the Nodes",
      in_other_case.empty() ? "; register it, or correct "
                            : absl::StrCat(", but ", Quoted(in_other_case),
                                           " is: names are compared with case; write it so in "),
      given_by));
}

absl::StatusOr<OwnFacts> DeriveOwnFacts(std::string_view node_name,
                                        const std::optional<lease::OwnNode>& node,
                                        const NetConf& conf, const std::optional<OwnFacts>& current,
                                        std::string_view in_other_case) {
  if (!node) return NoSuchNode(node_name, in_other_case, "--node-name or NODE_NAME");
  OwnFacts facts;
  facts.node = node->node;
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    if (!conf.enabled(family)) continue;
    const auto half = FamilyFacts(*node, family, *conf.network_of(family), current);
    if (!half.ok()) return half.status();
    (family == IpFamily::kV4 ? facts.v4 : facts.v6) = *half;
  }
  return facts;
}

lease::OwnIdentity IdentityOf(const OwnFacts& facts, const NetConf& conf) {
  lease::OwnIdentity own;
  own.node_name = facts.node.name;
  own.backend_type = Name(conf.type);
  own.vni = conf.vni;
  own.v4.enabled = conf.enable_ipv4;
  own.v6.enabled = conf.enable_ipv6;
  own.v4.network = conf.network;
  own.v6.network = conf.ipv6_network;
  if (facts.v4) own.v4.subnet = facts.v4->subnet;
  if (facts.v6) own.v6.subnet = facts.v6->subnet;
  return own;
}

MacAddress DeriveVtepMac(std::string_view node_name) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits
  for (const char c : node_name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::array<std::byte, MacAddress::kSize> bytes{std::byte{0x02}};
  for (std::size_t i = 1; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(hash >> (8 * (8 - i)));
  return MacAddress::FromBytes(bytes.data());
}

}  // namespace weft::control
