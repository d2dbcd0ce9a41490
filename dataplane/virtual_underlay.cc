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

// The largest UDP_MAX_SEGMENTS of any kernel: no peer's socket sends more at once.
constexpr std::uint32_t kMostUdpSegments = 128;

// `sizes`: null to ignore receivers' limits.
void MakeSuperframe(Packet& packet, InnerMtu mtu, const SegmentSizes* sizes) {
  const Parsed<InnerPacket> inner = ParseInnerIp(packet.bytes());
  if (!inner) return;
  if (inner->protocol == IpProtocol::kUdp) {
    if (packet.segment_size == 0) return;
    packet.segmentation = Segmentation::kUdp;
    if (WirePackets(packet) > kMostUdpSegments) packet.verdict = Verdict::kTinySegments;
    return;
  }
  if (inner->protocol != IpProtocol::kTcp || packet.length <= mtu.bytes()) return;
  packet.segmentation = Segmentation::kTcp;
  const std::uint32_t header = SuperframeHeaderLength(packet);
  if (header == 0 || header >= mtu.bytes()) {
    packet.segmentation = Segmentation::kNone;
    return;
  }
  std::uint32_t size = mtu.bytes() - header;
  if (sizes != nullptr) size = sizes->Cap(packet, header, size);
  packet.segment_size = static_cast<std::uint16_t>(size);
}

void Describe(Packet& packet, InnerMtu mtu, const SegmentSizes* sizes) {
  if (packet.verdict != Verdict::kForward || packet.segmentation != Segmentation::kNone ||
      packet.checksum != ChecksumState::kOnWire) {
    return;
  }
  const auto unfinished = FindUnfinishedChecksum(packet.bytes());
  if (!unfinished) return;
  packet.checksum = ChecksumState::kPartial;
  packet.checksum_start = static_cast<std::uint16_t>(unfinished->start);
  packet.checksum_offset = static_cast<std::uint16_t>(unfinished->field);
  if (packet.length > mtu.bytes() || packet.segment_size != 0) MakeSuperframe(packet, mtu, sizes);
}

}  // namespace

void DetectSuperframe(Packet& packet) {
  constexpr std::size_t kBefore = EncapsulationTemplate::kPayloadSize;
  if (packet.segmentation != Segmentation::kDatagrams || packet.length <= kBefore) return;
  const Parsed<InnerPacket> inner = ParseInnerFrame(packet.bytes().subspan(VxlanHeader::kSize));
  // The first datagram, which any host may have sent, decides about the whole aggregate, so its
  // header must match every byte.
  if (inner && inner->protocol == IpProtocol::kUdp &&
      kBefore + inner->total_length == packet.length &&
      FindUnfinishedChecksum(packet.bytes().subspan(kBefore))) {
    packet.segmentation = Segmentation::kNone;
  }
}

Packet DescribeUnfinished(Packet packet, InnerMtu mtu) {
  Describe(packet, mtu, nullptr);
  return packet;
}

void AcceptUnfinished(Batch& batch, InnerMtu mtu, const SegmentSizes& sizes) {
  for (Packet& packet : batch) Describe(packet, mtu, &sizes);
}

}  // namespace weft::dataplane
