// SPDX-License-Identifier: Apache-2.0
#include "dataplane/edge/neighbour_message.h"

#include <algorithm>
#include <array>

#include "vxlan/checksum.h"
#include "vxlan/icmp.h"
#include "vxlan/ipv6.h"
#include "vxlan/transport_checksum.h"

namespace weft::dataplane {
namespace {

constexpr std::size_t kIcmpOffset = Ipv6Header::kSize;
constexpr std::size_t kTargetOffset = kIcmpOffset + IcmpHeader::kSize;
constexpr std::size_t kOptionsOffset = kTargetOffset + 16;
constexpr std::size_t kLinkOptionSize = 8;  // type, length in units of 8 bytes, MAC
constexpr std::uint8_t kSourceLinkAddress = 1;
constexpr std::uint8_t kTargetLinkAddress = 2;
constexpr std::uint8_t kHopLimit = 255;  // section 3.1: proof that no router forwarded it

// Advertisement flags, the top bits of the ICMP header's rest.
constexpr std::uint32_t kRouter = 0x8000'0000;
constexpr std::uint32_t kSolicited = 0x4000'0000;
constexpr std::uint32_t kOverride = 0x2000'0000;

std::uint8_t OptionOf(NeighbourMessage::Kind kind) {
  return kind == NeighbourMessage::Kind::kSolicitation ? kSourceLinkAddress : kTargetLinkAddress;
}

}  // namespace

std::optional<NeighbourMessage> NeighbourMessage::Parse(Bytes packet) {
  const auto ip = Ipv6Header::Parse(packet);
  if (!ip || ip->next_header != IpProtocol::kIcmpV6 || ip->hop_limit != kHopLimit)
    return std::nullopt;
  packet = packet.first(Ipv6Header::kSize + ip->payload_length);
  if (packet.size() < kOptionsOffset) return std::nullopt;
  const auto icmp = IcmpHeader::Parse(packet.subspan(kIcmpOffset));
  const bool solicitation = icmp->type == icmp_v6::kNeighborSolicitation;
  if ((!solicitation && icmp->type != icmp_v6::kNeighborAdvertisement) || icmp->code != 0)
    return std::nullopt;
  if (VerifyTransportChecksum(packet) != TransportChecksum::kRight) return std::nullopt;

  NeighbourMessage message;
  message.kind = solicitation ? Kind::kSolicitation : Kind::kAdvertisement;
  message.source = ip->source;
  message.destination = ip->destination;
  message.target = IpAddress::FromBytes(IpFamily::kV6, packet.data() + kTargetOffset);
  if (message.target.IsMulticast()) return std::nullopt;
  if (!solicitation) {
    message.router = (icmp->rest & kRouter) != 0;
    message.solicited = (icmp->rest & kSolicited) != 0;
    message.overrides = (icmp->rest & kOverride) != 0;
  }
  for (std::size_t at = kOptionsOffset; packet.size() - at >= kLinkOptionSize;) {
    const std::size_t length = std::size_t{Load8(packet.data() + at + 1)} * 8;
    if (length == 0) return std::nullopt;
    if (length > packet.size() - at) break;
    if (Load8(packet.data() + at) == OptionOf(message.kind) && length == kLinkOptionSize)
      message.link_address = MacAddress::FromBytes(packet.data() + at + 2);
    at += length;
  }
  if (solicitation && message.source.IsUnspecified() && message.link_address) return std::nullopt;
  return message;
}

std::size_t NeighbourMessage::Emit(MutableBytes out) const {
  const std::size_t size = link_address ? kMaxSize : kMaxSize - kLinkOptionSize;
  out = out.first(size);
  Ipv6Header ip;
  ip.payload_length = static_cast<std::uint16_t>(size - Ipv6Header::kSize);
  ip.next_header = IpProtocol::kIcmpV6;
  ip.hop_limit = kHopLimit;
  ip.source = source;
  ip.destination = destination;
  ip.Emit(out.first<Ipv6Header::kSize>());
  const bool solicitation = kind == Kind::kSolicitation;
  IcmpHeader icmp;
  icmp.type = solicitation ? icmp_v6::kNeighborSolicitation : icmp_v6::kNeighborAdvertisement;
  icmp.rest = (router ? kRouter : 0) | (solicited ? kSolicited : 0) | (overrides ? kOverride : 0);
  icmp.Emit(out.subspan<kIcmpOffset, IcmpHeader::kSize>());
  std::ranges::copy(target.bytes(), out.begin() + kTargetOffset);
  if (link_address) {
    Store8(out.data() + kOptionsOffset, OptionOf(kind));
    Store8(out.data() + kOptionsOffset + 1, kLinkOptionSize / 8);
    std::ranges::copy(link_address->bytes(), out.begin() + kOptionsOffset + 2);
  }
  CompleteTransportChecksum(out);
  return size;
}

IpAddress SolicitedNodeAddress(const IpAddress& target) {
  std::array<std::byte, 16> bytes{};
  bytes[0] = std::byte{0xff};
  bytes[1] = std::byte{0x02};
  bytes[11] = std::byte{0x01};
  bytes[12] = std::byte{0xff};
  std::ranges::copy(target.bytes().last(3), bytes.begin() + 13);
  return IpAddress::V6(bytes);
}

MacAddress MulticastMac(const IpAddress& group) {
  std::array<std::byte, MacAddress::kSize> bytes{std::byte{0x33}, std::byte{0x33}};
  std::ranges::copy(group.bytes().last(4), bytes.begin() + 2);
  return MacAddress::FromBytes(bytes.data());
}

}  // namespace weft::dataplane
