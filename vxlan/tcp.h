// SPDX-License-Identifier: Apache-2.0
// TCP header, RFC 9293 section 3.1: the fields for checksums, segmentation and coalescing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "vxlan/bytes.h"
#include "vxlan/malformed.h"

namespace weft {

struct TcpHeader {
  static constexpr std::size_t kSize = 20;  // bytes, without options

  // Bits of `flags`.
  static constexpr std::uint16_t kFin = 0x001;
  static constexpr std::uint16_t kSyn = 0x002;
  static constexpr std::uint16_t kRst = 0x004;
  static constexpr std::uint16_t kPsh = 0x008;
  static constexpr std::uint16_t kAck = 0x010;
  static constexpr std::uint16_t kUrg = 0x020;
  static constexpr std::uint16_t kEce = 0x040;
  static constexpr std::uint16_t kCwr = 0x080;
  static constexpr std::uint16_t kAe = 0x100;  // accurate ECN, formerly NS

  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgment = 0;
  std::uint16_t header_length = kSize;  // bytes with options: 20..60, a multiple of 4
  std::uint16_t flags = 0;              // low 12 bits: three reserved, AE, then CWR down to FIN
  std::uint16_t window = 0;             // unscaled
  std::uint16_t checksum = 0;
  std::uint16_t urgent = 0;

  // Refuses a data offset below 5 words or beyond `in`. The checksum is not verified.
  static Parsed<TcpHeader> Parse(Bytes in);

  friend constexpr bool operator==(const TcpHeader&, const TcpHeader&) = default;
};

// "SYN, ACK"; "none".
[[nodiscard]] std::string TcpFlagNames(std::uint16_t flags);

}  // namespace weft
