// SPDX-License-Identifier: Apache-2.0
// A received outer packet, checked from its IP header to its VXLAN header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vxlan/bytes.h"
#include "vxlan/checksum.h"
#include "vxlan/ecn.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_protocol.h"
#include "vxlan/malformed.h"
#include "vxlan/mtu.h"

namespace weft {

// View of a checked UDP datagram; valid as long as its buffer is unchanged.
struct OuterPacket {
  const std::byte* data = nullptr;   // the outer IP header
  std::uint32_t total_length = 0;    // bytes of the IP packet; the buffer may be longer
  std::uint32_t payload_offset = 0;  // bytes from `data` to the UDP payload: the VXLAN header
  std::uint32_t payload_length = 0;  // bytes of UDP payload
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  IpFamily family = IpFamily::kV4;
  Ecn ecn = Ecn::kNotEct;
  std::uint8_t ttl = 0;  // or hop limit

  bool is_v4() const { return family == IpFamily::kV4; }
  // From the VXLAN header to the end of the datagram.
  Bytes payload() const { return {data + payload_offset, payload_length}; }
  // Host order; the packet is IPv4.
  std::uint32_t source_v4() const { return LoadBe32(data + 12); }
  std::uint32_t destination_v4() const { return LoadBe32(data + 16); }
  // Builds the wide value: not for the packet path.
  IpAddress source() const { return IpAddress::FromBytes(family, data + (is_v4() ? 12 : 8)); }
  IpAddress destination() const { return IpAddress::FromBytes(family, data + (is_v4() ? 16 : 24)); }
};

// Whether to verify IP and UDP checksums; kTrust: the port below has done it.
enum class OuterChecksums : std::uint8_t { kVerify, kTrust };

// `in` starts at the outer IP header and may have padding after the packet. Refuses a bad IP
// header, any fragment (RFC 7348 section 4.3), another protocol, a UDP length that does not fit,
// and a UDP checksum that is present and wrong. Accepts checksum zero over IPv4 (RFC 7348 section
// 5) and over IPv6, where RFC 6935 section 5 and RFC 6936 section 4 allow it for a tunnel's port.
// Does not check the destination port and the VXLAN header.
inline Parsed<OuterPacket> ParseOuterPacket(Bytes in,
                                            OuterChecksums checksums = OuterChecksums::kVerify);

namespace detail {
// Handles every packet and every refusal.
Parsed<OuterPacket> ParseOuterPacketSlow(Bytes in, OuterChecksums checksums);
}  // namespace detail

// The fast path: whole, valid IPv4 without options, UDP checksum zero.
inline Parsed<OuterPacket> ParseOuterPacket(Bytes in, OuterChecksums checksums) {
  constexpr std::uint32_t kHeaders = kIpv4HeaderSize + kUdpHeaderSize;
  if (in.size() < kHeaders) return detail::ParseOuterPacketSlow(in, checksums);
  const std::byte* const ip = in.data();
  const std::uint64_t first = LoadBe64(ip);  // version, IHL, TOS, total length, id, fragment
  const auto total_length = static_cast<std::uint32_t>(first >> 32 & 0xffff);
  const std::uint32_t udp_length = LoadBe16(ip + 24);
  const bool verify = checksums == OuterChecksums::kVerify;
  const bool usual = first >> 56 == 0x45 && (first & 0x3fff) == 0 && total_length <= in.size() &&
                     static_cast<IpProtocol>(Load8(ip + 9)) == IpProtocol::kUdp &&
                     udp_length >= kUdpHeaderSize && udp_length + kIpv4HeaderSize <= total_length;
  if (!usual || (verify && (LoadBe16(ip + 26) != 0 || !SumIpv4Header(ip).IsRight())))
    return detail::ParseOuterPacketSlow(in, checksums);
  OuterPacket packet;
  packet.data = ip;
  packet.total_length = total_length;
  packet.payload_offset = kHeaders;
  packet.payload_length = udp_length - kUdpHeaderSize;
  packet.source_port = LoadBe16(ip + 20);
  packet.destination_port = LoadBe16(ip + 22);
  packet.family = IpFamily::kV4;
  packet.ecn = EcnOf(static_cast<std::uint8_t>(first >> 48));
  packet.ttl = Load8(ip + 8);
  return packet;
}

}  // namespace weft
