// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_underlay.h"

#include "dataplane/offload.h"
#include "vxlan/encapsulation.h"
#include "vxlan/inner_frame.h"
#include "vxlan/ip_protocol.h"
#include "vxlan/transport_checksum.h"
#include "vxlan/vxlan_header.h"

namespace weft::dataplane {
namespace {

void MakeSuperframe(Packet& packet, InnerMtu mtu) {
  const Parsed<InnerPacket> inner = ParseInnerIp(packet.bytes());
  if (!inner) return;
  if (inner->protocol == IpProtocol::kUdp) {
    if (packet.segment_size != 0) packet.segmentation = Segmentation::kUdp;
    return;
  }
  if (inner->protocol != IpProtocol::kTcp || packet.length <= mtu.octets()) return;
  packet.segmentation = Segmentation::kTcp;
  const std::uint32_t header = SuperframeHeaderLength(packet);
  if (header == 0 || header >= mtu.octets()) {
    packet.segmentation = Segmentation::kNone;
    return;
  }
  packet.segment_size = static_cast<std::uint16_t>(mtu.octets() - header);
}

}  // namespace

void TellSuperframeFromAggregate(Packet& packet) {
  if (packet.segmentation != Segmentation::kDatagrams) return;
  const Parsed<InnerPacket> inner =
      packet.length < VxlanHeader::kSize
          ? Parsed<InnerPacket>(Malformed::kTruncated)
          : ParseInnerFrame(packet.bytes().subspan(VxlanHeader::kSize));
  if (inner && EncapsulationTemplate::kPayloadSize + inner->total_length > packet.segment_size) {
    packet.segmentation = Segmentation::kNone;
  }
}

void AcceptUnfinished(Batch& batch, InnerMtu mtu) {
  for (Packet& packet : batch) {
    if (packet.verdict != Verdict::kForward || packet.segmentation != Segmentation::kNone ||
        packet.checksum != ChecksumState::kOnWire) {
      continue;
    }
    const auto unfinished = FindUnfinishedChecksum(packet.bytes());
    if (!unfinished) continue;
    packet.checksum = ChecksumState::kPartial;
    packet.checksum_start = static_cast<std::uint16_t>(unfinished->start);
    packet.checksum_offset = static_cast<std::uint16_t>(unfinished->field);
    if (packet.length > mtu.octets() || packet.segment_size != 0) MakeSuperframe(packet, mtu);
  }
}

}  // namespace weft::dataplane
