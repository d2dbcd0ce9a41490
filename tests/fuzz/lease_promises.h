// SPDX-License-Identifier: Apache-2.0
// The invariants of every decoder of Nodes, for any input.
#pragma once

#include <cstdlib>
#include <optional>
#include <string_view>

#include "control/kube/codec/node_reader.h"
#include "vxlan/vni.h"

namespace weft::fuzz {

inline void Require(bool promise) {
  if (!promise) std::abort();
}

// Messages go to the log: one printable line, bounded.
inline void CheckMessage(std::string_view message) {
  Require(!message.empty() && message.size() < 1000);
  for (const char c : message) Require(c >= ' ' && c < '\x7f');
}

inline void CheckHalf(const std::optional<lease::FamilyLease>& half, IpFamily family) {
  if (!half) return;
  Require(half->subnet.family() == family);
  Require(!half->public_ip || half->public_ip->family() == family);
  Require(!half->vni || *half->vni <= Vni::kMax);
  Require(!half->vtep_mac || (!half->vtep_mac->IsGroup() && !half->vtep_mac->IsZero()));
}

inline void CheckLease(const lease::Lease& lease) {
  Require(!lease.node.name.empty() && (lease.v4 || lease.v6));
  CheckHalf(lease.v4, IpFamily::kV4);
  CheckHalf(lease.v6, IpFamily::kV6);
}

inline void CheckNode(const kube::DecodedNode& node) {
  using Kind = kube::DecodedNode::Kind;
  if (node.kind == Kind::kLease) CheckLease(node.lease);
  if (node.kind == Kind::kRefused) CheckMessage(node.refusal);
  Require(node.kind == Kind::kRefused || !node.lease.node.name.empty());
  if (!node.own) return;
  for (const auto& problem : node.own->problems) CheckMessage(problem);
}

}  // namespace weft::fuzz
