// SPDX-License-Identifier: Apache-2.0
#include "vxlan/describe.h"

#include <optional>
#include <string_view>

#include "vxlan/arp.h"
#include "vxlan/ethernet.h"
#include "vxlan/icmp.h"
#include "vxlan/inner_frame.h"
#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/tcp.h"
#include "vxlan/transport_checksum.h"
#include "vxlan/udp.h"
#include "vxlan/vxlan_header.h"

namespace weft {
namespace {

constexpr std::uint16_t kLinuxVxlanPort = 8472;  // Linux's default, from before IANA assigned 4789

std::string Hex(std::uint32_t value, int digits) {
  std::string text = "0x";
  for (int i = digits - 1; i >= 0; --i) text += "0123456789abcdef"[value >> (4 * i) & 0xf];
  return text;
}

// "TCP (6)"; "147" for numbers without a name.
std::string WithNumber(std::string_view name, const std::string& number) {
  return name.empty() ? number : std::string(name) + " (" + number + ")";
}

std::string Text(IpProtocol protocol) {
  return WithNumber(Name(protocol), std::to_string(static_cast<unsigned>(protocol)));
}

std::string Text(EtherType type) {
  return WithNumber(Name(type), Hex(static_cast<std::uint16_t>(type), 4));
}

std::string_view Text(TransportChecksum checksum) {
  switch (checksum) {
    case TransportChecksum::kRight:
      return "correct";
    case TransportChecksum::kWrong:
      return "INCORRECT";
    case TransportChecksum::kNone:
      return "none";
    case TransportChecksum::kNotCovered:
      break;
  }
  return "unverified";
}

std::string_view Text(FragmentKind kind) {
  switch (kind) {
    case FragmentKind::kWhole:
      return "";
    case FragmentKind::kFirst:
      return ", first fragment";
    case FragmentKind::kLater:
      break;
  }
  return ", later fragment";
}

// Walks down the layers, one method each; the method of a layer calls that of the next.
class Describer {
 public:
  explicit Describer(Bytes frame) : frame_(frame) {}

  std::string Run(FrameStart start) {
    switch (start) {
      case FrameStart::kOuterEthernet:
        outer_ = true;
        Ethernet(0);
        break;
      case FrameStart::kOuterIp:
        outer_ = true;
        Ip(0, std::nullopt);
        break;
      case FrameStart::kVxlan:
        Vxlan(0);
        break;
      case FrameStart::kInnerEthernet:
        Ethernet(0);
        break;
      case FrameStart::kInnerIp:
        Ip(0, std::nullopt);
        break;
    }
    return std::move(text_);
  }

 private:
  void Line(const std::string& line) { text_ += line + '\n'; }
  void Refuse(std::string_view layer, std::size_t at, Malformed reason) {
    Line("[Malformed " + std::string(layer) + " at offset " + std::to_string(at) + ": " +
         std::string(Name(reason)) + ". " + std::string(Sentence(reason)) + "]");
  }
  void Data(std::size_t size) {
    if (size != 0) Line("Data (" + std::to_string(size) + " bytes)");
  }

  void Ethernet(std::size_t at) {
    const auto frame = EthernetFrame::Parse(frame_.subspan(at));
    if (!frame) return Refuse("Ethernet", at, frame.error());
    const auto outer_type = static_cast<EtherType>(LoadBe16(frame_.data() + at + 12));
    Line("Ethernet II, Src: " + frame->source.ToString() +
         ", Dst: " + frame->destination.ToString() + ", Type: " + Text(outer_type));
    if (frame->tag) {
      Line("802.1Q Virtual LAN, PRI: " + std::to_string(frame->tag->priority) +
           ", DEI: " + std::to_string(frame->tag->drop_eligible) + ", ID: " +
           std::to_string(frame->tag->identifier) + ", Type: " + Text(frame->ether_type));
    }
    const std::size_t payload = at + frame->payload_offset;
    switch (frame->ether_type) {
      case EtherType::kIpv4:
        return Ip(payload, IpFamily::kV4);
      case EtherType::kIpv6:
        return Ip(payload, IpFamily::kV6);
      case EtherType::kArp:
        return Arp(payload);
      default:
        return Data(frame_.size() - payload);
    }
  }

  void Arp(std::size_t at) {
    const auto arp = ArpPacket::Parse(frame_.subspan(at));
    if (!arp) return Refuse("ARP", at, arp.error());
    const std::string sender = IpAddress::V4(arp->sender_address).ToString();
    const std::string target = IpAddress::V4(arp->target_address).ToString();
    std::string line = "Address Resolution Protocol, ";
    switch (arp->operation) {
      case ArpPacket::Operation::kRequest:
        line += "request: Who has " + target + "? Tell " + sender + " (" +
                arp->sender_mac.ToString() + ")";
        break;
      case ArpPacket::Operation::kReply:
        line += "reply: " + sender + " is at " + arp->sender_mac.ToString();
        break;
      default:
        line += "opcode " + std::to_string(static_cast<unsigned>(arp->operation)) + ", " + sender +
                " to " + target;
    }
    Line(line);
  }

  // `expected`: the family of the EtherType.
  void Ip(std::size_t at, std::optional<IpFamily> expected) {
    const Bytes in = frame_.subspan(at);
    if (in.empty()) return Refuse("IP", at, Malformed::kTruncated);
    const unsigned version = Load8(in.data()) >> 4;
    if (version != 4 && version != 6) return Refuse("IP", at, Malformed::kBadVersion);
    const IpFamily family = version == 4 ? IpFamily::kV4 : IpFamily::kV6;
    if (expected && *expected != family) return Refuse("IP", at, Malformed::kEtherTypeMismatch);
    if (!(family == IpFamily::kV4 ? Ipv4(in, at) : Ipv6(in, at))) return;

    const auto packet = ParseInnerIp(in);
    if (!packet) return Refuse("IPv6 extension headers", at, packet.error());
    if (family == IpFamily::kV6 && packet->header_length > Ipv6Header::kSize) {
      Line("IPv6 extension headers, " + std::to_string(packet->header_length - Ipv6Header::kSize) +
           " bytes, then: " + Text(packet->protocol) + std::string(Text(packet->fragment)));
    }
    if (packet->fragment == FragmentKind::kLater) return Data(packet->transport().size());
    Transport(*packet, at + packet->header_length);
  }

  bool Ipv4(Bytes in, std::size_t at) {
    const auto ip = Ipv4Header::Parse(in);
    if (!ip) return Refuse("IPv4", at, ip.error()), false;
    Line("Internet Protocol Version 4, Src: " + IpAddress::V4(ip->source).ToString() +
         ", Dst: " + IpAddress::V4(ip->destination).ToString() +
         ", Len: " + std::to_string(ip->total_length) + ", ID: " + Hex(ip->identification, 4) +
         (ip->dont_fragment ? ", DF" : "") + (ip->more_fragments ? ", MF" : "") +
         (ip->fragment_offset != 0 ? ", Frag Offset: " + std::to_string(ip->fragment_offset) : "") +
         ", TTL: " + std::to_string(ip->ttl) + Tos(ip->dscp, ip->ecn) + ", Protocol: " +
         Text(ip->protocol) + (Ipv4ChecksumIsRight(in) ? "" : ", header checksum INCORRECT"));
    return true;
  }

  bool Ipv6(Bytes in, std::size_t at) {
    const auto ip = Ipv6Header::Parse(in);
    if (!ip) return Refuse("IPv6", at, ip.error()), false;
    Line("Internet Protocol Version 6, Src: " + ip->source.ToString() + ", Dst: " +
         ip->destination.ToString() + ", Payload Len: " + std::to_string(ip->payload_length) +
         ", Flow Label: " + Hex(ip->flow_label, 5) +
         ", Hop Limit: " + std::to_string(ip->hop_limit) + Tos(ip->dscp, ip->ecn) +
         ", Next Header: " + Text(ip->next_header));
    return true;
  }

  static std::string Tos(std::uint8_t dscp, Ecn ecn) {
    std::string text;
    if (dscp != 0) text += ", DSCP: " + std::to_string(dscp);
    if (ecn != Ecn::kNotEct) text += ", ECN: " + std::string(Name(ecn));
    return text;
  }

  void Transport(const InnerPacket& packet, std::size_t at) {
    switch (packet.protocol) {
      case IpProtocol::kUdp:
        return Udp(packet, at);
      case IpProtocol::kTcp:
        return Tcp(packet, at);
      case IpProtocol::kIcmp:
      case IpProtocol::kIcmpV6:
        return Icmp(packet, at);
      default:
        return Data(packet.transport().size());
    }
  }

  std::string ChecksumText(const InnerPacket& packet) const {
    const TransportChecksum checksum = VerifyTransportChecksum(packet.bytes());
    const bool unfinished =
        checksum == TransportChecksum::kWrong && FindUnfinishedChecksum(packet.bytes());
    return ", Checksum: " +
           (unfinished ? "unfinished, left to a device" : std::string(Text(checksum)));
  }

  void Udp(const InnerPacket& packet, std::size_t at) {
    const Bytes in = packet.transport();
    if (in.size() < UdpHeader::kSize) return Refuse("UDP", at, Malformed::kTruncated);
    auto udp = UdpHeader::Parse(in);
    // A first fragment is shorter than the datagram's length field: no error.
    const bool cut = !udp && packet.fragment == FragmentKind::kFirst &&
                     LoadBe16(in.data() + 4) >= UdpHeader::kSize;
    if (!udp && !cut) return Refuse("UDP", at, udp.error());
    const std::uint16_t port = LoadBe16(in.data() + 2);
    const std::uint16_t length = LoadBe16(in.data() + 4);
    Line("User Datagram Protocol, Src Port: " + std::to_string(LoadBe16(in.data())) +
         ", Dst Port: " + std::to_string(port) + ", Len: " + std::to_string(length) +
         ChecksumText(packet));
    const std::size_t payload = cut ? in.size() - UdpHeader::kSize : length - UdpHeader::kSize;
    const std::size_t payload_at = at + UdpHeader::kSize;
    if (outer_ && !cut && CarriesVxlan(port, frame_.subspan(payload_at, payload))) {
      outer_ = false;
      frame_ = frame_.first(payload_at + payload);
      return Vxlan(payload_at);
    }
    Data(payload);
  }

  void Vxlan(std::size_t at) {
    const Bytes in = frame_.subspan(at);
    const auto vxlan = VxlanHeader::Parse(in);
    if (!vxlan) return Refuse("VXLAN", at, vxlan.error());
    const bool plain = LoadBe32(in.data()) == std::uint32_t{VxlanHeader::kFlagVni} << 24 &&
                       Load8(in.data() + 7) == 0;
    Line("Virtual eXtensible Local Area Network, VNI: " + std::to_string(vxlan->vni.value()) +
         (plain ? "" : ", Flags: " + Hex(Load8(in.data()), 2) + ", reserved bits set"));
    Ethernet(at + VxlanHeader::kSize);
  }

  void Tcp(const InnerPacket& packet, std::size_t at) {
    const Bytes in = packet.transport();
    const auto tcp = TcpHeader::Parse(in);
    if (!tcp) return Refuse("TCP", at, tcp.error());
    Line("Transmission Control Protocol, Src Port: " + std::to_string(tcp->source_port) +
         ", Dst Port: " + std::to_string(tcp->destination_port) + ", Seq: " +
         std::to_string(tcp->sequence) + ", Ack: " + std::to_string(tcp->acknowledgment) +
         ", Flags: [" + TcpFlagNames(tcp->flags) + "], Win: " + std::to_string(tcp->window) +
         ", Len: " + std::to_string(in.size() - tcp->header_length) + ChecksumText(packet));
  }

  void Icmp(const InnerPacket& packet, std::size_t at) {
    const Bytes in = packet.transport();
    const auto icmp = IcmpHeader::Parse(in);
    if (!icmp) return Refuse("ICMP", at, icmp.error());
    // ICMP numbers its messages by protocol, not by the IP version around it.
    const bool v4 = packet.protocol == IpProtocol::kIcmp;
    const IpFamily family = v4 ? IpFamily::kV4 : IpFamily::kV6;
    std::string line =
        v4 ? "Internet Control Message Protocol" : "Internet Control Message Protocol v6";
    line += ", Type: " + WithNumber(IcmpTypeName(family, icmp->type), std::to_string(icmp->type)) +
            ", Code: " + std::to_string(icmp->code);
    const bool echo = v4 ? icmp->type == icmp_v4::kEchoRequest || icmp->type == icmp_v4::kEchoReply
                         : icmp->type == icmp_v6::kEchoRequest || icmp->type == icmp_v6::kEchoReply;
    const bool too_big =
        v4 ? icmp->type == icmp_v4::kUnreachable && icmp->code == icmp_v4::kCodeFragmentationNeeded
           : icmp->type == icmp_v6::kPacketTooBig;
    if (echo)
      line += ", id=" + Hex(icmp->rest >> 16, 4) + ", seq=" + std::to_string(icmp->rest & 0xffff);
    if (too_big) line += ", MTU of next hop: " + std::to_string(icmp->rest);
    Line(line + ChecksumText(packet));
  }

  Bytes frame_;
  bool outer_ = false;  // the next UDP header may be followed by VXLAN; set once, so the walk ends
  std::string text_;
};

}  // namespace

std::string Describe(Bytes frame, FrameStart start) { return Describer(frame).Run(start); }

bool CarriesVxlan(std::uint16_t destination_port, Bytes payload) {
  if (destination_port == kVxlanPort || destination_port == kLinuxVxlanPort) return true;
  return payload.size() > VxlanHeader::kSize + EthernetHeader::kSize &&
         LoadBe32(payload.data()) == std::uint32_t{VxlanHeader::kFlagVni} << 24 &&
         Load8(payload.data() + 7) == 0;
}

}  // namespace weft
