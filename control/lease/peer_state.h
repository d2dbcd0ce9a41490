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
  kOverlap,  // "overlap": another lease in use holds this subnet, or it overlaps our own: not used
  kVniMismatch,      // "vni-mismatch": the peer encapsulates under another VNI: not used
  kMissingMac,       // "missing-mac": no VTEP MAC yet (upstream on Windows publishes an empty one
                     // first): not used
  kMissingPublicIp,  // "missing-public-ip": not used
  kForeignBackend,   // "foreign-backend": backend-type is not ours: not used
  kOutsideNetwork,   // "outside-network": the subnet lies outside net-conf's Network: not used
  kKeptLease,        // "kept-lease": usable: the peer has blanked its MAC since, and its last
                     // complete lease counts, as for upstream's peers
  kHostChanged,      // "host-changed": usable, because it was in use when this host changed so that
                     // it would be kHostConflict or kOutsideNetwork
  kHostConflict,     // "host-conflict": the subnet contains what this host needs: not used
  kReservedRange,    // "reserved-range": the subnet overlaps a range that is no network's: not used
  kBadPublicIp,      // "bad-public-ip": in a pod subnet, or no address of a node: not used
  kFamilyOff,        // "family-off": net-conf does not enable this family: not used
};
inline constexpr std::size_t kPeerStates = 16;  // as many as four bits tell apart

// The name given above; what `flannelctl leases`, `status` and metrics show.
std::string_view Name(PeerState state);
// One sentence for people: what it means and what to do.
std::string_view Sentence(PeerState state);
// Whether a lease in this state is handed to the sinks.
bool IsUsable(PeerState state);
// Neither plainly usable nor our own nor of a family that is off: shown in status, and logged.
bool IsRemarkable(PeerState state);

}  // namespace weft::lease
