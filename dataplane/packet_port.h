// SPDX-License-Identifier: Apache-2.0
// Where packets come from and go to: the pod side and the wire side of the forwarder have this one
// interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/packet.h"

namespace weft::dataplane {

enum class PortKind : std::uint8_t {
  kPodL3,  // bare inner IP packets (TUN)
  kPodL2,  // inner Ethernet frames (TAP, pcap); used through dataplane/edge, which makes a kPodL3
           // of it
  kWirePacket,  // whole outer packets from the outer IP header on (memory, capture file, pcap, TAP,
                // AF_XDP)
  kWireDatagram,  // UDP payloads; outer addresses, source port and ECN travel in the descriptor
                  // (UDP sockets)
};

// What a port takes and delivers beyond plain packets. What it cannot do, dataplane/offload does in
// software before Send.
struct PortFeatures {
  bool tcp_segmentation = false;      // Send takes Segmentation::kTcp
  bool udp_segmentation = false;      // Send takes Segmentation::kUdp
  bool datagram_aggregation = false;  // Send takes Segmentation::kDatagrams; Receive may deliver it
  bool partial_checksum = false;      // Send takes ChecksumState::kPartial
  std::uint16_t max_segments = 64;    // in one aggregate
  std::uint32_t max_aggregate = 65'000;  // bytes in one aggregate
};

// The underlay said that packets to `destination` may have at most `outer_mtu` bytes (outer IP
// header included).
struct PathMtuNotice {
  IpAddress destination;
  std::uint32_t outer_mtu = 0;
};

// A count that the port or the kernel behind it keeps, e.g. {"socket-overflow", 12}.
struct NamedCount {
  std::string name;
  std::uint64_t value = 0;
};

// A file descriptor, or a Windows handle, that becomes readable when Receive has something.
using WaitHandle = std::intptr_t;

// One thread at a time uses a port (the worker); only Counts may be called from another thread.
// Nothing here blocks, allocates or throws once the port is open. Closing is destruction.
class PacketPort {
 public:
  virtual ~PacketPort() = default;
  PacketPort() = default;
  PacketPort(const PacketPort&) = delete;
  PacketPort& operator=(const PacketPort&) = delete;

  virtual PortKind kind() const = 0;
  virtual const PortFeatures& features() const = 0;

  // Empties `batch`, then appends what is there, at most batch-capacity packets and about 256 KiB
  // (so that a batch stays in the cache). The bytes belong to the port and are valid until the
  // next Receive. Returns how much was taken from the system: the packets, and what is consumed
  // here (empty datagrams, errors, frames that contradict themselves); zero is "nothing now", not
  // the end. Packets of length zero are never delivered. The caller has set batch.now: a port may
  // age things by it.
  virtual std::size_t Receive(Batch& batch) = 0;

  // Sends the packets whose verdict is kForward, in order, and skips the others. The bytes are the
  // caller's again on return. A packet that could not be sent gets a drop verdict (kWireFull,
  // kWireError, kPodFull, kPodError, or kTooBigSilent when the underlay refused its size), an
  // aggregate of which a part was sent `left` next to it; the others keep theirs. The caller has
  // set batch.now.
  virtual void Send(Batch& batch) = 0;

  // Path MTUs learnt since the last call (EMSGSIZE, ICMP through the error queue); at most
  // out.size() of them. Wire ports only.
  virtual std::size_t TakePathMtuNotices(std::span<PathMtuNotice> out) {
    (void)out;
    return 0;
  }

  // Handles to wait on while there is nothing to receive; empty for ports that only tests drive.
  // Stable for the port's life.
  virtual std::span<const WaitHandle> wait_handles() const { return {}; }

  // Kernel-side counts of this port. Any thread.
  virtual std::vector<NamedCount> Counts() const { return {}; }
};

}  // namespace weft::dataplane
