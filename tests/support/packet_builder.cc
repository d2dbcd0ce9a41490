// SPDX-License-Identifier: Apache-2.0
#include "tests/support/packet_builder.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "vxlan/checksum.h"
#include "vxlan/ethernet.h"
#include "vxlan/icmp.h"
#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/udp.h"
#include "vxlan/vxlan_header.h"

namespace weft {
namespace {

template <typename T>
T ParseOrAbort(std::string_view text) {
  const auto value = T::Parse(text);
  if (!value) {
    std::fprintf(stderr, "test data: \"%.*s\" does not parse\n", static_cast<int>(text.size()),
                 text.data());
    std::abort();
  }
  return *value;
}

void FlipBit(ByteVector& bytes, std::size_t at) { bytes[at] ^= std::byte{0x01}; }

ByteVector InEthernet(const MacAddress& source, const MacAddress& destination, std::uint16_t type,
                      std::optional<std::uint16_t> vlan, const ByteVector& payload) {
  ByteVector frame(EthernetHeader::kSize);
  const auto outer_type = vlan ? EtherType::kVlan : static_cast<EtherType>(type);
  EthernetHeader{destination, source, outer_type}.Emit(
      MutableBytes(frame).first<EthernetHeader::kSize>());
  if (vlan) {
    frame.resize(EthernetHeader::kSize + VlanTag::kSize);
    StoreBe16(frame.data() + 14, *vlan);
    StoreBe16(frame.data() + 16, type);
  }
  return Concatenate(frame, payload);
}

std::uint16_t TypeOf(const ByteVector& ip_packet) {
  const bool v6 = !ip_packet.empty() && Load8(ip_packet.data()) >> 4 == 6;
  return static_cast<std::uint16_t>(v6 ? EtherType::kIpv6 : EtherType::kIpv4);
}

}  // namespace

void EmitTcp(const TcpHeader& header, MutableBytes out) {
  std::byte* const at = out.data();
  StoreBe16(at, header.source_port);
  StoreBe16(at + 2, header.destination_port);
  StoreBe32(at + 4, header.sequence);
  StoreBe32(at + 8, header.acknowledgment);
  StoreBe16(at + 12,
            static_cast<std::uint16_t>(header.header_length / 4 << 12 | (header.flags & 0xfff)));
  StoreBe16(at + 14, header.window);
  StoreBe16(at + 16, header.checksum);
  StoreBe16(at + 18, header.urgent);
}

FlowHash HashInnerFlow(Bytes inner_ip_packet) {
  const Parsed<InnerPacket> packet = ParseInnerIp(inner_ip_packet);
  return packet ? HashInnerFlow(*packet) : FlowHash{};
}

EncapsulationSpec SpecOf(const EncapsulationTemplate& encapsulation) {
  EncapsulationSpec spec;
  if (encapsulation.size() == 0) return spec;
  std::array<std::byte, EncapsulationTemplate::kMaxSize> stamped{};
  encapsulation.Stamp(stamped.data(), 0, EtherType::kIpv4, 0, Ecn::kNotEct);
  const IpFamily family = encapsulation.outer_family();
  const bool v4 = family == IpFamily::kV4;
  const std::byte* const ip = stamped.data();
  const std::byte* const udp = ip + (v4 ? kIpv4HeaderSize : kIpv6HeaderSize);
  const std::byte* const vxlan = udp + kUdpHeaderSize;
  const std::byte* const ethernet = vxlan + kVxlanHeaderSize;
  spec.outer_source = IpAddress::FromBytes(family, ip + (v4 ? 12 : 8));
  spec.outer_destination = IpAddress::FromBytes(family, ip + (v4 ? 16 : 24));
  spec.destination_port = LoadBe16(udp + 2);
  spec.vni = *Vni::From(LoadBe32(vxlan + 4) >> 8);
  spec.inner_destination = MacAddress::FromBytes(ethernet);
  spec.inner_source = MacAddress::FromBytes(ethernet + MacAddress::kSize);
  spec.ttl = Load8(ip + (v4 ? 8 : 7));
  spec.udp_checksum = encapsulation.wants_udp_checksum();
  return spec;
}

IpAddress Ip(std::string_view text) { return ParseOrAbort<IpAddress>(text); }
MacAddress Mac(std::string_view text) { return ParseOrAbort<MacAddress>(text); }

PacketBuilder::PacketBuilder(const IpAddress& source, const IpAddress& destination)
    : source_(source), destination_(destination) {
  tcp_.source_port = 1000;
  tcp_.destination_port = 2000;
  tcp_.window = 1024;
}

PacketBuilder::PacketBuilder(std::string_view source, std::string_view destination)
    : PacketBuilder(Ip(source), Ip(destination)) {}

PacketBuilder& PacketBuilder::Udp(std::uint16_t source_port, std::uint16_t destination_port) {
  transport_ = Transport::kUdp;
  tcp_.source_port = source_port;
  tcp_.destination_port = destination_port;
  return *this;
}

PacketBuilder& PacketBuilder::UdpWithoutChecksum(std::uint16_t source_port,
                                                 std::uint16_t destination_port) {
  checksum_ = ChecksumField::kNone;
  return Udp(source_port, destination_port);
}

PacketBuilder& PacketBuilder::Tcp(std::uint16_t source_port, std::uint16_t destination_port,
                                  std::uint16_t flags, std::uint32_t sequence,
                                  std::uint32_t acknowledgment) {
  transport_ = Transport::kTcp;
  tcp_.source_port = source_port;
  tcp_.destination_port = destination_port;
  tcp_.flags = flags;
  tcp_.sequence = sequence;
  tcp_.acknowledgment = acknowledgment;
  return *this;
}

PacketBuilder& PacketBuilder::TcpTimestamps() {
  tcp_timestamps_ = true;
  tcp_.header_length = TcpHeader::kSize + 12;
  return *this;
}

PacketBuilder& PacketBuilder::Ping(std::uint16_t identifier, std::uint16_t sequence) {
  return Icmp(source_.is_v4() ? icmp_v4::kEchoRequest : icmp_v6::kEchoRequest, 0,
              std::uint32_t{identifier} << 16 | sequence);
}

PacketBuilder& PacketBuilder::Icmp(std::uint8_t type, std::uint8_t code, std::uint32_t rest) {
  transport_ = Transport::kIcmp;
  icmp_type_ = type;
  icmp_code_ = code;
  icmp_rest_ = rest;
  return *this;
}

PacketBuilder& PacketBuilder::Raw(IpProtocol protocol) {
  transport_ = Transport::kRaw;
  raw_protocol_ = protocol;
  return *this;
}

PacketBuilder& PacketBuilder::Payload(std::size_t size) {
  payload_.resize(size);
  for (std::size_t i = 0; i < size; ++i) payload_[i] = static_cast<std::byte>(i & 0xff);
  total_length_.reset();
  return *this;
}

PacketBuilder& PacketBuilder::Payload(ByteVector bytes) {
  payload_ = std::move(bytes);
  total_length_.reset();
  return *this;
}

PacketBuilder& PacketBuilder::TotalLength(std::size_t bytes) {
  total_length_ = bytes;
  return *this;
}

PacketBuilder& PacketBuilder::Ttl(std::uint8_t ttl) {
  ttl_ = ttl;
  return *this;
}

PacketBuilder& PacketBuilder::Tos(std::uint8_t dscp, Ecn ecn) {
  dscp_ = dscp;
  ecn_ = ecn;
  return *this;
}

PacketBuilder& PacketBuilder::MarkEcn(Ecn ecn) {
  ecn_ = ecn;
  return *this;
}

PacketBuilder& PacketBuilder::DontFragment(bool set) {
  dont_fragment_ = set;
  return *this;
}

PacketBuilder& PacketBuilder::Identification(std::uint32_t identification) {
  identification_ = identification;
  return *this;
}

PacketBuilder& PacketBuilder::FlowLabel(std::uint32_t label) {
  flow_label_ = label;
  return *this;
}

PacketBuilder& PacketBuilder::Ipv4Options(std::size_t bytes) {
  ipv4_options_ = bytes;
  return *this;
}

PacketBuilder& PacketBuilder::Ipv6DestinationOptions(std::size_t bytes) {
  ipv6_options_ = bytes;
  return *this;
}

PacketBuilder& PacketBuilder::Fragment(std::size_t offset, std::size_t size) {
  fragment_ = Piece{offset, size};
  return *this;
}

PacketBuilder& PacketBuilder::WrongHeaderChecksum() {
  wrong_header_checksum_ = true;
  return *this;
}

PacketBuilder& PacketBuilder::WrongTransportChecksum() {
  checksum_ = ChecksumField::kWrong;
  return *this;
}

PacketBuilder& PacketBuilder::PartialTransportChecksum() {
  checksum_ = ChecksumField::kPartial;
  return *this;
}

std::size_t PacketBuilder::TransportHeaderLength() const {
  switch (transport_) {
    case Transport::kUdp:
      return UdpHeader::kSize;
    case Transport::kTcp:
      return tcp_.header_length;
    case Transport::kIcmp:
      return IcmpHeader::kSize;
    case Transport::kRaw:
      break;
  }
  return 0;
}

IpProtocol PacketBuilder::Protocol() const {
  switch (transport_) {
    case Transport::kUdp:
      return IpProtocol::kUdp;
    case Transport::kTcp:
      return IpProtocol::kTcp;
    case Transport::kIcmp:
      return source_.is_v4() ? IpProtocol::kIcmp : IpProtocol::kIcmpV6;
    case Transport::kRaw:
      break;
  }
  return raw_protocol_;
}

ByteVector PacketBuilder::BuildTransport() const {
  PacketBuilder sized = *this;
  if (total_length_) {
    const std::size_t ip =
        source_.is_v4() ? Ipv4Header::kSize + ipv4_options_ : Ipv6Header::kSize + ipv6_options_;
    sized.Payload(*total_length_ - ip - TransportHeaderLength());
  }
  const ByteVector& payload = sized.payload_;
  ByteVector transport(TransportHeaderLength());
  const MutableBytes out(transport);
  std::size_t checksum_at = 0;
  switch (transport_) {
    case Transport::kUdp: {
      const auto length = static_cast<std::uint16_t>(UdpHeader::kSize + payload.size());
      UdpHeader{tcp_.source_port, tcp_.destination_port, length, 0}.Emit(
          out.first<UdpHeader::kSize>());
      checksum_at = 6;
      break;
    }
    case Transport::kTcp:
      if (tcp_timestamps_) {
        std::ranges::copy(Hex("01 01 08 0a 00000001 00000002"), transport.begin() + 20);
      }
      EmitTcp(tcp_, out);
      checksum_at = 16;
      break;
    case Transport::kIcmp:
      IcmpHeader{icmp_type_, icmp_code_, 0, icmp_rest_}.Emit(out.first<IcmpHeader::kSize>());
      checksum_at = 2;
      break;
    case Transport::kRaw:
      return payload;
  }
  transport = Concatenate(transport, payload);
  PartialSum pseudo_header;
  if (Protocol() != IpProtocol::kIcmp) {
    pseudo_header = PseudoHeader(source_, destination_, Protocol(),
                                 static_cast<std::uint32_t>(transport.size()));
  }
  std::uint16_t field = (pseudo_header + Sum(transport)).Checksum();
  if (transport_ == Transport::kUdp) field = NonZeroUdpChecksum(field);
  if (checksum_ == ChecksumField::kNone) field = 0;
  if (checksum_ == ChecksumField::kPartial) field = pseudo_header.Fold();
  StoreBe16(transport.data() + checksum_at, field);
  if (checksum_ == ChecksumField::kWrong) FlipBit(transport, checksum_at);
  return transport;
}

ByteVector PacketBuilder::BuildV4(const ByteVector& transport) const {
  const std::size_t offset = fragment_ ? std::min(fragment_->offset, transport.size()) : 0;
  const std::size_t rest = transport.size() - offset;
  const std::size_t size = fragment_ ? std::min(fragment_->size, rest) : rest;
  Ipv4Header ip;
  ip.dscp = dscp_;
  ip.ecn = ecn_;
  ip.header_length = static_cast<std::uint16_t>(Ipv4Header::kSize + ipv4_options_);
  ip.total_length = static_cast<std::uint16_t>(ip.header_length + size);
  ip.identification = static_cast<std::uint16_t>(identification_);
  ip.dont_fragment = dont_fragment_;
  ip.more_fragments = size < rest;
  ip.fragment_offset = static_cast<std::uint16_t>(offset);
  ip.ttl = ttl_;
  ip.protocol = Protocol();
  ip.source = source_.v4();
  ip.destination = destination_.v4();
  constexpr std::byte kNop{1};
  ByteVector packet(ip.header_length, kNop);
  ip.Emit(packet);
  if (wrong_header_checksum_) FlipBit(packet, 10);
  const auto from = transport.begin() + static_cast<std::ptrdiff_t>(offset);
  packet.insert(packet.end(), from, from + static_cast<std::ptrdiff_t>(size));
  return packet;
}

ByteVector PacketBuilder::BuildV6(const ByteVector& transport) const {
  const std::size_t offset = fragment_ ? std::min(fragment_->offset, transport.size()) : 0;
  const std::size_t rest = transport.size() - offset;
  const std::size_t size = fragment_ ? std::min(fragment_->size, rest) : rest;
  // Built from the end: each header names the next one.
  ByteVector behind(transport.begin() + static_cast<std::ptrdiff_t>(offset),
                    transport.begin() + static_cast<std::ptrdiff_t>(offset + size));
  IpProtocol next = Protocol();
  if (ipv6_options_ != 0) {
    ByteVector options(ipv6_options_);  // the rest is Pad1
    Store8(options.data(), static_cast<std::uint8_t>(next));
    Store8(options.data() + 1, static_cast<std::uint8_t>(ipv6_options_ / 8 - 1));
    behind = Concatenate(options, behind);
    next = IpProtocol::kDestinationOptions;
  }
  if (fragment_) {
    ByteVector header(8);
    Store8(header.data(), static_cast<std::uint8_t>(next));
    StoreBe16(header.data() + 2, static_cast<std::uint16_t>(offset | (size < rest ? 1 : 0)));
    StoreBe32(header.data() + 4, identification_);
    behind = Concatenate(header, behind);
    next = IpProtocol::kFragment;
  }
  Ipv6Header ip;
  ip.dscp = dscp_;
  ip.ecn = ecn_;
  ip.flow_label = flow_label_;
  ip.payload_length = static_cast<std::uint16_t>(behind.size());
  ip.next_header = next;
  ip.hop_limit = ttl_;
  ip.source = source_;
  ip.destination = destination_;
  ByteVector packet(Ipv6Header::kSize);
  ip.Emit(MutableBytes(packet).first<Ipv6Header::kSize>());
  return Concatenate(packet, behind);
}

ByteVector PacketBuilder::Build() const {
  const ByteVector transport = BuildTransport();
  return source_.is_v4() ? BuildV4(transport) : BuildV6(transport);
}

ByteVector PacketBuilder::BuildFrame(const MacAddress& source, const MacAddress& destination,
                                     std::optional<std::uint16_t> vlan) const {
  const ByteVector packet = Build();
  return InEthernet(source, destination, TypeOf(packet), vlan, packet);
}

VxlanBuilder::VxlanBuilder(ByteVector inner_ip_packet) : inner_(std::move(inner_ip_packet)) {}

VxlanBuilder VxlanBuilder::AroundFrame(ByteVector inner_frame) {
  VxlanBuilder builder;
  builder.inner_ = std::move(inner_frame);
  builder.inner_is_frame_ = true;
  return builder;
}

VxlanBuilder& VxlanBuilder::Outer(std::string_view source, std::string_view destination) {
  return Outer(Ip(source), Ip(destination));
}

VxlanBuilder& VxlanBuilder::Outer(const IpAddress& source, const IpAddress& destination) {
  source_ = source;
  destination_ = destination;
  return *this;
}

VxlanBuilder& VxlanBuilder::Ports(std::uint16_t source, std::uint16_t destination) {
  source_port_ = source;
  destination_port_ = destination;
  return *this;
}

VxlanBuilder& VxlanBuilder::Network(std::uint32_t vni) {
  vni_ = vni;
  return *this;
}

VxlanBuilder& VxlanBuilder::Macs(const MacAddress& source, const MacAddress& destination) {
  inner_source_ = source;
  inner_destination_ = destination;
  return *this;
}

VxlanBuilder& VxlanBuilder::InnerEtherType(std::uint16_t type) {
  ether_type_ = type;
  return *this;
}

VxlanBuilder& VxlanBuilder::Flags(std::uint8_t flags) {
  flags_ = flags;
  return *this;
}

VxlanBuilder& VxlanBuilder::ReservedBitsSet() {
  reserved_bits_ = true;
  return *this;
}

VxlanBuilder& VxlanBuilder::MarkEcn(Ecn ecn) {
  ecn_ = ecn;
  return *this;
}

VxlanBuilder& VxlanBuilder::Ttl(std::uint8_t ttl) {
  ttl_ = ttl;
  return *this;
}

VxlanBuilder& VxlanBuilder::DontFragment(bool set) {
  dont_fragment_ = set;
  return *this;
}

VxlanBuilder& VxlanBuilder::UdpChecksum() {
  checksum_ = Checksum::kRight;
  return *this;
}

VxlanBuilder& VxlanBuilder::WrongUdpChecksum() {
  checksum_ = Checksum::kWrong;
  return *this;
}

VxlanBuilder& VxlanBuilder::WrongHeaderChecksum() {
  wrong_header_checksum_ = true;
  return *this;
}

VxlanBuilder& VxlanBuilder::Fragment(std::size_t offset, std::size_t size) {
  fragment_offset_ = offset;
  fragment_size_ = size;
  return *this;
}

ByteVector VxlanBuilder::BuildPayload() const {
  ByteVector header(VxlanHeader::kSize);
  Store8(header.data(), static_cast<std::uint8_t>(flags_ | (reserved_bits_ ? 0xf7 : 0)));
  StoreBe32(header.data() + 4, vni_ << 8);
  if (reserved_bits_) {
    std::fill_n(header.begin() + 1, 3, std::byte{0xff});
    header[7] = std::byte{0xff};
  }
  if (inner_is_frame_) return Concatenate(header, inner_);
  return Concatenate(
      header, InEthernet(inner_source_, inner_destination_, ether_type_.value_or(TypeOf(inner_)),
                         std::nullopt, inner_));
}

PacketBuilder VxlanBuilder::OuterBuilder() const {
  PacketBuilder outer(source_, destination_);
  outer.Payload(BuildPayload()).Ttl(ttl_).MarkEcn(ecn_).DontFragment(dont_fragment_);
  if (checksum_ == Checksum::kNone) {
    outer.UdpWithoutChecksum(source_port_, destination_port_);
  } else {
    outer.Udp(source_port_, destination_port_);
  }
  if (checksum_ == Checksum::kWrong) outer.WrongTransportChecksum();
  if (wrong_header_checksum_) outer.WrongHeaderChecksum();
  if (fragment_offset_) outer.Fragment(*fragment_offset_, fragment_size_);
  return outer;
}

ByteVector VxlanBuilder::Build() const { return OuterBuilder().Build(); }

ByteVector VxlanBuilder::BuildFrame(const MacAddress& source, const MacAddress& destination) const {
  return OuterBuilder().BuildFrame(source, destination);
}

}  // namespace weft
