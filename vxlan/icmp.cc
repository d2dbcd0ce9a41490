// SPDX-License-Identifier: Apache-2.0
#include "vxlan/icmp.h"

#include <algorithm>

#include "vxlan/checksum.h"
#include "vxlan/inner_frame.h"
#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"

namespace weft {
namespace {

// RFC 792: an error quotes the packet's IP header and at least this many bytes of its data.
constexpr std::size_t kLeastQuotedData = 8;
// RFC 1812 section 4.3.2.5: errors go out with precedence 6, internetwork control; as DSCP, CS6.
constexpr std::uint8_t kErrorDscp = 48;

bool IsIcmpError(const InnerPacket& packet) {
  const Bytes transport = packet.transport();
  if (packet.protocol == IpProtocol::kIcmp && packet.is_v4()) {
    if (transport.empty()) return true;  // type unknown: no answer
    switch (Load8(transport.data())) {
      case icmp_v4::kUnreachable:
      case icmp_v4::kSourceQuench:
      case icmp_v4::kRedirect:
      case icmp_v4::kTimeExceeded:
      case icmp_v4::kParameterProblem:
        return true;
      default:
        return false;
    }
  }
  if (packet.protocol == IpProtocol::kIcmpV6 && !packet.is_v4()) {
    if (transport.empty()) return true;
    const std::uint8_t type = Load8(transport.data());
    return type < 128 ||
           type == icmp_v6::kRedirect;  // RFC 4443 section 2.1: errors have bit 7 clear
  }
  return false;
}

IcmpHeader ErrorHeader(IpFamily family, IcmpError error, std::uint32_t mtu) {
  const bool v4 = family == IpFamily::kV4;
  switch (error) {
    case IcmpError::kPacketTooBig:
      // RFC 1191 section 4: 16 bits unused, 16 bits MTU.
      return v4 ? IcmpHeader{icmp_v4::kUnreachable, icmp_v4::kCodeFragmentationNeeded, 0,
                             std::min<std::uint32_t>(mtu, 0xffff)}
                : IcmpHeader{icmp_v6::kPacketTooBig, 0, 0, mtu};
    case IcmpError::kTimeExceeded:
      return {v4 ? icmp_v4::kTimeExceeded : icmp_v6::kTimeExceeded, 0, 0, 0};
    case IcmpError::kHostUnreachable:
      return v4 ? IcmpHeader{icmp_v4::kUnreachable, icmp_v4::kCodeHostUnreachable, 0, 0}
                : IcmpHeader{icmp_v6::kUnreachable, icmp_v6::kCodeAddressUnreachable, 0, 0};
    case IcmpError::kProhibited:
      break;
  }
  return v4 ? IcmpHeader{icmp_v4::kUnreachable, icmp_v4::kCodeProhibited, 0, 0}
            : IcmpHeader{icmp_v6::kUnreachable, icmp_v6::kCodeProhibited, 0, 0};
}

}  // namespace

bool MayAnswerWithIcmpError(Bytes bytes) {
  const Parsed<InnerPacket> packet = ParseInnerIp(bytes);
  if (!packet) return false;
  if (packet->fragment == FragmentKind::kLater || IsIcmpError(*packet)) return false;
  const IpAddress source = packet->source();
  const IpAddress destination = packet->destination();
  const bool no_host =
      source.IsUnspecified() || source.IsMulticast() || source.IsBroadcast() || source.IsLoopback();
  return !no_host && !destination.IsMulticast() && !destination.IsBroadcast();
}

std::size_t EmitIcmpError(IcmpError error, std::uint32_t mtu, Bytes offending,
                          const IpAddress& source, MutableBytes out) {
  if (!MayAnswerWithIcmpError(offending)) return 0;
  const InnerPacket packet = *ParseInnerIp(offending);
  if (packet.family != source.family()) return 0;
  const bool v4 = packet.is_v4();
  const std::size_t ip_size = v4 ? Ipv4Header::kSize : Ipv6Header::kSize;
  const std::size_t headers = ip_size + IcmpHeader::kSize;
  const std::size_t room = std::min(out.size(), v4 ? kMaxIcmpV4Error : kMaxIcmpV6Error);
  const std::size_t least =
      std::min<std::size_t>(packet.header_length + kLeastQuotedData, packet.total_length);
  if (room < headers + least) return 0;
  const std::size_t quoted = std::min<std::size_t>(packet.total_length, room - headers);
  const std::size_t icmp_length = IcmpHeader::kSize + quoted;

  if (v4) {
    Ipv4Header ip;
    ip.dscp = kErrorDscp;
    ip.total_length = static_cast<std::uint16_t>(ip_size + icmp_length);
    ip.protocol = IpProtocol::kIcmp;
    ip.source = source.v4();
    ip.destination = packet.source_v4();
    ip.Emit(out);
  } else {
    Ipv6Header ip;
    ip.dscp = kErrorDscp;
    ip.payload_length = static_cast<std::uint16_t>(icmp_length);
    ip.next_header = IpProtocol::kIcmpV6;
    ip.source = source;
    ip.destination = packet.source();
    ip.Emit(out.first<Ipv6Header::kSize>());
  }
  const MutableBytes icmp = out.subspan(ip_size, icmp_length);
  IcmpHeader header = ErrorHeader(packet.family, error, mtu);
  header.Emit(icmp.first<IcmpHeader::kSize>());
  PartialSum sum = Sum(icmp.first<IcmpHeader::kSize>());
  sum = sum + CopyAndSum(icmp.subspan(IcmpHeader::kSize), packet.bytes().first(quoted));
  if (!v4) {
    sum = sum + PseudoHeader(source, packet.source(), IpProtocol::kIcmpV6,
                             static_cast<std::uint32_t>(icmp_length));
  }
  StoreBe16(icmp.data() + 2, sum.Checksum());
  return ip_size + icmp_length;
}

std::string_view IcmpTypeName(IpFamily family, std::uint8_t type) {
  if (family == IpFamily::kV4) {
    switch (type) {
      case icmp_v4::kEchoReply:
        return "Echo (ping) reply";
      case icmp_v4::kUnreachable:
        return "Destination unreachable";
      case icmp_v4::kSourceQuench:
        return "Source quench";
      case icmp_v4::kRedirect:
        return "Redirect";
      case icmp_v4::kEchoRequest:
        return "Echo (ping) request";
      case icmp_v4::kTimeExceeded:
        return "Time-to-live exceeded";
      case icmp_v4::kParameterProblem:
        return "Parameter problem";
      default:
        return {};
    }
  }
  switch (type) {
    case icmp_v6::kUnreachable:
      return "Destination unreachable";
    case icmp_v6::kPacketTooBig:
      return "Packet Too Big";
    case icmp_v6::kTimeExceeded:
      return "Time Exceeded";
    case icmp_v6::kParameterProblem:
      return "Parameter Problem";
    case icmp_v6::kEchoRequest:
      return "Echo (ping) request";
    case icmp_v6::kEchoReply:
      return "Echo (ping) reply";
    case icmp_v6::kRouterSolicitation:
      return "Router Solicitation";
    case icmp_v6::kRouterAdvertisement:
      return "Router Advertisement";
    case icmp_v6::kNeighborSolicitation:
      return "Neighbor Solicitation";
    case icmp_v6::kNeighborAdvertisement:
      return "Neighbor Advertisement";
    case icmp_v6::kRedirect:
      return "Redirect";
    default:
      return {};
  }
}

}  // namespace weft
