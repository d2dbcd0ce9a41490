// SPDX-License-Identifier: Apache-2.0
// The forwarder's only parse of an inner packet. The usual cases are inline; extension headers are
// not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vxlan/bytes.h"
#include "vxlan/ecn.h"
#include "vxlan/ethernet.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_protocol.h"
#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/mac_address.h"
#include "vxlan/malformed.h"

namespace weft {

// View of a checked IP packet; valid as long as its buffer is unchanged.
struct InnerPacket {
  const std::byte* data = nullptr;  // the IP header
  std::uint32_t total_length = 0;   // bytes of the whole IP packet; the buffer may be longer
  std::uint32_t header_length = 0;  // bytes before the transport header, with options, extensions
  IpFamily family = IpFamily::kV4;
  IpProtocol protocol{};  // of the transport header
  FragmentKind fragment = FragmentKind::kWhole;
  bool dont_fragment = false;  // IPv4's DF; always true for IPv6
  Ecn ecn = Ecn::kNotEct;
  std::uint8_t ttl = 0;  // or hop limit

  bool is_v4() const { return family == IpFamily::kV4; }
  Bytes bytes() const { return {data, total_length}; }
  Bytes transport() const { return {data + header_length, total_length - header_length}; }
  EtherType ether_type() const { return is_v4() ? EtherType::kIpv4 : EtherType::kIpv6; }

  // Host order; the packet is IPv4.
  std::uint32_t source_v4() const { return LoadBe32(data + 12); }
  std::uint32_t destination_v4() const { return LoadBe32(data + 16); }
  // 4 or 16 bytes in network order.
  const std::byte* source_bytes() const { return data + (is_v4() ? 12 : 8); }
  const std::byte* destination_bytes() const { return data + (is_v4() ? 16 : 24); }
  // Builds the wide value: not for the packet path.
  IpAddress source() const { return IpAddress::FromBytes(family, source_bytes()); }
  IpAddress destination() const { return IpAddress::FromBytes(family, destination_bytes()); }
};

namespace detail {
// `in` starts with version 6 in its high nibble and is at least as long as an IPv4 header.
Parsed<InnerPacket> ParseInnerIpv6(Bytes in);
}  // namespace detail

// `in` starts at the IP header and may have padding after the packet. Refuses what
// Ipv4Header::Parse and Ipv6Header::Parse refuse, and extension headers beyond the packet's end.
// Does not verify header checksums: the receiver does, with Ipv4ChecksumIsRight.
inline Parsed<InnerPacket> ParseInnerIp(Bytes in) {
  if (in.size() < Ipv4Header::kSize) return Malformed::kTruncated;
  const std::byte* const ip = in.data();
  const std::uint64_t first = LoadBe64(ip);  // version, IHL, TOS, total length, id, fragment
  if (first >> 60 != 4) {
    if (first >> 60 != 6) return Malformed::kBadVersion;
    return detail::ParseInnerIpv6(in);
  }
  const auto header_length = static_cast<std::uint32_t>(first >> 56 & 0xf) * 4;
  const auto total_length = static_cast<std::uint32_t>(first >> 32 & 0xffff);
  if (header_length < Ipv4Header::kSize) return Malformed::kBadHeaderLength;
  if (total_length < header_length) return Malformed::kBadTotalLength;
  if (total_length > in.size()) return Malformed::kTruncated;
  InnerPacket packet;
  packet.data = ip;
  packet.total_length = total_length;
  packet.header_length = header_length;
  packet.family = IpFamily::kV4;
  packet.protocol = static_cast<IpProtocol>(Load8(ip + 9));
  packet.fragment = (first & 0x1fff) != 0   ? FragmentKind::kLater
                    : (first & 0x2000) != 0 ? FragmentKind::kFirst
                                            : FragmentKind::kWhole;
  packet.dont_fragment = (first & 0x4000) != 0;
  packet.ecn = EcnOf(static_cast<std::uint8_t>(first >> 48));
  packet.ttl = Load8(ip + 8);
  return packet;
}

// The frame after the VXLAN header: an Ethernet header whose payload is IP.
struct InnerFrame {
  static constexpr std::size_t kIpOffset = EthernetHeader::kSize;  // bytes

  MacAddress destination;
  MacAddress source;
  IpFamily family = IpFamily::kV4;
};

// Refuses frames without room for the header, with a VLAN tag (RFC 7348 section 6.1), or whose
// EtherType is not IP. Does not check the IP packet (see ParseInnerIp).
inline Parsed<InnerFrame> ParseInnerEthernet(Bytes in) {
  if (in.size() < EthernetHeader::kSize) return Malformed::kTruncated;
  const auto type = static_cast<EtherType>(LoadBe16(in.data() + 12));
  if (type != EtherType::kIpv4 && type != EtherType::kIpv6)
    return IsVlanTag(type) ? Malformed::kVlanTagged : Malformed::kNotIp;
  return InnerFrame{MacAddress::FromBytes(in.data()), MacAddress::FromBytes(in.data() + 6),
                    type == EtherType::kIpv4 ? IpFamily::kV4 : IpFamily::kV6};
}

// ParseInnerEthernet and ParseInnerIp; also refuses an EtherType that contradicts the IP version.
// `in` starts at the Ethernet header.
inline Parsed<InnerPacket> ParseInnerFrame(Bytes in) {
  const Parsed<InnerFrame> frame = ParseInnerEthernet(in);
  if (!frame) return frame.error();
  Parsed<InnerPacket> packet = ParseInnerIp(in.subspan(InnerFrame::kIpOffset));
  if (packet && packet->family != frame->family) return Malformed::kEtherTypeMismatch;
  return packet;
}

// Rewrites the ECN field of the valid packet at `ip`, and its IPv4 checksum.
void SetEcn(std::byte* ip, IpFamily family, Ecn ecn);
// Decrements the TTL or hop limit, which must not be 0.
void DecrementTtl(std::byte* ip, IpFamily family);

}  // namespace weft
