// SPDX-License-Identifier: Apache-2.0
#include "vxlan/encapsulation.h"

#include <cassert>
#include <type_traits>

#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/udp.h"
#include "vxlan/vxlan_header.h"

namespace weft {

static_assert(sizeof(EncapsulationTemplate) == 76);
static_assert(std::is_trivially_copyable_v<EncapsulationTemplate>);

EncapsulationTemplate::EncapsulationTemplate(const EncapsulationSpec& spec)
    : wants_udp_checksum_(spec.udp_checksum || spec.outer_source.family() == IpFamily::kV6) {
  assert(spec.outer_source.family() == spec.outer_destination.family());
  const MutableBytes out(header_);
  std::size_t at = 0;
  if (spec.outer_source.is_v4()) {
    Ipv4Header ip;
    ip.total_length = 0;
    ip.dont_fragment = true;
    ip.ttl = spec.ttl;
    ip.protocol = IpProtocol::kUdp;
    ip.source = spec.outer_source.v4();
    ip.destination = spec.outer_destination.v4();
    ip.Emit(out);
    StoreBe16(out.data() + 10, 0);
    checksum_base_ = SumIpv4Header(out.data()).Fold();
    at = Ipv4Header::kSize;
  } else {
    Ipv6Header ip;
    ip.hop_limit = spec.ttl;
    ip.next_header = IpProtocol::kUdp;
    ip.source = spec.outer_source;
    ip.destination = spec.outer_destination;
    ip.Emit(out.first<Ipv6Header::kSize>());
    at = Ipv6Header::kSize;
  }
  UdpHeader{0, spec.destination_port, 0, 0}.Emit(out.subspan(at).first<UdpHeader::kSize>());
  at += UdpHeader::kSize;
  VxlanHeader{spec.vni}.Emit(out.subspan(at).first<VxlanHeader::kSize>());
  at += VxlanHeader::kSize;
  EthernetHeader{spec.inner_destination, spec.inner_source, EtherType{}}.Emit(
      out.subspan(at).first<EthernetHeader::kSize>());
  size_ = static_cast<std::uint8_t>(at + EthernetHeader::kSize);
  is_plain_v4_ = !wants_udp_checksum_;  // over IPv6 there always is one
}

EncapsulationSpec EncapsulationTemplate::spec() const {
  EncapsulationSpec spec;
  if (size_ == 0) return spec;
  const IpFamily family = outer_family();
  const bool v4 = family == IpFamily::kV4;
  const std::byte* const ip = header_.data();
  const std::byte* const udp = ip + (v4 ? kIpv4HeaderSize : kIpv6HeaderSize);
  const std::byte* const vxlan = udp + kUdpHeaderSize;
  const std::byte* const ethernet = vxlan + kVxlanHeaderSize;
  spec.outer_source = IpAddress::FromOctets(family, ip + (v4 ? 12 : 8));
  spec.outer_destination = IpAddress::FromOctets(family, ip + (v4 ? 16 : 24));
  spec.destination_port = LoadBe16(udp + 2);
  spec.vni = *Vni::Of(LoadBe32(vxlan + 4) >> 8);
  spec.inner_destination = MacAddress::FromOctets(ethernet);
  spec.inner_source = MacAddress::FromOctets(ethernet + MacAddress::kSize);
  spec.ttl = Load8(ip + (v4 ? 8 : 7));
  spec.udp_checksum = wants_udp_checksum_;
  return spec;
}

void CompleteUdpChecksum(MutableBytes outer_packet) {
  const bool v4 = Load8(outer_packet.data()) >> 4 == 4;
  const MutableBytes udp = outer_packet.subspan(v4 ? kIpv4HeaderSize : kIpv6HeaderSize);
  const auto length = static_cast<std::uint32_t>(udp.size());
  const std::byte* const ip = outer_packet.data();
  const PartialSum pseudo_header =
      v4 ? PseudoHeaderV4(LoadBe32(ip + 12), LoadBe32(ip + 16), IpProtocol::kUdp, length)
         : PseudoHeaderV6(outer_packet.subspan<8, 16>(), outer_packet.subspan<24, 16>(),
                          IpProtocol::kUdp, length);
  StoreBe16(udp.data() + 6, 0);
  StoreBe16(udp.data() + 6, NonZeroUdpChecksum((pseudo_header + Sum(udp)).Checksum()));
}

}  // namespace weft
