// SPDX-License-Identifier: Apache-2.0
// UDP header, RFC 768.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "vxlan/bytes.h"
#include "vxlan/malformed.h"

namespace weft {

// source port(16) destination port(16) length(16) checksum(16), network order.
struct UdpHeader {
  static constexpr std::size_t kSize = 8;  // bytes

  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint16_t length = kSize;  // bytes, header included
  std::uint16_t checksum = 0;    // 0: none

  // `in` is the IP payload. Refuses a length below kSize or beyond `in`; the checksum is not
  // verified (see transport_checksum.h).
  static constexpr Parsed<UdpHeader> Parse(Bytes in) {
    if (in.size() < kSize) return Malformed::kTruncated;
    const UdpHeader header{LoadBe16(in.data()), LoadBe16(in.data() + 2), LoadBe16(in.data() + 4),
                           LoadBe16(in.data() + 6)};
    if (header.length < kSize || header.length > in.size()) return Malformed::kBadUdpLength;
    return header;
  }
  // Writes all kSize bytes.
  constexpr void Emit(std::span<std::byte, kSize> out) const {
    StoreBe16(out.data(), source_port);
    StoreBe16(out.data() + 2, destination_port);
    StoreBe16(out.data() + 4, length);
    StoreBe16(out.data() + 6, checksum);
  }

  friend constexpr bool operator==(const UdpHeader&, const UdpHeader&) = default;
};

// RFC 768: a computed 0 is sent as 0xffff, since 0 means "none".
constexpr std::uint16_t NonZeroUdpChecksum(std::uint16_t computed) {
  return computed == 0 ? std::uint16_t{0xffff} : computed;
}

}  // namespace weft
