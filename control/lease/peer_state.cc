// SPDX-License-Identifier: Apache-2.0
#include "control/lease/peer_state.h"

namespace weft::lease {

std::string_view Name(PeerState state) {
  switch (state) {
    case PeerState::kUsable:
      return "usable";
    case PeerState::kSelf:
      return "self";
    case PeerState::kDuplicatePublicIp:
      return "duplicate-public-ip";
    case PeerState::kNestedSubnet:
      return "nested-subnet";
    case PeerState::kOverlap:
      return "overlap";
    case PeerState::kVniMismatch:
      return "vni-mismatch";
    case PeerState::kMissingMac:
      return "missing-mac";
    case PeerState::kMissingPublicIp:
      return "missing-public-ip";
    case PeerState::kForeignBackend:
      return "foreign-backend";
    case PeerState::kOutsideNetwork:
      return "outside-network";
    case PeerState::kKeptLease:
      return "kept-lease";
    case PeerState::kHostChanged:
      return "host-changed";
    case PeerState::kHostConflict:
      return "host-conflict";
    case PeerState::kReservedRange:
      return "reserved-range";
    case PeerState::kBadPublicIp:
      return "bad-public-ip";
    case PeerState::kFamilyOff:
      return "family-off";
  }
  return "unknown";
}

std::string_view Sentence(PeerState state) {
  switch (state) {
    case PeerState::kUsable:
      return "The lease is in use.";
    case PeerState::kSelf:
      return "This is our own lease.";
    case PeerState::kDuplicatePublicIp:
      return "The lease is in use, but another names the same public IP: right behind a shared "
             "address, else delete the Node that is gone.";
    case PeerState::kNestedSubnet:
      return "The lease is in use by longest prefix, but its subnet and another's lie one in the "
             "other: check the cluster's podCIDRs.";
    case PeerState::kOverlap:
      return "Not used: a Node in use holds this subnet, or it overlaps our own: delete the Node "
             "that is gone.";
    case PeerState::kVniMismatch:
      return "Not used: the peer encapsulates under another VNI: give all nodes the same "
             "Backend.VNI in net-conf.json.";
    case PeerState::kMissingMac:
      return "Not used yet: the peer has published no VTEP MAC: if this lasts, check its "
             "flanneld.";
    case PeerState::kMissingPublicIp:
      return "Not used: the peer has published no public IP for this family: check its flanneld.";
    case PeerState::kForeignBackend:
      return "Not used: the peer runs another backend: give all nodes the same Backend.Type in "
             "net-conf.json.";
    case PeerState::kOutsideNetwork:
      return "Not used: its subnet lies outside net-conf's Network: widen Network in "
             "net-conf.json, or correct the Node's podCIDR.";
    case PeerState::kKeptLease:
      return "The lease is in use as it was last complete: the peer has since blanked its VTEP "
             "MAC: if this lasts, check its flanneld.";
    case PeerState::kHostChanged:
      return "The lease is in use, but this host or its net-conf has changed so that it would not "
             "be taken again: see \"flannelctl leases -o wide\".";
    case PeerState::kHostConflict:
      return "Not used: its subnet contains what this host needs, such as its own address or "
             "gateway: correct the Node's podCIDR.";
    case PeerState::kReservedRange:
      return "Not used: its subnet overlaps a range that is reserved: correct the Node's podCIDR.";
    case PeerState::kBadPublicIp:
      return "Not used: its public IP lies in a pod subnet or is no node's address: check its "
             "flanneld's --public-ip and --iface.";
    case PeerState::kFamilyOff:
      return "Not used: this node's net-conf does not enable the address family.";
  }
  return "";
}

bool IsUsable(PeerState state) {
  switch (state) {
    case PeerState::kUsable:
    case PeerState::kDuplicatePublicIp:
    case PeerState::kNestedSubnet:
    case PeerState::kKeptLease:
    case PeerState::kHostChanged:
      return true;
    case PeerState::kSelf:
    case PeerState::kOverlap:
    case PeerState::kVniMismatch:
    case PeerState::kMissingMac:
    case PeerState::kMissingPublicIp:
    case PeerState::kForeignBackend:
    case PeerState::kOutsideNetwork:
    case PeerState::kHostConflict:
    case PeerState::kReservedRange:
    case PeerState::kBadPublicIp:
    case PeerState::kFamilyOff:
      return false;
  }
  return false;
}

bool IsRemarkable(PeerState state) {
  return state != PeerState::kUsable && state != PeerState::kSelf && state != PeerState::kFamilyOff;
}

}  // namespace weft::lease
