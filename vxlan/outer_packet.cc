// SPDX-License-Identifier: Apache-2.0
#include "vxlan/outer_packet.h"

#include "vxlan/inner_frame.h"
#include "vxlan/ipv4.h"
#include "vxlan/transport_checksum.h"
#include "vxlan/udp.h"

namespace weft {

Parsed<OuterPacket> detail::ParseOuterPacketSlow(Bytes in, OuterChecksums checksums) {
  const bool verify = checksums == OuterChecksums::kVerify;
  const Parsed<InnerPacket> ip = ParseInnerIp(in);
  if (!ip) return ip.error();
  if (verify && ip->is_v4() && !Ipv4ChecksumIsRight(in)) return Malformed::kBadChecksum;
  if (ip->fragment != FragmentKind::kWhole) return Malformed::kFragment;
  if (ip->protocol != IpProtocol::kUdp) return Malformed::kNotUdp;
  const Parsed<UdpHeader> udp = UdpHeader::Parse(ip->transport());
  if (!udp) return udp.error();
  if (verify && VerifyTransportChecksum(in) == TransportChecksum::kWrong)
    return Malformed::kBadUdpChecksum;
  OuterPacket packet;
  packet.data = ip->data;
  packet.total_length = ip->total_length;
  packet.payload_offset = ip->header_length + kUdpHeaderSize;
  packet.payload_length = udp->length - kUdpHeaderSize;
  packet.source_port = udp->source_port;
  packet.destination_port = udp->destination_port;
  packet.family = ip->family;
  packet.ecn = ip->ecn;
  packet.ttl = ip->ttl;
  return packet;
}

}  // namespace weft
