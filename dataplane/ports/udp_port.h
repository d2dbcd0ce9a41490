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
  int receive_buffer = 8 << 20;  // octets; the kernel's limit applies without CAP_NET_ADMIN
  int send_buffer = 8 << 20;     // octets, each sending socket
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
// Path MTU: a datagram too big for its route gets kTooBigSilent; what the kernel or an ICMP error
// says about the route comes out of TakePathMtuNotices. Other ICMP errors are counted and disturb
// no later packet.
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
  // wrong checksums are the host's Udp InCsumErrors. "icmp-refused", "icmp-unreachable",
  // "icmp-other": errors that came back. "segmentation-refused": the route's device cannot
  // checksum, so segments were sent one by one. "receive-error", "send-error": other refusals of
  // the kernel. "notice-overflow": path MTU notices nobody took.
  std::vector<NamedCount> Counts() const override;

 private:
  struct Impl;
  explicit UdpPort(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::dataplane
