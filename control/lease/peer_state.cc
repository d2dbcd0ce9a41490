// SPDX-License-Identifier: Apache-2.0
#include "control/lease/peer_state.h"

#include <algorithm>
#include <iterator>

namespace weft::lease {
namespace {

struct Row {
  PeerState state;
  std::string_view name;
  bool usable;
  std::string_view sentence;
};

// In the order of PeerState.
constexpr Row kRows[] = {
    {PeerState::kUsable, "usable", true, "The lease is in use."},
    {PeerState::kSelf, "self", false, "This is the node's own lease."},
    {PeerState::kDuplicatePublicIp, "duplicate-public-ip", true,
     "In use, but another lease has the same public IP. Expected behind NAT; otherwise correct one "
     "of them. Delete a Node only if its host no longer exists."},
    {PeerState::kNestedSubnet, "nested-subnet", true,
     "In use by longest prefix, but its subnet lies inside or around another lease's. Correct the "
     "Nodes' podCIDRs."},
    {PeerState::kOverlap, "overlap", false,
     "Not used: its subnet overlaps that of a Node in use, or this node's, or contains a Node's "
     "address. Give one of them another podCIDR. Delete a Node only if its host no longer exists."},
    {PeerState::kVniMismatch, "vni-mismatch", false,
     "Not used: the peer has another VNI, or none. Set one Backend.VNI in net-conf.json for all "
     "nodes."},
    {PeerState::kMissingMac, "missing-mac", false,
     "Not used yet: the peer has published no VTEP MAC. If this lasts, check its flanneld."},
    {PeerState::kMissingPublicIp, "missing-public-ip", false,
     "Not used: the peer has published no public IP of this family. Check its flanneld."},
    {PeerState::kForeignBackend, "foreign-backend", false,
     "Not used: the peer runs another backend. Set one Backend.Type in net-conf.json for all "
     "nodes."},
    {PeerState::kOutsideNetwork, "outside-network", false,
     "Not used: its subnet lies outside Network of net-conf.json. Widen Network, or correct the "
     "Node's podCIDR."},
    {PeerState::kKeptLease, "kept-lease", true,
     "In use with its last VTEP MAC: the peer has blanked it since. If this lasts, check the "
     "peer's flanneld."},
    {PeerState::kHostChanged, "host-changed", true,
     "In use, but its subnet contains an unused address of this host, or this host or "
     "net-conf.json has changed since. See \"flannelctl leases -o wide\"."},
    {PeerState::kHostConflict, "host-conflict", false,
     "Not used: its subnet contains what this host needs, such as its address or gateway. Remove "
     "that from this host if nothing uses it, else correct the Node's podCIDR."},
    {PeerState::kReservedRange, "reserved-range", false,
     "Not used: its subnet overlaps a reserved range. Correct the Node's podCIDR."},
    {PeerState::kBadPublicIp, "bad-public-ip", false,
     "Not used: its public IP lies in a pod subnet, is an address of this host, or cannot be a "
     "node's address. Correct its flanneld's --public-ip or --iface."},
    {PeerState::kFamilyOff, "family-off", false,
     "Not used: net-conf.json of this node does not enable the address family."},
};
static_assert(std::size(kRows) == kPeerStates);
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows),
                             [](const Row& a, const Row& b) { return a.state < b.state; }));

const Row& RowOf(PeerState state) { return kRows[static_cast<std::size_t>(state)]; }

}  // namespace

std::string_view Name(PeerState state) { return RowOf(state).name; }

std::string_view Sentence(PeerState state) { return RowOf(state).sentence; }

bool IsUsable(PeerState state) { return RowOf(state).usable; }

bool IsRemarkable(PeerState state) {
  return state != PeerState::kUsable && state != PeerState::kSelf && state != PeerState::kFamilyOff;
}

}  // namespace weft::lease
