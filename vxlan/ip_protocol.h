// SPDX-License-Identifier: Apache-2.0
// IANA protocol numbers of the IPv4 protocol and IPv6 next-header fields.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

// Every byte is a valid value, also those without a name.
enum class IpProtocol : std::uint8_t {
  kHopByHop = 0,
  kIcmp = 1,
  kTcp = 6,
  kUdp = 17,
  kRouting = 43,
  kFragment = 44,
  kEsp = 50,
  kAuthentication = 51,
  kIcmpV6 = 58,
  kNoNextHeader = 59,
  kDestinationOptions = 60,
  kSctp = 132,
  kMobility = 135,
  kHip = 139,
  kShim6 = 140,
};

// Whether the first four bytes of the transport header are source and destination port.
constexpr bool HasPorts(IpProtocol protocol) {
  return protocol == IpProtocol::kTcp || protocol == IpProtocol::kUdp ||
         protocol == IpProtocol::kSctp;
}

// Wireshark's abbreviation; empty for numbers without a name here.
[[nodiscard]] std::string_view Name(IpProtocol protocol);

// A packet's position in a fragmented datagram.
enum class FragmentKind : std::uint8_t {
  kWhole,  // not a fragment (an IPv6 atomic fragment, RFC 6946, counts as whole)
  kFirst,  // offset 0, more fragments: has the transport header
  kLater,  // offset > 0: no transport header
};

}  // namespace weft
