// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ethernet.h"

namespace weft {

std::string_view Name(EtherType type) {
  switch (type) {
    case EtherType::kIpv4:
      return "IPv4";
    case EtherType::kArp:
      return "ARP";
    case EtherType::kVlan:
      return "802.1Q Virtual LAN";
    case EtherType::kIpv6:
      return "IPv6";
    case EtherType::kServiceVlan:
      return "802.1ad Provider Bridge";
  }
  return {};
}

Parsed<EthernetFrame> EthernetFrame::Parse(Bytes in) {
  const Parsed<EthernetHeader> header = EthernetHeader::Parse(in);
  if (!header) return header.error();
  EthernetFrame frame{header->destination, header->source, std::nullopt, header->ether_type,
                      EthernetHeader::kSize};
  if (!IsVlanTag(header->ether_type)) return frame;
  if (in.size() < EthernetHeader::kSize + VlanTag::kSize) return Malformed::kTruncated;
  const std::uint16_t control = LoadBe16(in.data() + 14);
  frame.tag = VlanTag{static_cast<std::uint8_t>(control >> 13), (control & 0x1000) != 0,
                      static_cast<std::uint16_t>(control & 0xfff)};
  frame.ether_type = static_cast<EtherType>(LoadBe16(in.data() + 16));
  frame.payload_offset = EthernetHeader::kSize + VlanTag::kSize;
  return frame;
}

}  // namespace weft
