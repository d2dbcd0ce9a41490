// SPDX-License-Identifier: Apache-2.0
// The forwarding core: packets and the remote table in, verdicts and rewritten packets out. Knows
// no socket, clock or log, allocates nothing, takes no lock but to fetch a new table.
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
std::optional<PeerCheck> ParsePeerCheck(std::string_view name);

struct ForwarderConfig {
  LocalVtep local;
  std::vector<IpPrefix>
      own_subnets;  // our PodCIDRs: only they are accepted from the wire, never sent to it
  // Source of our ICMPv6 errors; ICMP errors are sent only if there is one of IPv4 too.
  std::vector<IpAddress> own_addresses;       // one a family (flannel's `.0`)
  OuterMtu link_mtu = *OuterMtu::Of(1500);    // of the underlay; path MTUs only lower it
  InnerMtu device_mtu = *InnerMtu::Of(1450);  // of the pod-side device
  InnerMtu pod_mtu = *InnerMtu::Of(1450);     // of the pods behind it, which may be less
  PeerCheck peer_check = PeerCheck::kLease;
  // Most segments of a pod's UDP superframe: what a socket of this kernel sends at once.
  std::uint32_t max_udp_segments = 128;
  PortKind wire = PortKind::kWireDatagram;
};

// RFC 1191 section 6.3.
inline constexpr Timestamp kPathMtuLifetime = std::chrono::minutes(10);

// The least payload of a TCP segment in a superframe of several: Linux sends none below
// (net.ipv4.tcp_min_snd_mss), so only what costs this node a packet for each few bytes has less.
inline constexpr std::uint16_t kLeastTcpSegment = 48;

// The smallest inner MTU that is enforced because of a path: pods follow no smaller one. Linux'
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

  // Takes a newer table if there is one. Once a batch.
  void Refresh();
  // Lets go of the table, so that whoever sleeps holds no old one. Refresh comes before the next
  // batch.
  void Rest();

  // Pod to wire. Each packet of `batch` (bare inner IP, possibly a superframe) is stamped in place
  // (50 or 70 bytes for kWirePacket, the 22 bytes of VXLAN and inner Ethernet for kWireDatagram)
  // or gets a drop verdict. Partial checksums of other than superframes are finished on the way. A
  // superframe before a whole outer packet has an outer UDP checksum field other than zero where
  // one is wanted; SuperframeCutter makes the checksums. ICMP errors for the pod are appended to
  // `replies`, over the bytes of the packet they answer. Counts for peers and errors sent;
  // verdicts are counted by who sends (Counters::Direction). Packets that have a drop verdict
  // already are left alone, here and in Decapsulate.
  void Encapsulate(Batch& batch, Batch& replies);

  // Wire to pod. Each packet of `batch` is one outer packet or datagram (aggregates were split by
  // offload) and becomes a bare inner IP packet or gets a drop verdict. A whole outer packet with
  // kPartial checksum came from this host: it is not verified.
  void Decapsulate(Batch& batch);

  // Of the pods.
  InnerMtu pod_mtu() const;

  // A smaller path MTU towards `destination` was learnt, for every peer there; forgotten after
  // kPathMtuLifetime. Values that the outer family does not have (68 for IPv4, 1280 for IPv6) count
  // as those. The inner limit never falls below LeastPathLimit: what then exceeds the path is sent
  // with may_fragment, so that a forged ICMP error slows pods down and stops none.
  void LearnPathMtu(const PathMtuNotice& notice, Timestamp now);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::dataplane
