// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "dataplane/offload.h"
#include "vxlan/encapsulation.h"
#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/mtu.h"
#include "vxlan/tcp.h"
#include "vxlan/udp.h"

namespace weft::dataplane {
namespace {

// Offsets of the 16-bit fields that differ between segments.
constexpr std::uint32_t kIpv4TotalLength = 2;
constexpr std::uint32_t kIpv4Identification = 4;
constexpr std::uint32_t kIpv4Checksum = 10;
constexpr std::uint32_t kIpv6PayloadLength = 4;
constexpr std::uint32_t kTcpSequence = 4;  // 32 bits
constexpr std::uint32_t kTcpFlags = 12;    // data offset and flags
constexpr std::uint32_t kTcpChecksum = 16;
constexpr std::uint32_t kUdpLength = 4;
constexpr std::uint32_t kUdpChecksum = 6;

// RFC 1624: `sum` as if the 16-bit field at `field` were zero.
PartialSum Without(PartialSum sum, const std::byte* field) {
  return sum.Add(static_cast<std::uint16_t>(~LoadBe16(field)));
}

// Addresses and protocol; the length is added for each segment.
PartialSum PseudoHeaderWithoutLength(const std::byte* ip, bool is_v4, IpProtocol protocol) {
  if (is_v4) return PseudoHeaderV4(LoadBe32(ip + 12), LoadBe32(ip + 16), protocol, 0);
  using Address = std::span<const std::byte, 16>;
  return PseudoHeaderV6(Address(ip + 8, 16), Address(ip + 24, 16), protocol, 0);
}

// A fixed or extended IP header with length, identification and checksum as zero.
PartialSum SumIpHeader(const std::byte* ip, std::uint32_t length, bool is_v4) {
  PartialSum sum = Sum(Bytes(ip, length));
  if (!is_v4) return Without(sum, ip + kIpv6PayloadLength);
  sum = Without(sum, ip + kIpv4TotalLength);
  sum = Without(sum, ip + kIpv4Identification);
  return Without(sum, ip + kIpv4Checksum);
}

}  // namespace

SuperframeCutter::SuperframeCutter(const Packet& superframe, PortKind wire,
                                   const PortFeatures& features)
    : superframe_(superframe),
      aggregate_(features.datagram_aggregation),
      max_segments_(std::max<std::uint32_t>(features.max_segments, 1)),
      max_bytes_(features.max_aggregate),
      is_v4_(Load8(superframe.data + superframe.inner_offset) >> 4 == 4),
      outer_length_(wire == PortKind::kWirePacket
                        ? superframe.inner_offset -
                              static_cast<std::uint32_t>(EncapsulationTemplate::kPayloadSize)
                        : 0),
      inner_(superframe.inner_offset),
      transport_(superframe.checksum_start),
      header_(SuperframeHeaderLength(superframe)),
      payload_length_(superframe.length - header_) {
  const std::byte* const ip = superframe.data + inner_;
  const std::byte* const transport = superframe.data + transport_;
  const bool is_tcp = superframe.segmentation == Segmentation::kTcp;
  ip_sum_ = SumIpHeader(ip, transport_ - inner_, is_v4_);
  // The field contains the pseudo-header's sum with the superframe's length and, if a routing
  // header names another one, the final destination (RFC 8200 section 8.1).
  pseudo_sum_ = PartialSum()
                    .Add(LoadBe16(transport + (is_tcp ? kTcpChecksum : kUdpChecksum)))
                    .Add(static_cast<std::uint16_t>(~(superframe.length - transport_)));
  transport_sum_ = Sum(Bytes(transport, header_ - transport_));
  if (is_tcp) {
    for (const std::uint32_t field : {kTcpSequence, kTcpSequence + 2, kTcpFlags, kTcpChecksum})
      transport_sum_ = Without(transport_sum_, transport + field);
  } else {
    transport_sum_ =
        Without(Without(transport_sum_, transport + kUdpLength), transport + kUdpChecksum);
  }
  if (outer_length_ == 0) return;
  const std::byte* const outer_udp = superframe.data + outer_length_ - kUdpHeaderSize;
  outer_is_v4_ = Load8(superframe.data) >> 4 == 4;
  outer_ip_sum_ = SumIpHeader(superframe.data, outer_length_ - kUdpHeaderSize, outer_is_v4_);
  outer_udp_checksum_ = LoadBe16(outer_udp + kUdpChecksum) != 0;
  outer_udp_sum_ = PseudoHeaderWithoutLength(superframe.data, outer_is_v4_, IpProtocol::kUdp) +
                   Sum(Bytes(outer_udp, superframe.data + inner_));
  outer_udp_sum_ =
      Without(Without(outer_udp_sum_, outer_udp + kUdpLength), outer_udp + kUdpChecksum);
}

void SuperframeCutter::Cut(const Packet& buffer, Batch& out) {
  std::byte* at = buffer.data;
  std::byte* const end = buffer.data + buffer.tailroom;
  const std::uint32_t largest = header_ + superframe_.segment_size;
  Packet made = superframe_;
  made.segmentation = Segmentation::kNone;
  made.checksum = ChecksumState::kOnWire;
  made.headroom = buffer.headroom;
  if (aggregate_) {
    const auto room = std::min<std::size_t>(max_bytes_, buffer.tailroom);
    std::uint32_t segments = 0;
    do {
      at += Emit(at);
      ++segments;
    } while (!done() && segments < max_segments_ &&
             static_cast<std::size_t>(at - buffer.data) + largest <= room);
    made.data = buffer.data;
    made.length = static_cast<std::uint32_t>(at - buffer.data);
    made.tailroom = static_cast<std::uint32_t>(end - at);
    made.segment_size = static_cast<std::uint16_t>(segments > 1 ? largest : 0);
    if (segments > 1) made.segmentation = Segmentation::kDatagrams;
    out.Add(made);
    return;
  }
  made.segment_size = 0;
  do {
    made.data = at;
    made.length = Emit(at);
    made.tailroom = 0;
    out.Add(made);
    at += made.length + kHeadroom;
    made.headroom = kHeadroom;
  } while (!done() && !out.full() && end - at >= static_cast<std::ptrdiff_t>(largest));
}

std::uint32_t SuperframeCutter::Emit(std::byte* at) {
  const std::byte* const from = superframe_.data;
  const std::uint32_t payload_bytes =
      std::min<std::uint32_t>(superframe_.segment_size, payload_length_ - next_);
  const bool is_last = next_ + payload_bytes == payload_length_;
  std::memcpy(at, from, header_);
  const PartialSum payload =
      CopyAndSum({at + header_, payload_bytes}, {from + header_ + next_, payload_bytes});

  std::byte* const ip = at + inner_;
  const std::uint32_t ip_bytes = header_ - inner_ + payload_bytes;
  PartialSum ip_sum = ip_sum_;
  if (is_v4_) {
    const auto identification =
        static_cast<std::uint16_t>(LoadBe16(ip + kIpv4Identification) + index_);
    ip_sum.Add(ip_bytes).Add(identification);
    StoreBe16(ip + kIpv4TotalLength, static_cast<std::uint16_t>(ip_bytes));
    StoreBe16(ip + kIpv4Identification, identification);
    StoreBe16(ip + kIpv4Checksum, ip_sum.Checksum());
    ip_sum.Add(ip_sum.Checksum());
  } else {
    const auto length = static_cast<std::uint16_t>(ip_bytes - kIpv6HeaderSize);
    ip_sum.Add(length);
    StoreBe16(ip + kIpv6PayloadLength, length);
  }

  std::byte* const transport = at + transport_;
  const std::uint32_t transport_bytes = header_ - transport_ + payload_bytes;
  const PartialSum pseudo = PartialSum(pseudo_sum_).Add(transport_bytes);
  PartialSum sum = pseudo + transport_sum_ + payload;
  if (superframe_.segmentation == Segmentation::kTcp) {
    const std::uint32_t sequence = LoadBe32(transport + kTcpSequence) + next_;
    std::uint16_t flags = LoadBe16(transport + kTcpFlags);
    if (!is_last) flags = static_cast<std::uint16_t>(flags & ~(TcpHeader::kFin | TcpHeader::kPsh));
    if (index_ != 0) flags = static_cast<std::uint16_t>(flags & ~TcpHeader::kCwr);
    StoreBe32(transport + kTcpSequence, sequence);
    StoreBe16(transport + kTcpFlags, flags);
    StoreBe16(transport + kTcpChecksum, sum.Add(sequence).Add(flags).Checksum());
  } else {
    StoreBe16(transport + kUdpLength, static_cast<std::uint16_t>(transport_bytes));
    StoreBe16(transport + kUdpChecksum, NonZeroUdpChecksum(sum.Add(transport_bytes).Checksum()));
  }

  if (outer_length_ != 0) {
    const std::uint32_t outer_bytes = header_ + payload_bytes;
    std::uint32_t udp_bytes = outer_bytes - kIpv4HeaderSize;
    if (outer_is_v4_) {
      StoreBe16(at + kIpv4TotalLength, static_cast<std::uint16_t>(outer_bytes));
      StoreBe16(at + kIpv4Checksum, PartialSum(outer_ip_sum_)
                                        .Add(outer_bytes)
                                        .Add(LoadBe16(at + kIpv4Identification))
                                        .Checksum());
    } else {
      udp_bytes = outer_bytes - kIpv6HeaderSize;
      StoreBe16(at + kIpv6PayloadLength, static_cast<std::uint16_t>(udp_bytes));
    }
    std::byte* const udp = at + outer_length_ - kUdpHeaderSize;
    StoreBe16(udp + kUdpLength, static_cast<std::uint16_t>(udp_bytes));
    if (outer_udp_checksum_) {
      // A segment with a correct checksum sums to the complement of its pseudo-header, which avoids
      // a second pass over the payload.
      const PartialSum outer = PartialSum(outer_udp_sum_).Add(udp_bytes).Add(udp_bytes) + ip_sum;
      StoreBe16(udp + kUdpChecksum,
                NonZeroUdpChecksum(PartialSum(outer).Add(pseudo.Checksum()).Checksum()));
    }
  }
  next_ += payload_bytes;
  ++index_;
  return header_ + payload_bytes;
}

}  // namespace weft::dataplane
