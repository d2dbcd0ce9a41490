// SPDX-License-Identifier: Apache-2.0
// The forwarding core: packets and the remote table in, verdicts and rewritten packets out. Uses no
// socket, clock or log, does not allocate, locks only to fetch a new table.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "dataplane/counters.h"
#include "dataplane/packet.h"
#include "dataplane/packet_port.h"
#include "dataplane/peer_table.h"
#include "dataplane/remote_table.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/mtu.h"

namespace weft::dataplane {

// How the sender of a received packet is checked (--peer-check).
enum class PeerCheck : std::uint8_t {
  kStrict,  // the outer source is the public IP of the lease that owns the inner source
  kLease,   // the outer source is a lease's public IP, or inner source MAC and address both belong
            // to one lease
  kOff,
};
// "strict", "lease" or "off".
std::string_view Name(PeerCheck check);
std::optional<PeerCheck> ParsePeerCheck(std::string_view name);

struct ForwarderConfig {
  LocalVtep local;
  std::vector<IpPrefix>
      own_subnets;  // our PodCIDRs: the only destinations from the wire, never sent to it
  // Source of our ICMPv6 errors. ICMPv4 errors, whose source is the packet's destination, are sent
  // only if there is an IPv4 one.
  std::vector<IpAddress> own_addresses;         // one a family (flannel's `.0`)
  OuterMtu link_mtu = *OuterMtu::From(1500);    // of the underlay; path MTUs only lower it
  InnerMtu device_mtu = *InnerMtu::From(1450);  // of the pod-side device
  InnerMtu pod_mtu = *InnerMtu::From(1450);     // of the pods behind it; may be lower
  PeerCheck peer_check = PeerCheck::kLease;
  // Maximum number of segments of a pod's UDP superframe: the limit of this kernel's sockets.
  std::uint32_t max_udp_segments = 128;
  PortKind wire = PortKind::kWireDatagram;
  std::size_t worker = 0;  // which of each peer's slots it writes
};

// RFC 1191 section 6.3.
inline constexpr Timestamp kPathMtuLifetime = std::chrono::minutes(10);

// Minimum payload of a TCP segment in a superframe of several segments. Linux sends no smaller ones
// (net.ipv4.tcp_min_snd_mss); smaller ones would cost this node a packet for each few bytes.
inline constexpr std::uint16_t kLeastTcpSegment = 48;

// The smallest inner MTU that a path MTU can enforce, since pods ignore smaller ones: Linux'
// net.ipv4.route.min_pmtu; RFC 8200 section 5.
constexpr std::uint32_t LeastPathLimit(IpFamily inner) {
  return inner == IpFamily::kV4 ? 552 : 1280;
}

// One thread (the worker's). The table, peers and counters outlive it.
class Forwarder {
 public:
  Forwarder(const ForwarderConfig& config, const RemoteTable& remotes, PeerTable& peers,
            Counters& counters);
  ~Forwarder();

  // Fetches the table's newest snapshot. Call once for each batch.
  void Refresh();
  // Releases the snapshot, so that a sleeping worker does not keep old pages alive. Call Refresh
  // before the next batch.
  void Rest();

  // Pod to wire. Each packet of `batch` (bare inner IP, possibly a superframe) is stamped in place
  // (50 or 70 bytes for kWirePacket, the 22 bytes of VXLAN and inner Ethernet for kWireDatagram)
  // or gets a drop verdict. Partial checksums of packets other than superframes are completed. In a
  // superframe for kWirePacket a nonzero outer UDP checksum field requests a checksum, which
  // SuperframeCutter computes. ICMP errors for the pod are appended to `replies` and overwrite the
  // bytes of the packet they answer. Counts for peers and errors sent; the caller counts verdicts
  // after sending (Counters::Direction). Packets that already have a drop verdict are not changed,
  // here and in Decapsulate.
  void Encapsulate(Batch& batch, Batch& replies);

  // Wire to pod. Each packet of `batch` is one outer packet or datagram (offload has split
  // aggregates) and becomes a bare inner IP packet or gets a drop verdict. A whole outer packet
  // with kPartial checksum comes from this host and is not verified.
  void Decapsulate(Batch& batch);

  InnerMtu pod_mtu() const;

  // Stores a smaller path MTU for every peer at `notice.destination`, for kPathMtuLifetime. Values
  // below the outer family's minimum (68 for IPv4, 1280 for IPv6) count as that minimum. The inner
  // limit never falls below LeastPathLimit: larger packets are then sent with may_fragment, so that
  // a forged ICMP error can slow pods down but not stop them.
  void LearnPathMtu(const PathMtuNotice& notice, Timestamp now);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::dataplane
