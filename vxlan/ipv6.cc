// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ipv6.h"

#include <algorithm>

namespace weft {

Parsed<Ipv6Header> Ipv6Header::Parse(Bytes in) {
  if (in.empty()) return Malformed::kTruncated;
  if (Load8(in.data()) >> 4 != 6) return Malformed::kBadVersion;
  if (in.size() < kSize) return Malformed::kTruncated;
  const std::byte* const at = in.data();
  const std::uint32_t first = LoadBe32(at);
  Ipv6Header header;
  header.dscp = static_cast<std::uint8_t>(first >> 22 & 0x3f);
  header.ecn = EcnOf(static_cast<std::uint8_t>(first >> 20));
  header.flow_label = first & 0xf'ffff;
  header.payload_length = LoadBe16(at + 4);
  if (header.payload_length > in.size() - kSize) return Malformed::kTruncated;
  header.next_header = static_cast<IpProtocol>(Load8(at + 6));
  header.hop_limit = Load8(at + 7);
  header.source = IpAddress::FromBytes(IpFamily::kV6, at + 8);
  header.destination = IpAddress::FromBytes(IpFamily::kV6, at + 24);
  return header;
}

void Ipv6Header::Emit(std::span<std::byte, kSize> out) const {
  std::byte* const at = out.data();
  StoreBe32(at, 6u << 28 | std::uint32_t{dscp} << 22 | static_cast<std::uint32_t>(ecn) << 20 |
                    (flow_label & 0xf'ffff));
  StoreBe16(at + 4, payload_length);
  Store8(at + 6, static_cast<std::uint8_t>(next_header));
  Store8(at + 7, hop_limit);
  std::ranges::copy(source.bytes(), at + 8);
  std::ranges::copy(destination.bytes(), at + 24);
}

Parsed<Ipv6Upper> FindIpv6Upper(Bytes packet) {
  constexpr std::size_t kFragmentHeaderSize = 8;
  auto next = static_cast<IpProtocol>(Load8(packet.data() + 6));
  std::size_t offset = Ipv6Header::kSize;
  auto fragment = FragmentKind::kWhole;
  for (int seen = 0;; ++seen) {
    std::size_t length_unit = 8;  // bytes for each unit of the length field
    std::size_t length_base = 8;  // bytes at length field 0
    switch (next) {
      case IpProtocol::kHopByHop:
      case IpProtocol::kRouting:
      case IpProtocol::kDestinationOptions:
      case IpProtocol::kMobility:
      case IpProtocol::kHip:
      case IpProtocol::kShim6:
        break;
      case IpProtocol::kAuthentication:  // RFC 4302 section 2.2: words of 4, less 2
        length_unit = 4;
        break;
      case IpProtocol::kFragment:  // no length field: always 8
        length_unit = 0;
        break;
      default:
        return Ipv6Upper{next, static_cast<std::uint32_t>(offset), fragment};
    }
    if (seen == kMaxIpv6Extensions) return Malformed::kTooManyExtensions;
    if (packet.size() - offset < kFragmentHeaderSize) return Malformed::kTruncated;
    const std::byte* const at = packet.data() + offset;
    const std::size_t length = length_base + Load8(at + 1) * length_unit;
    if (packet.size() - offset < length) return Malformed::kTruncated;
    const bool is_fragment_header = next == IpProtocol::kFragment;
    next = static_cast<IpProtocol>(Load8(at));
    offset += length;
    if (!is_fragment_header) continue;
    const std::uint16_t word = LoadBe16(at + 2);  // offset(13) reserved(2) more(1)
    if ((word & 0xfff8) != 0) {
      return Ipv6Upper{next, static_cast<std::uint32_t>(offset), FragmentKind::kLater};
    }
    if ((word & 1) != 0) fragment = FragmentKind::kFirst;
  }
}

void DecrementIpv6HopLimit(std::byte* header) {
  Store8(header + 7, static_cast<std::uint8_t>(Load8(header + 7) - 1));
}

void SetIpv6Ecn(std::byte* header, Ecn ecn) {
  // version(4) DSCP(6) ECN(2) and four bits of flow label.
  const std::uint16_t word = LoadBe16(header);
  StoreBe16(header, static_cast<std::uint16_t>((word & ~0x30u) | static_cast<unsigned>(ecn) << 4));
}

}  // namespace weft
