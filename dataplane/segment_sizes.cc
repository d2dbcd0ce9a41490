// SPDX-License-Identifier: Apache-2.0
#include "dataplane/segment_sizes.h"

#include <algorithm>
#include <optional>

#include "vxlan/icmp.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_protocol.h"
#include "vxlan/mtu.h"
#include "vxlan/tcp.h"

namespace weft::dataplane {
namespace {

// Lower bound for sizes from ICMP, which any pod may forge for another; senders do not go lower:
// Linux' min_pmtu of 552 and IPv6's 1280, minus the two headers.
constexpr std::uint32_t kLeastFromIcmpV4 = 512;
constexpr std::uint32_t kLeastFromIcmpV6 = 1220;
// Linux sends no smaller segments (net.ipv4.tcp_min_snd_mss).
constexpr std::uint32_t kLeastMss = 48;

// An IP header whose payload may be cut after eight bytes, as in an ICMP quotation.
struct Start {
  const std::byte* source;
  const std::byte* destination;
  std::size_t address;  // bytes
  IpProtocol protocol{};
  Bytes transport;
};

// Packets with IPv6 extension headers are ignored.
std::optional<Start> StartOf(Bytes ip) {
  if (ip.size() < kIpv4HeaderSize) return std::nullopt;
  const std::byte* const at = ip.data();
  if (Load8(at) >> 4 == 4) {
    const std::size_t header = (Load8(at) & 15u) * 4u;
    const bool later_fragment = (LoadBe16(at + 6) & 0x1fff) != 0;
    if (header < kIpv4HeaderSize || header + 8 > ip.size() || later_fragment) return std::nullopt;
    return Start{at + 12, at + 16, 4, static_cast<IpProtocol>(Load8(at + 9)), ip.subspan(header)};
  }
  if (Load8(at) >> 4 != 6 || ip.size() < kIpv6HeaderSize + 8) return std::nullopt;
  return Start{at + 8, at + 24, 16, static_cast<IpProtocol>(Load8(at + 6)),
               ip.subspan(kIpv6HeaderSize)};
}

std::uint64_t Mix(std::uint64_t hash, const std::byte* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 4) {
    hash = (hash ^ LoadBe32(bytes + i)) * 0x9e37'79b9'7f4a'7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

// Key of the flow with `ports` (source, destination) and these addresses.
std::uint64_t KeyOf(const std::byte* source, const std::byte* destination, std::size_t address,
                    std::uint16_t source_port, std::uint16_t destination_port) {
  std::uint64_t hash = Mix(address, source, address);
  hash = Mix(hash, destination, address);
  return (hash ^ (std::uint32_t{source_port} << 16 | destination_port)) * 0xff51'afd7'ed55'8ccd;
}

// 0: the option is absent or malformed.
std::uint16_t MssOption(Bytes tcp) {
  const auto header = TcpHeader::Parse(tcp);
  if (!header) return 0;
  constexpr std::uint8_t kEnd = 0, kNop = 1, kMss = 2;
  for (std::size_t at = TcpHeader::kSize; at < header->header_length;) {
    const std::uint8_t kind = Load8(tcp.data() + at);
    if (kind == kEnd) break;
    if (kind == kNop) {
      ++at;
      continue;
    }
    if (at + 2 > header->header_length) break;
    const std::uint8_t length = Load8(tcp.data() + at + 1);
    if (length < 2 || at + length > header->header_length) break;
    if (kind == kMss && length == 4) return LoadBe16(tcp.data() + at + 2);
    at += length;
  }
  return 0;
}

bool IsTooBig(const Start& start) {
  const std::uint8_t type = Load8(start.transport.data());
  if (start.protocol == IpProtocol::kIcmp) {
    return type == icmp_v4::kUnreachable &&
           Load8(start.transport.data() + 1) == icmp_v4::kCodeFragmentationNeeded;
  }
  return start.protocol == IpProtocol::kIcmpV6 && type == icmp_v6::kPacketTooBig;
}

}  // namespace

SegmentSizes::SegmentSizes() : flows_(std::size_t{1} << kTableBits) {}

void SegmentSizes::Set(std::uint64_t key, std::uint16_t mss) {
  flows_[key >> (64 - kTableBits)].store((key & ~kMss) | mss, std::memory_order_relaxed);
}

std::uint16_t SegmentSizes::Find(std::uint64_t key) const {
  const std::uint64_t flow = flows_[key >> (64 - kTableBits)].load(std::memory_order_relaxed);
  return ((flow ^ key) & ~kMss) == 0 ? static_cast<std::uint16_t>(flow & kMss) : 0;
}

void SegmentSizes::Learn(const Packet& packet) {
  if (packet.segmentation != Segmentation::kNone) return;
  const std::optional<Start> start = StartOf(packet.bytes());
  if (!start) return;
  const std::byte* const transport = start->transport.data();
  if (start->protocol == IpProtocol::kTcp) {
    if (start->transport.size() < TcpHeader::kSize ||
        (Load8(transport + 13) & TcpHeader::kSyn) == 0) [[likely]] {
      return;
    }
    // The MSS of a SYN limits the segments of the other direction. A SYN begins a flow, so it
    // replaces what was learnt from an earlier flow with the same ports.
    const std::uint64_t key = KeyOf(start->destination, start->source, start->address,
                                    LoadBe16(transport + 2), LoadBe16(transport));
    Set(key, MssOption(start->transport));
    return;
  }
  if (!IsTooBig(*start)) return;
  const std::uint32_t mtu = LoadBe32(transport + 4) & 0xffff;
  const std::optional<Start> quoted = StartOf(start->transport.subspan(IcmpHeader::kSize));
  if (!quoted || quoted->protocol != IpProtocol::kTcp || quoted->address != start->address) return;
  const bool v4 = quoted->address == 4;
  const std::uint32_t headers =
      (v4 ? kIpv4HeaderSize : kIpv6HeaderSize) + static_cast<std::uint32_t>(TcpHeader::kSize);
  std::uint32_t mss =
      std::max(mtu > headers ? mtu - headers : 0, v4 ? kLeastFromIcmpV4 : kLeastFromIcmpV6);
  const std::uint64_t key =
      KeyOf(quoted->source, quoted->destination, quoted->address,
            LoadBe16(quoted->transport.data()), LoadBe16(quoted->transport.data() + 2));
  if (const std::uint16_t known = Find(key); known != 0) mss = std::min<std::uint32_t>(known, mss);
  Set(key, static_cast<std::uint16_t>(mss));
}

std::uint32_t SegmentSizes::Cap(const Packet& packet, std::uint32_t header,
                                std::uint32_t limit) const {
  const std::optional<Start> start = StartOf(packet.bytes());
  if (!start || start->protocol != IpProtocol::kTcp) return limit;
  const std::byte* const transport = start->transport.data();
  const std::uint64_t key = KeyOf(start->source, start->destination, start->address,
                                  LoadBe16(transport), LoadBe16(transport + 2));
  const std::uint16_t known = Find(key);
  if (known == 0) return limit;
  // The MSS includes the options of every segment.
  const auto ip = static_cast<std::uint32_t>(transport - packet.data);
  const std::uint32_t options = header - ip - static_cast<std::uint32_t>(TcpHeader::kSize);
  const std::uint32_t mss = std::max<std::uint32_t>(known, kLeastMss);
  return std::min(limit, mss > options ? mss - options : 1);
}

}  // namespace weft::dataplane
