// SPDX-License-Identifier: Apache-2.0
// Pod to wire, the fast path for the usual packets: look up, check the size, write the headers.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dataplane/forwarder_impl.h"
#include "dataplane/offload.h"
#include "vxlan/flow_hash.h"
#include "vxlan/ipv4.h"

namespace weft::dataplane {

// Local copies of the members: packets are written through pointers that may alias them, so the
// compiler would load the members again after every packet.
void Forwarder::Impl::Encapsulate(Batch& batch, Batch& replies) {
  const RemoteSnapshot::V4View remotes_v4 = snapshot->v4();
  const V4Subnet own_v4 = own.first_v4();
  const std::uint32_t* const too_big_for = too_big.data();
  const std::size_t worker = config.worker;
  Packet* const packets = batch.begin();
  const Remote** const remotes_found = found.data();

  const std::uint32_t least =
      quick ? static_cast<std::uint32_t>(kIpv4HeaderSize) + 4 /* ports */ : kNeverTaken;

  // Takes whole IPv4 packets to a remote, without options, with a complete checksum or one left to
  // us: pods' TCP and UDP packets have the latter.
  const auto look_up = [ =, this ](std::size_t i) __attribute__((always_inline)) {
    Packet& packet = packets[i];
    const std::uint32_t length = packet.length;
    if (packet.verdict != Verdict::kForward || packet.segmentation != Segmentation::kNone ||
        length < least) [[unlikely]]
      return ResolveSlow(packet, i);
    const std::byte* const ip = packet.data;
    // Version, IHL, TOS, total length, identification, fragment.
    const std::uint64_t first = LoadBe64(ip);
    const std::uint64_t addresses = LoadBe64(ip + 12);
    const auto destination = static_cast<std::uint32_t>(addresses);
    if ((first & 0xff00'ffff'0000'3fff) != std::uint64_t{0x4500'0000 + length} << 32 ||
        Load8(ip + 8) == 0 /* TTL */ || destination >= 0xe000'0000 || own_v4.Contains(destination))
        [[unlikely]]
      return ResolveSlow(packet, i);
    const Remote* const remote = remotes_v4.Find(destination);
    if (remote == nullptr) [[unlikely]]
      return ResolveSlow(packet, i);
    if (packet.checksum == ChecksumState::kPartial &&
        (packet.checksum_start != kIpv4HeaderSize ||
         !CompleteChecksumFrom(packet, kIpv4HeaderSize))) [[unlikely]]
      return ResolveSlow(packet, i);
    packet.outer_port = OuterSourcePort(HashUsualFlow(
        addresses, static_cast<IpProtocol>(Load8(ip + 9)), LoadBe32(ip + kIpv4HeaderSize)));
    remotes_found[i] = remote;
    Prefetch(remote);
  };

  const auto stamp = [ =, this, &batch, &replies ](std::size_t i) __attribute__((always_inline)) {
    Packet& packet = packets[i];
    const Remote& remote = *remotes_found[i];
    const EncapsulationTemplate& encapsulation = remote.encapsulation;
    PeerTable::Slot& slot = remote.slots[worker];
    const std::uint32_t length = packet.length;
    if (length >= too_big_for[encapsulation.size()] ||
        slot.path_mtu.load(std::memory_order_relaxed) != 0) [[unlikely]]
      return StampSlow(packet, i, batch.now, replies);
    packet.outer_ecn = OuterEcnV4(packet);
    encapsulation.StampPayload(packet.Push(kPayloadSize), EtherType::kIpv4);
    packet.inner_offset = static_cast<std::uint16_t>(kPayloadSize);
    packet.outer_address = remote.vtep;
    Add(slot.sent_packets, 1);
    Add(slot.sent_bytes, length);
  };
  Walk(batch, look_up, stamp);
}

}  // namespace weft::dataplane
