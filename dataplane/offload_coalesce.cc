// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "dataplane/offload.h"
#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/mtu.h"
#include "vxlan/tcp.h"
#include "vxlan/transport_checksum.h"
#include "vxlan/udp.h"

namespace weft::dataplane {
namespace {

constexpr std::uint16_t kTcpRunEnders = TcpHeader::kFin | TcpHeader::kPsh;
// Linux refuses UDP superframes of more segments (UDP_MAX_SEGMENTS).
constexpr std::uint32_t kMaxUdpSegments = 64;

// A packet that could be part of a run: whole, with payload, without IPv4 options or IPv6 extension
// headers.
struct Segment {
  bool joinable = false;
  bool is_v4 = false;
  bool is_tcp = false;
  std::uint32_t transport = 0;       // offsets from the IP header: the transport header,
  std::uint32_t header = 0;          // the payload
  std::uint32_t payload = 0;         // bytes
  std::uint32_t sequence = 0;        // TCP
  std::uint16_t flags = 0;           // TCP: the word of data offset and flags
  std::uint16_t identification = 0;  // IPv4
};

Segment Look(const Packet& packet, const PortFeatures& pods) {
  Segment segment;
  if (packet.verdict != Verdict::kForward || packet.segmentation != Segmentation::kNone ||
      packet.checksum != ChecksumState::kOnWire ||
      packet.length < kIpv4HeaderSize + kUdpHeaderSize) {
    return segment;
  }
  const std::byte* const ip = packet.data;
  IpProtocol protocol{};
  if (Load8(ip) == 0x45) {
    constexpr std::uint16_t kFragmentBits = 0x3fff;  // more fragments, offset
    if (LoadBe16(ip + 2) != packet.length || (LoadBe16(ip + 6) & kFragmentBits) != 0)
      return segment;
    protocol = static_cast<IpProtocol>(Load8(ip + 9));
    segment.is_v4 = true;
    segment.identification = LoadBe16(ip + 4);
    segment.transport = kIpv4HeaderSize;
  } else if (Load8(ip) >> 4 == 6 && packet.length >= kIpv6HeaderSize + kUdpHeaderSize) {
    if (LoadBe16(ip + 4) + kIpv6HeaderSize != packet.length) return segment;
    protocol = static_cast<IpProtocol>(Load8(ip + 6));
    segment.transport = kIpv6HeaderSize;
  } else {
    return segment;
  }
  const std::byte* const transport = ip + segment.transport;
  if (protocol == IpProtocol::kTcp && pods.tcp_segmentation) {
    constexpr std::uint16_t kAlone = TcpHeader::kSyn | TcpHeader::kRst | TcpHeader::kUrg;
    if (packet.length < segment.transport + TcpHeader::kSize) return segment;
    segment.flags = LoadBe16(transport + 12);
    segment.header = segment.transport + (segment.flags >> 12) * 4u;
    if (segment.header < segment.transport + TcpHeader::kSize || (segment.flags & kAlone) != 0 ||
        (segment.flags & TcpHeader::kAck) == 0) {
      return segment;
    }
    segment.is_tcp = true;
    segment.sequence = LoadBe32(transport + 4);
  } else if (protocol == IpProtocol::kUdp && pods.udp_segmentation) {
    segment.header = segment.transport + kUdpHeaderSize;
    const bool has_checksum = LoadBe16(transport + 6) != 0;
    if (!has_checksum || LoadBe16(transport + 4) != packet.length - segment.transport)
      return segment;
  } else {
    return segment;
  }
  segment.joinable = segment.header < packet.length;
  if (segment.joinable) segment.payload = packet.length - segment.header;
  return segment;
}

bool ChecksumsAreRight(const Packet& packet, const Segment& segment) {
  if (segment.is_v4 && !Ipv4ChecksumIsRight(packet.bytes())) return false;
  return VerifyTransportChecksum(packet.bytes()) == TransportChecksum::kRight;
}

bool SameBytes(const std::byte* a, const std::byte* b, std::uint32_t from, std::uint32_t to) {
  return std::memcmp(a + from, b + from, to - from) == 0;
}

// Whether the headers are of one flow and differ only in the fields that cutting changes.
bool HeadersAgree(const Packet& head, const Segment& first, const Packet& packet,
                  const Segment& segment) {
  if (segment.is_v4 != first.is_v4 || segment.is_tcp != first.is_tcp ||
      segment.header != first.header)
    return false;
  const std::byte* const a = head.data;
  const std::byte* const b = packet.data;
  if (first.is_v4) {
    // Version and TOS; flags, TTL, protocol; addresses.
    if (!SameBytes(a, b, 0, 2) || !SameBytes(a, b, 6, 10) || !SameBytes(a, b, 12, 20)) return false;
  } else if (!SameBytes(a, b, 0, 4) || !SameBytes(a, b, 6, 40)) {
    return false;
  }
  const std::byte* const at = a + first.transport;
  const std::byte* const bt = b + first.transport;
  if (!SameBytes(at, bt, 0, 4)) return false;  // ports
  if (!first.is_tcp) return true;
  constexpr std::uint16_t kMayDiffer = kTcpRunEnders | TcpHeader::kCwr;
  return ((first.flags ^ segment.flags) & ~kMayDiffer) == 0 &&
         (segment.flags & TcpHeader::kCwr) == 0 && SameBytes(at, bt, 8, 12) &&
         SameBytes(at, bt, 14, 16) &&                            // acknowledgment, window
         SameBytes(at, bt, 18, first.header - first.transport);  // urgent pointer, options
}

// The current run of packets; the next packet may be joined to its end.
class Run {
 public:
  bool open() const { return open_; }

  void Start(const Packet& packet, const Segment& segment) {
    first_ = segment;
    count_ = 1;
    verified_ = false;
    last_flags_ = segment.flags;
    room_end_ = packet.data + packet.length + packet.tailroom;
    open_ = segment.joinable && (segment.flags & kTcpRunEnders) == 0;
  }

  // Appends the payload of `packet` to `head`. False: it cannot be joined.
  bool Join(Packet& head, const Packet& packet, const Segment& segment) {
    if (!segment.joinable || segment.payload > first_.payload ||
        !HeadersAgree(head, first_, packet, segment) || !Follows(head, segment)) {
      return false;
    }
    // Slices of one aggregate are adjacent, so the bytes up to this slice's end are free. Otherwise
    // the head needs tailroom.
    std::byte* room_end = room_end_;
    if (packet.data - packet.headroom == room_end_)
      room_end = packet.data + packet.length + packet.tailroom;
    std::byte* const end = head.data + head.length;
    if (room_end - end < static_cast<std::ptrdiff_t>(segment.payload)) return false;
    if (!verified_ && !ChecksumsAreRight(head, first_)) {
      open_ = false;
      return false;
    }
    verified_ = true;
    if (!ChecksumsAreRight(packet, segment)) return false;

    std::memmove(end, packet.data + segment.header, segment.payload);
    head.length += segment.payload;
    room_end_ = room_end;
    last_flags_ = segment.flags;
    if (count_++ == 1) identification_constant_ = segment.identification == first_.identification;
    open_ = segment.payload == first_.payload && (segment.flags & kTcpRunEnders) == 0;
    return true;
  }

  // Updates the superframe's headers. `head` is ignored if no run was started.
  void Finish(Packet& head) {
    open_ = false;
    if (count_ < 2) return;
    std::byte* const transport = head.data + first_.transport;
    const std::uint32_t transport_bytes = head.length - first_.transport;
    PartialSum pseudo;
    if (first_.is_v4) {
      const auto length = static_cast<std::uint16_t>(head.length);
      StoreBe16(head.data + 10,
                UpdateChecksum16(LoadBe16(head.data + 10), LoadBe16(head.data + 2), length));
      StoreBe16(head.data + 2, length);
      pseudo = PseudoHeaderV4(LoadBe32(head.data + 12), LoadBe32(head.data + 16), protocol(),
                              transport_bytes);
    } else {
      using Address = std::span<const std::byte, 16>;
      StoreBe16(head.data + 4, static_cast<std::uint16_t>(transport_bytes));
      pseudo = PseudoHeaderV6(Address(head.data + 8, 16), Address(head.data + 24, 16), protocol(),
                              transport_bytes);
    }
    if (first_.is_tcp) {
      StoreBe16(transport + 12,
                static_cast<std::uint16_t>(first_.flags | (last_flags_ & kTcpRunEnders)));
      head.segmentation = Segmentation::kTcp;
      head.checksum_offset = 16;
    } else {
      StoreBe16(transport + 4, static_cast<std::uint16_t>(transport_bytes));
      head.segmentation = Segmentation::kUdp;
      head.checksum_offset = 6;
    }
    StoreBe16(transport + head.checksum_offset, pseudo.Fold());
    head.checksum = ChecksumState::kPartial;
    head.checksum_start = static_cast<std::uint16_t>(first_.transport);
    head.segment_size = static_cast<std::uint16_t>(first_.payload);
    head.tailroom = static_cast<std::uint32_t>(room_end_ - (head.data + head.length));
    count_ = 0;
  }

 private:
  IpProtocol protocol() const { return first_.is_tcp ? IpProtocol::kTcp : IpProtocol::kUdp; }

  bool Follows(const Packet& head, const Segment& segment) const {
    constexpr std::uint32_t kMaxIpPacket = 65'535;
    if (head.length + segment.payload > kMaxIpPacket) return false;
    if (first_.is_tcp) {
      if (segment.sequence != first_.sequence + (head.length - first_.header)) return false;
    } else if (count_ >= kMaxUdpSegments) {
      return false;
    }
    if (!first_.is_v4) return true;
    const auto counted = static_cast<std::uint16_t>(first_.identification + count_);
    const bool dont_fragment = (Load8(head.data + 6) & 0x40) != 0;
    const bool may_count = count_ == 1 || !identification_constant_;
    const bool may_stand = dont_fragment && (count_ == 1 || identification_constant_);
    return (may_count && segment.identification == counted) ||
           (may_stand && segment.identification == first_.identification);
  }

  Segment first_;
  std::uint32_t count_ = 0;
  bool open_ = false;
  bool verified_ = false;                 // the first packet's checksums
  bool identification_constant_ = false;  // once count_ >= 2
  std::uint16_t last_flags_ = 0;
  std::byte* room_end_ = nullptr;
};

}  // namespace

void Coalesce(Batch& batch, const PortFeatures& pods) {
  if (!pods.partial_checksum || !(pods.tcp_segmentation || pods.udp_segmentation)) return;
  Run run;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Segment segment = Look(batch[i], pods);
    if (run.open() && run.Join(batch[kept - 1], batch[i], segment)) continue;
    if (kept != 0) run.Finish(batch[kept - 1]);
    if (kept != i) batch[kept] = batch[i];
    run.Start(batch[kept++], segment);
  }
  if (kept != 0) run.Finish(batch[kept - 1]);
  batch.Truncate(kept);
}

}  // namespace weft::dataplane
