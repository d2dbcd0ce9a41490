// SPDX-License-Identifier: Apache-2.0
#include "vxlan/inner_frame.h"

namespace weft {

Parsed<InnerPacket> detail::ParseInnerIpv6(Bytes in) {
  const std::byte* const ip = in.data();
  const std::size_t total_length = Ipv6Header::kSize + LoadBe16(ip + 4);
  if (total_length > in.size()) return Malformed::kTruncated;  // also a short fixed header
  InnerPacket packet;
  packet.data = ip;
  packet.total_length = static_cast<std::uint32_t>(total_length);
  packet.header_length = Ipv6Header::kSize;
  packet.family = IpFamily::kV6;
  packet.protocol = static_cast<IpProtocol>(Load8(ip + 6));
  packet.dont_fragment = true;
  packet.ecn = EcnOf(static_cast<std::uint8_t>(LoadBe16(ip) >> 4));
  packet.ttl = Load8(ip + 7);
  if (packet.protocol != IpProtocol::kTcp && packet.protocol != IpProtocol::kUdp) {
    const Parsed<Ipv6Upper> upper = FindIpv6Upper(in.first(total_length));
    if (!upper) return upper.error();
    packet.protocol = upper->protocol;
    packet.header_length = upper->offset;
    packet.fragment = upper->fragment;
  }
  return packet;
}

void SetEcn(std::byte* ip, IpFamily family, Ecn ecn) {
  family == IpFamily::kV4 ? SetIpv4Ecn(ip, ecn) : SetIpv6Ecn(ip, ecn);
}

void DecrementTtl(std::byte* ip, IpFamily family) {
  family == IpFamily::kV4 ? DecrementIpv4Ttl(ip) : DecrementIpv6HopLimit(ip);
}

}  // namespace weft
