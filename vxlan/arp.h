// SPDX-License-Identifier: Apache-2.0
// ARP for IPv4 over Ethernet, RFC 826.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "vxlan/bytes.h"
#include "vxlan/ip_address.h"
#include "vxlan/mac_address.h"
#include "vxlan/malformed.h"

namespace weft {

// hardware(16)=1 protocol(16)=0x0800 sizes(8,8)=6,4 operation(16), then sender MAC and address,
// target MAC and address; follows the Ethernet header.
struct ArpPacket {
  static constexpr std::size_t kSize = 28;  // bytes

  // Other values are kept.
  enum class Operation : std::uint16_t { kRequest = 1, kReply = 2 };

  Operation operation{};
  MacAddress sender_mac;
  std::uint32_t sender_address = 0;  // host order
  MacAddress target_mac;             // zero in a request
  std::uint32_t target_address = 0;  // host order

  // Refuses fewer than kSize bytes, and other hardware, protocol or address sizes. What follows
  // kSize bytes is padding.
  static Parsed<ArpPacket> Parse(Bytes in);
  // Writes all kSize bytes.
  void Emit(std::span<std::byte, kSize> out) const;

  // The reply that `mac` has this request's target address.
  ArpPacket ReplyFrom(const MacAddress& mac) const;

  friend bool operator==(const ArpPacket&, const ArpPacket&) = default;
};

}  // namespace weft
