// SPDX-License-Identifier: Apache-2.0
// A flow's hash, which selects the outer UDP source port, sending socket and queue.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "vxlan/bytes.h"
#include "vxlan/inner_frame.h"

namespace weft {

// Equal for packets of one flow and for all fragments of one datagram; otherwise all 32 bits are
// likely to differ. Not symmetric: the two directions differ. Not keyed: an attacker can construct
// collisions.
struct FlowHash {
  std::uint32_t value = 0;
  friend constexpr bool operator==(FlowHash, FlowHash) = default;
};

// From addresses and protocol, and from the ports of TCP, UDP and SCTP. Fragments, including the
// first, are hashed without ports, so that all fragments of a datagram have one hash. The IPv6 flow
// label is ignored: senders may change it within a connection.
[[nodiscard]] inline FlowHash HashInnerFlow(const InnerPacket& packet);
// The same for a valid IPv4 packet of at least 24 bytes without options that is not a fragment; the
// caller has loaded its addresses (bytes 12 to 19), protocol, and bytes 20 to 23.
[[nodiscard]] inline FlowHash HashUsualFlow(std::uint64_t addresses, IpProtocol protocol,
                                            std::uint32_t ports);

// RFC 7348 section 5 recommends the dynamic range of RFC 6335: 49152..65535. Uses the hash's top 14
// bits, so that the low bits can select a queue independently.
constexpr std::uint16_t OuterSourcePort(FlowHash hash) {
  return static_cast<std::uint16_t>(0xc000 | hash.value >> 18);
}

namespace detail {

// Odd multipliers with evenly spread bits: fractions of the golden ratio and of the square root
// of 3.
inline constexpr std::uint64_t kMultiplierA = 0x9e37'79b9'7f4a'7c15;
inline constexpr std::uint64_t kMultiplierB = 0xbb67'ae85'84ca'a73b;

// By protocol: mask for the first four bytes of its header. Avoids a branch.
inline constexpr std::array<std::uint32_t, 256> kPortsMask = [] {
  std::array<std::uint32_t, 256> mask{};
  for (std::size_t i = 0; i < mask.size(); ++i)
    mask[i] = HasPorts(static_cast<IpProtocol>(i)) ? 0xffff'ffff : 0;
  return mask;
}();

// `addresses`: both, IPv6's already mixed. `ports`: 0 if there are none.
inline FlowHash MixFlow(std::uint64_t addresses, IpProtocol protocol, std::uint32_t ports) {
  const std::uint64_t rest = std::uint64_t{ports} << 8 | static_cast<std::uint64_t>(protocol);
  const std::uint64_t mixed = addresses ^ rest * kMultiplierA;
  return FlowHash{static_cast<std::uint32_t>((mixed ^ std::rotl(mixed, 25)) * kMultiplierB >> 32)};
}

inline FlowHash FinishFlowHash(std::uint64_t addresses, const InnerPacket& packet) {
  const bool has_ports = packet.fragment == FragmentKind::kWhole && HasPorts(packet.protocol) &&
                         packet.total_length - packet.header_length >= 4;
  return MixFlow(addresses, packet.protocol,
                 has_ports ? LoadBe32(packet.data + packet.header_length) : 0);
}

FlowHash HashInnerIpv6Flow(const InnerPacket& packet);

}  // namespace detail

inline FlowHash HashInnerFlow(const InnerPacket& packet) {
  if (!packet.is_v4()) return detail::HashInnerIpv6Flow(packet);
  return detail::FinishFlowHash(LoadBe64(packet.data + 12), packet);
}

inline FlowHash HashUsualFlow(std::uint64_t addresses, IpProtocol protocol, std::uint32_t ports) {
  return detail::MixFlow(addresses, protocol,
                         ports & detail::kPortsMask[static_cast<std::size_t>(protocol)]);
}

}  // namespace weft
