// SPDX-License-Identifier: Apache-2.0
#include "vxlan/tcp.h"

#include <array>
#include <string_view>

namespace weft {

Parsed<TcpHeader> TcpHeader::Parse(Bytes in) {
  if (in.size() < kSize) return Malformed::kTruncated;
  const std::byte* const at = in.data();
  const std::uint16_t offset_flags = LoadBe16(at + 12);
  TcpHeader header;
  header.header_length = static_cast<std::uint16_t>((offset_flags >> 12) * 4);
  if (header.header_length < kSize) return Malformed::kBadHeaderLength;
  if (header.header_length > in.size()) return Malformed::kTruncated;
  header.source_port = LoadBe16(at);
  header.destination_port = LoadBe16(at + 2);
  header.sequence = LoadBe32(at + 4);
  header.acknowledgment = LoadBe32(at + 8);
  header.flags = static_cast<std::uint16_t>(offset_flags & 0xfff);
  header.window = LoadBe16(at + 14);
  header.checksum = LoadBe16(at + 16);
  header.urgent = LoadBe16(at + 18);
  return header;
}

std::string TcpFlagNames(std::uint16_t flags) {
  // From bit 0 upwards.
  constexpr std::array<std::string_view, 9> kNames = {"FIN", "SYN", "RST", "PSH", "ACK",
                                                      "URG", "ECE", "CWR", "AE"};
  std::string text;
  for (std::size_t bit = 0; bit < kNames.size(); ++bit) {
    if ((flags >> bit & 1) == 0) continue;
    if (!text.empty()) text += ", ";
    text += kNames[bit];
  }
  return text.empty() ? "none" : text;
}

}  // namespace weft
