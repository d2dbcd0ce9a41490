// SPDX-License-Identifier: Apache-2.0
// The flow identity that spreads tunnel traffic: outer UDP source port, sending socket, queue.
#pragma once

#include <cstdint>

#include "vxlan/bytes.h"
#include "vxlan/inner_frame.h"

namespace weft {

// Equal for packets of one flow and for all fragments of one datagram; different in all 32 bits
// otherwise, with luck. Not symmetric: the two directions differ. Not keyed: an attacker can collide.
struct FlowHash {
  std::uint32_t value = 0;
  friend constexpr bool operator==(FlowHash, FlowHash) = default;
};

// From addresses and protocol, and from the ports of TCP, UDP and SCTP. Any fragment, the first too,
// hashes without ports, so that fragments of one datagram stay together. The IPv6 flow label does
// not count: senders may change it within a connection.
[[nodiscard]] FlowHash HashInnerFlow(const InnerPacket& packet);
// The same from octets at the IP header; a malformed packet has hash 0.
[[nodiscard]] FlowHash HashInnerFlow(Bytes inner_ip_packet);

// RFC 7348 section 5 recommends the dynamic range of RFC 6335: 49152..65535. Uses the hash's top 14
// bits, so the low ones remain independent for choosing a queue.
constexpr std::uint16_t OuterSourcePort(FlowHash hash) {
  return static_cast<std::uint16_t>(0xc000 | hash.value >> 18);
}

}  // namespace weft
