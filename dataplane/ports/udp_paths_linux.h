// SPDX-License-Identifier: Apache-2.0
// Per-destination state of the sending half: the MTU of the host's routes, whether the kernel can
// segment, and recently sent packets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/file_descriptor_linux.h"
#include "dataplane/icmp_budget.h"
#include "dataplane/packet.h"
#include "dataplane/ports/udp_port.h"
#include "vxlan/bytes.h"
#include "vxlan/ip_address.h"

namespace weft::dataplane {

// Worker's thread. Tables of fixed size, in which a newer destination replaces an older one, whose
// state is then queried or learnt again.
class UdpPaths {
 public:
  struct Path {
    IpAddress destination;
    Timestamp queried{};
    Timestamp segments_again{};   // until then no segmentation is requested from the kernel
    std::uint32_t route_mtu = 0;  // outer bytes; 0: the link's, or not known
    // With a TunnelGso: outer bytes of the largest packet that its device sends there; 0: packets
    // do not leave by that device alone.
    std::uint32_t whole_limit = 0;
    std::uint32_t generation = 0;  // the TunnelGso's when queried
    Timestamp whole_again{};       // until then superframes are cut
    IpAddress source;              // of packets there
  };

  // `destination_port`: of all packets; policies of the host (IPsec) may depend on it.
  explicit UdpPaths(std::uint16_t destination_port);
  absl::Status Open(const UdpOptions& options);

  // Queries the host's routes at first and every kRouteLifetime. Valid until the next call.
  const Path& To(const IpAddress& destination, Timestamp now);
  // The kernel refused a whole superframe to `destination`.
  void RefuseWhole(const IpAddress& destination, Timestamp now);
  // The kernel refused to segment towards `destination`.
  void RefuseSegments(const IpAddress& destination, Timestamp now);

  void NoteSent(int socket, const IpAddress& destination, Timestamp now);
  // The same of a packet that was sent whole: not by the socket, but with its port.
  void NoteSentWhole(int socket, const IpAddress& destination, Timestamp now);
  // Whether the socket itself has sent to `destination` within kTrackedTime. Only then does
  // conntrack know the flow, and regard ICMP errors as related to it; a firewall may drop others.
  bool IsTracked(int socket, const IpAddress& destination, Timestamp now) const;
  // Whether a packet was sent from `socket` to `destination` within kAnswerTime, so that an error
  // that quotes one may be genuine.
  bool WasSentLately(int socket, const IpAddress& destination, Timestamp now) const;

  static constexpr Timestamp kRouteLifetime = std::chrono::seconds(10);
  static constexpr Timestamp kSegmentsLifetime = std::chrono::seconds(10);
  static constexpr Timestamp kAnswerTime = std::chrono::seconds(3);
  // Well under net.netfilter.nf_conntrack_udp_timeout, by default 30 s.
  static constexpr Timestamp kTrackedTime = std::chrono::seconds(5);

 private:
  struct Sent {
    std::uint64_t key = 0;
    Timestamp at{};
    Timestamp by_socket{};
  };
  static constexpr int kTableBits = 12;
  static constexpr std::size_t kTable = std::size_t{1} << kTableBits;

  Path& Place(const IpAddress& destination);
  static std::uint64_t SentKey(int socket, const IpAddress& destination);
  // The MTU of the route to `destination`. 0: not known, or learnt from ICMP, which may be forged:
  // the kernel only checks that the error quotes a socket's port.
  std::uint32_t QueryRoute(const IpAddress& destination);
  bool IsLearnt(const IpAddress& destination);
  // Fills in whole_limit and source. The route socket is connected to the destination.
  void QueryWhole(Path& path);
  // Sends an RTM_GETROUTE for `destination`. Empty: no answer.
  Bytes AskRoute(const IpAddress& destination, std::uint32_t flags, MutableBytes answer);

  const std::uint16_t destination_port_;
  std::shared_ptr<TunnelGso> tunnel_gso_;
  IpAddress bind_address_;
  FileDescriptor socket_;   // UDP: only ever connected, never sent on
  FileDescriptor netlink_;  // rtnetlink(7)
  std::uint32_t sequence_ = 0;
  // A thousand a second, so that more destinations than table entries do not cost a query for each
  // packet.
  IcmpBudget query_budget_;
  std::vector<Path> paths_;
  std::vector<Sent> sent_;
};

}  // namespace weft::dataplane
