// SPDX-License-Identifier: Apache-2.0
// Pod to wire, every rule for every packet. Handles the packets that the fast loop in
// forwarder_encapsulate.cc does not take.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "dataplane/forwarder_impl.h"
#include "dataplane/offload.h"
#include "vxlan/checksum.h"
#include "vxlan/flow_hash.h"
#include "vxlan/icmp.h"

namespace weft::dataplane {
namespace {

bool IsGroupV4(std::uint32_t address) { return address >> 28 == 0xe || address == 0xffff'ffff; }

// Checks that the descriptor agrees with the bytes and that a socket could have made the segments.
// A superframe that fits into one segment becomes an ordinary packet.
Verdict JudgeSuperframe(Packet& packet, const InnerPacket& inner, std::uint32_t max_udp_segments) {
  const bool is_tcp = packet.segmentation == Segmentation::kTcp;
  if (!is_tcp && packet.segmentation != Segmentation::kUdp) return Verdict::kInnerMalformed;
  if (inner.protocol != (is_tcp ? IpProtocol::kTcp : IpProtocol::kUdp) ||
      inner.fragment != FragmentKind::kWhole || inner.header_length != packet.checksum_start ||
      packet.segment_size == 0) {
    return Verdict::kInnerMalformed;
  }
  const std::uint32_t header = SuperframeHeaderLength(packet);
  if (header == 0) return Verdict::kInnerMalformed;
  if (packet.length - header <= packet.segment_size) {
    packet.segmentation = Segmentation::kNone;
    packet.segment_size = 0;
    return Verdict::kForward;
  }
  const bool tiny =
      is_tcp ? packet.segment_size < kLeastTcpSegment : WirePackets(packet) > max_udp_segments;
  return tiny ? Verdict::kTinySegments : Verdict::kForward;
}

void Describe(Packet& packet, const InnerPacket& inner) {
  packet.outer_port = OuterSourcePort(HashInnerFlow(inner));
  packet.outer_ecn = static_cast<std::uint8_t>(EncapsulationEcn(inner.ecn));
}

// The learnt path MTU to the slot's peer, in outer bytes; 0: none.
std::uint32_t PathMtu(PeerTable::Slot& slot, Timestamp now) {
  const std::uint32_t path_mtu = slot.path_mtu.load(std::memory_order_relaxed);
  if (path_mtu != 0 && now.count() >= slot.path_mtu_expiry.load(std::memory_order_relaxed)) {
    slot.path_mtu.store(0, std::memory_order_relaxed);
    return 0;
  }
  return path_mtu;
}

// Shortens the segments of a TCP superframe, which is cut here anyway, to a path MTU that is lower
// than pods can follow; this avoids fragments. False: not possible, or the segments would be very
// short.
bool ShortenSegments(Packet& packet, std::uint32_t path_mtu, std::uint32_t overhead) {
  if (packet.segmentation != Segmentation::kTcp) return false;
  const std::uint32_t headers = overhead + SuperframeHeaderLength(packet);
  const std::uint32_t room = path_mtu > headers ? path_mtu - headers : 0;
  if (room * 2 < packet.segment_size) return false;
  packet.segment_size = static_cast<std::uint16_t>(room);
  return true;
}

}  // namespace

void Forwarder::Impl::ResolveSlow(Packet& packet, std::size_t i) {
  found[i] = &no_remote;
  found_slow[i] = nullptr;
  if (packet.verdict == Verdict::kForward) packet.verdict = Resolve(packet, found_slow[i]);
  Prefetch(found_slow[i]);
}

Verdict Forwarder::Impl::Resolve(Packet& packet, const Remote*& remote) const {
  const Parsed<InnerPacket> inner = ParseInnerIp(packet.bytes());
  if (!inner)
    return inner.error() == Malformed::kBadVersion ? Verdict::kNotIp : Verdict::kInnerMalformed;
  packet.tailroom += packet.length - inner->total_length;
  packet.length = inner->total_length;
  if (inner->ttl == 0) return Verdict::kTtlExpired;  // RFC 1812 section 5.3.1

  std::uint32_t index = 0;
  if (inner->is_v4()) {
    const std::uint32_t destination = inner->destination_v4();
    if (IsGroupV4(destination)) return Verdict::kGroupDestination;
    if (own.ContainV4(destination)) return Verdict::kOwnSubnet;
    index = snapshot->FindV4(destination);
  } else {
    if (Load8(inner->destination_bytes()) == 0xff) return Verdict::kGroupDestination;
    const AddressKey destination = AddressKey::V6(inner->destination_bytes());
    if (own.ContainV6(destination)) return Verdict::kOwnSubnet;
    index = snapshot->FindV6(destination);
  }
  if (index == 0) return Verdict::kNoRoute;

  if (packet.segmentation != Segmentation::kNone) {
    const Verdict verdict = JudgeSuperframe(packet, *inner, config.max_udp_segments);
    if (verdict != Verdict::kForward) return verdict;
  }
  if (packet.checksum == ChecksumState::kPartial && packet.segmentation == Segmentation::kNone &&
      !CompleteChecksum(packet)) {
    return Verdict::kInnerMalformed;
  }
  Describe(packet, *inner);
  remote = snapshot->At(index);
  return Verdict::kForward;
}

void Forwarder::Impl::StampSlow(Packet& packet, std::size_t i, Timestamp now, Batch& replies) {
  if (found[i] != &no_remote) {  // a usual packet, an unusual remote
    packet.outer_ecn = OuterEcnV4(packet);
    Stamp(packet, *found[i], now, replies);
  } else if (found_slow[i] != nullptr) {
    Stamp(packet, *found_slow[i], now, replies);
  }
}

void Forwarder::Impl::Stamp(Packet& packet, const Remote& remote, Timestamp now, Batch& replies) {
  const EncapsulationTemplate& encapsulation = remote.encapsulation;
  PeerTable::Slot& slot = SlotOf(remote);
  const std::uint32_t inner_length = packet.length;
  const bool is_superframe = packet.segmentation != Segmentation::kNone;
  std::uint32_t largest = inner_length;
  if (is_superframe) {
    packet.inner_offset = 0;
    largest = SuperframeHeaderLength(packet) + packet.segment_size;
  }
  const IpFamily inner = Load8(packet.data) >> 4 == 4 ? IpFamily::kV4 : IpFamily::kV6;
  const auto overhead = static_cast<std::uint32_t>(encapsulation.size());
  const std::uint32_t path_mtu = PathMtu(slot, now);
  std::uint32_t limit = too_big[overhead] - 1;
  if (path_mtu != 0) limit = std::min(limit, std::max(path_mtu - overhead, LeastPathLimit(inner)));
  if (largest > limit) {
    packet.verdict = AnswerTooBig(packet, limit, now, replies);
    // The ICMP error has overwritten the headers; the packet still counts as its number of
    // segments.
    if (is_superframe) {
      if (packet.verdict != Verdict::kTooBig)
        counters.to_wire.samples.Offer(packet, packet.verdict, now);
      packet.Pull(largest - packet.segment_size);
      packet.segmentation = Segmentation::kDatagrams;
    }
    return;
  }
  if (path_mtu != 0 && largest + overhead > path_mtu)
    packet.may_fragment = !ShortenSegments(packet, path_mtu, overhead);
  const std::uint64_t wire_packets = is_superframe ? WirePackets(packet) : 1;
  Add(slot.sent_packets, wire_packets);
  Add(slot.sent_bytes, is_superframe ? InnerBytes(packet) : inner_length);
  if (packet.may_fragment) Add(slot.fragmentable_packets, wire_packets);

  const EtherType ether_type = inner == IpFamily::kV4 ? EtherType::kIpv4 : EtherType::kIpv6;
  if (config.wire == PortKind::kWireDatagram) {
    encapsulation.StampPayload(packet.Push(kPayloadSize), ether_type);
    packet.inner_offset = static_cast<std::uint16_t>(kPayloadSize);
    packet.outer_address = remote.vtep;
  } else {
    std::byte* const at = packet.Push(overhead);
    encapsulation.Stamp(at, inner_length, ether_type, packet.outer_port, EcnOf(packet.outer_ecn));
    packet.inner_offset = static_cast<std::uint16_t>(overhead);
    if (packet.may_fragment && encapsulation.is_v4()) {
      constexpr std::uint16_t kDontFragment = 0x4000;
      StoreBe16(at + 6, 0);
      StoreBe16(at + 10, UpdateChecksum16(LoadBe16(at + 10), kDontFragment, 0));
    }
    if (encapsulation.wants_udp_checksum()) {
      if (is_superframe) {
        StoreBe16(at + overhead - kPayloadSize - 2, 0xffff);  // SuperframeCutter computes it
      } else {
        CompleteUdpChecksum(packet.bytes());
      }
    }
  }
  packet.checksum_start = static_cast<std::uint16_t>(packet.checksum_start + packet.inner_offset);
}

Verdict Forwarder::Impl::AnswerTooBig(const Packet& packet, std::uint32_t limit, Timestamp now,
                                      Batch& replies) {
  // RFC 791 requires a router to fragment a packet without DF, and RFC 1812 section 5.2.7.1 allows
  // code 4 only for a packet with DF. We send code 4 for both: Linux and Windows senders then
  // fragment by themselves, which avoids fragments in the tunnel.
  const Bytes offending = packet.bytes();
  const std::optional<InnerMtu> mtu = InnerMtu::From(limit);
  const IpFamily family = Load8(packet.data) >> 4 == 4 ? IpFamily::kV4 : IpFamily::kV6;
  const auto source =
      std::find_if(config.own_addresses.begin(), config.own_addresses.end(),
                   [&](const IpAddress& own_address) { return own_address.family() == family; });
  if (!mtu || source == config.own_addresses.end() || replies.full() ||
      !MayAnswerWithIcmpError(offending) || !icmp_budget.TryConsume(now)) {
    return Verdict::kTooBigSilent;
  }
  std::array<std::byte, kMaxIcmpV6Error> answer;
  // Linux drops an IPv4 packet that a device delivers with one of the host's own source addresses
  // as a martian, so an IPv4 answer has the destination as its source.
  const IpAddress from =
      family == IpFamily::kV4 ? IpAddress::V4(LoadBe32(packet.data + 16)) : *source;
  const std::size_t length = EmitPacketTooBig(*mtu, offending, from, answer);
  if (length == 0) return Verdict::kTooBigSilent;

  // The quotation is no longer than the packet, and the headers before it fit into the headroom.
  constexpr auto kAnswerHeaders = static_cast<std::uint32_t>(kIpv6HeaderSize + IcmpHeader::kSize);
  Packet reply;
  reply.data = packet.data - kAnswerHeaders;
  reply.length = static_cast<std::uint32_t>(length);
  reply.headroom = packet.headroom - kAnswerHeaders;
  reply.tailroom = packet.tailroom + packet.length + kAnswerHeaders - reply.length;
  counters.to_wire.samples.Offer(packet, Verdict::kTooBig, now);  // while it has its headers
  std::memcpy(reply.data, answer.data(), length);
  replies.Add(reply);
  AddShared(counters.icmp_errors_sent, 1);
  return Verdict::kTooBig;
}

}  // namespace weft::dataplane
