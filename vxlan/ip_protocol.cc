// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ip_protocol.h"

namespace weft {

std::string_view Name(IpProtocol protocol) {
  switch (protocol) {
    case IpProtocol::kHopByHop:
      return "HOPOPT";
    case IpProtocol::kIcmp:
      return "ICMP";
    case IpProtocol::kTcp:
      return "TCP";
    case IpProtocol::kUdp:
      return "UDP";
    case IpProtocol::kRouting:
      return "IPv6-Route";
    case IpProtocol::kFragment:
      return "IPv6-Frag";
    case IpProtocol::kEsp:
      return "ESP";
    case IpProtocol::kAuthentication:
      return "AH";
    case IpProtocol::kIcmpV6:
      return "ICMPv6";
    case IpProtocol::kNoNextHeader:
      return "IPv6-NoNxt";
    case IpProtocol::kDestinationOptions:
      return "IPv6-Opts";
    case IpProtocol::kSctp:
      return "SCTP";
    case IpProtocol::kMobility:
      return "Mobility";
    case IpProtocol::kHip:
      return "HIP";
    case IpProtocol::kShim6:
      return "Shim6";
  }
  return {};
}

}  // namespace weft
