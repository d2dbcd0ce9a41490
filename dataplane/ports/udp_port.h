// SPDX-License-Identifier: Apache-2.0
// UDP sockets as a wire port (kWireDatagram): one socket receives on the VXLAN port, a pool of
// sockets sends. The kernel does outer headers, routing, segmentation and checksums.
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

// Maximum number of segments that a UDP socket of this system sends at once; no socket makes a
// superframe with more. Determined on the loopback device.
std::uint32_t MaxUdpSegments();

class TunnelGso;

struct UdpOptions {
  IpFamily family = IpFamily::kV4;
  // Local address of all sockets. Unspecified (of either family): receives on every local address,
  // and the kernel chooses the source by route.
  IpAddress bind_address{};
  bool receive_on_all = false;      // on every local address, and sent from bind_address
  std::uint16_t port = kVxlanPort;  // 0: the kernel chooses, see UdpPort::port
  // False: datagrams over IPv4 are sent with checksum zero, as RFC 7348 section 5 prefers; the
  // kernel then cannot segment. Over IPv6 they always have a checksum: receivers drop zero unless
  // configured otherwise (RFC 8200 section 8.1). Received zero is accepted over both: RFC 7348
  // section 5 requires it, RFC 6935 section 5 allows it for a tunnel's port.
  bool udp_checksum = true;
  // 1..4096. Flows are spread over this many source ports in 49152..65535; a flow keeps its port.
  int sending_sockets = 256;
  int receive_buffer = 8 << 20;  // bytes; the kernel's limit applies without CAP_NET_ADMIN
  int send_buffer = 8 << 20;     // bytes, for each sending socket
  // Where superframes are sent whole while it permits it; null: nowhere. Linux only.
  std::shared_ptr<TunnelGso> tunnel_gso{};
};

// Outer packets leave with DF set and TTL 64. A packet's outer_port selects the sending socket: the
// one whose part of 49152..65535 contains it, the first for a lower port. Runs of packets of one
// flow and size, and kDatagrams aggregates, are sent with one system call (UDP_SEGMENT); aggregates
// are received likewise (UDP_GRO).
//
// With udp_checksum off over IPv4, features().datagram_aggregation is false, so that software does
// not build aggregates that the kernel cannot segment; Send still accepts aggregates and splits
// them, and Receive may deliver them.
//
// Path MTU: a datagram too big for its route gets kTooBigSilent; DrainPathMtuNotices returns the
// MTU of the route or of an ICMP error. An ICMP error is accepted only if a packet was sent to that
// destination and port from the quoted port in the last seconds. Errors are counted and do not
// affect later packets. A packet with may_fragment is sent without DF, over IPv6 in fragments.
//
// If the kernel cannot segment towards a destination, datagrams are sent there singly for a while.
//
// On Windows: single packets only, no ECN, no path MTU notices; see udp_port_win.cc.
class UdpPort final : public PacketPort {
 public:
  // Fails if the family does not match, if the port or too many source ports are taken, or if the
  // process may not open that many sockets.
  static absl::StatusOr<std::unique_ptr<UdpPort>> Open(const UdpOptions& options);
  // One for each of `workers` threads, with one receiving port: the kernel gives a port the flows
  // of a share of the peers' source ports. They divide sending_sockets. More than one: Linux only.
  static absl::StatusOr<std::vector<std::unique_ptr<UdpPort>>> OpenAll(const UdpOptions& options,
                                                                       std::size_t workers);
  ~UdpPort() override;

  // The receiving port, host order.
  std::uint16_t port() const;

  PortKind kind() const override { return PortKind::kWireDatagram; }
  const PortFeatures& features() const override;
  bool Takes(const Packet& packet, Timestamp now) override;
  std::size_t Receive(Batch& batch) override;
  void Send(Batch& batch) override;
  std::size_t DrainPathMtuNotices(std::span<PathMtuNotice> out) override;
  // The receiving socket, and (Linux) a descriptor that is readable after an ICMP error.
  std::span<const WaitHandle> wait_handles() const override;
  // "socket-overflow": datagrams that the kernel dropped at the receiving socket because it was
  // full, or for a wrong checksum, which is also in the host's Udp InCsumErrors. "empty-datagram":
  // received without payload. "icmp-refused", "icmp-unreachable", "icmp-other": received errors;
  // "icmp-unexpected": errors that answer no sent packet. "segmentation-refused": how often a route
  // refused segmentation. "superframe-refused": superframes that the kernel did not take whole.
  // "receive-error", "send-error": other errors of the kernel. "notice-overflow": path MTU notices
  // not drained in time.
  std::vector<NamedCount> Counts() const override;
  // Those that answer a sent packet, about up to 64 destinations. Linux only.
  std::vector<IcmpErrors> Errors() const override;

 private:
  struct Impl;
  explicit UdpPort(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::dataplane
