// SPDX-License-Identifier: Apache-2.0
// Wire to pod: check everything that a stranger could have written, strip.
#include <algorithm>
#include <optional>

#include "dataplane/forwarder_impl.h"
#include "vxlan/checksum.h"
#include "vxlan/ipv4.h"
#include "vxlan/outer_packet.h"
#include "vxlan/vxlan_header.h"

namespace weft::dataplane {
namespace {

bool SameAddress(const IpAddress& a, const IpAddress& b) {
  if (a.is_v4() && b.is_v4()) [[likely]]
    return a.v4() == b.v4();  // one word, not seventeen octets
  return a == b;
}

Verdict OuterVerdict(Malformed reason) {
  switch (reason) {
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

Verdict InnerVerdict(Malformed reason) {
  switch (reason) {
    case Malformed::kVlanTagged:
      return Verdict::kVlanTagged;
    case Malformed::kNotIp:
      return Verdict::kNotIp;
    default:
      return Verdict::kInnerMalformed;
  }
}

}  // namespace

void Forwarder::Decapsulate(Batch& batch) {
  Impl& impl = *impl_;
  const auto look = [&](std::size_t i) {
    Packet& packet = batch[i];
    Impl::Found& found = impl.results[i];
    found.remote = nullptr;
    if (packet.verdict != Verdict::kForward) return;
    if (!impl.InspectUsual(packet, found)) packet.verdict = impl.InspectAny(packet, found);
    if (found.remote != nullptr) {
      Prefetch(found.remote);
      Prefetch(&found.remote->vtep);
    }
  };
  const auto strip = [&](std::size_t i) {
    if (batch[i].verdict == Verdict::kForward) impl.Strip(batch[i], impl.results[i]);
  };
  impl.Walk(batch, look, strip);
}

// Accepts what almost all packets are: IPv4 without options around IPv4 without options, nothing
// wrong, no outer UDP checksum. False, and nothing changed, for all others: InspectAny finds out
// what they are.
inline bool Forwarder::Impl::InspectUsual(Packet& packet, Found& found) const {
  constexpr std::uint32_t kOuter = kIpv4HeaderSize + kUdpHeaderSize;
  const bool has_outer = config.wire == PortKind::kWirePacket;
  const std::uint32_t offset = has_outer ? kOuter : 0;
  if (packet.length < offset + kPayloadSize + kIpv4HeaderSize) return false;
  const std::byte* const outer = packet.data;
  std::uint32_t payload_length = packet.length;
  if (has_outer) {
    const std::uint64_t first =
        LoadBe64(outer);  // version, IHL, TOS, total length, identification, fragment
    const std::uint64_t udp = LoadBe64(outer + kIpv4HeaderSize);  // ports, length, checksum
    const auto udp_length = static_cast<std::uint32_t>(udp >> 16 & 0xffff);
    const bool usual = first >> 56 == 0x45 && (first & 0x3fff) == 0 &&
                       (first >> 32 & 0xffff) == packet.length &&
                       udp_length + kIpv4HeaderSize == packet.length &&
                       static_cast<IpProtocol>(Load8(outer + 9)) == IpProtocol::kUdp &&
                       (udp >> 32 & 0xffff) == config.local.port && (udp & 0xffff) == 0 &&
                       SumIpv4Header(outer).IsRight();
    if (!usual) [[unlikely]]
      return false;
    payload_length = udp_length - kUdpHeaderSize;
    packet.outer_port = static_cast<std::uint16_t>(udp >> 48);
    packet.outer_ecn = static_cast<std::uint8_t>(first >> 48 & 3);
    packet.outer_address = IpAddress::V4(LoadBe32(outer + 12));
  }
  const std::byte* const payload = outer + offset;
  const std::uint64_t vxlan = LoadBe64(payload);
  const std::byte* const ip = payload + kPayloadSize;
  const std::uint64_t inner = LoadBe64(ip);
  const auto inner_length = static_cast<std::uint32_t>(inner >> 32 & 0xffff);
  const bool usual =
      (vxlan >> 56 & VxlanHeader::kFlagVni) != 0 && (vxlan >> 8 & Vni::kMax) == local_vni &&
      LoadBe64(payload + VxlanHeader::kSize) >> 16 == local_mac &&
      static_cast<EtherType>(LoadBe16(ip - 2)) == EtherType::kIpv4 && inner >> 56 == 0x45 &&
      inner_length >= kIpv4HeaderSize && inner_length <= payload_length - kPayloadSize &&
      own.ContainV4(LoadBe32(ip + 16));
  if (!usual) [[unlikely]]
    return false;
  const std::uint32_t index = snapshot->FindV4(LoadBe32(ip + 12));
  if (index != 0) found.remote = snapshot->At(index);
  found.total_length = inner_length;
  found.family = IpFamily::kV4;
  found.ecn = EcnOf(static_cast<std::uint8_t>(inner >> 48));
  packet.Pull(offset);
  return true;
}

// Leaves the UDP payload, its descriptor filled in as a datagram port would have.
Verdict Forwarder::Impl::StripOuter(Packet& packet) const {
  const auto checksums =
      packet.checksum == ChecksumState::kPartial ? OuterChecksums::kTrust : OuterChecksums::kVerify;
  const Parsed<OuterPacket> outer = ParseOuterPacket(packet.bytes(), checksums);
  if (!outer) return OuterVerdict(outer.error());
  if (outer->destination_port != config.local.port) return Verdict::kNotVxlan;
  packet.outer_address = outer->source();
  packet.outer_port = outer->source_port;
  packet.outer_ecn = static_cast<std::uint8_t>(outer->ecn);
  packet.tailroom += packet.length - outer->payload_offset - outer->payload_length;
  packet.Pull(outer->payload_offset);
  packet.length = outer->payload_length;
  return Verdict::kForward;
}

Verdict Forwarder::Impl::InspectAny(Packet& packet, Found& found) const {
  if (config.wire == PortKind::kWirePacket) {
    const Verdict verdict = StripOuter(packet);
    if (verdict != Verdict::kForward) return verdict;
  }
  const Bytes payload = packet.bytes();
  const Parsed<VxlanHeader> vxlan = VxlanHeader::Parse(payload);
  if (!vxlan) return Verdict::kNotVxlan;
  if (vxlan->vni != config.local.vni) return Verdict::kForeignVni;
  if (payload.size() < kPayloadSize) return Verdict::kInnerMalformed;
  if (LoadBe48(payload.data() + VxlanHeader::kSize) != local_mac) return Verdict::kForeignMac;
  const Parsed<InnerPacket> inner = ParseInnerFrame(payload.subspan(VxlanHeader::kSize));
  if (!inner) return InnerVerdict(inner.error());

  std::uint32_t index = 0;
  if (inner->is_v4()) {
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
inline bool Forwarder::Impl::PeerIsRight(const Packet& packet, const Remote* remote) const {
  if (remote != nullptr && SameAddress(remote->vtep, packet.outer_address)) [[likely]]
    return true;
  if (config.peer_check == PeerCheck::kOff) return true;
  if (config.peer_check == PeerCheck::kStrict) return false;
  if (remote != nullptr) {
    const std::byte* const inner_source_mac = packet.data + VxlanHeader::kSize + MacAddress::kSize;
    if (remote->mac == MacAddress::FromOctets(inner_source_mac)) return true;
  }
  return snapshot->IsVtep(packet.outer_address);
}

inline void Forwarder::Impl::Strip(Packet& packet, const Found& found) {
  if (!PeerIsRight(packet, found.remote)) [[unlikely]] {
    packet.verdict = Verdict::kUnknownPeer;
    return;
  }
  const std::optional<Ecn> ecn = DecapsulationEcn(found.ecn, EcnOf(packet.outer_ecn));
  if (!ecn) [[unlikely]] {
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

}  // namespace weft::dataplane
