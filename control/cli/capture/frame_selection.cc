// SPDX-License-Identifier: Apache-2.0
#include "control/cli/capture/frame_selection.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "vxlan/ethernet.h"
#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/udp.h"
#include "vxlan/vxlan_header.h"

namespace weft::cli {
namespace {

using dataplane::LinkType;

// "(host a or host b)"
std::string AnyOf(std::string_view word, const auto& list) {
  return absl::StrCat("(",
                      absl::StrJoin(list, " or ",
                                    [&](std::string* out, const auto& each) {
                                      absl::StrAppend(out, word, " ", each.ToString());
                                    }),
                      ")");
}

std::size_t IpHeaderSize(Bytes ip) {
  if (ip.size() < Ipv4Header::kSize) return 0;
  const unsigned version = Load8(ip.data()) >> 4;
  if (version == 4) return std::size_t{Load8(ip.data()) & 0xfu} * 4;
  return version == 6 ? Ipv6Header::kSize : 0;
}

}  // namespace

std::string OuterFilter(const FrameSelection& selection) {
  std::string filter = absl::StrCat("udp dst port ", selection.port);
  if (selection.vni) {
    // libpcap's `udp[...]` is of IPv4 alone.
    const std::string vni = absl::StrFormat("& 0xffffff00 = 0x%06x00", selection.vni->value());
    absl::StrAppendFormat(&filter, " and ((ip and udp[12:4] %s) or (ip6 and ip6[52:4] %s))", vni,
                          vni);
  }
  if (!selection.peer_addresses.empty())
    absl::StrAppend(&filter, " and ", AnyOf("host", selection.peer_addresses));
  return filter;
}

std::string PodFilter(const FrameSelection& selection) {
  std::vector<std::string> parts;
  if (!selection.peer_subnets.empty()) parts.push_back(AnyOf("net", selection.peer_subnets));
  if (selection.pod) parts.push_back(absl::StrCat("host ", selection.pod->ToString()));
  if (!selection.filter.empty()) parts.push_back(absl::StrCat("(", selection.filter, ")"));
  return absl::StrJoin(parts, " and ");
}

Bytes IpOf(Bytes frame, LinkType link_type) {
  if (link_type == LinkType::kRaw) return frame;
  const auto ethernet = EthernetFrame::Parse(frame);
  const bool is_ip = ethernet && (ethernet->ether_type == EtherType::kIpv4 ||
                                  ethernet->ether_type == EtherType::kIpv6);
  return is_ip ? frame.subspan(ethernet->payload_offset) : Bytes();
}

Bytes PodFrameOf(Bytes outer, LinkType link_type) {
  const Bytes ip = IpOf(outer, link_type);
  const std::size_t header = IpHeaderSize(ip);
  const std::size_t before = header + UdpHeader::kSize + VxlanHeader::kSize;
  return header != 0 && ip.size() > before ? ip.subspan(before) : Bytes();
}

std::optional<std::pair<IpAddress, IpAddress>> AddressesOf(Bytes ip) {
  const std::size_t header = IpHeaderSize(ip);
  if (header == 0 || ip.size() < header) return std::nullopt;
  const bool v4 = Load8(ip.data()) >> 4 == 4;
  const IpFamily family = v4 ? IpFamily::kV4 : IpFamily::kV6;
  return std::pair(IpAddress::FromBytes(family, ip.data() + (v4 ? 12 : 8)),
                   IpAddress::FromBytes(family, ip.data() + (v4 ? 16 : 24)));
}

}  // namespace weft::cli
