// SPDX-License-Identifier: Apache-2.0
// Packets for tests, correct in every field unless set otherwise.
//
//   Bytes inner = PacketBuilder("10.244.1.2", "10.244.2.3").Tcp(40000, 443).Payload(100).Build();
//   Bytes outer = VxlanBuilder(inner).Outer("192.0.2.1", "192.0.2.2").Macs(theirs, ours).Build();
//
// Text arguments that do not parse abort the test program. Setters return *this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tests/support/bytes.h"
#include "vxlan/ecn.h"
#include "vxlan/encapsulation.h"
#include "vxlan/flow_hash.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_protocol.h"
#include "vxlan/mac_address.h"
#include "vxlan/tcp.h"
#include "vxlan/vni.h"

namespace weft {

// Parse or abort.
IpAddress Ip(std::string_view text);
MacAddress Mac(std::string_view text);

// Writes the first TcpHeader::kSize bytes of `out`; options are the caller's.
void EmitTcp(const TcpHeader& header, MutableBytes out);
// 0 for a malformed packet.
[[nodiscard]] FlowHash HashInnerFlow(Bytes inner_ip_packet);
// The spec of the template, read from its stamped bytes; udp_checksum as it is sent.
EncapsulationSpec SpecOf(const EncapsulationTemplate& encapsulation);

// An IP packet. Without a transport call it is UDP from port 1000 to 2000; without Payload, empty.
class PacketBuilder {
 public:
  // The family is the addresses'.
  PacketBuilder(const IpAddress& source, const IpAddress& destination);
  PacketBuilder(std::string_view source, std::string_view destination);

  PacketBuilder& Udp(std::uint16_t source_port, std::uint16_t destination_port);
  // UDP with checksum field 0.
  PacketBuilder& UdpWithoutChecksum(std::uint16_t source_port, std::uint16_t destination_port);
  PacketBuilder& Tcp(std::uint16_t source_port, std::uint16_t destination_port,
                     std::uint16_t flags = TcpHeader::kAck, std::uint32_t sequence = 1,
                     std::uint32_t acknowledgment = 1);
  // Appends 12 bytes of options (two NOPs and a timestamp), as most TCP segments have.
  PacketBuilder& TcpTimestamps();
  // Echo request of the family.
  PacketBuilder& Ping(std::uint16_t identifier, std::uint16_t sequence);
  // ICMP of the family with any type and code.
  PacketBuilder& Icmp(std::uint8_t type, std::uint8_t code, std::uint32_t rest = 0);
  // No transport header: the payload follows the IP header.
  PacketBuilder& Raw(IpProtocol protocol);

  // `size` bytes 0, 1, 2 .. 255, 0 ..; or the given ones.
  PacketBuilder& Payload(std::size_t size);
  PacketBuilder& Payload(ByteVector bytes);
  // Payload so long that the whole IP packet has `bytes`.
  PacketBuilder& TotalLength(std::size_t bytes);

  PacketBuilder& Ttl(std::uint8_t ttl);  // or hop limit; 64
  PacketBuilder& Tos(std::uint8_t dscp, Ecn ecn);
  PacketBuilder& MarkEcn(Ecn ecn);
  PacketBuilder& DontFragment(bool set = true);  // IPv4 only
  PacketBuilder& Identification(std::uint32_t identification);
  PacketBuilder& FlowLabel(std::uint32_t label);  // IPv6 only
  // Multiple of 4 bytes of NOP options (IPv4), at most 40.
  PacketBuilder& Ipv4Options(std::size_t bytes);
  // Multiple of 8 bytes: a destination-options header before the transport header (IPv6).
  PacketBuilder& Ipv6DestinationOptions(std::size_t bytes);

  // One fragment of the packet: `size` bytes of its transport data from `offset` (a multiple of
  // 8); `size` runs to the end when it is larger. More-fragments is set unless it reaches the end.
  PacketBuilder& Fragment(std::size_t offset, std::size_t size);

  PacketBuilder& WrongHeaderChecksum();  // IPv4 only
  PacketBuilder& WrongTransportChecksum();
  // Leaves the pseudo-header's sum in the transport checksum field, as an offloading sender does.
  PacketBuilder& PartialTransportChecksum();

  // The IP packet.
  ByteVector Build() const;
  // An Ethernet frame around it; `vlan` adds an 802.1Q tag with that identifier.
  ByteVector BuildFrame(const MacAddress& source, const MacAddress& destination,
                        std::optional<std::uint16_t> vlan = std::nullopt) const;

 private:
  enum class Transport : std::uint8_t { kUdp, kTcp, kIcmp, kRaw };
  enum class ChecksumField : std::uint8_t { kRight, kWrong, kNone, kPartial };

  std::size_t TransportHeaderLength() const;
  IpProtocol Protocol() const;
  ByteVector BuildTransport() const;
  ByteVector BuildV4(const ByteVector& transport) const;
  ByteVector BuildV6(const ByteVector& transport) const;

  IpAddress source_;
  IpAddress destination_;
  Transport transport_ = Transport::kUdp;
  ChecksumField checksum_ = ChecksumField::kRight;
  bool wrong_header_checksum_ = false;
  bool tcp_timestamps_ = false;
  TcpHeader tcp_;  // its ports serve UDP too
  std::uint8_t icmp_type_ = 0;
  std::uint8_t icmp_code_ = 0;
  std::uint32_t icmp_rest_ = 0;
  IpProtocol raw_protocol_ = IpProtocol::kUdp;
  ByteVector payload_;
  std::optional<std::size_t> total_length_;
  std::uint8_t ttl_ = 64;
  std::uint8_t dscp_ = 0;
  Ecn ecn_ = Ecn::kNotEct;
  bool dont_fragment_ = false;
  std::uint32_t identification_ = 0;
  std::uint32_t flow_label_ = 0;
  std::size_t ipv4_options_ = 0;
  std::size_t ipv6_options_ = 0;
  struct Piece {
    std::size_t offset;
    std::size_t size;
  };
  std::optional<Piece> fragment_;
};

// Between pods of two Nodes.
inline PacketBuilder PodsV4() { return {"10.244.1.2", "10.244.2.3"}; }
inline PacketBuilder PodsV6() { return {"2001:db8::1", "2001:db8::2"}; }

// A whole outer packet around an inner IP packet. By default from 192.0.2.1 port 50000 to 192.0.2.2
// port 4789, VNI 4096, inner MACs 02:00:00:00:00:01 -> 02:00:00:00:00:02, TTL 64, DF, no UDP
// checksum.
class VxlanBuilder {
 public:
  explicit VxlanBuilder(ByteVector inner_ip_packet);
  // An inner frame with its Ethernet header, taken as it is.
  static VxlanBuilder AroundFrame(ByteVector inner_frame);

  VxlanBuilder& Outer(std::string_view source, std::string_view destination);
  VxlanBuilder& Outer(const IpAddress& source, const IpAddress& destination);
  VxlanBuilder& Ports(std::uint16_t source, std::uint16_t destination = kVxlanPort);
  VxlanBuilder& Network(std::uint32_t vni);  // 24 bits
  VxlanBuilder& Macs(const MacAddress& source, const MacAddress& destination);
  VxlanBuilder& InnerEtherType(std::uint16_t type);
  // The first byte of the VXLAN header; 0x08 has the I flag alone.
  VxlanBuilder& Flags(std::uint8_t flags);
  // All reserved bits of the VXLAN header set.
  VxlanBuilder& ReservedBitsSet();
  VxlanBuilder& MarkEcn(Ecn ecn);
  VxlanBuilder& Ttl(std::uint8_t ttl);
  VxlanBuilder& DontFragment(bool set);
  VxlanBuilder& UdpChecksum();
  VxlanBuilder& WrongUdpChecksum();
  VxlanBuilder& WrongHeaderChecksum();
  // One fragment of the outer packet, as PacketBuilder's.
  VxlanBuilder& Fragment(std::size_t offset, std::size_t size);

  // From the VXLAN header on: what a datagram port receives.
  ByteVector BuildPayload() const;
  // From the outer IP header on.
  ByteVector Build() const;
  // With an outer Ethernet header.
  ByteVector BuildFrame(const MacAddress& source, const MacAddress& destination) const;

 private:
  VxlanBuilder() = default;
  PacketBuilder OuterBuilder() const;

  ByteVector inner_;  // IP packet, or a frame
  bool inner_is_frame_ = false;
  IpAddress source_ = IpAddress::V4(0xc000'0201);
  IpAddress destination_ = IpAddress::V4(0xc000'0202);
  std::uint16_t source_port_ = 50000;
  std::uint16_t destination_port_ = kVxlanPort;
  std::uint32_t vni_ = kFlannelWindowsVni.value();
  MacAddress inner_source_ = Mac("02:00:00:00:00:01");
  MacAddress inner_destination_ = Mac("02:00:00:00:00:02");
  std::optional<std::uint16_t> ether_type_;
  std::uint8_t flags_ = 0x08;
  bool reserved_bits_ = false;
  Ecn ecn_ = Ecn::kNotEct;
  std::uint8_t ttl_ = 64;
  bool dont_fragment_ = true;
  enum class Checksum : std::uint8_t { kNone, kRight, kWrong } checksum_ = Checksum::kNone;
  bool wrong_header_checksum_ = false;
  std::optional<std::size_t> fragment_offset_;
  std::size_t fragment_size_ = 0;
};

}  // namespace weft
