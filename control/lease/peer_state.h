// SPDX-License-Identifier: Apache-2.0
// Whether a lease can be used, and if not, why: one named state for each address family of each
// peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::lease {

enum class PeerState : std::uint8_t {
  kUsable,             // "usable"
  kSelf,               // "self": our own lease
  kDuplicatePublicIp,  // "duplicate-public-ip": usable, but another lease names the same address
  kNestedSubnet,       // "nested-subnet": usable by longest prefix, but inside (or around) another
                       // lease's subnet
  kOverlap,  // "overlap": another, newer lease holds this very subnet, or it overlaps our own: not
             // used
  kVniMismatch,      // "vni-mismatch": the peer encapsulates under another VNI: not used
  kMissingMac,       // "missing-mac": no VTEP MAC yet (upstream on Windows publishes an empty one
                     // first): not used
  kMissingPublicIp,  // "missing-public-ip": not used
  kForeignBackend,   // "foreign-backend": backend-type is not ours: not used
  kOutsideNetwork,   // "outside-network": the subnet lies outside net-conf's Network: usable,
                     // upstream routes it too
};
inline constexpr std::size_t kPeerStates = 10;

// The name given above; what `flannelctl leases`, `status` and metrics show.
std::string_view Name(PeerState state);
// One sentence for people: what it means and what to do.
std::string_view Sentence(PeerState state);
// Whether a lease in this state is handed to the sinks.
bool IsUsable(PeerState state);

}  // namespace weft::lease
