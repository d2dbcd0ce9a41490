// SPDX-License-Identifier: Apache-2.0
// Whether a lease can be used, and if not, why: one named state for each address family of each
// peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::lease {

// Names and sentences: kRows in peer_state.cc.
enum class PeerState : std::uint8_t {
  kUsable,
  kSelf,
  kDuplicatePublicIp,
  kNestedSubnet,
  kOverlap,
  kVniMismatch,
  kMissingMac,  // upstream on Windows publishes an empty MAC first
  kMissingPublicIp,
  kForeignBackend,
  kOutsideNetwork,
  kKeptLease,    // the peer has blanked its MAC since, as upstream's does at each start on Windows
  kHostChanged,  // in use when this host changed so that it would be kHostConflict or
                 // kOutsideNetwork
  kHostConflict,
  kReservedRange,
  kBadPublicIp,
  kFamilyOff,
};
inline constexpr std::size_t kPeerStates = 16;  // as many as four bits tell apart

// "duplicate-public-ip": as `flannelctl leases`, `status` and the schema show it. Never changes.
std::string_view Name(PeerState state);
// For people: what it means, and what to do.
std::string_view Sentence(PeerState state);
// Whether the sinks receive a lease in this state.
bool IsUsable(PeerState state);
// Neither usable without a remark, nor our own, nor of a family that is off: in status, and logged.
bool IsRemarkable(PeerState state);

}  // namespace weft::lease
