// SPDX-License-Identifier: Apache-2.0
// IPv4 header, RFC 791 section 3.1, and the edits a router makes in place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vxlan/bytes.h"
#include "vxlan/checksum.h"
#include "vxlan/ecn.h"
#include "vxlan/ip_protocol.h"
#include "vxlan/malformed.h"

namespace weft {

struct Ipv4Header {
  static constexpr std::size_t kSize = 20;  // bytes, without options

  std::uint8_t dscp = 0;  // 0..63
  Ecn ecn = Ecn::kNotEct;
  std::uint16_t header_length = kSize;  // bytes with options: 20..60, a multiple of 4
  std::uint16_t total_length = kSize;   // bytes with header
  std::uint16_t identification = 0;
  bool dont_fragment = false;
  bool more_fragments = false;
  std::uint16_t fragment_offset = 0;  // bytes, a multiple of 8
  std::uint8_t ttl = 64;
  IpProtocol protocol{};
  std::uint32_t source = 0;       // host order
  std::uint32_t destination = 0;  // host order

  // Refuses another version, an IHL below 5 or beyond `in`, and a total length below the header or
  // beyond `in`. `in` may be longer than the packet (padding). The checksum is not verified.
  static Parsed<Ipv4Header> Parse(Bytes in);
  // Writes the first kSize bytes of `out` (at least header_length long). Options, if any, are
  // already in `out`; the checksum covers them.
  void Emit(MutableBytes out) const;

  constexpr FragmentKind fragment() const {
    if (fragment_offset != 0) return FragmentKind::kLater;
    return more_fragments ? FragmentKind::kFirst : FragmentKind::kWhole;
  }

  friend constexpr bool operator==(const Ipv4Header&, const Ipv4Header&) = default;
};

// `packet` begins with a header that Parse accepted.
[[nodiscard]] inline bool Ipv4ChecksumIsRight(Bytes packet) {
  const std::size_t length = std::size_t{Load8(packet.data()) & 0xfu} * 4;
  if (length == Ipv4Header::kSize) return SumIpv4Header(packet.data()).IsRight();
  return Sum(packet.first(length)).IsRight();
}

// Edits of a valid header at `header`. The checksum is updated by RFC 1624, so a wrong one stays
// wrong. The TTL must not be 0.
void DecrementIpv4Ttl(std::byte* header);
void SetIpv4Ecn(std::byte* header, Ecn ecn);

}  // namespace weft
