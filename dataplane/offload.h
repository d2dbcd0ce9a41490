// SPDX-License-Identifier: Apache-2.0
// Software offload for ports that lack a feature: cut superframes into segments, split aggregates,
// complete checksums, coalesce segments. IPv4 and IPv6. Nothing here allocates or keeps state
// between batches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/packet.h"
#include "dataplane/packet_port.h"
#include "vxlan/bytes.h"
#include "vxlan/checksum.h"

namespace weft::dataplane {

// Bytes from `data` to the payload of a kTcp or kUdp packet; 0 if its transport header is not
// inside the packet.
inline std::uint32_t SuperframeHeaderLength(const Packet& packet) {
  const std::uint32_t start = packet.checksum_start;
  if (packet.segmentation == Segmentation::kUdp) return start + 8 <= packet.length ? start + 8 : 0;
  if (start + 20 > packet.length) return 0;
  const std::uint32_t header = start + (Load8(packet.data + start + 12) >> 4) * 4u;
  return header >= start + 20 && header <= packet.length ? header : 0;
}

// Number of wire packets that `packet` becomes; at least 1.
inline std::uint32_t WirePackets(const Packet& packet) {
  if (packet.segmentation == Segmentation::kNone || packet.segment_size == 0) [[likely]]
    return 1;
  const std::uint32_t header =
      packet.segmentation == Segmentation::kDatagrams ? 0 : SuperframeHeaderLength(packet);
  const std::uint32_t payload = packet.length - header;
  return payload <= packet.segment_size ? 1
                                        : (payload + packet.segment_size - 1) / packet.segment_size;
}

// Inner IP bytes of all those packets: without the inner_offset bytes before each.
inline std::uint64_t InnerBytes(const Packet& packet) {
  if (packet.segmentation == Segmentation::kNone) [[likely]]
    return packet.length - packet.inner_offset;
  const std::uint64_t packets = WirePackets(packet);
  if (packet.segmentation == Segmentation::kDatagrams)
    return packet.length - packets * packet.inner_offset;
  const std::uint32_t header = SuperframeHeaderLength(packet);
  return packet.length - packet.inner_offset + (packets - 1) * (header - packet.inner_offset);
}

// kPartial becomes kOnWire: adds the bytes from checksum_start to the end to the pseudo-header sum
// in the field. False, and nothing changed, if the field is not inside the packet, which has at
// least 8 bytes.
bool CompleteChecksum(Packet& packet);
// The same, inline, where checksum_start is known to be `start`.
[[gnu::always_inline]] inline bool CompleteChecksumFrom(Packet& packet, std::uint32_t start) {
  const std::uint32_t field = start + packet.checksum_offset;
  if (field + 2 > packet.length) return false;
  // The sum includes the field, which contains the pseudo-header's sum.
  StoreChecksum(packet.data + field, {packet.data + start, packet.length - start});
  packet.checksum = ChecksumState::kOnWire;
  return true;
}

// Appends to `out` views of the datagrams of `aggregate` (kDatagrams) from byte `offset`, until it
// ends or `out` is full. Returns the offset to continue at; aggregate.length at the end. Views copy
// the descriptor; only the first has headroom, and only the last has tailroom. Any other packet is
// appended as it is: an uncut superframe has a segment size too.
std::uint32_t SplitAggregate(const Packet& aggregate, std::uint32_t offset, Batch& out);

// Cuts one superframe (kTcp or kUdp; encapsulated by Forwarder::Encapsulate, so that inner_offset
// bytes precede the inner IP header) like the kernel's TSO and USO: IPv4 identification counts up,
// lengths and checksums are updated, FIN and PSH stay in the last segment and CWR (RFC 3168
// section 6.1.2) in the first. For kWirePacket the outer lengths and checksums are updated too; an
// outer UDP checksum is computed if the superframe's field is not zero.
//
//   SuperframeCutter cutter(superframe, wire.kind(), wire.features());
//   while (!cutter.done()) cutter.Cut(slab.Lend(i++), out);
class SuperframeCutter {
 public:
  // `superframe` is well-formed (Forwarder::Encapsulate has checked it), and its bytes do not
  // change until done().
  SuperframeCutter(const Packet& superframe, PortKind wire, const PortFeatures& features);

  bool done() const { return next_ >= payload_length_; }

  // Fills `buffer` and appends to `out` one kDatagrams aggregate, or a single packet if one segment
  // is left. For a port without datagram_aggregation: as many single packets as fit into both, each
  // with kHeadroom before it. `out` must not be full. A buffer of kMaxPacket has room for at least
  // one segment.
  void Cut(const Packet& buffer, Batch& out);

 private:
  std::uint32_t Emit(std::byte* at);  // writes the next segment, returns its bytes

  Packet superframe_;
  bool aggregate_;
  std::uint32_t max_segments_;
  std::uint32_t max_bytes_;
  bool is_v4_;  // the inner packet
  bool outer_is_v4_ = true;
  std::uint32_t outer_length_;  // bytes of outer IP and UDP headers; 0: the kernel writes them
  bool outer_udp_checksum_ = false;
  std::uint32_t inner_;      // offsets from the superframe's start: the inner IP header,
  std::uint32_t transport_;  // the transport header,
  std::uint32_t header_;     // the payload
  std::uint32_t payload_length_;
  std::uint32_t next_ = 0;   // payload bytes already cut
  std::uint16_t index_ = 0;  // segments already cut
  // Sums of what all segments share, with variable fields as zero.
  PartialSum ip_sum_;         // of the inner IP header
  PartialSum pseudo_sum_;     // inner addresses and protocol
  PartialSum transport_sum_;  // inner transport header
  PartialSum outer_ip_sum_;
  PartialSum outer_udp_sum_;  // outer addresses and protocol; UDP, VXLAN and inner Ethernet header
};

// Joins runs of adjacent packets (decapsulated: bare inner IP) of one flow into superframes, in
// place, and removes the joined packets from the batch. Packets are joined only if the cutter would
// restore them: headers equal except for the fields that cutting changes, in sequence, every
// checksum verified here, all payloads of one size except the last. PSH, FIN or a short payload
// ends a run, as does a packet with a verdict other than kForward. Joins TCP if `pods` has
// tcp_segmentation, UDP if it has udp_segmentation, nothing without partial_checksum. With DF set
// the identification may also be constant: RFC 6864 section 4.1 gives it no meaning in
// unfragmentable packets.
void Coalesce(Batch& batch, const PortFeatures& pods);

}  // namespace weft::dataplane
