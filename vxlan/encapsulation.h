// SPDX-License-Identifier: Apache-2.0
// Outer headers of one remote, prepared once and stamped before every packet: RFC 7348 section 5.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "vxlan/bytes.h"
#include "vxlan/checksum.h"
#include "vxlan/ecn.h"
#include "vxlan/ethernet.h"
#include "vxlan/ip_address.h"
#include "vxlan/mac_address.h"
#include "vxlan/mtu.h"
#include "vxlan/vni.h"

namespace weft {

struct EncapsulationSpec {
  IpAddress outer_source;
  IpAddress outer_destination;  // of the source's family
  std::uint16_t destination_port = kVxlanPort;
  Vni vni = kFlannelWindowsVni;
  MacAddress inner_source;       // our VTEP
  MacAddress inner_destination;  // the remote VTEP
  std::uint8_t ttl = 64;
  bool udp_checksum = false;  // RFC 7348 section 5 recommends zero

  friend bool operator==(const EncapsulationSpec&, const EncapsulationSpec&) = default;
};

// Trivially copyable, 80 octets; over IPv4 a stamp reads the first 58 only: one cache line when the
// template starts one.
class EncapsulationTemplate {
 public:
  // VXLAN header and inner Ethernet header: what a datagram carries before the inner packet.
  static constexpr std::size_t kPayloadSize = kVxlanHeaderSize + kEthernetHeaderSize;       // 22
  static constexpr std::size_t kMaxSize = kIpv6HeaderSize + kUdpHeaderSize + kPayloadSize;  // 70

  // Stamps nothing: size() is 0.
  constexpr EncapsulationTemplate() = default;
  // The two outer addresses are of one family.
  explicit EncapsulationTemplate(const EncapsulationSpec& spec);

  // Octets that Stamp writes: 50 over IPv4, 70 over IPv6.
  std::size_t size() const { return size_; }
  IpFamily outer_family() const { return size_ == kMaxSize ? IpFamily::kV6 : IpFamily::kV4; }
  bool wants_udp_checksum() const { return wants_udp_checksum_; }
  // What it was made from.
  EncapsulationSpec spec() const;

  // Writes exactly size() octets at `at`: outer IP (DF set, identification 0, DSCP 0), UDP, VXLAN
  // and inner Ethernet. The inner packet of `inner_length` octets begins at `at + size()`. Lengths
  // are taken modulo 2^16: a superframe's are rewritten when it is cut. The UDP checksum is left 0.
  void Stamp(std::byte* at, std::uint32_t inner_length, EtherType ether_type,
             std::uint16_t source_port, Ecn ecn) const;

  // Writes kPayloadSize octets at `at`: VXLAN and inner Ethernet, for ports whose kernel writes IP
  // and UDP. Not for an empty template.
  void StampPayload(std::byte* at, EtherType ether_type) const;

 private:
  static constexpr std::size_t kV4Size = kIpv4HeaderSize + kUdpHeaderSize + kPayloadSize;

  std::uint32_t checksum_base_ = 0;  // sum of the IPv4 header without total length, ECN, checksum
  std::uint8_t size_ = 0;
  bool wants_udp_checksum_ = false;
  std::array<std::byte, 2> unused_{};
  std::array<std::byte, 72> header_{};  // size_ octets used
};

// Fills the UDP checksum of a stamped packet. `outer_packet` is exactly the packet, from its outer
// IP header (no options or extension headers) to its end.
void CompleteUdpChecksum(MutableBytes outer_packet);

inline void EncapsulationTemplate::Stamp(std::byte* at, std::uint32_t inner_length,
                                         EtherType ether_type, std::uint16_t source_port,
                                         Ecn ecn) const {
  // The inner EtherType is the last field: it is written, not copied.
  const auto type = static_cast<std::uint16_t>(ether_type);
  const auto ecn_bits = static_cast<std::uint32_t>(ecn);
  if (size_ == kV4Size) {
    const std::uint32_t total = (inner_length + kV4Size) & 0xffff;
    std::memcpy(at, header_.data(), kV4Size - sizeof type);
    StoreBe32(at, 0x4500'0000 | ecn_bits << 16 | total);
    StoreBe16(at + 10, PartialSum(checksum_base_ + total + ecn_bits).Checksum());
    StoreBe16(at + 20, source_port);
    StoreBe16(at + 24, static_cast<std::uint16_t>(total - kIpv4HeaderSize));
    StoreBe16(at + kV4Size - sizeof type, type);
  } else if (size_ == kMaxSize) {
    const auto payload = static_cast<std::uint16_t>(inner_length + kMaxSize - kIpv6HeaderSize);
    std::memcpy(at, header_.data(), kMaxSize - sizeof type);
    StoreBe32(at, 0x6000'0000 | ecn_bits << 20);
    StoreBe16(at + 4, payload);
    StoreBe16(at + 40, source_port);
    StoreBe16(at + 44, payload);
    StoreBe16(at + kMaxSize - sizeof type, type);
  }
}

inline void EncapsulationTemplate::StampPayload(std::byte* at, EtherType ether_type) const {
  const auto type = static_cast<std::uint16_t>(ether_type);
  std::memcpy(at, header_.data() + (size_ - kPayloadSize), kPayloadSize - sizeof type);
  StoreBe16(at + kPayloadSize - sizeof type, type);
}

}  // namespace weft
