// SPDX-License-Identifier: Apache-2.0
#include "vxlan/transport_checksum.h"

#include <optional>

#include "vxlan/checksum.h"
#include "vxlan/inner_frame.h"
#include "vxlan/tcp.h"
#include "vxlan/udp.h"

namespace weft {
namespace {

// Range and position of a checksum, as offsets from the IP header.
struct Coverage {
  IpProtocol protocol{};
  std::uint32_t begin = 0;
  std::uint32_t length = 0;
  std::uint32_t field = 0;
  bool has_pseudo_header = true;
  PartialSum pseudo_header;
};

std::optional<Coverage> FindCoverage(Bytes in) {
  const Parsed<InnerPacket> packet = ParseInnerIp(in);
  if (!packet || packet->fragment != FragmentKind::kWhole) return std::nullopt;
  const Bytes transport = packet->transport();
  Coverage coverage;
  coverage.protocol = packet->protocol;
  coverage.begin = packet->header_length;
  coverage.length = static_cast<std::uint32_t>(transport.size());
  switch (packet->protocol) {
    case IpProtocol::kTcp:
      if (!TcpHeader::Parse(transport)) return std::nullopt;
      coverage.field = coverage.begin + 16;
      break;
    case IpProtocol::kUdp: {
      const Parsed<UdpHeader> udp = UdpHeader::Parse(transport);
      if (!udp) return std::nullopt;
      coverage.length = udp->length;
      coverage.field = coverage.begin + 6;
      break;
    }
    case IpProtocol::kIcmp:
    case IpProtocol::kIcmpV6: {
      const bool v6 = packet->protocol == IpProtocol::kIcmpV6;
      if (v6 == packet->is_v4() || transport.size() < 4) return std::nullopt;
      coverage.field = coverage.begin + 2;
      coverage.has_pseudo_header = v6;
      break;
    }
    default:
      return std::nullopt;
  }
  if (coverage.has_pseudo_header) {
    // With a routing header the final destination differs, and verification fails for such packets.
    coverage.pseudo_header = packet->is_v4()
                                 ? PseudoHeaderV4(packet->source_v4(), packet->destination_v4(),
                                                  coverage.protocol, coverage.length)
                                 : PseudoHeaderV6(in.subspan<8, 16>(), in.subspan<24, 16>(),
                                                  coverage.protocol, coverage.length);
  }
  return coverage;
}

}  // namespace

TransportChecksum VerifyTransportChecksum(Bytes packet) {
  const auto coverage = FindCoverage(packet);
  if (!coverage) return TransportChecksum::kNotCovered;
  if (coverage->protocol == IpProtocol::kUdp && LoadBe16(packet.data() + coverage->field) == 0)
    return TransportChecksum::kNone;
  const PartialSum sum =
      coverage->pseudo_header + Sum(packet.subspan(coverage->begin, coverage->length));
  return sum.IsRight() ? TransportChecksum::kRight : TransportChecksum::kWrong;
}

bool CompleteTransportChecksum(MutableBytes packet) {
  const auto coverage = FindCoverage(packet);
  if (!coverage) return false;
  StoreBe16(packet.data() + coverage->field, 0);
  std::uint16_t checksum =
      (coverage->pseudo_header + Sum(packet.subspan(coverage->begin, coverage->length))).Checksum();
  if (coverage->protocol == IpProtocol::kUdp) checksum = NonZeroUdpChecksum(checksum);
  StoreBe16(packet.data() + coverage->field, checksum);
  return true;
}

std::optional<UnfinishedChecksum> FindUnfinishedChecksum(Bytes packet) {
  const auto coverage = FindCoverage(packet);
  if (!coverage || !coverage->has_pseudo_header ||
      coverage->begin + coverage->length != packet.size() ||
      LoadBe16(packet.data() + coverage->field) != coverage->pseudo_header.Fold()) {
    return std::nullopt;
  }
  return UnfinishedChecksum{coverage->begin, coverage->field - coverage->begin};
}

}  // namespace weft
