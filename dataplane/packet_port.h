// SPDX-License-Identifier: Apache-2.0
// A source and destination of packets: the interface of the forwarder's pod side and wire side.
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
  kPodL3,       // bare inner IP packets (TUN)
  kPodL2,       // inner Ethernet frames (TAP, pcap); dataplane/edge turns it into a kPodL3
  kWirePacket,  // whole outer packets from the outer IP header on (memory, capture file, pcap, TAP,
                // AF_XDP)
  kWireDatagram,  // UDP payloads; outer addresses, source port and ECN travel in the descriptor
                  // (UDP sockets)
};

// What a port accepts and delivers beyond plain packets. dataplane/offload does the rest in
// software before Send.
struct PortFeatures {
  bool tcp_segmentation = false;         // Send accepts Segmentation::kTcp
  bool udp_segmentation = false;         // Send accepts Segmentation::kUdp
  bool datagram_aggregation = false;     // Send accepts kDatagrams; Receive may deliver it
  bool partial_checksum = false;         // Send accepts ChecksumState::kPartial
  std::uint16_t max_segments = 64;       // in one aggregate
  std::uint32_t max_aggregate = 65'000;  // bytes in one aggregate
};

// The underlay reported that packets to `destination` may have at most `outer_mtu` bytes (outer IP
// header included).
struct PathMtuNotice {
  IpAddress destination;
  std::uint32_t outer_mtu = 0;
};

// ICMP errors about packets to one address.
struct IcmpErrors {
  IpAddress destination;
  std::uint64_t count = 0;
  // Of the last one.
  std::uint8_t type = 0, code = 0;
  IpAddress from;
  Timestamp at{};
};

// A counter of the port or of the kernel, e.g. {"socket-overflow", 12}.
struct NamedCount {
  std::string name;
  std::uint64_t value = 0;
};

// A file descriptor, or a Windows handle, that becomes ready when Receive has something.
using WaitHandle = std::intptr_t;

// Used by one thread at a time (the worker); only Counts and Errors may be called from any thread.
// Nothing here blocks, allocates or throws once the port is open. The destructor closes it.
class PacketPort {
 public:
  virtual ~PacketPort() = default;
  PacketPort() = default;
  PacketPort(const PacketPort&) = delete;
  PacketPort& operator=(const PacketPort&) = delete;

  virtual PortKind kind() const = 0;
  virtual const PortFeatures& features() const = 0;

  // Empties `batch`, then appends the available packets, at most the batch's capacity and about
  // 256 KiB (so that a batch stays in the cache). The bytes belong to the port and are valid until
  // the next Receive. Returns how much was read from the system: the packets, and what the port
  // consumed (empty datagrams, errors, inconsistent frames); zero means nothing now, not the end.
  // Packets of length zero are never delivered. The caller has set batch.now, which a port may use
  // for expiry.
  virtual std::size_t Receive(Batch& batch) = 0;

  // Whether Send accepts `packet` as it is, which kForward and the port's kind permit; the caller
  // cuts it otherwise (dataplane/offload). A port may accept superframes for some destinations
  // only.
  virtual bool Takes(const Packet& packet, Timestamp now) {
    (void)now;
    switch (packet.segmentation) {
      case Segmentation::kNone:
        return true;
      case Segmentation::kTcp:
        return features().tcp_segmentation;
      case Segmentation::kUdp:
        return features().udp_segmentation;
      case Segmentation::kDatagrams:
        return features().datagram_aggregation;
    }
    return false;
  }

  // Sends the packets whose verdict is kForward, in order, and skips the others. On return the
  // bytes belong to the caller again. A packet that could not be sent gets a drop verdict
  // (kWireFull, kWireError, kPodFull, kPodError, or kTooBigSilent if the underlay refused its
  // size); an aggregate of which a part was sent also gets `left`. The others keep their verdict.
  // The caller has set batch.now.
  virtual void Send(Batch& batch) = 0;

  // Path MTUs learnt since the last call (EMSGSIZE, ICMP through the error queue); at most
  // out.size() of them. Wire ports only.
  virtual std::size_t DrainPathMtuNotices(std::span<PathMtuNotice> out) {
    (void)out;
    return 0;
  }

  // Handles to wait for while there is nothing to receive; empty for ports without any. Constant
  // during the port's lifetime.
  virtual std::span<const WaitHandle> wait_handles() const { return {}; }

  // Counters of this port and the kernel. Any thread.
  virtual std::vector<NamedCount> Counts() const { return {}; }
  // Received since the port was opened, by destination; of many the latest. Wire ports only. Any
  // thread.
  virtual std::vector<IcmpErrors> Errors() const { return {}; }
};

}  // namespace weft::dataplane
