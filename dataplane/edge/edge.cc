// SPDX-License-Identifier: Apache-2.0
#include "dataplane/edge/edge.h"

#include <algorithm>
#include <utility>

#include "dataplane/counters.h"
#include "dataplane/virtual_underlay.h"
#include "vxlan/icmp.h"

namespace weft::dataplane {
namespace {

const MacAddress kBroadcast = *MacAddress::Parse("ff:ff:ff:ff:ff:ff");

bool IsNeighbourMessage(const InnerPacket& packet) {
  if (packet.is_v4() || packet.protocol != IpProtocol::kIcmpV6) return false;
  const auto icmp = IcmpHeader::Parse(packet.transport());
  return icmp && (icmp->type == icmp_v6::kNeighborSolicitation ||
                  icmp->type == icmp_v6::kNeighborAdvertisement);
}

void DecrementTtl(const InnerPacket& packet, std::byte* header) {
  packet.is_v4() ? DecrementIpv4Ttl(header) : DecrementIpv6HopLimit(header);
}

}  // namespace

Edge::Edge(std::unique_ptr<PacketPort> frames, EdgeOptions options)
    : frames_(std::move(frames)),
      options_(std::move(options)),
      neighbours_(options_.max_neighbours, options_.neighbour_lifetime),
      queued_bytes_(kMaxBatch * (kHeadroom + kFrameRoom)) {}

bool Edge::IsGateway(const IpAddress& address) const {
  return std::ranges::count(options_.gateways, address) != 0;
}

bool Edge::IsPod(const IpAddress& address) const {
  return !IsGateway(address) && std::ranges::any_of(options_.pod_subnets, [&](const IpPrefix& p) {
    return p.Contains(address);
  });
}

std::size_t Edge::Receive(Batch& batch) {
  const std::size_t taken = frames_->Receive(batch);
  for (Packet& packet : batch)
    if (packet.verdict == Verdict::kForward) packet.verdict = Admit(packet, batch.now);
  SendQueued(batch.now);
  return taken;
}

Verdict Edge::Admit(Packet& packet, Timestamp now) {
  const auto frame = EthernetHeader::Parse(packet.bytes());
  if (!frame) return Verdict::kInnerMalformed;
  if (frame->source == options_.mac) return Verdict::kOwnFrame;
  if (IsVlanTag(frame->ether_type)) return Verdict::kVlanTagged;
  const Bytes payload = packet.bytes().subspan(EthernetHeader::kSize);
  if (frame->ether_type == EtherType::kArp) return AnswerArp(payload, now);
  if (frame->ether_type != EtherType::kIpv4 && frame->ether_type != EtherType::kIpv6)
    return Verdict::kNotIp;
  const auto inner = ParseInnerIp(payload);
  if (!inner || inner->ether_type() != frame->ether_type) return Verdict::kInnerMalformed;
  if (IsNeighbourMessage(*inner)) {
    const auto message = NeighbourMessage::Parse(inner->bytes());
    return message ? AnswerNeighbour(*message, now) : Verdict::kConsumed;
  }
  if (frame->destination.IsGroup()) return Verdict::kGroupDestination;
  if (frame->destination != options_.mac) return Verdict::kForeignMac;
  Learn(inner->source(), frame->source, now);
  if (inner->ttl <= 1) return Verdict::kTtlExpired;

  packet.Pull(EthernetHeader::kSize);
  DecrementTtl(*inner, packet.data);
  if (packet.checksum == ChecksumState::kPartial) {
    if (packet.checksum_start < EthernetHeader::kSize) return Verdict::kInnerMalformed;
    packet.checksum_start =
        static_cast<std::uint16_t>(packet.checksum_start - EthernetHeader::kSize);
  }
  if (packet.segmentation == Segmentation::kNone) {
    // Short frames are padded to 60 bytes.
    packet.tailroom += packet.length - inner->total_length;
    packet.length = inner->total_length;
    if (options_.unmarked_offloads && packet.checksum == ChecksumState::kOnWire) {
      packet = DescribeUnfinished(packet, *options_.unmarked_offloads);
      if (packet.checksum == ChecksumState::kPartial) Add(unmarked_checksums_, 1);
      if (packet.segmentation != Segmentation::kNone) Add(unmarked_superframes_, 1);
    }
  }
  return Verdict::kForward;
}

void Edge::Learn(const IpAddress& address, const MacAddress& mac, Timestamp now) {
  if (mac.IsGroup() || mac.IsZero() || mac == options_.mac || !IsPod(address)) return;
  neighbours_.Learn(address, mac, now);
  neighbour_count_.store(neighbours_.size(), std::memory_order_relaxed);
}

Verdict Edge::Claim(const IpAddress& address, const MacAddress& mac, Timestamp now) {
  // Nobody's yet: an ARP probe (RFC 5227 section 1.1), duplicate address detection.
  if (address.IsUnspecified()) return Verdict::kConsumed;
  if (IsGateway(address)) return Verdict::kForgedGateway;
  if (!IsPod(address))
    return address.IsLinkLocal() ? Verdict::kConsumed : Verdict::kForeignNeighbour;
  Learn(address, mac, now);
  return Verdict::kConsumed;
}

Verdict Edge::AnswerArp(Bytes payload, Timestamp now) {
  const auto arp = ArpPacket::Parse(payload);
  if (!arp) return Verdict::kConsumed;
  const Verdict verdict = Claim(IpAddress::V4(arp->sender_address), arp->sender_mac, now);
  if (verdict != Verdict::kConsumed || arp->operation != ArpPacket::Operation::kRequest ||
      !IsGateway(IpAddress::V4(arp->target_address)))
    return verdict;
  const MutableBytes out = NewFrame(arp->sender_mac, EtherType::kArp, ArpPacket::kSize);
  if (out.empty()) return verdict;
  arp->ReplyFrom(options_.mac).Emit(out.first<ArpPacket::kSize>());
  Add(requests_answered_, 1);
  return verdict;
}

Verdict Edge::AnswerNeighbour(const NeighbourMessage& message, Timestamp now) {
  const bool advertisement = message.kind == NeighbourMessage::Kind::kAdvertisement;
  Verdict verdict = Verdict::kConsumed;
  if (message.link_address)
    verdict = Claim(advertisement ? message.target : message.source, *message.link_address, now);
  if (verdict != Verdict::kConsumed || advertisement || !IsGateway(message.target)) return verdict;
  // A node without an address yet (duplicate address detection) gets its answer at all-nodes.
  const bool anonymous = message.source.IsUnspecified();
  if (!anonymous && !message.link_address && !neighbours_.Find(message.source, now)) return verdict;
  NeighbourMessage answer;
  answer.kind = NeighbourMessage::Kind::kAdvertisement;
  answer.source = message.target;
  answer.destination = anonymous ? *IpAddress::Parse("ff02::1") : message.source;
  answer.target = message.target;
  answer.router = true;
  answer.solicited = !anonymous;
  answer.overrides = true;
  answer.link_address = options_.mac;
  const MacAddress to = anonymous              ? MulticastMac(answer.destination)
                        : message.link_address ? *message.link_address
                                               : *neighbours_.Find(message.source, now);
  const MutableBytes out = NewFrame(to, EtherType::kIpv6, NeighbourMessage::kMaxSize);
  if (out.empty()) return verdict;
  answer.Emit(out);
  Add(requests_answered_, 1);
  return verdict;
}

void Edge::Ask(const IpAddress& address) {
  const auto own = std::ranges::find_if(
      options_.gateways, [&](const IpAddress& g) { return g.family() == address.family(); });
  if (own == options_.gateways.end()) return;
  if (address.is_v4()) {
    const MutableBytes out = NewFrame(kBroadcast, EtherType::kArp, ArpPacket::kSize);
    if (out.empty()) return;
    ArpPacket request;
    request.operation = ArpPacket::Operation::kRequest;
    request.sender_mac = options_.mac;
    request.sender_address = own->v4();
    request.target_address = address.v4();
    request.Emit(out.first<ArpPacket::kSize>());
  } else {
    NeighbourMessage request;
    request.source = *own;
    request.destination = SolicitedNodeAddress(address);
    request.target = address;
    request.link_address = options_.mac;
    const MutableBytes out =
        NewFrame(MulticastMac(request.destination), EtherType::kIpv6, NeighbourMessage::kMaxSize);
    if (out.empty()) return;
    request.Emit(out);
  }
  Add(requests_sent_, 1);
}

MutableBytes Edge::NewFrame(const MacAddress& destination, EtherType type, std::size_t payload) {
  if (queued_.full()) return {};
  Packet frame;
  frame.data = queued_bytes_.data() + queued_.size() * (kHeadroom + kFrameRoom) + kHeadroom;
  frame.headroom = kHeadroom;
  frame.length = static_cast<std::uint32_t>(EthernetHeader::kSize + payload);
  frame.tailroom = static_cast<std::uint32_t>(kFrameRoom) - frame.length;
  const MutableBytes bytes = queued_.Add(frame).bytes();
  EthernetHeader{destination, options_.mac, type}.Emit(bytes.first<EthernetHeader::kSize>());
  return bytes.subspan(EthernetHeader::kSize);
}

void Edge::SendQueued(Timestamp now) {
  if (queued_.empty()) return;
  queued_.now = now;
  frames_->Send(queued_);
  queued_.clear();
}

Verdict Edge::Address(Packet& packet, Timestamp now) {
  const auto inner = ParseInnerIp(packet.bytes());
  if (!inner) return Verdict::kInnerMalformed;
  if (inner->ttl <= 1) return Verdict::kTtlExpired;
  const IpAddress destination = inner->destination();
  const auto mac = neighbours_.Find(destination, now);
  if (IsPod(destination) && neighbours_.ShouldRequest(destination, now)) Ask(destination);
  if (!mac) return Verdict::kNoNeighbour;
  if (packet.headroom < EthernetHeader::kSize) return Verdict::kPodError;
  DecrementTtl(*inner, packet.data);
  packet.Push(EthernetHeader::kSize);
  packet.checksum_start = static_cast<std::uint16_t>(packet.checksum_start + EthernetHeader::kSize);
  EthernetHeader{*mac, options_.mac, inner->ether_type()}.Emit(
      packet.bytes().first<EthernetHeader::kSize>());
  return Verdict::kForward;
}

void Edge::Send(Batch& batch) {
  pushed_.reset();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].verdict != Verdict::kForward) continue;
    batch[i].verdict = Address(batch[i], batch.now);
    pushed_[i] = batch[i].verdict == Verdict::kForward;
  }
  frames_->Send(batch);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!pushed_[i]) continue;
    batch[i].Pull(EthernetHeader::kSize);
    batch[i].checksum_start =
        static_cast<std::uint16_t>(batch[i].checksum_start - EthernetHeader::kSize);
  }
  SendQueued(batch.now);
}

std::vector<NamedCount> Edge::Counts() const {
  std::vector<NamedCount> counts = frames_->Counts();
  counts.push_back({"neighbours", neighbour_count_.load(std::memory_order_relaxed)});
  counts.push_back({"neighbours-asked", requests_sent_.load(std::memory_order_relaxed)});
  counts.push_back({"neighbours-answered", requests_answered_.load(std::memory_order_relaxed)});
  if (options_.unmarked_offloads) {
    counts.push_back({"unmarked-checksums", unmarked_checksums_.load(std::memory_order_relaxed)});
    counts.push_back(
        {"unmarked-superframes", unmarked_superframes_.load(std::memory_order_relaxed)});
  }
  return counts;
}

}  // namespace weft::dataplane
