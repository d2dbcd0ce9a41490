// SPDX-License-Identifier: Apache-2.0
// Ethernet II header and 802.1Q tag, without preamble and frame check sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "vxlan/bytes.h"
#include "vxlan/mac_address.h"
#include "vxlan/malformed.h"

namespace weft {

// Every 16-bit number is a valid value, also those without a name.
enum class EtherType : std::uint16_t {
  kIpv4 = 0x0800,
  kArp = 0x0806,
  kVlan = 0x8100,  // 802.1Q customer tag
  kIpv6 = 0x86dd,
  kServiceVlan = 0x88a8,  // 802.1ad service tag
};

[[nodiscard]] std::string_view Name(EtherType type);

constexpr bool IsVlanTag(EtherType type) {
  return type == EtherType::kVlan || type == EtherType::kServiceVlan;
}

// destination(48) source(48) type(16), network order.
struct EthernetHeader {
  static constexpr std::size_t kSize = 14;  // bytes

  MacAddress destination;
  MacAddress source;
  EtherType ether_type{};

  // Refuses fewer than kSize bytes. A VLAN tag appears as ether_type.
  static constexpr Parsed<EthernetHeader> Parse(Bytes in) {
    if (in.size() < kSize) return Malformed::kTruncated;
    return EthernetHeader{MacAddress::FromBytes(in.data()), MacAddress::FromBytes(in.data() + 6),
                          static_cast<EtherType>(LoadBe16(in.data() + 12))};
  }
  // Writes all kSize bytes.
  constexpr void Emit(std::span<std::byte, kSize> out) const {
    for (std::size_t i = 0; i < MacAddress::kSize; ++i) {
      out[i] = destination.bytes()[i];
      out[i + 6] = source.bytes()[i];
    }
    StoreBe16(out.data() + 12, static_cast<std::uint16_t>(ether_type));
  }

  friend constexpr bool operator==(const EthernetHeader&, const EthernetHeader&) = default;
};

// IEEE 802.1Q tag control information: priority(3) drop eligible(1) identifier(12).
struct VlanTag {
  static constexpr std::size_t kSize = 4;  // bytes, the tag's EtherType included

  std::uint8_t priority = 0;  // 0..7
  bool drop_eligible = false;
  std::uint16_t identifier = 0;  // 0..4095

  friend constexpr bool operator==(const VlanTag&, const VlanTag&) = default;
};

// A frame's header; at most one VLAN tag is skipped.
struct EthernetFrame {
  MacAddress destination;
  MacAddress source;
  std::optional<VlanTag> tag;
  EtherType ether_type{};          // of the payload; kVlan or kServiceVlan for a second tag
  std::size_t payload_offset = 0;  // 14 or 18

  // Refuses a frame too short for its header or its tag. The payload may be empty.
  static Parsed<EthernetFrame> Parse(Bytes in);

  friend bool operator==(const EthernetFrame&, const EthernetFrame&) = default;
};

}  // namespace weft
