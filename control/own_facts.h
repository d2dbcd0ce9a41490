// SPDX-License-Identifier: Apache-2.0
// Our own lease: made from our Node and net-conf, or one sentence that says what it waits for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

// An error is a state to wait in, not to exit from; its message is for people:
//   kNotFound            our Node is not there
//   kFailedPrecondition  an enabled family has no podCIDR yet, or it could not be read
//   kOutOfRange          a podCIDR lies outside net-conf's Network
//
// The VTEP MAC is the one that stands, else the one that the Node says, else derived. `standing`:
// the facts before, where we publish them ourselves, so that what others write over our annotation
// is not taken for ours; also over a Node that is created again, since peers hold that MAC.
// `in_other_case`: where our Node is not there, one whose name differs from ours in case alone.
absl::StatusOr<OwnFacts> DeriveOwnFacts(std::string_view node_name,
                                        const std::optional<lease::OwnNode>& node,
                                        const NetConf& conf,
                                        const std::optional<OwnFacts>& standing = std::nullopt,
                                        std::string_view in_other_case = {});

// What peers are judged by, once the facts are known.
lease::OwnIdentity IdentityOf(const OwnFacts& facts, const NetConf& conf);

// The VTEP MAC of a node that has published none: 02 and 40 bits of FNV-1a over the node name.
// Locally administered, unicast, the same after every restart and for both families. Stable for
// ever: peers hold it in their neighbour tables.
MacAddress DeriveVtepMac(std::string_view node_name);

}  // namespace weft::control
