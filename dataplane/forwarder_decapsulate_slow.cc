// SPDX-License-Identifier: Apache-2.0
// Wire to pod, every rule for every packet. Handles the packets that the fast loop in
// forwarder_decapsulate.cc does not take.
#include <optional>

#include "dataplane/forwarder_impl.h"
#include "dataplane/offload.h"
#include "dataplane/virtual_underlay.h"
#include "vxlan/ecn.h"
#include "vxlan/inner_frame.h"
#include "vxlan/outer_packet.h"
#include "vxlan/vxlan_header.h"

namespace weft::dataplane {
namespace {

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

// Leaves the UDP payload, with the descriptor that a datagram port would have set.
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

void Forwarder::Impl::InspectSlow(Packet& packet, std::size_t i) {
  found[i] = &no_remote;
  if (packet.verdict == Verdict::kForward) packet.verdict = Inspect(packet, found[i]);
}

Verdict Forwarder::Impl::Inspect(Packet& packet, const Remote*& remote) const {
  if (config.wire == PortKind::kWirePacket) {
    const Verdict verdict = StripOuter(packet);
    if (verdict != Verdict::kForward) return verdict;
  }
  const Bytes payload = packet.bytes();
  const Parsed<VxlanHeader> vxlan = VxlanHeader::Parse(payload);
  if (!vxlan) return Verdict::kNotVxlan;
  if (vxlan->vni != config.local.vni) return Verdict::kForeignVni;
  if (payload.size() < kPayloadSize) return Verdict::kInnerMalformed;
  if (MacAddress::FromBytes(payload.data() + VxlanHeader::kSize) != config.local.mac)
    return Verdict::kForeignMac;
  const Parsed<InnerPacket> inner = ParseInnerFrame(payload.subspan(VxlanHeader::kSize));
  if (!inner) return InnerVerdict(inner.error());

  std::uint32_t index = 0;
  if (inner->is_v4()) {
    if (!own.ContainV4(inner->destination_v4())) return Verdict::kForeignSubnet;
    if (config.peer_check != PeerCheck::kOff && own.ContainV4(inner->source_v4()))
      return Verdict::kOwnSource;
    index = snapshot->FindV4(inner->source_v4());
  } else {
    if (!own.ContainV6(AddressKey::V6(inner->destination_bytes()))) return Verdict::kForeignSubnet;
    const AddressKey source = AddressKey::V6(inner->source_bytes());
    if (config.peer_check != PeerCheck::kOff && own.ContainV6(source)) return Verdict::kOwnSource;
    index = snapshot->FindV6(source);
  }
  if (index != 0) remote = snapshot->At(index);
  packet.Pull(kPayloadSize);
  packet.tailroom += packet.length - inner->total_length;
  packet.length = inner->total_length;
  packet.inner_offset = 0;
  packet.checksum = ChecksumState::kOnWire;
  return Verdict::kForward;
}

bool Forwarder::Impl::AdmitSlow(Packet& packet, const Remote& remote) {
  if (packet.verdict != Verdict::kForward) return false;
  packet.verdict = JudgeSender(packet, remote);
  return packet.verdict == Verdict::kForward;
}

bool Forwarder::Impl::IsPodAddress(const IpAddress& address) const {
  if (address.is_v4()) return own.ContainV4(address.v4()) || snapshot->FindV4(address.v4()) != 0;
  const AddressKey key = AddressKey::From(address);
  return own.ContainV6(key) || snapshot->FindV6(key) != 0;
}

Verdict Forwarder::Impl::JudgeSender(const Packet& packet, const Remote& remote) {
  const bool has_lease = &remote != &no_remote;
  if (has_lease && remote.vtep == packet.outer_address) return Verdict::kForward;
  if (config.peer_check == PeerCheck::kOff) return Verdict::kForward;
  const bool is_vtep = snapshot->IsVtep(packet.outer_address);
  if (!is_vtep && IsPodAddress(packet.outer_address)) return Verdict::kPodSource;
  // The inner Ethernet header is still before the packet.
  const std::byte* const source_mac = packet.data - EthernetHeader::kSize + MacAddress::kSize;
  const bool by_mac = has_lease && remote.mac == MacAddress::FromBytes(source_mac);
  if (by_mac) {
    Add(SlotOf(remote).other_source_packets, 1);
    remote.other_sources[config.worker].Store(packet.outer_address);
  }
  if (config.peer_check == PeerCheck::kStrict || (!by_mac && !is_vtep))
    return Verdict::kUnknownPeer;
  AddShared(counters.strict_would_drop, 1);
  return Verdict::kForward;
}

// A superframe that the underlay did not cut counts as its number of segments.
void Forwarder::Impl::CountReceived(const Packet& packet, PeerTable::Slot& slot) const {
  const Packet described = DescribeUnfinished(packet, config.pod_mtu);
  Add(slot.received_packets, WirePackets(described));
  Add(slot.received_bytes, InnerBytes(described));
}

bool Forwarder::Impl::MergeEcn(Packet& packet) const {
  const bool v4 = Load8(packet.data) >> 4 == 4;
  const Ecn inner = EcnOf(static_cast<std::uint8_t>(LoadBe16(packet.data) >> (v4 ? 0 : 4)));
  const std::optional<Ecn> merged = DecapsulationEcn(inner, EcnOf(packet.outer_ecn));
  if (!merged) return false;
  if (*merged != inner) SetEcn(packet.data, v4 ? IpFamily::kV4 : IpFamily::kV6, *merged);
  return true;
}

}  // namespace weft::dataplane
