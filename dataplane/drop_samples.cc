// SPDX-License-Identifier: Apache-2.0
#include "dataplane/drop_samples.h"

#include <algorithm>

#include "vxlan/encapsulation.h"
#include "vxlan/inner_frame.h"
#include "vxlan/vxlan_header.h"

namespace weft::dataplane {
namespace {

constexpr std::size_t kHeaders = EncapsulationTemplate::kPayloadSize;  // VXLAN, inner Ethernet

void ReadIp(Bytes ip, DropSample& sample) {
  const Parsed<InnerPacket> inner = ParseInnerIp(ip);
  if (!inner) return;
  sample.source = inner->source();
  sample.destination = inner->destination();
}

void ReadFrame(Bytes frame, DropSample& sample) {
  const Parsed<EthernetHeader> ethernet = EthernetHeader::Parse(frame);
  if (!ethernet) return;
  sample.source_mac = ethernet->source;
  sample.destination_mac = ethernet->destination;
  ReadIp(frame.subspan(EthernetHeader::kSize), sample);
}

DropSample FromWire(const Packet& packet, Verdict verdict) {
  DropSample sample;
  if (!packet.outer_address.IsUnspecified()) sample.outer = packet.outer_address;
  Bytes payload = packet.bytes();
  switch (verdict) {
    case Verdict::kPodFull:
    case Verdict::kPodError:
    case Verdict::kNoNeighbour:
      // The pod port may have written where the removed headers were.
      ReadIp(payload, sample);
      return sample;
    case Verdict::kPodSource:
    case Verdict::kUnknownPeer:
    case Verdict::kEcnIllegal:
      // Its headers are removed, and still there.
      if (packet.headroom < kHeaders) return sample;
      payload = {packet.data - kHeaders, packet.length + kHeaders};
      break;
    default:
      break;
  }
  const Parsed<VxlanHeader> vxlan = VxlanHeader::Parse(payload);
  if (!vxlan) return sample;
  sample.vni = vxlan->vni.value();
  ReadFrame(payload.subspan(VxlanHeader::kSize), sample);
  return sample;
}

DropSample ToWire(const Packet& packet) {
  DropSample sample;
  const bool stamped = packet.inner_offset != 0;
  if (stamped) sample.outer = packet.outer_address;
  ReadIp(packet.bytes().subspan(std::min<std::size_t>(packet.inner_offset, packet.length)), sample);
  // Else a frame, of a pod port that has frames.
  if (!stamped && !sample.source) ReadFrame(packet.bytes(), sample);
  return sample;
}

}  // namespace

void DropSamples::Offer(const Packet& packet, Verdict verdict, Timestamp now) {
  const auto i = static_cast<std::size_t>(verdict);
  std::int64_t due = due_[i].load(std::memory_order_relaxed);
  if (now.count() < due ||
      !due_[i].compare_exchange_strong(due, (now + kPause).count(), std::memory_order_relaxed))
    return;
  DropSample sample = from_wire_ ? FromWire(packet, verdict) : ToWire(packet);
  sample.at = now;
  // A worker waits for no reader: then there is a sample a second later.
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) samples_[i] = sample;
}

std::optional<DropSample> DropSamples::Read(Verdict verdict) const {
  const std::lock_guard lock(mutex_);
  return samples_[static_cast<std::size_t>(verdict)];
}

}  // namespace weft::dataplane
