// SPDX-License-Identifier: Apache-2.0
// UDP sockets as a wire port (kWireDatagram): one socket receives on the VXLAN port, a pool of
// sockets sends, so that the kernel does outer headers, routing, segmentation and checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/packet_port.h"
#include "vxlan/ip_address.h"
#include "vxlan/vni.h"

namespace weft::dataplane {

// Most segments that a UDP socket of this system sends at once: a pod's superframe that has more
// was made by no socket. Asks the kernel, on the loopback device.
std::uint32_t MaxUdpSegments();

struct UdpOptions {
  IpFamily family = IpFamily::kV4;
  // Received on and sent from. Unspecified (of either family): every local address, and the kernel
  // chooses the source by route.
  IpAddress bind_address{};
  std::uint16_t port = kVxlanPort;  // 0: the kernel chooses, see UdpPort::port
  // False: datagrams over IPv4 are sent with checksum zero, as RFC 7348 section 5 prefers. The
  // kernel then cannot segment. Over IPv6 they always have one, for receivers drop zero unless
  // configured otherwise (RFC 8200 section 8.1). Received zero is accepted over both: RFC 7348
  // section 5 demands it, RFC 6935 section 5 allows it for a tunnel's port.
  bool udp_checksum = true;
  // 1..4096. Flows are spread over so many source ports in 49152..65535; a flow keeps its port.
  int sending_sockets = 256;
  int receive_buffer = 8 << 20;  // bytes; the kernel's limit applies without CAP_NET_ADMIN
  int send_buffer = 8 << 20;     // bytes, each sending socket
};

// Outer packets leave with DF set and TTL 64. A packet's outer_port chooses the sending socket:
// the one whose part of 49152..65535 it lies in, the first for a lower one. Runs of packets of one
// flow and size, and kDatagrams aggregates, leave with one system call (UDP_SEGMENT); aggregates
// are received likewise (UDP_GRO).
//
// With udp_checksum off over IPv4, features().datagram_aggregation is false, since software should
// not build what the kernel will not take; Send takes aggregates even so and splits them, and
// Receive may deliver them.
//
// Path MTU: a datagram too big for its route gets kTooBigSilent; what the route or an ICMP error
// says comes out of TakePathMtuNotices. An ICMP error counts only while it may be the answer to a
// packet: one that was sent to that destination and port from the quoted port in the last seconds.
// Errors are counted and disturb no later packet. A packet with may_fragment leaves without DF,
// over IPv6 in fragments.
//
// Where the kernel cannot segment towards a destination, single datagrams go there for a while.
//
// On Windows: single packets only, no ECN, no path MTU notices; see udp_port_win.cc.
class UdpPort final : public PacketPort {
 public:
  // Refuses a family mismatch. Fails when the port or too many source ports are taken, or when the
  // process may not open so many sockets.
  static absl::StatusOr<std::unique_ptr<UdpPort>> Open(const UdpOptions& options);
  ~UdpPort() override;

  // The port received on, host order.
  std::uint16_t port() const;

  PortKind kind() const override { return PortKind::kWireDatagram; }
  const PortFeatures& features() const override;
  std::size_t Receive(Batch& batch) override;
  void Send(Batch& batch) override;
  std::size_t TakePathMtuNotices(std::span<PathMtuNotice> out) override;
  // The receiving socket, and (Linux) what becomes readable when an ICMP error has come in.
  std::span<const WaitHandle> wait_handles() const override;
  // "socket-overflow": datagrams the kernel dropped at the receiving socket, for want of room;
  // wrong checksums are the host's Udp InCsumErrors. "empty-datagram": received, and nothing in it.
  // "icmp-refused", "icmp-unreachable", "icmp-other": errors that came back; "icmp-unexpected":
  // such as answer nothing that was sent. "segmentation-refused": how often a route turned out to
  // take no segments. "receive-error", "send-error": other refusals of the kernel.
  // "notice-overflow": path MTU notices not drained in time.
  std::vector<NamedCount> Counts() const override;

 private:
  struct Impl;
  explicit UdpPort(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::dataplane
