// SPDX-License-Identifier: Apache-2.0
// Outer headers of one remote, prepared once and written before every packet: RFC 7348 section 5.
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
  // For outer IPv4, where RFC 7348 section 5 recommends zero. Outer IPv6 always has a checksum:
  // receivers drop zero unless configured otherwise (RFC 8200 section 8.1, RFC 6936 section 5).
  bool udp_checksum = false;

  friend bool operator==(const EncapsulationSpec&, const EncapsulationSpec&) = default;
};

// Trivially copyable. What a datagram wire needs, where the kernel writes IP and UDP, is in the
// first kDatagramBytes.
class EncapsulationTemplate {
 public:
  // VXLAN header and inner Ethernet header: the part of a UDP payload before the inner packet.
  static constexpr std::size_t kPayloadSize = kVxlanHeaderSize + kEthernetHeaderSize;       // 22
  static constexpr std::size_t kV4Size = kIpv4HeaderSize + kUdpHeaderSize + kPayloadSize;   // 50
  static constexpr std::size_t kMaxSize = kIpv6HeaderSize + kUdpHeaderSize + kPayloadSize;  // 70
  static constexpr std::size_t kDatagramBytes = kPayloadSize + 1;

  // An empty template: size() is 0.
  constexpr EncapsulationTemplate() = default;
  // The two outer addresses are of one family.
  explicit EncapsulationTemplate(const EncapsulationSpec& spec);

  // Bytes that Stamp writes: 50 over IPv4, 70 over IPv6.
  std::size_t size() const { return size_; }
  IpFamily outer_family() const { return size_ == kMaxSize ? IpFamily::kV6 : IpFamily::kV4; }
  bool is_v4() const { return size_ == kV4Size; }  // false for an empty one
  bool wants_udp_checksum() const { return wants_udp_checksum_; }

  // Writes exactly size() bytes at `at`: outer IP (DF set, identification 0, DSCP 0), UDP, VXLAN
  // and inner Ethernet. The inner packet of `inner_length` bytes begins at `at + size()`. Lengths
  // are taken modulo 2^16: a superframe's are rewritten when it is cut. The UDP checksum is left 0.
  void Stamp(std::byte* at, std::uint32_t inner_length, EtherType ether_type,
             std::uint16_t source_port, Ecn ecn) const;

  // Writes kPayloadSize bytes at `at`: VXLAN and inner Ethernet, for ports whose kernel writes IP
  // and UDP.
  void StampPayload(std::byte* at, EtherType ether_type) const {
    std::memcpy(at, payload_.data(), kPayloadSize);
    if (ether_type != EtherType::kIpv4)
      StoreBe16(at + kPayloadSize - 2, static_cast<std::uint16_t>(ether_type));
  }

 private:
  std::size_t outer_size() const { return size_ - kPayloadSize; }

  std::array<std::byte, kPayloadSize> payload_{};  // with the EtherType of IPv4
  std::uint8_t size_ = 0;
  bool wants_udp_checksum_ = false;
  std::uint16_t checksum_base_ = 0;  // sum of the IPv4 header without total length, ECN, checksum
  std::array<std::byte, kMaxSize - kPayloadSize> outer_{};  // IP and UDP; outer_size() bytes used
};

// Fills the UDP checksum of a stamped packet. `outer_packet` is exactly the packet, from its outer
// IP header (no options or extension headers) to its end.
void CompleteUdpChecksum(MutableBytes outer_packet);

}  // namespace weft
