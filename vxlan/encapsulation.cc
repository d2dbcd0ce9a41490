// SPDX-License-Identifier: Apache-2.0
#include "vxlan/encapsulation.h"

#include <bit>
#include <cassert>
#include <cstring>
#include <type_traits>

#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/udp.h"
#include "vxlan/vxlan_header.h"

namespace weft {

static_assert(sizeof(EncapsulationTemplate) == 74);
static_assert(std::is_trivially_copyable_v<EncapsulationTemplate>);

EncapsulationTemplate::EncapsulationTemplate(const EncapsulationSpec& spec)
    : wants_udp_checksum_(spec.udp_checksum || spec.outer_source.family() == IpFamily::kV6) {
  assert(spec.outer_source.family() == spec.outer_destination.family());
  const MutableBytes out(outer_);
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
  size_ = static_cast<std::uint8_t>(at + kPayloadSize);
  const MutableBytes payload(payload_);
  VxlanHeader{spec.vni}.Emit(payload.first<VxlanHeader::kSize>());
  EthernetHeader{spec.inner_destination, spec.inner_source, EtherType::kIpv4}.Emit(
      payload.last<EthernetHeader::kSize>());
}

void EncapsulationTemplate::Stamp(std::byte* at, std::uint32_t inner_length, EtherType ether_type,
                                  std::uint16_t source_port, Ecn ecn) const {
  if (size_ == 0) return;
  std::memcpy(at, outer_.data(), outer_size());
  StampPayload(at + outer_size(), ether_type);
  const std::size_t ip_header = is_v4() ? kIpv4HeaderSize : kIpv6HeaderSize;
  const auto udp_length = static_cast<std::uint16_t>(inner_length + size_ - ip_header);
  StoreBe16(at + ip_header, source_port);
  StoreBe16(at + ip_header + 4, udp_length);
  if (!is_v4()) {
    StoreBe32(at, 0x6000'0000 | static_cast<std::uint32_t>(ecn) << 20);
    StoreBe16(at + 4, udp_length);
    return;
  }
  const auto total = static_cast<std::uint16_t>(inner_length + kV4Size);
  const auto ecn_bits = static_cast<std::uint8_t>(ecn);
  // PartialSum::Fold for a sum of three words.
  const std::uint32_t sum = std::uint32_t{checksum_base_} + total + ecn_bits;
  const std::uint32_t folded = (sum + std::rotl(sum, 16)) >> 16;
  Store8(at + 1, ecn_bits);
  StoreBe16(at + 2, total);
  StoreBe16(at + 10, static_cast<std::uint16_t>(~folded));
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
