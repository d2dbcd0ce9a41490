// SPDX-License-Identifier: Apache-2.0
#include "dataplane/forwarder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "dataplane/icmp_budget.h"
#include "dataplane/offload.h"
#include "dataplane/remote_snapshot.h"
#include "vxlan/bytes.h"
#include "vxlan/ecn.h"
#include "vxlan/encapsulation.h"
#include "vxlan/flow_hash.h"
#include "vxlan/icmp.h"
#include "vxlan/inner_frame.h"
#include "vxlan/outer_packet.h"
#include "vxlan/vxlan_header.h"

namespace weft::dataplane {
namespace {

// So many packets lie between a prefetch and its use: measured best between 8 and 24 with 100,000
// remotes in the L3 cache.
constexpr std::size_t kAhead = 16;

constexpr auto kPayloadSize = static_cast<std::uint32_t>(EncapsulationTemplate::kPayloadSize);

void Prefetch(const void* at) { __builtin_prefetch(at); }

bool IsGroupV4(std::uint32_t address) { return address >> 28 == 0xe || address == 0xffff'ffff; }

// The subnets of this node, ready for comparison.
class OwnSubnets {
 public:
  explicit OwnSubnets(const std::vector<IpPrefix>& subnets) {
    for (const IpPrefix& subnet : subnets) {
      if (subnet.family() == IpFamily::kV4) {
        const std::uint32_t mask =
            subnet.length() == 0 ? 0 : ~std::uint32_t{0} << (32 - subnet.length());
        v4_.push_back({subnet.base().v4(), mask});
      } else {
        v6_.push_back({AddressKey::Of(subnet.base()), subnet.length()});
      }
    }
  }
  bool ContainV4(std::uint32_t address) const {
    for (const V4& subnet : v4_) {
      if ((address & subnet.mask) == subnet.base) return true;
    }
    return false;
  }
  bool ContainV6(const AddressKey& address) const {
    for (const V6& subnet : v6_) {
      if (address.First(subnet.length) == subnet.base) return true;
    }
    return false;
  }

 private:
  struct V4 {
    std::uint32_t base;
    std::uint32_t mask;
  };
  struct V6 {
    AddressKey base;
    int length;
  };
  std::vector<V4> v4_;
  std::vector<V6> v6_;
};

}  // namespace

struct Forwarder::Impl {
  // What the first pass over a batch found out about a packet.
  struct Found {
    const Remote* remote;        // to the wire: null unless the packet goes on
    std::uint32_t total_length;  // of the inner IP packet
    IpFamily family;
    Ecn ecn;
  };

  Impl(const ForwarderConfig& wanted, const RemoteTable& table, PeerTable& peer_table,
       Counters& counts)
      : config(wanted),
        own(wanted.own_subnets),
        local_mac(LoadBe48(wanted.local.mac.octets().data())),
        remotes(table),
        peers(peer_table),
        counters(counts),
        snapshot(table.snapshot()) {
    for (const IpFamily outer : {IpFamily::kV4, IpFamily::kV6}) {
      inner_limit[static_cast<std::size_t>(outer)] = std::min(
          config.device_mtu.octets(), config.link_mtu.octets() - EncapsulationOverhead(outer));
    }
  }

  static std::uint64_t LoadBe48(const std::byte* at) {
    return std::uint64_t{LoadBe16(at)} << 32 | LoadBe32(at + 2);
  }

  void PrefetchSlot(std::size_t i) const {
    if (results[i].remote != nullptr) Prefetch(&peers.slot(results[i].remote->peer));
  }

  Verdict Resolve(Packet& packet, Found& found) const;
  bool CheckSuperframe(Packet& packet, const InnerPacket& inner) const;
  void Stamp(Packet& packet, const Found& found, Timestamp now, Batch& replies);
  std::uint32_t InnerLimit(PeerTable::Slot& slot, IpFamily outer, Timestamp now) const;
  Verdict AnswerTooBig(const Packet& packet, std::uint32_t limit, Timestamp now, Batch& replies);

  Verdict StripOuter(Packet& packet) const;
  Verdict Inspect(Packet& packet, Found& found) const;
  void Strip(Packet& packet, const Found& found);
  bool PeerIsRight(const Packet& packet, const Remote* remote) const;

  const ForwarderConfig config;
  const OwnSubnets own;
  const std::uint64_t local_mac;  // 48 bits
  const RemoteTable& remotes;
  PeerTable& peers;
  Counters& counters;
  std::array<std::uint32_t, 2>
      inner_limit{};  // octets, by outer family, where no path MTU is learnt

  std::shared_ptr<const RemoteSnapshot> snapshot;
  IcmpBudget icmp_budget;
  std::array<Found, kMaxBatch> results;
};

Forwarder::Forwarder(const ForwarderConfig& config, const RemoteTable& remotes, PeerTable& peers,
                     Counters& counters)
    : impl_(std::make_unique<Impl>(config, remotes, peers, counters)) {}

Forwarder::~Forwarder() = default;

void Forwarder::Refresh() {
  if (impl_->remotes.version() != impl_->snapshot->version())
    impl_->snapshot = impl_->remotes.snapshot();
}

// Pod to wire. ---------------------------------------------------------------------------------

void Forwarder::Encapsulate(Batch& batch, Batch& replies) {
  Impl& impl = *impl_;
  const std::size_t size = batch.size();
  for (std::size_t i = 0; i < std::min(size, kAhead); ++i) Prefetch(batch[i].data);
  for (std::size_t i = 0; i < size; ++i) {
    if (i + kAhead < size) Prefetch(batch[i + kAhead].data);
    Packet& packet = batch[i];
    Impl::Found& found = impl.results[i];
    found.remote = nullptr;
    if (packet.verdict != Verdict::kForward) continue;
    packet.verdict = impl.Resolve(packet, found);
    if (packet.verdict != Verdict::kForward) found.remote = nullptr;
    if (found.remote != nullptr) Prefetch(found.remote);
  }
  for (std::size_t i = 0; i < std::min(size, kAhead); ++i) impl.PrefetchSlot(i);
  for (std::size_t i = 0; i < size; ++i) {
    if (i + kAhead < size) impl.PrefetchSlot(i + kAhead);
    if (impl.results[i].remote != nullptr)
      impl.Stamp(batch[i], impl.results[i], batch.now, replies);
  }
}

Verdict Forwarder::Impl::Resolve(Packet& packet, Found& found) const {
  const Parsed<InnerPacket> inner = ParseInnerIp(packet.bytes());
  if (!inner)
    return inner.error() == Malformed::kBadVersion ? Verdict::kNotIp : Verdict::kInnerMalformed;
  packet.tailroom += packet.length - inner->total_length;
  packet.length = inner->total_length;
  if (inner->ttl == 0) return Verdict::kTtlExpired;  // RFC 1812 section 5.3.1

  std::uint32_t index = 0;
  if (inner->is_v4()) [[likely]] {
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
  found.ecn = inner->ecn;

  if (packet.segmentation != Segmentation::kNone && !CheckSuperframe(packet, *inner))
    return Verdict::kInnerMalformed;
  if (packet.checksum == ChecksumState::kPartial && packet.segmentation == Segmentation::kNone &&
      !CompleteChecksum(packet)) {
    return Verdict::kInnerMalformed;
  }
  const FlowHash hash = HashInnerFlow(*inner);
  packet.flow_hash = hash.value;
  packet.outer_port = OuterSourcePort(hash);
  packet.outer_ecn = static_cast<std::uint8_t>(EncapsulationEcn(inner->ecn));
  return Verdict::kForward;
}

// Whether the descriptor agrees with the octets. A superframe that fits into one segment becomes an
// ordinary packet.
bool Forwarder::Impl::CheckSuperframe(Packet& packet, const InnerPacket& inner) const {
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

std::uint32_t Forwarder::Impl::InnerLimit(PeerTable::Slot& slot, IpFamily outer,
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

void Forwarder::Impl::Stamp(Packet& packet, const Found& found, Timestamp now, Batch& replies) {
  const Remote& remote = *found.remote;
  const EncapsulationTemplate& encapsulation = remote.encapsulation;
  PeerTable::Slot& slot = peers.slot(remote.peer);
  const bool is_superframe = packet.segmentation != Segmentation::kNone;
  const std::uint32_t largest =
      is_superframe ? SuperframeHeaderLength(packet) + packet.segment_size : packet.length;
  const std::uint32_t limit = InnerLimit(slot, encapsulation.outer_family(), now);
  if (largest > limit) [[unlikely]] {
    packet.verdict = AnswerTooBig(packet, limit, now, replies);
    return;
  }
  Add(slot.sent_packets, WirePackets(packet));
  Add(slot.sent_octets, InnerOctets(packet));
  packet.peer = remote.peer;

  const std::uint32_t inner_length = packet.length;
  const EtherType ether_type = found.family == IpFamily::kV4 ? EtherType::kIpv4 : EtherType::kIpv6;
  if (config.wire == PortKind::kWireDatagram) {
    encapsulation.StampPayload(packet.Push(kPayloadSize), ether_type);
    packet.inner_offset = static_cast<std::uint16_t>(kPayloadSize);
    packet.outer_address = remote.vtep;
  } else {
    const auto octets = static_cast<std::uint32_t>(encapsulation.size());
    std::byte* const outer = packet.Push(octets);
    encapsulation.Stamp(outer, inner_length, ether_type, packet.outer_port, found.ecn);
    packet.inner_offset = static_cast<std::uint16_t>(octets);
    if (encapsulation.wants_udp_checksum()) {
      if (is_superframe) {
        StoreBe16(outer + octets - kPayloadSize - 2, 0xffff);
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
  const IpFamily family = Load8(offending.data()) >> 4 == 4 ? IpFamily::kV4 : IpFamily::kV6;
  const auto source =
      std::find_if(config.own_addresses.begin(), config.own_addresses.end(),
                   [&](const IpAddress& own_address) { return own_address.family() == family; });
  if (!mtu || source == config.own_addresses.end() || replies.full() ||
      !MayAnswerWithIcmpError(offending)) {
    return Verdict::kTooBigSilent;
  }
  if (!icmp_budget.Take(now)) return Verdict::kTooBigSilent;
  std::array<std::byte, kMaxIcmpV6Error> answer;
  const std::size_t length = EmitPacketTooBig(*mtu, offending, *source, answer);
  if (length == 0) return Verdict::kTooBigSilent;

  // What is quoted is no longer than the packet, and the headers before it fit into the headroom.
  constexpr std::uint32_t kAnswerHeaders = kIpv6HeaderSize + IcmpHeader::kSize;
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

// Wire to pod. ---------------------------------------------------------------------------------

void Forwarder::Decapsulate(Batch& batch) {
  Impl& impl = *impl_;
  const std::size_t size = batch.size();
  for (std::size_t i = 0; i < std::min(size, kAhead); ++i) Prefetch(batch[i].data);
  for (std::size_t i = 0; i < size; ++i) {
    if (i + kAhead < size) Prefetch(batch[i + kAhead].data);
    Packet& packet = batch[i];
    Impl::Found& found = impl.results[i];
    found.remote = nullptr;
    if (packet.verdict != Verdict::kForward) continue;
    packet.verdict = impl.Inspect(packet, found);
    if (found.remote != nullptr) {
      Prefetch(found.remote);
      Prefetch(&found.remote->vtep);
    }
  }
  for (std::size_t i = 0; i < std::min(size, kAhead); ++i) impl.PrefetchSlot(i);
  for (std::size_t i = 0; i < size; ++i) {
    if (i + kAhead < size) impl.PrefetchSlot(i + kAhead);
    if (batch[i].verdict == Verdict::kForward) impl.Strip(batch[i], impl.results[i]);
  }
}

// Leaves the UDP payload, its descriptor filled in as a datagram port would have.
Verdict Forwarder::Impl::StripOuter(Packet& packet) const {
  const auto checksums =
      packet.checksum == ChecksumState::kPartial ? OuterChecksums::kTrust : OuterChecksums::kVerify;
  const Parsed<OuterPacket> outer = ParseOuterPacket(packet.bytes(), checksums);
  if (!outer) {
    switch (outer.error()) {
      case Malformed::kBadUdpChecksum:
        return Verdict::kOuterChecksum;
      case Malformed::kFragment:
        return Verdict::kOuterFragment;
      case Malformed::kNotUdp:
        return Verdict::kNotVxlan;
      default:
        return Verdict::kOuterMalformed;
    }
  }
  if (outer->destination_port != config.local.port) return Verdict::kNotVxlan;
  packet.outer_address = outer->source();
  packet.outer_port = outer->source_port;
  packet.outer_ecn = static_cast<std::uint8_t>(outer->ecn);
  packet.tailroom += packet.length - outer->payload_offset - outer->payload_length;
  packet.Pull(outer->payload_offset);
  packet.length = outer->payload_length;
  return Verdict::kForward;
}

Verdict Forwarder::Impl::Inspect(Packet& packet, Found& found) const {
  if (config.wire == PortKind::kWirePacket) {
    const Verdict verdict = StripOuter(packet);
    if (verdict != Verdict::kForward) return verdict;
  }
  const Bytes payload = packet.bytes();
  if (payload.size() < VxlanHeader::kSize) return Verdict::kNotVxlan;
  const std::uint64_t vxlan = LoadBe64(payload.data());
  if ((vxlan >> 56 & VxlanHeader::kFlagVni) == 0) return Verdict::kNotVxlan;
  if ((vxlan >> 8 & Vni::kMax) != config.local.vni.value()) return Verdict::kForeignVni;
  if (payload.size() < kPayloadSize) return Verdict::kInnerMalformed;
  if (LoadBe64(payload.data() + VxlanHeader::kSize) >> 16 != local_mac) return Verdict::kForeignMac;

  const Parsed<InnerPacket> inner = ParseInnerFrame(payload.subspan(VxlanHeader::kSize));
  if (!inner) {
    switch (inner.error()) {
      case Malformed::kVlanTagged:
        return Verdict::kVlanTagged;
      case Malformed::kNotIp:
        return Verdict::kNotIp;
      default:
        return Verdict::kInnerMalformed;
    }
  }
  std::uint32_t index = 0;
  if (inner->is_v4()) [[likely]] {
    if (!own.ContainV4(inner->destination_v4())) return Verdict::kForeignSubnet;
    index = snapshot->FindV4(inner->source_v4());
  } else {
    if (!own.ContainV6(AddressKey::V6(inner->destination_octets()))) return Verdict::kForeignSubnet;
    index = snapshot->FindV6(AddressKey::V6(inner->source_octets()));
  }
  if (index != 0) found.remote = snapshot->At(index);
  found.total_length = inner->total_length;
  found.family = inner->family;
  found.ecn = inner->ecn;
  return Verdict::kForward;
}

// `packet` begins with the VXLAN header; `remote` owns the inner source, or is null.
bool Forwarder::Impl::PeerIsRight(const Packet& packet, const Remote* remote) const {
  if (config.peer_check == PeerCheck::kOff) return true;
  if (remote != nullptr && remote->vtep == packet.outer_address) [[likely]]
    return true;
  if (config.peer_check == PeerCheck::kStrict) return false;
  if (remote != nullptr) {
    const std::byte* const inner_source_mac = packet.data + VxlanHeader::kSize + MacAddress::kSize;
    if (remote->mac == MacAddress::FromOctets(inner_source_mac)) return true;
  }
  return snapshot->IsVtep(packet.outer_address);
}

void Forwarder::Impl::Strip(Packet& packet, const Found& found) {
  if (!PeerIsRight(packet, found.remote)) {
    packet.verdict = Verdict::kUnknownPeer;
    return;
  }
  const std::optional<Ecn> ecn = DecapsulationEcn(found.ecn, EcnOf(packet.outer_ecn));
  if (!ecn) {
    packet.verdict = Verdict::kEcnIllegal;
    return;
  }
  packet.Pull(kPayloadSize);
  packet.tailroom += packet.length - found.total_length;
  packet.length = found.total_length;
  packet.inner_offset = 0;
  packet.checksum = ChecksumState::kOnWire;
  if (*ecn != found.ecn) SetEcn(packet.data, found.family, *ecn);
  packet.peer = found.remote == nullptr ? kNoPeer : found.remote->peer;
  PeerTable::Slot& slot = peers.slot(packet.peer);
  Add(slot.received_packets, 1);
  Add(slot.received_octets, packet.length);
}

void Forwarder::LearnPathMtu(const PathMtuNotice& notice, Timestamp now) {
  Impl& impl = *impl_;
  const std::uint32_t floor = notice.destination.is_v4() ? 552 : 1280;
  const std::uint32_t path_mtu = std::max(notice.outer_mtu, floor);
  if (notice.outer_mtu == 0 || path_mtu >= impl.config.link_mtu.octets()) return;
  std::uint32_t index = impl.snapshot->FirstAtVtep(notice.destination);
  while (index != 0) {
    const Remote& remote = *impl.snapshot->At(index);
    PeerTable::Slot& slot = impl.peers.slot(remote.peer);
    const std::uint32_t known = slot.path_mtu.load(std::memory_order_relaxed);
    const bool expired = now.count() >= slot.path_mtu_expiry.load(std::memory_order_relaxed);
    if (known == 0 || expired || path_mtu <= known) {
      slot.path_mtu.store(path_mtu, std::memory_order_relaxed);
      slot.path_mtu_expiry.store((now + kPathMtuLifetime).count(), std::memory_order_relaxed);
    }
    index = remote.next_at_vtep;
  }
}

}  // namespace weft::dataplane
