// SPDX-License-Identifier: Apache-2.0
// Neighbour solicitation and advertisement, RFC 4861 sections 4.3 and 4.4, with their IPv6 header.
#pragma once

#include <cstddef>
#include <optional>

#include "vxlan/bytes.h"
#include "vxlan/ip_address.h"
#include "vxlan/mac_address.h"

namespace weft::dataplane {

struct NeighbourMessage {
  enum class Kind : std::uint8_t { kSolicitation, kAdvertisement };

  // Maximum bytes that Emit writes: IPv6, ICMPv6, target, one option.
  static constexpr std::size_t kMaxSize = 40 + 8 + 16 + 8;

  Kind kind = Kind::kSolicitation;
  IpAddress source;  // unspecified in duplicate address detection
  IpAddress destination;
  IpAddress target;
  bool router = false;  // flags of an advertisement
  bool solicited = false;
  bool overrides = false;
  // The kind's option: source (type 1) or target (type 2) link-layer address.
  std::optional<MacAddress> link_address;

  // `packet` begins with the IPv6 header. Empty for any other packet, and for packets that a node
  // discards by sections 7.1.1 and 7.1.2: hop limit not 255, wrong checksum, code not 0, target a
  // group, an option of length 0, a source link-layer address from the unspecified address.
  static std::optional<NeighbourMessage> Parse(Bytes packet);

  // Returns the bytes written; `out` has room for kMaxSize.
  std::size_t Emit(MutableBytes out) const;

  friend bool operator==(const NeighbourMessage&, const NeighbourMessage&) = default;
};

// ff02::1:ffXX:XXXX of section 2.7.1 of RFC 4291.
IpAddress SolicitedNodeAddress(const IpAddress& target);
// 33:33 and the low 32 bits, RFC 2464 section 7.
MacAddress MulticastMac(const IpAddress& group);

}  // namespace weft::dataplane
