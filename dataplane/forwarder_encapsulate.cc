// SPDX-License-Identifier: Apache-2.0
// Pod to wire: look up, check the size, stamp.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "dataplane/forwarder_impl.h"
#include "dataplane/offload.h"
#include "vxlan/flow_hash.h"
#include "vxlan/icmp.h"
#include "vxlan/ipv4.h"

namespace weft::dataplane {
namespace {

bool IsGroupV4(std::uint32_t address) { return address >> 28 == 0xe || address == 0xffff'ffff; }

// Whether the descriptor agrees with the octets. A superframe that fits into one segment becomes an
// ordinary packet.
bool CheckSuperframe(Packet& packet, const InnerPacket& inner) {
  const bool is_tcp = packet.segmentation == Segmentation::kTcp;
  if (!is_tcp && packet.segmentation != Segmentation::kUdp) return false;
  if (inner.protocol != (is_tcp ? IpProtocol::kTcp : IpProtocol::kUdp) ||
      inner.fragment != FragmentKind::kWhole || inner.header_length != packet.checksum_start ||
      packet.segment_size == 0) {
    return false;
  }
  const std::uint32_t header = SuperframeHeaderLength(packet);
  if (header == 0) return false;
  if (packet.length - header <= packet.segment_size) {
    packet.segmentation = Segmentation::kNone;
    packet.segment_size = 0;
  }
  return true;
}

void Describe(Packet& packet, const InnerPacket& inner) {
  const FlowHash hash = HashInnerFlow(inner);
  packet.flow_hash = hash.value;
  packet.outer_port = OuterSourcePort(hash);
  packet.outer_ecn = static_cast<std::uint8_t>(EncapsulationEcn(inner.ecn));
}

}  // namespace

void Forwarder::Encapsulate(Batch& batch, Batch& replies) {
  Impl& impl = *impl_;
  const auto look = [&](std::size_t i) {
    Packet& packet = batch[i];
    Impl::Found& found = impl.results[i];
    found.remote = nullptr;
    if (packet.verdict != Verdict::kForward) return;
    packet.verdict = impl.Resolve(packet, found);
    if (packet.verdict == Verdict::kForward) {
      Prefetch(found.remote);
    } else {
      found.remote = nullptr;
    }
  };
  const auto stamp = [&](std::size_t i) {
    if (impl.results[i].remote != nullptr) {
      impl.Stamp(batch[i], impl.results[i], batch.now, replies);
    }
  };
  impl.Walk(batch, look, stamp);
}

// Takes what almost all packets are: plain IPv4 without options. Loads the header once, as whole
// words.
inline Verdict Forwarder::Impl::Resolve(Packet& packet, Found& found) const {
  if (packet.length < Ipv4Header::kSize || packet.segmentation != Segmentation::kNone ||
      packet.checksum != ChecksumState::kOnWire) {
    return ResolveAny(packet, found);
  }
  const std::byte* const ip = packet.data;
  const std::uint64_t first =
      LoadBe64(ip);  // version, IHL, TOS, total length, identification, fragment
  const auto total_length = static_cast<std::uint32_t>(first >> 32 & 0xffff);
  const std::uint32_t destination = LoadBe32(ip + 16);
  InnerPacket inner;
  inner.data = ip;
  inner.total_length = total_length;
  inner.header_length = Ipv4Header::kSize;
  inner.protocol = static_cast<IpProtocol>(Load8(ip + 9));
  inner.ecn = EcnOf(static_cast<std::uint8_t>(first >> 48));
  const bool usual = first >> 56 == 0x45 && (first & 0x3fff) == 0 &&
                     total_length == packet.length && Load8(ip + 8) != 0 && !IsGroupV4(destination);
  if (!usual) [[unlikely]]
    return ResolveAny(packet, found);
  if (own.ContainV4(destination)) [[unlikely]]
    return Verdict::kOwnSubnet;
  const std::uint32_t index = snapshot->FindV4(destination);
  if (index == 0) [[unlikely]]
    return Verdict::kNoRoute;
  found.remote = snapshot->At(index);
  found.family = IpFamily::kV4;
  Describe(packet, inner);
  return Verdict::kForward;
}

Verdict Forwarder::Impl::ResolveAny(Packet& packet, Found& found) const {
  const Parsed<InnerPacket> inner = ParseInnerIp(packet.bytes());
  if (!inner) {
    return inner.error() == Malformed::kBadVersion ? Verdict::kNotIp : Verdict::kInnerMalformed;
  }
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
    if (Load8(inner->destination_octets()) == 0xff) return Verdict::kGroupDestination;
    const AddressKey destination = AddressKey::V6(inner->destination_octets());
    if (own.ContainV6(destination)) return Verdict::kOwnSubnet;
    index = snapshot->FindV6(destination);
  }
  if (index == 0) return Verdict::kNoRoute;
  found.remote = snapshot->At(index);
  found.family = inner->family;

  if (packet.segmentation != Segmentation::kNone && !CheckSuperframe(packet, *inner)) {
    return Verdict::kInnerMalformed;
  }
  if (packet.checksum == ChecksumState::kPartial && packet.segmentation == Segmentation::kNone &&
      !CompleteChecksum(packet)) {
    return Verdict::kInnerMalformed;
  }
  Describe(packet, *inner);
  return Verdict::kForward;
}

inline std::uint32_t Forwarder::Impl::InnerLimit(PeerTable::Slot& slot, IpFamily outer,
                                                 Timestamp now) const {
  const std::uint32_t limit = inner_limit[static_cast<std::size_t>(outer)];
  const std::uint32_t path_mtu = slot.path_mtu.load(std::memory_order_relaxed);
  if (path_mtu == 0) [[likely]]
    return limit;
  if (now.count() >= slot.path_mtu_expiry.load(std::memory_order_relaxed)) {
    slot.path_mtu.store(0, std::memory_order_relaxed);
    return limit;
  }
  return std::min(limit, path_mtu - EncapsulationOverhead(outer));
}

inline void Forwarder::Impl::Stamp(Packet& packet, const Found& found, Timestamp now,
                                   Batch& replies) {
  const Remote& remote = *found.remote;
  const EncapsulationTemplate& encapsulation = remote.encapsulation;
  PeerTable::Slot& slot = peers.slot(remote.peer);
  const std::uint32_t inner_length = packet.length;
  const bool is_superframe = packet.segmentation != Segmentation::kNone;
  std::uint32_t largest = inner_length;
  std::uint64_t wire_packets = 1;
  std::uint64_t wire_octets = inner_length;
  if (is_superframe) [[unlikely]] {
    packet.inner_offset = 0;
    largest = SuperframeHeaderLength(packet) + packet.segment_size;
    wire_packets = WirePackets(packet);
    wire_octets = InnerOctets(packet);
  }
  const std::uint32_t limit = InnerLimit(slot, encapsulation.outer_family(), now);
  if (largest > limit) [[unlikely]] {
    packet.verdict = AnswerTooBig(packet, limit, now, replies);
    return;
  }
  Add(slot.sent_packets, wire_packets);
  Add(slot.sent_octets, wire_octets);
  packet.peer = remote.peer;

  const EtherType ether_type = found.family == IpFamily::kV4 ? EtherType::kIpv4 : EtherType::kIpv6;
  if (config.wire == PortKind::kWireDatagram) {
    encapsulation.StampPayload(packet.Push(kPayloadSize), ether_type);
    packet.inner_offset = static_cast<std::uint16_t>(kPayloadSize);
    packet.outer_address = remote.vtep;
  } else {
    const auto octets = static_cast<std::uint32_t>(encapsulation.size());
    std::byte* const outer = packet.Push(octets);
    encapsulation.Stamp(outer, inner_length, ether_type, packet.outer_port,
                        EcnOf(packet.outer_ecn));
    packet.inner_offset = static_cast<std::uint16_t>(octets);
    if (encapsulation.wants_udp_checksum()) {
      if (is_superframe) {
        StoreBe16(outer + octets - kPayloadSize - 2, 0xffff);  // asks SuperframeCutter for one
      } else {
        CompleteUdpChecksum(packet.bytes());
      }
    }
  }
  packet.checksum_start = static_cast<std::uint16_t>(packet.checksum_start + packet.inner_offset);
}

Verdict Forwarder::Impl::AnswerTooBig(const Packet& packet, std::uint32_t limit, Timestamp now,
                                      Batch& replies) {
  // RFC 791 would have us fragment a packet without DF, RFC 1812 section 5.2.7.1 send code 4 only
  // for one with. Our answer to both makes Linux and Windows senders fragment by themselves, and no
  // fragment crosses the tunnel that need not.
  const Bytes offending = packet.bytes();
  const std::optional<InnerMtu> mtu = InnerMtu::Of(limit);
  const IpFamily family = Load8(packet.data) >> 4 == 4 ? IpFamily::kV4 : IpFamily::kV6;
  const auto source =
      std::find_if(config.own_addresses.begin(), config.own_addresses.end(),
                   [&](const IpAddress& own_address) { return own_address.family() == family; });
  if (!mtu || source == config.own_addresses.end() || replies.full() ||
      !MayAnswerWithIcmpError(offending) || !icmp_budget.Take(now)) {
    return Verdict::kTooBigSilent;
  }
  std::array<std::byte, kMaxIcmpV6Error> answer;
  // Linux takes an IPv4 packet that comes from a device and carries one of the host's own addresses
  // for a martian and drops it, so there the answer speaks for the destination.
  const IpAddress from =
      family == IpFamily::kV4 ? IpAddress::V4(LoadBe32(packet.data + 16)) : *source;
  const std::size_t length = EmitPacketTooBig(*mtu, offending, from, answer);
  if (length == 0) return Verdict::kTooBigSilent;

  // What is quoted is no longer than the packet, and the headers before it fit into the headroom.
  constexpr auto kAnswerHeaders = static_cast<std::uint32_t>(kIpv6HeaderSize + IcmpHeader::kSize);
  Packet reply;
  reply.data = packet.data - kAnswerHeaders;
  reply.length = static_cast<std::uint32_t>(length);
  reply.headroom = packet.headroom - kAnswerHeaders;
  reply.tailroom = packet.tailroom + packet.length + kAnswerHeaders - reply.length;
  std::memcpy(reply.data, answer.data(), length);
  replies.Add(reply);
  Add(counters.icmp_errors_sent, 1);
  return Verdict::kTooBig;
}

}  // namespace weft::dataplane
