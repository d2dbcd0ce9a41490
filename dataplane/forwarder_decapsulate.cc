// SPDX-License-Identifier: Apache-2.0
// Wire to pod, the fast path for the usual packets: check everything that a sender may have forged,
// then remove the headers.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dataplane/forwarder_impl.h"
#include "vxlan/ipv4.h"

namespace weft::dataplane {

// Uses local variables for the same reason as Encapsulate.
void Forwarder::Impl::Decapsulate(Batch& batch) {
  const RemoteSnapshot::V4View remotes_v4 = snapshot->v4();
  const UsualHeaders headers = usual_headers;
  const std::uint32_t pod_mtu = config.pod_mtu.bytes();
  const std::size_t worker = config.worker;
  Packet* const packets = batch.begin();
  const Remote** const remotes_found = found.data();

  // Takes valid datagrams from a remote that contain IPv4 without options or padding.
  const auto inspect = [ =, this ](std::size_t i) __attribute__((always_inline)) {
    Packet& packet = packets[i];
    const std::uint32_t length = packet.length;
    if (packet.verdict != Verdict::kForward || length < UsualHeaders::kSize) [[unlikely]]
      return InspectSlow(packet, i);
    const std::byte* const ip = packet.data + kPayloadSize;
    if (!headers.Match(packet.data) || LoadBe16(ip + 2) != length - kPayloadSize) [[unlikely]]
      return InspectSlow(packet, i);
    const Remote* const remote = remotes_v4.Find(LoadBe32(ip + 12));
    if (remote == nullptr) [[unlikely]]
      return InspectSlow(packet, i);
    packet.Pull(kPayloadSize);
    packet.inner_offset = 0;
    packet.checksum = ChecksumState::kOnWire;
    remotes_found[i] = remote;
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
    PeerTable::Slot& slot = remote.slots[worker];
    if (packet.length > pod_mtu || packet.segment_size != 0) [[unlikely]]
      return CountReceived(packet, slot);
    Add(slot.received_packets, 1);
    Add(slot.received_bytes, packet.length);
  };
  Walk(batch, inspect, strip);
}

}  // namespace weft::dataplane
