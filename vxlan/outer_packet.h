// SPDX-License-Identifier: Apache-2.0
// A received outer packet, checked from its IP header to its VXLAN header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vxlan/bytes.h"
#include "vxlan/ecn.h"
#include "vxlan/ip_address.h"
#include "vxlan/malformed.h"

namespace weft {

// A checked UDP datagram in somebody else's buffer; valid as long as that buffer is unchanged.
struct OuterPacket {
  const std::byte* data = nullptr;    // the outer IP header
  std::uint32_t total_length = 0;     // octets of the IP packet; the buffer may hold more
  std::uint32_t payload_offset = 0;   // octets from `data` to the UDP payload: the VXLAN header
  std::uint32_t payload_length = 0;   // octets of UDP payload
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
  // Builds the wide value: not for every packet.
  IpAddress source() const {
    return IpAddress::FromOctets(family, data + (is_v4() ? 12 : 8));
  }
  IpAddress destination() const {
    return IpAddress::FromOctets(family, data + (is_v4() ? 16 : 24));
  }
};

// Who looks at checksums: kTrust when the port below has verified IP and UDP already.
enum class OuterChecksums : std::uint8_t { kVerify, kTrust };

// `in` starts at the outer IP header and may have padding behind the packet. Refuses a bad IP header,
// any fragment (RFC 7348 section 4.3), another protocol, a UDP length that does not fit, and a UDP
// checksum that is present and wrong. Checksum zero is taken over IPv4 (RFC 7348 section 5) and over
// IPv6, where RFC 6935 section 5 and RFC 6936 section 4 allow it for a tunnel's port. Neither the
// destination port nor the VXLAN header is looked at.
Parsed<OuterPacket> ParseOuterPacket(Bytes in, OuterChecksums checksums = OuterChecksums::kVerify);

}  // namespace weft
