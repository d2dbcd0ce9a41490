// SPDX-License-Identifier: Apache-2.0
// What the sending half knows of the ways to its destinations: the MTU that the host's own routes
// set, where the kernel cannot segment, and what was sent lately.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/icmp_budget.h"
#include "dataplane/packet.h"
#include "dataplane/ports/file_descriptor_linux.h"
#include "dataplane/ports/udp_port.h"
#include "vxlan/ip_address.h"

namespace weft::dataplane {

// Worker's thread. Tables of fixed size, in which a newer destination takes an older one's place:
// what is forgotten so is asked for, or found out, again.
class UdpPaths {
 public:
  struct Path {
    IpAddress destination;
    Timestamp asked{};
    Timestamp segments_again{};   // until then the kernel is not asked to segment
    std::uint32_t route_mtu = 0;  // outer bytes; 0: the link's own, or not known
  };

  // `destination_port`: that of all packets, for rules of the host (IPsec) may be about it.
  explicit UdpPaths(std::uint16_t destination_port);
  absl::Status Open(const UdpOptions& options);

  // The host's routes are asked at first and every kRouteLifetime. Valid until the next call.
  const Path& To(const IpAddress& destination, Timestamp now);
  // The kernel refused to segment towards `destination`.
  void RefuseSegments(const IpAddress& destination, Timestamp now);

  void NoteSent(int socket, const IpAddress& destination, Timestamp now);
  // Whether an error that quotes a packet from `socket` to `destination` may be the answer to one.
  bool WasSentLately(int socket, const IpAddress& destination, Timestamp now) const;

  static constexpr Timestamp kRouteLifetime = std::chrono::seconds(10);
  static constexpr Timestamp kSegmentsLifetime = std::chrono::seconds(10);
  static constexpr Timestamp kAnswerTime = std::chrono::seconds(3);

 private:
  struct Sent {
    std::uint64_t key = 0;
    Timestamp at{};
  };
  static constexpr int kTableBits = 12;
  static constexpr std::size_t kTable = std::size_t{1} << kTableBits;

  Path& Place(const IpAddress& destination);
  // 0: not known, or learnt from ICMP, which may be forged: the kernel checks no more than that the
  // error quotes a socket's port.
  std::uint32_t AskRoute(const IpAddress& destination);
  bool IsLearnt(const IpAddress& destination);

  const std::uint16_t destination_port_;
  IpAddress bind_address_;
  FileDescriptor socket_;   // UDP: only ever connected, never sent on
  FileDescriptor netlink_;  // rtnetlink(7)
  std::uint32_t sequence_ = 0;
  // A thousand a second: more destinations than the table holds must not cost a question a packet.
  IcmpBudget questions_;
  std::vector<Path> paths_;
  std::vector<Sent> sent_;
};

}  // namespace weft::dataplane
