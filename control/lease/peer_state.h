// SPDX-License-Identifier: Apache-2.0
// Whether a lease can be used, and if not, why: one named state per address family and peer.
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
  kKeptLease,    // the peer has blanked its MAC since, as upstream does at each start on Windows
  kHostChanged,  // in use since before this host changed; now it would be kHostConflict or
                 // kOutsideNetwork. Or an idle address of this host lies in it
  kHostConflict,
  kReservedRange,
  kBadPublicIp,
  kFamilyOff,
};
inline constexpr std::size_t kPeerStates = 16;  // all values of the record's four bits

// "duplicate-public-ip": as `flannelctl leases`, `status` and the schema show it. Never changes.
std::string_view Name(PeerState state);
// For people: meaning and next step.
std::string_view Sentence(PeerState state);
// Whether the sinks receive a lease in this state.
bool IsUsable(PeerState state);
// Whether status and the log show a lease in this state: all states except kUsable, kSelf and
// kFamilyOff.
bool IsRemarkable(PeerState state);

}  // namespace weft::lease
