// SPDX-License-Identifier: Apache-2.0
// Any bytes as a frame: the first byte selects the first layer, the rest is the frame. Every parser
// reads them, parsed headers survive Emit, and Describe is never empty.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "vxlan/arp.h"
#include "vxlan/describe.h"
#include "vxlan/encapsulation.h"
#include "vxlan/ethernet.h"
#include "vxlan/flow_hash.h"
#include "vxlan/icmp.h"
#include "vxlan/inner_frame.h"
#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/outer_packet.h"
#include "vxlan/tcp.h"
#include "vxlan/transport_checksum.h"
#include "vxlan/udp.h"
#include "vxlan/vxlan_header.h"

namespace {

using namespace weft;  // NOLINT: a program of one file

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// A header of fixed size: the value survives Emit into a dirty buffer.
template <typename Header>
void RoundTrip(Bytes in, const char* name) {
  const auto header = Header::Parse(in);
  if (!header) return;
  std::vector<std::byte> copy(in.begin(), in.end());
  std::array<std::byte, Header::kSize> out;
  out.fill(std::byte{0xa5});
  header->Emit(out);
  for (std::size_t i = 0; i < out.size(); ++i) copy[i] = out[i];
  Require(Header::Parse(copy) == header, name);
}

// Headers whose options stay in place.
template <typename Header>
void RoundTripInPlace(Bytes in, const char* name) {
  const auto header = Header::Parse(in);
  if (!header) return;
  std::vector<std::byte> copy(in.begin(), in.end());
  header->Emit(copy);
  Require(Header::Parse(copy) == header, name);
}

void CheckIp(Bytes in) {
  RoundTripInPlace<Ipv4Header>(in, "IPv4 round trip");
  RoundTrip<Ipv6Header>(in, "IPv6 round trip");
  const auto packet = ParseInnerIp(in);
  const FlowHash hash = packet ? HashInnerFlow(*packet) : FlowHash{};
  const bool may_answer = MayAnswerWithIcmpError(in);
  Require(packet || !may_answer, "a malformed packet is not answered");
  if (!packet) return;
  Require(packet->header_length <= packet->total_length, "the header is in the packet");
  Require(packet->total_length <= in.size(), "the packet is in the buffer");
  Require(OuterSourcePort(hash) >= 49152, "the source port is dynamic");

  std::vector<std::byte> copy(in.begin(), in.end());
  if (CompleteTransportChecksum(copy)) {
    Require(VerifyTransportChecksum(copy) == TransportChecksum::kRight, "a completed checksum");
  }
  SetEcn(copy.data(), packet->family, Ecn::kCe);
  Require(ParseInnerIp(copy)->ecn == Ecn::kCe, "ECN as set");

  std::array<std::byte, kMaxIcmpV6Error> error;
  const IpAddress gateway =
      packet->is_v4() ? IpAddress::V4(0x0a00'0001) : *IpAddress::Parse("fe80::1");
  const std::size_t size = EmitPacketTooBig(*InnerMtu::From(1450), in, gateway, error);
  Require((size != 0) == may_answer, "an answer where one may be sent");
  if (size == 0) return;
  const Bytes answer = Bytes(error).first(size);
  Require(VerifyTransportChecksum(answer) == TransportChecksum::kRight, "the answer's checksum");
  Require(!MayAnswerWithIcmpError(answer), "an answer is not answered");
}

void CheckTransport(Bytes in) {
  RoundTrip<UdpHeader>(in, "UDP round trip");
  (void)TcpHeader::Parse(in);
  RoundTrip<IcmpHeader>(in, "ICMP round trip");
}

void CheckVxlan(Bytes in) {
  RoundTrip<VxlanHeader>(in, "VXLAN round trip");
  if (in.size() >= VxlanHeader::kSize) static_cast<void>(ParseInnerFrame(in.subspan(8)));
}

void CheckOuter(Bytes in) {
  for (const OuterChecksums checksums : {OuterChecksums::kVerify, OuterChecksums::kTrust}) {
    const auto outer = ParseOuterPacket(in, checksums);
    const auto thorough = detail::ParseOuterPacketSlow(in, checksums);
    Require(outer.ok() == thorough.ok(), "fast and thorough parse agree");
    if (!outer) {
      Require(outer.error() == thorough.error(), "and on the reason");
      continue;
    }
    Require(outer->payload_offset + outer->payload_length <= in.size(), "the payload is in it");
    CheckVxlan(outer->payload());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // A copy of exact size, so that reads past the end are seen.
  std::vector<std::byte> frame(size - 1);
  for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = std::byte{data[i + 1]};

  const std::string text = Describe(frame, static_cast<FrameStart>(data[0] % 5));
  Require(!text.empty() && text.back() == '\n', "Describe is not empty");

  RoundTrip<EthernetHeader>(frame, "Ethernet round trip");
  RoundTrip<ArpPacket>(frame, "ARP round trip");
  static_cast<void>(EthernetFrame::Parse(frame));
  CheckIp(frame);
  CheckTransport(frame);
  CheckVxlan(frame);
  CheckOuter(frame);
  return 0;
}
