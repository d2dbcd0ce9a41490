// SPDX-License-Identifier: Apache-2.0
// IPv6 fixed header, RFC 8200 section 3, and a bounded walk over extension headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "vxlan/bytes.h"
#include "vxlan/ecn.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_protocol.h"
#include "vxlan/malformed.h"

namespace weft {

struct Ipv6Header {
  static constexpr std::size_t kSize = 40;  // bytes

  std::uint8_t dscp = 0;  // 0..63
  Ecn ecn = Ecn::kNotEct;
  std::uint32_t flow_label = 0;      // 20 bits
  std::uint16_t payload_length = 0;  // bytes after the fixed header, extension headers included
  IpProtocol next_header{};
  std::uint8_t hop_limit = 64;
  IpAddress source;
  IpAddress destination;

  // Refuses another version and a payload length beyond `in`. `in` may be longer (padding).
  // Jumbograms (RFC 2675) are not supported: payload length 0 means no payload.
  static Parsed<Ipv6Header> Parse(Bytes in);
  // Writes all kSize bytes. Both addresses are IPv6.
  void Emit(std::span<std::byte, kSize> out) const;

  friend bool operator==(const Ipv6Header&, const Ipv6Header&) = default;
};

// Where the extension headers end.
struct Ipv6Upper {
  IpProtocol protocol{};     // kNoNextHeader and kEsp also end the walk
  std::uint32_t offset = 0;  // bytes from the fixed header's start to the upper header (or data)
  FragmentKind fragment = FragmentKind::kWhole;

  friend bool operator==(const Ipv6Upper&, const Ipv6Upper&) = default;
};

// Maximum number of extension headers; a packet that follows RFC 8200 section 4.1 has at most
// seven.
inline constexpr int kMaxIpv6Extensions = 8;

// `packet` is exactly one packet whose fixed header Parse accepted. Stops at a later fragment and
// returns the protocol in its fragment header.
Parsed<Ipv6Upper> FindIpv6Upper(Bytes packet);

// Edits of a valid header at `header`. The hop limit must not be 0.
void DecrementIpv6HopLimit(std::byte* header);
void SetIpv6Ecn(std::byte* header, Ecn ecn);

}  // namespace weft
