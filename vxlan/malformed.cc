// SPDX-License-Identifier: Apache-2.0
#include "vxlan/malformed.h"

#include <array>

namespace weft {
namespace {

struct ReasonText {
  std::string_view name;
  std::string_view sentence;
};

// In the order of the enumeration.
constexpr std::array<ReasonText, kMalformedCount> kTexts = {{
    {"truncated", "The packet is shorter than its headers or a length field says."},
    {"bad_version", "The IP version field is neither 4 nor 6, or contradicts its context."},
    {"bad_header_length", "A header length field is below the header's minimum."},
    {"bad_total_length", "The IPv4 total length is smaller than the IPv4 header."},
    {"bad_checksum", "The IPv4 header checksum is wrong."},
    {"bad_udp_length", "The UDP length is below 8 or reaches beyond the IP payload."},
    {"bad_udp_checksum", "The UDP checksum is present and wrong."},
    {"not_udp", "The outer packet does not carry UDP."},
    {"fragment", "The outer packet is a fragment."},
    {"too_many_extensions", "The IPv6 packet has more extension headers than are parsed."},
    {"no_vni_flag", "The I flag of the VXLAN header is clear, so its VNI is not valid."},
    {"vlan_tagged", "The inner frame carries a VLAN tag."},
    {"not_ip", "The inner frame carries neither IPv4 nor IPv6."},
    {"ether_type_mismatch", "The inner EtherType and the IP version contradict each other."},
    {"not_ethernet_ipv4_arp", "The ARP packet is not for IPv4 over Ethernet."},
}};
static_assert(!kTexts.back().name.empty(), "a text for every reason");

}  // namespace

std::string_view Name(Malformed reason) { return kTexts[static_cast<std::size_t>(reason)].name; }

std::string_view Sentence(Malformed reason) {
  return kTexts[static_cast<std::size_t>(reason)].sentence;
}

}  // namespace weft
