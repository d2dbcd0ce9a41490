// SPDX-License-Identifier: Apache-2.0
// Wire to pod, the packets that almost all are: check everything that a stranger could have
// written, strip.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dataplane/forwarder_impl.h"
#include "vxlan/ipv4.h"
#include "vxlan/vxlan_header.h"

namespace weft::dataplane {
namespace {

// SumIpv4Header(...).IsRight() of a header that lies in three words already, octets 0, 8 and 16 on:
// its sum is a multiple of 0xffff, and 2^16 is 1 modulo that, whatever the width of the words.
bool HeaderAddsUp(std::uint64_t a, std::uint64_t b, std::uint32_t c) {
  std::uint64_t sum = a + b;
  sum += sum < b;  // the carry
  sum += c;
  sum += sum < c;
  return sum % 0xffff == 0;
}

}  // namespace

void Forwarder::Decapsulate(Batch& batch) {
  if (impl_->config.wire == PortKind::kWireDatagram) {
    impl_->DecapsulateBatch<PortKind::kWireDatagram>(batch);
  } else {
    impl_->DecapsulateBatch<PortKind::kWirePacket>(batch);
  }
}

// In local variables for the same reason as in EncapsulateBatch.
template <PortKind kWire>
void Forwarder::Impl::DecapsulateBatch(Batch& batch) {
  constexpr bool kHasOuter = kWire == PortKind::kWirePacket;
  constexpr std::uint32_t kOuter = kHasOuter ? kIpv4HeaderSize + kUdpHeaderSize : 0;
  constexpr std::uint32_t kHeaders = kOuter + kPayloadSize;
  const RemoteSnapshot::V4View remotes_v4 = snapshot->v4();
  const V4Subnet own_v4 = own.first_v4();
  const bool more_own_v4 = own.has_more_v4();
  const std::uint64_t our_port = std::uint64_t{config.local.port} << 32;
  const std::uint64_t our_mac = local_mac << 16;
  const std::uint64_t our_network =
      std::uint64_t{VxlanHeader::kFlagVni} << 56 | std::uint64_t{local_vni} << 8;
  const std::uint32_t pod_mtu = config.pod_mtu.octets();
  Packet* const packets = batch.begin();
  const Remote** const remotes_found = found.data();

  // Takes IPv4 without options around IPv4 without options, nothing wrong, no outer UDP checksum.
  const auto inspect = [ =, this ](std::size_t i) __attribute__((always_inline)) {
    Packet& packet = packets[i];
    const std::uint32_t length = packet.length;
    if (packet.verdict != Verdict::kForward || length < kHeaders + kIpv4HeaderSize) [[unlikely]]
      return InspectAny(packet, i);
    const std::byte* const outer = packet.data;
    std::uint64_t first = 0;   // version, IHL, TOS, total length, identification, fragment
    std::uint64_t second = 0;  // TTL, protocol, checksum, source
    std::uint64_t udp = 0;     // ports, length, checksum
    if constexpr (kHasOuter) {
      first = LoadBe64(outer);
      second = LoadBe64(outer + 8);
      udp = LoadBe64(outer + kIpv4HeaderSize);
      if ((first & 0xff00'ffff'0000'3fff) != (std::uint64_t{0x4500'0000} | length) << 32 ||
          static_cast<IpProtocol>(second >> 48 & 0xff) != IpProtocol::kUdp ||
          (udp & 0xffff'ffff'ffff) != (our_port | (length - kIpv4HeaderSize) << 16) ||
          !HeaderAddsUp(first, second, LoadBe32(outer + 16))) [[unlikely]]
        return InspectAny(packet, i);
    }
    const std::byte* const payload = outer + kOuter;
    const std::byte* const ip = payload + kPayloadSize;
    const std::uint64_t vxlan = LoadBe64(payload);
    const std::uint64_t mac = LoadBe64(payload + VxlanHeader::kSize);
    const std::uint64_t inner = LoadBe64(ip - 2);  // EtherType and the first six octets of IPv4
    const auto inner_length = static_cast<std::uint32_t>(inner >> 16 & 0xffff);
    const std::uint32_t source = LoadBe32(ip + 12);
    const std::uint32_t destination = LoadBe32(ip + 16);
    if ((vxlan & 0x0800'0000'ffff'ff00) != our_network ||
        (mac & ~std::uint64_t{0xffff}) != our_mac || inner >> 40 != 0x0800'45 ||
        inner_length < kIpv4HeaderSize || inner_length > length - kHeaders ||
        !own_v4.Contains(destination) || own_v4.Contains(source) ||
        (more_own_v4 && own.MoreContainV4(source))) [[unlikely]]
      return InspectAny(packet, i);
    if constexpr (kHasOuter) {
      packet.outer_port = static_cast<std::uint16_t>(udp >> 48);
      packet.outer_ecn = static_cast<std::uint8_t>(first >> 48 & 3);
      SetV4(packet.outer_address, static_cast<std::uint32_t>(second));
    }
    packet.Pull(kHeaders);
    packet.tailroom += packet.length - inner_length;
    packet.length = inner_length;
    packet.inner_offset = 0;
    packet.checksum = ChecksumState::kOnWire;
    const Remote* const remote = remotes_v4.Find(source);
    remotes_found[i] = remote == nullptr ? &nobody : remote;
    Prefetch(remote);
  };

  const auto strip = [ =, this ](std::size_t i) __attribute__((always_inline)) {
    Packet& packet = packets[i];
    const Remote& remote = *remotes_found[i];
    const bool usual_sender =
        remote.encapsulation.is_v4() && packet.outer_address.is_v4() &&
        remote.encapsulation.outer_destination_v4() == packet.outer_address.v4();
    if (!usual_sender && !AdmitAny(packet, remote)) [[unlikely]]
      return;
    if (packet.outer_ecn != 0 && !MergeEcn(packet)) [[unlikely]] {
      packet.verdict = Verdict::kEcnIllegal;
      return;
    }
    PeerTable::Slot& slot = *remote.peer;
    if (packet.length > pod_mtu || packet.segment_size != 0) [[unlikely]]
      return CountReceived(packet, slot);
    Add(slot.received_packets, 1);
    Add(slot.received_octets, packet.length);
  };
  Walk(batch, inspect, strip);
}

}  // namespace weft::dataplane
