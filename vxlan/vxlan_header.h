// SPDX-License-Identifier: Apache-2.0
// VXLAN header, RFC 7348 section 5: flags(8) reserved(24) VNI(24) reserved(8), network order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "vxlan/bytes.h"
#include "vxlan/malformed.h"
#include "vxlan/vni.h"

namespace weft {

struct VxlanHeader {
  static constexpr std::size_t kSize = 8;         // bytes
  static constexpr std::uint8_t kFlagVni = 0x08;  // I: "the VNI is valid"; must be set

  Vni vni;

  // Refuses fewer than kSize bytes, and a clear I flag. Reserved bits are ignored on receipt.
  static constexpr Parsed<VxlanHeader> Parse(Bytes in) {
    if (in.size() < kSize) return Malformed::kTruncated;
    if ((Load8(in.data()) & kFlagVni) == 0) return Malformed::kNoVniFlag;
    return VxlanHeader{*Vni::From(LoadBe32(in.data() + 4) >> 8)};
  }
  // Writes all kSize bytes, reserved bits zero; `out` may hold an old packet.
  constexpr void Emit(std::span<std::byte, kSize> out) const {
    StoreBe32(out.data(), std::uint32_t{kFlagVni} << 24);
    StoreBe32(out.data() + 4, vni.value() << 8);
  }

  friend constexpr bool operator==(const VxlanHeader&, const VxlanHeader&) = default;
};

}  // namespace weft
