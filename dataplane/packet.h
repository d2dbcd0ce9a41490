// SPDX-License-Identifier: Apache-2.0
// A packet: a view into a buffer with headroom, and a descriptor. A batch of packets is the unit of
// work.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/verdict.h"
#include "vxlan/bytes.h"
#include "vxlan/ip_address.h"

namespace weft::dataplane {

// Room before every received packet, in bytes. The most that is ever pushed: a virtio-net header
// (12), outer Ethernet (14), and IPv6, UDP, VXLAN and inner Ethernet (70) are 96, rounded up to
// cache lines.
inline constexpr std::uint32_t kHeadroom = 128;
// The largest packet or aggregate that a port delivers; an IP packet has at most 65,535 bytes.
inline constexpr std::uint32_t kMaxPacket = 65'536;
inline constexpr std::size_t kMaxBatch = 256;

// How one large frame becomes many packets.
enum class Segmentation : std::uint8_t {
  kNone,
  // A TCP superframe: one IP packet whose payload is cut every `segment_size` bytes (TSO).
  kTcp,
  // A UDP superframe: likewise; every segment gets its own UDP header (USO).
  kUdp,
  // An aggregate: adjacent whole datagrams of `segment_size` bytes, of which only the last may be
  // shorter (UDP_SEGMENT, UDP_GRO).
  kDatagrams,
};

enum class ChecksumState : std::uint8_t {
  kOnWire,   // complete, as the sender wrote it; not verified
  kPartial,  // the field at checksum_start + checksum_offset contains the pseudo-header sum; the
             // rest is to be added
};

// Monotonic, with an arbitrary zero. The worker reads it once for each batch.
using Timestamp = std::chrono::nanoseconds;

// Does not own its bytes: they belong to a buffer (PacketSlab, or a test's array) and are valid
// until that buffer is lent again. `headroom` bytes before `data` and `tailroom` bytes after `data
// + length` may be written.
struct alignas(64) Packet {  // a cache line of its own
  std::byte* data = nullptr;
  std::uint32_t length = 0;
  std::uint32_t headroom = 0;
  std::uint32_t tailroom = 0;

  Verdict verdict = Verdict::kForward;
  Segmentation segmentation = Segmentation::kNone;
  ChecksumState checksum = ChecksumState::kOnWire;
  std::uint8_t outer_ecn = 0;  // 0..3; to the wire: to send; from the wire: as received
  std::uint16_t segment_size =
      0;  // payload bytes of a segment (kTcp, kUdp), bytes of a datagram (kDatagrams)
  std::uint16_t checksum_start = 0;   // from `data` to the transport header (kPartial, kTcp, kUdp)
  std::uint16_t checksum_offset = 0;  // from there to the checksum field
  std::uint16_t inner_offset = 0;     // from `data` to the inner IP header
  // To the wire: the desired outer source port, from the inner flow's hash; from the wire: the
  // sender's.
  std::uint16_t outer_port = 0;
  IpAddress outer_address;  // to the wire: outer destination; from the wire: outer source
  // To the wire: the path MTU is lower than pods can follow, so the outer packet leaves without DF.
  // Over IPv6 the port or kernel that writes the outer header must fragment it.
  bool may_fragment = false;
  // Of an aggregate with a drop verdict: number of its datagrams that were sent before the failure.
  std::uint16_t left = 0;

  MutableBytes bytes() { return {data, length}; }
  Bytes bytes() const { return {data, length}; }
  // Grows by `bytes` at the front; headroom must suffice.
  std::byte* Push(std::uint32_t bytes) {
    data -= bytes;
    length += bytes;
    headroom -= bytes;
    return data;
  }
  void Pull(std::uint32_t bytes) {
    data += bytes;
    length -= bytes;
    headroom += bytes;
  }
};

static_assert(sizeof(Packet) == 64);

// Up to kMaxBatch packets and the time at which they are handled. Not thread-safe. Large (16 KiB):
// reuse it instead of copying.
class Batch {
 public:
  Timestamp now{};

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == kMaxBatch; }
  void clear() { size_ = 0; }
  // The batch must not be full.
  Packet& Add(const Packet& packet) { return packets_[size_++] = packet; }
  void Truncate(std::size_t size) { size_ = size; }
  Packet& operator[](std::size_t i) { return packets_[i]; }
  const Packet& operator[](std::size_t i) const { return packets_[i]; }
  Packet* begin() { return packets_.data(); }
  Packet* end() { return packets_.data() + size_; }
  const Packet* begin() const { return packets_.data(); }
  const Packet* end() const { return packets_.data() + size_; }

 private:
  std::array<Packet, kMaxBatch> packets_;
  std::size_t size_ = 0;
};

// Buffers for one batch, allocated once. Lend(i) returns an empty packet over buffer i with full
// headroom and kMaxPacket bytes of room after `data`. It invalidates packets lent before from the
// same index.
class PacketSlab {
 public:
  explicit PacketSlab(std::size_t count = kMaxBatch);
  Packet Lend(std::size_t index);
  std::size_t count() const { return count_; }

 private:
  std::size_t count_;
  std::unique_ptr<std::byte[]> bytes_;
  std::byte* first_;  // the first cache line in bytes_
};

}  // namespace weft::dataplane
