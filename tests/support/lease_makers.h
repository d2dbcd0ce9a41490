// SPDX-License-Identifier: Apache-2.0
// Leases and peers in one line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/lease/lease.h"
#include "control/lease/lease_table.h"
#include "control/lease/sink.h"
#include "control/lease/source.h"

namespace weft::testing {

inline IpPrefix Prefix(std::string_view text) { return IpPrefix::Parse(text).value(); }
inline IpAddress Address(std::string_view text) { return IpAddress::Parse(text).value(); }
inline MacAddress Mac(std::string_view text) { return MacAddress::Parse(text).value(); }

inline lease::FamilyLease HalfLease(std::string_view subnet, std::string_view public_ip,
                                    std::string_view mac = "02:00:00:00:00:01") {
  return {Prefix(subnet), Address(public_ip), 4096, Mac(mac)};
}

// A vxlan lease under VNI 4096 that nothing is wrong with.
inline lease::Lease MakeLease(std::string name, std::string_view subnet, std::string_view public_ip,
                              std::int64_t created = 0) {
  lease::Lease made;
  made.node = {name, "uid-" + name};
  made.created = created;
  made.backend_type = "vxlan";
  lease::FamilyLease half = HalfLease(subnet, public_ip);
  (half.subnet.family() == IpFamily::kV4 ? made.v4 : made.v6) = half;
  return made;
}

// Empty where the lease has no such half.
inline std::optional<lease::PeerState> StateOf(const lease::LeaseTable& table,
                                               const lease::NodeKey& node, IpFamily family) {
  for (const lease::LeaseRow& row : table.RowsOf(node)) {
    if (row.family == family) return row.state;
  }
  return std::nullopt;
}

inline lease::Peer MakePeer(std::string name, std::string_view subnet, std::string_view public_ip,
                            std::string_view mac = "02:00:00:00:00:01") {
  return {std::move(name), Prefix(subnet), Address(public_ip), Mac(mac)};
}

// "a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:01"
inline std::string Text(const lease::Peer& peer) {
  return peer.node + " " + peer.subnet.ToString() + " " + peer.public_ip.ToString() + " " +
         peer.vtep_mac.ToString();
}

// One line for each: "+ a 10.244.1.0/24 ...", "- 10.244.2.0/24".
inline std::string Text(const lease::PeerChanges& changes) {
  std::string text;
  for (const lease::Peer& peer : changes.upserts) text += "+ " + Text(peer) + "\n";
  for (const IpPrefix& subnet : changes.removals) text += "- " + subnet.ToString() + "\n";
  return text;
}

// A whole snapshot in one call.
inline void ApplySnapshot(lease::LeaseTable& table, const std::vector<lease::Lease>& leases,
                          const std::vector<lease::RefusedNode>& refused) {
  table.BeginSnapshot();
  for (const lease::Lease& lease : leases) table.Upsert(lease);
  for (const lease::RefusedNode& node : refused) table.Refuse(node);
  table.EndSnapshot();
}
inline void ReportSnapshot(lease::SourceListener& listener, const std::vector<lease::Lease>& leases,
                           const std::vector<lease::RefusedNode>& refused) {
  listener.OnSnapshotBegin();
  for (const lease::Lease& lease : leases) listener.OnUpsert(lease);
  for (const lease::RefusedNode& node : refused) listener.OnRefused(node);
  listener.OnSnapshotEnd();
}

}  // namespace weft::testing
