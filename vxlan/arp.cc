// SPDX-License-Identifier: Apache-2.0
#include "vxlan/arp.h"

#include <algorithm>

namespace weft {
namespace {

// Hardware type Ethernet, protocol IPv4, address sizes 6 and 4.
constexpr std::uint32_t kHardwareAndProtocol = 0x0001'0800;
constexpr std::uint16_t kAddressSizes = 0x0604;

}  // namespace

Parsed<ArpPacket> ArpPacket::Parse(Bytes in) {
  if (in.size() < kSize) return Malformed::kTruncated;
  const std::byte* const at = in.data();
  if (LoadBe32(at) != kHardwareAndProtocol || LoadBe16(at + 4) != kAddressSizes)
    return Malformed::kNotEthernetIpv4Arp;
  return ArpPacket{static_cast<Operation>(LoadBe16(at + 6)), MacAddress::FromBytes(at + 8),
                   LoadBe32(at + 14), MacAddress::FromBytes(at + 18), LoadBe32(at + 24)};
}

void ArpPacket::Emit(std::span<std::byte, kSize> out) const {
  std::byte* const at = out.data();
  StoreBe32(at, kHardwareAndProtocol);
  StoreBe16(at + 4, kAddressSizes);
  StoreBe16(at + 6, static_cast<std::uint16_t>(operation));
  std::ranges::copy(sender_mac.bytes(), at + 8);
  StoreBe32(at + 14, sender_address);
  std::ranges::copy(target_mac.bytes(), at + 18);
  StoreBe32(at + 24, target_address);
}

ArpPacket ArpPacket::ReplyFrom(const MacAddress& mac) const {
  return {Operation::kReply, mac, target_address, sender_mac, sender_address};
}

}  // namespace weft
