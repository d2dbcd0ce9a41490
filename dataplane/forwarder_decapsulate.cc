// SPDX-License-Identifier: Apache-2.0
// Wire to pod, the fast path for the usual packets: check everything that a sender may have forged,
// then remove the headers.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dataplane/forwarder_impl.h"
#include "vxlan/ipv4.h"
#include "vxlan/vxlan_header.h"

namespace weft::dataplane {

// Uses local variables for the same reason as Encapsulate.
void Forwarder::Impl::Decapsulate(Batch& batch) {
  // Whole outer packets are never taken by this loop.
  const std::uint32_t least = config.wire == PortKind::kWireDatagram
                                  ? kPayloadSize + static_cast<std::uint32_t>(kIpv4HeaderSize)
                                  : kNeverTaken;
  const RemoteSnapshot::V4View remotes_v4 = snapshot->v4();
  const V4Subnet own_v4 = own.first_v4();
  const bool more_own_v4 = own.has_more_v4();
  const std::uint64_t our_mac = local_mac << 16;
  const std::uint64_t our_network =
      std::uint64_t{VxlanHeader::kFlagVni} << 56 | std::uint64_t{local_vni} << 8;
  const std::uint32_t pod_mtu = config.pod_mtu.bytes();
  Packet* const packets = batch.begin();
  const Remote** const remotes_found = found.data();

  // Takes valid datagrams that contain IPv4 without options.
  const auto inspect = [ =, this ](std::size_t i) __attribute__((always_inline)) {
    Packet& packet = packets[i];
    const std::uint32_t length = packet.length;
    if (packet.verdict != Verdict::kForward || length < least) [[unlikely]]
      return InspectSlow(packet, i);
    const std::byte* const payload = packet.data;
    const std::byte* const ip = payload + kPayloadSize;
    const std::uint64_t vxlan = LoadBe64(payload);
    const std::uint64_t mac = LoadBe64(payload + VxlanHeader::kSize);
    const std::uint64_t inner = LoadBe64(ip - 2);  // EtherType and the first six bytes of IPv4
    const auto inner_length = static_cast<std::uint32_t>(inner >> 16 & 0xffff);
    const std::uint32_t source = LoadBe32(ip + 12);
    const std::uint32_t destination = LoadBe32(ip + 16);
    if ((vxlan & 0x0800'0000'ffff'ff00) != our_network ||
        (mac & ~std::uint64_t{0xffff}) != our_mac || inner >> 40 != 0x0800'45 ||
        inner_length < kIpv4HeaderSize || inner_length > length - kPayloadSize ||
        !own_v4.Contains(destination) || own_v4.Contains(source) ||
        (more_own_v4 && own.MoreContainV4(source))) [[unlikely]]
      return InspectSlow(packet, i);
    packet.Pull(kPayloadSize);
    packet.tailroom += packet.length - inner_length;
    packet.length = inner_length;
    packet.inner_offset = 0;
    packet.checksum = ChecksumState::kOnWire;
    const Remote* const remote = remotes_v4.Find(source);
    remotes_found[i] = remote == nullptr ? &no_remote : remote;
    Prefetch(remote);
  };

  const auto strip = [ =, this ](std::size_t i) __attribute__((always_inline)) {
    Packet& packet = packets[i];
    const Remote& remote = *remotes_found[i];
    if (!AreSameV4(remote.vtep, packet.outer_address) && !AdmitSlow(packet, remote)) [[unlikely]]
      return;
    if (packet.outer_ecn != 0 && !MergeEcn(packet)) [[unlikely]] {
      packet.verdict = Verdict::kEcnIllegal;
      return;
    }
    PeerTable::Slot& slot = *remote.peer;
    if (packet.length > pod_mtu || packet.segment_size != 0) [[unlikely]]
      return CountReceived(packet, slot);
    Add(slot.received_packets, 1);
    Add(slot.received_bytes, packet.length);
  };
  Walk(batch, inspect, strip);
}

}  // namespace weft::dataplane
