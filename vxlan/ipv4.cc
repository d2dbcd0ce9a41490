// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ipv4.h"

namespace weft {
namespace {

constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::uint16_t kMoreFragments = 0x2000;

// Changes the 16-bit word at `offset` and updates the header checksum.
void ReplaceWord(std::byte* header, std::size_t offset, std::uint16_t after) {
  const std::uint16_t before = LoadBe16(header + offset);
  StoreBe16(header + offset, after);
  StoreBe16(header + 10, UpdateChecksum16(LoadBe16(header + 10), before, after));
}

}  // namespace

Parsed<Ipv4Header> Ipv4Header::Parse(Bytes in) {
  if (in.size() < kSize) return Malformed::kTruncated;
  const std::byte* const at = in.data();
  const std::uint8_t version_ihl = Load8(at);
  if (version_ihl >> 4 != 4) return Malformed::kBadVersion;
  const std::uint8_t tos = Load8(at + 1);
  const std::uint16_t fragment_word = LoadBe16(at + 6);
  Ipv4Header header;
  header.header_length = static_cast<std::uint16_t>((version_ihl & 0xf) * 4);
  header.total_length = LoadBe16(at + 2);
  if (header.header_length < kSize) return Malformed::kBadHeaderLength;
  if (header.total_length < header.header_length) return Malformed::kBadTotalLength;
  if (header.total_length > in.size()) return Malformed::kTruncated;
  header.dscp = static_cast<std::uint8_t>(tos >> 2);
  header.ecn = EcnOf(tos);
  header.identification = LoadBe16(at + 4);
  header.dont_fragment = (fragment_word & kDontFragment) != 0;
  header.more_fragments = (fragment_word & kMoreFragments) != 0;
  header.fragment_offset = static_cast<std::uint16_t>((fragment_word & 0x1fff) * 8);
  header.ttl = Load8(at + 8);
  header.protocol = static_cast<IpProtocol>(Load8(at + 9));
  header.source = LoadBe32(at + 12);
  header.destination = LoadBe32(at + 16);
  return header;
}

void Ipv4Header::Emit(MutableBytes out) const {
  std::byte* const at = out.data();
  Store8(at, static_cast<std::uint8_t>(0x40 | header_length / 4));
  Store8(at + 1, static_cast<std::uint8_t>(dscp << 2 | static_cast<std::uint8_t>(ecn)));
  StoreBe16(at + 2, total_length);
  StoreBe16(at + 4, identification);
  StoreBe16(at + 6, static_cast<std::uint16_t>((dont_fragment ? kDontFragment : 0) |
                                               (more_fragments ? kMoreFragments : 0) |
                                               fragment_offset / 8));
  Store8(at + 8, ttl);
  Store8(at + 9, static_cast<std::uint8_t>(protocol));
  StoreBe16(at + 10, 0);
  StoreBe32(at + 12, source);
  StoreBe32(at + 16, destination);
  StoreBe16(at + 10, Sum(out.first(header_length)).Checksum());
}

void DecrementIpv4Ttl(std::byte* header) {
  // TTL is the high half of the word it shares with the protocol.
  ReplaceWord(header, 8, static_cast<std::uint16_t>(LoadBe16(header + 8) - 0x0100));
}

void SetIpv4Ecn(std::byte* header, Ecn ecn) {
  const std::uint16_t word = LoadBe16(header);
  ReplaceWord(header, 0, static_cast<std::uint16_t>((word & ~3u) | static_cast<std::uint8_t>(ecn)));
}

}  // namespace weft
