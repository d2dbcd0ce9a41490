// SPDX-License-Identifier: Apache-2.0
// ICMP (RFC 792) and ICMPv6 (RFC 4443) headers, and the errors that a tunnel endpoint sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "vxlan/bytes.h"
#include "vxlan/ip_address.h"
#include "vxlan/malformed.h"
#include "vxlan/mtu.h"

namespace weft {

// type(8) code(8) checksum(16) rest(32). ICMPv6 has the same layout and a pseudo-header in its sum.
struct IcmpHeader {
  static constexpr std::size_t kSize = 8;  // bytes

  std::uint8_t type = 0;
  std::uint8_t code = 0;
  std::uint16_t checksum = 0;
  std::uint32_t rest = 0;  // identifier and sequence, MTU, or unused, by type

  static constexpr Parsed<IcmpHeader> Parse(Bytes in) {
    if (in.size() < kSize) return Malformed::kTruncated;
    return IcmpHeader{Load8(in.data()), Load8(in.data() + 1), LoadBe16(in.data() + 2),
                      LoadBe32(in.data() + 4)};
  }
  // Writes all kSize bytes.
  constexpr void Emit(std::span<std::byte, kSize> out) const {
    Store8(out.data(), type);
    Store8(out.data() + 1, code);
    StoreBe16(out.data() + 2, checksum);
    StoreBe32(out.data() + 4, rest);
  }

  friend constexpr bool operator==(const IcmpHeader&, const IcmpHeader&) = default;
};

namespace icmp_v4 {
inline constexpr std::uint8_t kEchoReply = 0;
inline constexpr std::uint8_t kUnreachable = 3;
inline constexpr std::uint8_t kSourceQuench = 4;
inline constexpr std::uint8_t kRedirect = 5;
inline constexpr std::uint8_t kEchoRequest = 8;
inline constexpr std::uint8_t kTimeExceeded = 11;
inline constexpr std::uint8_t kParameterProblem = 12;
inline constexpr std::uint8_t kCodeHostUnreachable = 1;
inline constexpr std::uint8_t kCodeFragmentationNeeded = 4;  // RFC 1191: next-hop MTU in `rest`
inline constexpr std::uint8_t kCodeProhibited = 13;
}  // namespace icmp_v4

namespace icmp_v6 {
inline constexpr std::uint8_t kUnreachable = 1;
inline constexpr std::uint8_t kPacketTooBig = 2;  // MTU in `rest`
inline constexpr std::uint8_t kTimeExceeded = 3;
inline constexpr std::uint8_t kParameterProblem = 4;
inline constexpr std::uint8_t kEchoRequest = 128;
inline constexpr std::uint8_t kEchoReply = 129;
inline constexpr std::uint8_t kRouterSolicitation = 133;
inline constexpr std::uint8_t kRouterAdvertisement = 134;
inline constexpr std::uint8_t kNeighborSolicitation = 135;
inline constexpr std::uint8_t kNeighborAdvertisement = 136;
inline constexpr std::uint8_t kRedirect = 137;
inline constexpr std::uint8_t kCodeProhibited = 1;
inline constexpr std::uint8_t kCodeAddressUnreachable = 3;
}  // namespace icmp_v6

// Wireshark's name of a type: "Echo (ping) request". Empty for a type without a name here.
[[nodiscard]] std::string_view IcmpTypeName(IpFamily family, std::uint8_t type);

// Maximum size of an error packet in bytes, IP header included (RFC 1812 section 4.3.2.3, RFC 4443
// section 2.4 c).
inline constexpr std::size_t kMaxIcmpV4Error = 576;
inline constexpr std::size_t kMaxIcmpV6Error = 1280;

enum class IcmpError : std::uint8_t {
  kPacketTooBig,  // fragmentation needed; carries the next hop's MTU
  kTimeExceeded,
  kHostUnreachable,
  kProhibited,
};

// Whether RFC 1122 section 3.2.2 and RFC 4443 section 2.4 e let a router answer `packet`, which
// starts at its IP header, with an error. Not if it is malformed, a later fragment, an ICMP error
// or redirect, from an address that is not a single host's, or to multicast or broadcast. RFC 4443
// allows Packet Too Big for multicast; we never forward multicast, so all errors share one rule.
[[nodiscard]] bool MayAnswerWithIcmpError(Bytes packet);

// Writes a whole IP packet from `source` to the sender of `offending` at the start of `out`. It
// quotes as much of `offending` as the maximum size and `out` allow. `mtu` is used by kPacketTooBig
// only. Returns the packet's length; 0 if no answer may be sent, `source` is of the other family,
// or `out` has no room for the headers and the offending packet's IP header plus 8 bytes.
std::size_t EmitIcmpError(IcmpError error, std::uint32_t mtu, Bytes offending,
                          const IpAddress& source, MutableBytes out);

// EmitIcmpError with kPacketTooBig.
inline std::size_t EmitPacketTooBig(InnerMtu mtu, Bytes offending, const IpAddress& source,
                                    MutableBytes out) {
  return EmitIcmpError(IcmpError::kPacketTooBig, mtu.bytes(), offending, source, out);
}

}  // namespace weft
