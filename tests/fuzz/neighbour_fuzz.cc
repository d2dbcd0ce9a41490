// SPDX-License-Identifier: Apache-2.0
// Pods' frames at the edge: messages that parse as neighbour discovery survive Emit; the edge
// answers with complete correct frames, delivers IP packets with one hop less, and gives every
// frame one verdict.
//
// The input: a byte of settings, then frames, each preceded by two bytes of length.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "dataplane/edge/edge.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/packets.h"
#include "tests/support/packet_builder.h"
#include "vxlan/arp.h"
#include "vxlan/ethernet.h"
#include "vxlan/inner_frame.h"
#include "vxlan/ipv6.h"

namespace weft::dataplane {
namespace {

using fuzz::Require;

const MacAddress kOurs = Mac("02:00:00:00:00:01");

// RFC 4861 sections 7.1.1 and 7.1.2: what is taken must be all this.
void CheckValid(Bytes packet, const NeighbourMessage& message) {
  const auto ip = Ipv6Header::Parse(packet);
  Require(ip.ok() && ip->hop_limit == 255, "no router forwarded it");
  packet = packet.first(Ipv6Header::kSize + ip->payload_length);
  Require(VerifyTransportChecksum(packet) == TransportChecksum::kRight, "the checksum");
  Require(!message.target.IsMulticast(), "the target is no group");
  Require(message.kind == NeighbourMessage::Kind::kAdvertisement ||
              !message.source.IsUnspecified() || !message.link_address,
          "nobody gives a link address for no address");
  for (std::size_t at = 64; packet.size() - at >= 8;) {
    const std::size_t length = std::size_t{Load8(packet.data() + at + 1)} * 8;
    Require(length != 0, "no option of length 0");
    at += std::min(length, packet.size() - at);
  }
}

void CheckMessage(Bytes packet) {
  const auto message = NeighbourMessage::Parse(packet);
  if (!message) return;
  CheckValid(packet, *message);
  ByteVector emitted(NeighbourMessage::kMaxSize, std::byte{0xa5});
  emitted.resize(message->Emit(emitted));
  Require(NeighbourMessage::Parse(emitted) == message, "a message survives Emit");
  fuzz::RequireRight(emitted);
}

// Frames that the edge sends unprompted.
void CheckOwnFrame(Bytes frame) {
  const auto ethernet = EthernetHeader::Parse(frame);
  Require(ethernet.ok() && ethernet->source == kOurs, "a frame of ours");
  const Bytes payload = frame.subspan(EthernetHeader::kSize);
  if (ethernet->ether_type == EtherType::kArp) {
    const auto arp = ArpPacket::Parse(payload);
    Require(arp.ok() && arp->sender_mac == kOurs, "an ARP packet of ours");
    return;
  }
  Require(ethernet->ether_type == EtherType::kIpv6, "ARP or neighbour discovery");
  const auto message = NeighbourMessage::Parse(payload);
  Require(message.has_value() && message->link_address == kOurs, "a message of ours");
}

// Delivers the given frames, and checks those to be sent.
class FramePort final : public PacketPort {
 public:
  PortKind kind() const override { return PortKind::kPodL2; }
  const PortFeatures& features() const override { return features_; }
  std::size_t Receive(Batch& batch) override {
    batch.clear();
    for (const Packet& packet : waiting) batch.Add(packet);
    waiting.clear();
    return batch.size();
  }
  void Send(Batch& batch) override {
    for (const Packet& packet : batch)
      if (packet.verdict == Verdict::kForward) sent.push_back(fuzz::BytesOf(packet));
  }
  std::vector<Packet> waiting;
  std::vector<ByteVector> sent;

 private:
  PortFeatures features_;
};

// A delivered packet: the frame's, one hop on.
void CheckDelivered(const Packet& packet, const ByteVector& frame) {
  const auto before = ParseInnerFrame(frame);
  Require(before.ok(), "what is delivered is IP");
  const auto inner = ParseInnerIp(packet.bytes());
  Require(inner.ok() && inner->total_length == before->total_length, "whole");
  Require(before->ttl > 1 && inner->ttl + 1 == before->ttl, "one hop on");
  const std::size_t from = inner->is_v4() ? 12 : 8;  // the addresses
  const std::size_t size = inner->total_length - from;
  Require(fuzz::SameBytes(inner->bytes().subspan(from, size), before->bytes().subspan(from, size)),
          "otherwise the same");
}

}  // namespace
}  // namespace weft::dataplane

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  using namespace weft::dataplane;
  fuzz::Input input(data, size);
  const std::uint8_t setting = input.Byte();
  EdgeOptions options;
  options.mac = kOurs;
  options.gateways = {Ip("10.244.1.1"), Ip("fd00:1::1")};
  options.pod_subnets = {*IpPrefix::Parse("10.244.1.0/24"), *IpPrefix::Parse("fd00:1::/64")};
  options.max_neighbours = 1u + (setting >> 1);
  if ((setting & 1) != 0) options.unmarked_offloads = *InnerMtu::From(1450);
  auto port = std::make_unique<FramePort>();
  FramePort& frames = *port;
  Edge edge(std::move(port), options);

  fuzz::ExactBuffers buffers;
  static const auto batch = std::make_unique<Batch>();
  std::vector<ByteVector> originals;
  while (!input.empty() && originals.size() < kMaxBatch) {
    const std::size_t high = input.Byte();
    const Bytes frame = input.Take(std::max<std::size_t>(high << 8 | input.Byte(), 1));
    if (frame.empty()) break;
    CheckMessage(frame.subspan(std::min(frame.size(), EthernetHeader::kSize)));
    originals.emplace_back(frame.begin(), frame.end());
    frames.waiting.push_back(buffers.Lend(frame));
  }
  batch->now = std::chrono::seconds(1);
  Require(edge.Receive(*batch) == originals.size(), "every frame has a verdict");
  for (std::size_t i = 0; i < originals.size(); ++i) {
    if ((*batch)[i].verdict == Verdict::kForward) CheckDelivered((*batch)[i], originals[i]);
  }
  for (const ByteVector& frame : frames.sent) CheckOwnFrame(frame);

  // Back to the pods: to a learnt MAC, or the edge requests it from the pod.
  frames.sent.clear();
  batch->clear();
  batch->now = std::chrono::seconds(3);
  for (const char* pod : {"10.244.1.2", "fd00:1::2"}) {
    const IpAddress address = Ip(pod);
    const auto packet =
        PacketBuilder(address.is_v4() ? Ip("10.244.2.9") : Ip("fd00:2::9"), address).Build();
    batch->Add(buffers.Lend(packet));
  }
  edge.Send(*batch);
  for (const ByteVector& frame : frames.sent) {
    const auto inner = ParseInnerFrame(frame);
    const auto ethernet = EthernetHeader::Parse(frame);
    Require(ethernet.ok() && ethernet->source == kOurs, "a frame of ours");
    if (inner && inner->source() != Ip("10.244.2.9") && inner->source() != Ip("fd00:2::9"))
      CheckOwnFrame(frame);
  }
  return 0;
}
