// SPDX-License-Identifier: Apache-2.0
// Our own lease, made from our Node and net-conf, or the reason why it has to wait.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/lease/own_identity.h"
#include "control/lease/own_node.h"
#include "control/net_conf.h"

namespace weft::control {

struct OwnFamilyFacts {
  IpPrefix subnet;
  MacAddress vtep_mac;
  friend bool operator==(const OwnFamilyFacts&, const OwnFamilyFacts&) = default;
};

// Present for each enabled family, and only for those.
struct OwnFacts {
  lease::NodeKey node;
  std::optional<OwnFamilyFacts> v4;
  std::optional<OwnFamilyFacts> v6;
  const std::optional<OwnFamilyFacts>& of(IpFamily family) const {
    return family == IpFamily::kV4 ? v4 : v6;
  }
  friend bool operator==(const OwnFacts&, const OwnFacts&) = default;
};

// An error is a reason to wait, not to exit; its message is for people:
//   kNotFound            our Node does not exist
//   kFailedPrecondition  an enabled family has no podCIDR yet, or it could not be read
//   kOutOfRange          a podCIDR lies outside net-conf's Network
//
// The VTEP MAC is the one in `current`, else the one that the Node has published, else derived.
// `current`: the facts that we publish. Their MAC is kept when another program changes our
// annotation, and when the Node is created again, because peers have that MAC in their tables.
// `in_other_case`: if our Node does not exist, a Node whose name differs from ours only in case.
absl::StatusOr<OwnFacts> DeriveOwnFacts(std::string_view node_name,
                                        const std::optional<lease::OwnNode>& node,
                                        const NetConf& conf,
                                        const std::optional<OwnFacts>& current = std::nullopt,
                                        std::string_view in_other_case = {});

// `in_other_case`: a Node whose name differs from `name` only in case, or empty; `given_by`: the
// option to correct.
absl::Status NoSuchNode(std::string_view name, std::string_view in_other_case,
                        std::string_view given_by);

// The identity that peers are judged by.
lease::OwnIdentity IdentityOf(const OwnFacts& facts, const NetConf& conf);

// The VTEP MAC of a node that has published none: 02 and 40 bits of FNV-1a over the node name.
// Locally administered, unicast, the same after every restart and for both families. It must never
// change: peers have it in their neighbour tables.
MacAddress DeriveVtepMac(std::string_view node_name);

}  // namespace weft::control
