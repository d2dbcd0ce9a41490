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
      return "Not used: a newer Node holds this subnet, or it overlaps our own: delete the Node "
             "that is gone.";
    case PeerState::kVniMismatch:
      return "Not used: the peer encapsulates under another VNI: give all nodes the same "
             "Backend.VNI in net-conf.json.";
    case PeerState::kMissingMac:
      return "Not used yet: the peer has published no VTEP MAC: if this lasts, look at its "
             "flanneld.";
    case PeerState::kMissingPublicIp:
      return "Not used: the peer has published no public IP for this family: look at its flanneld.";
    case PeerState::kForeignBackend:
      return "Not used: the peer runs another backend: give all nodes the same Backend.Type in "
             "net-conf.json.";
    case PeerState::kOutsideNetwork:
      return "The lease is in use, but its subnet lies outside net-conf's Network: masquerading "
             "rules may not cover it.";
  }
  return "";
}

bool IsUsable(PeerState state) {
  switch (state) {
    case PeerState::kUsable:
    case PeerState::kDuplicatePublicIp:
    case PeerState::kNestedSubnet:
    case PeerState::kOutsideNetwork:
      return true;
    case PeerState::kSelf:
    case PeerState::kOverlap:
    case PeerState::kVniMismatch:
    case PeerState::kMissingMac:
    case PeerState::kMissingPublicIp:
    case PeerState::kForeignBackend:
      return false;
  }
  return false;
}

}  // namespace weft::lease
