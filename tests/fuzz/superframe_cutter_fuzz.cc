// SPDX-License-Identifier: Apache-2.0
// A pod's superframe with any bytes and any descriptor: the forwarder refuses it, or the cutter
// makes complete correct packets with the pod's payload, of the counted number and length, whether
// the port supports aggregates or not.
//
// The input: a byte of settings, a byte for the template, two for the segment size, three for the
// descriptor's checksum position, and patches.
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/forwarder.h"
#include "dataplane/offload.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/packets.h"
#include "tests/support/packet_builder.h"
#include "vxlan/outer_packet.h"
#include "vxlan/udp.h"
#include "vxlan/vxlan_header.h"

namespace weft::dataplane {
namespace {

using fuzz::Require;

const std::vector<ByteVector>& Templates() {
  const auto v4 = [] {
    return PacketBuilder("10.244.2.9", "10.244.1.7").PartialTransportChecksum();
  };
  const auto v6 = [] { return PacketBuilder("fd00:2::9", "fd00:1::7").PartialTransportChecksum(); };
  constexpr std::uint16_t kLast = TcpHeader::kAck | TcpHeader::kPsh | TcpHeader::kFin;
  static const std::vector<ByteVector> templates = {
      v4().Tcp(1, 2, kLast).Payload(4000).Build(),
      v6().Tcp(1, 2, kLast | TcpHeader::kCwr).Payload(3000).Build(),
      v4().Udp(1, 2).Payload(2900).Build(),
      v6().Udp(1, 2).Payload(2900).Build(),
      v4().Tcp(1, 2).TcpTimestamps().Identification(0xfffe).Payload(5000).Build(),
      v4().Ipv4Options(8).Tcp(1, 2).Payload(3000).Build(),
      v6().Ipv6DestinationOptions(8).Tcp(1, 2).Payload(3000).Build(),
      v4().Tcp(1, 2).Payload(0).Build(),
      v4().Udp(1, 2).Payload(1).Build(),
      v4().Udp(1, 2).Payload(2000).Fragment(0, 1600).Build(),
      v4().Tcp(1, 2).TotalLength(65'400).Build(),
  };
  return templates;
}

// FIN and PSH stay with the last, CWR with the first; sequence numbers and identifications count.
void CheckHeaders(const InnerPacket& inner, const Packet& superframe, std::size_t index,
                  std::size_t sent, bool last) {
  const std::byte* const first_ip = superframe.data + superframe.inner_offset;
  if (inner.is_v4()) {
    Require(LoadBe16(inner.data + 4) == static_cast<std::uint16_t>(LoadBe16(first_ip + 4) + index),
            "the identification");
  }
  if (inner.protocol != IpProtocol::kTcp) return;
  const std::byte* const tcp = inner.transport().data();
  const std::byte* const first = superframe.data + superframe.checksum_start;
  Require(LoadBe32(tcp + 4) == static_cast<std::uint32_t>(LoadBe32(first + 4) + sent),
          "the sequence number");
  std::uint32_t flags = LoadBe16(first + 12);
  if (!last) flags &= ~std::uint32_t{TcpHeader::kFin | TcpHeader::kPsh};
  if (index != 0) flags &= ~std::uint32_t{TcpHeader::kCwr};
  Require(LoadBe16(tcp + 12) == flags, "the flags");
}

// The packets that a port would send for the stamped superframe, checked one by one.
void CheckSegments(const Packet& superframe, Bytes payload, PortKind wire,
                   const std::vector<ByteVector>& segments) {
  Require(segments.size() == WirePackets(superframe), "WirePackets");
  std::uint64_t inner_bytes = 0;
  std::size_t sent = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    Bytes rest = segments[i];
    if (wire == PortKind::kWirePacket) {
      const auto outer = ParseOuterPacket(rest);
      Require(outer.ok() && outer->total_length == rest.size(), "the outer packet is whole");
      Require((LoadBe16(outer->data + outer->payload_offset - 2) != 0) ==
                  (LoadBe16(superframe.data + superframe.inner_offset - 22 - 2) != 0),
              "an outer UDP checksum where one is asked for");
      rest = outer->payload();
    }
    const auto inner = ParseInnerFrame(rest.subspan(VxlanHeader::kSize));
    Require(inner.ok(), "the inner frame");
    fuzz::RequireRight(rest.subspan(22));
    CheckHeaders(*inner, superframe, i, sent, i + 1 == segments.size());
    inner_bytes += inner->total_length;
    const Bytes transport = inner->transport();
    const std::size_t header =
        inner->protocol == IpProtocol::kTcp ? (Load8(transport.data() + 12) >> 4) * 4u : 8u;
    const Bytes piece = transport.subspan(header);
    Require(!piece.empty() && piece.size() <= superframe.segment_size, "a segment's size");
    Require(sent + piece.size() <= payload.size() &&
                fuzz::SameBytes(piece, payload.subspan(sent, piece.size())),
            "a segment's payload");
    sent += piece.size();
  }
  Require(sent == payload.size(), "all of the payload");
  Require(inner_bytes == InnerBytes(superframe), "InnerBytes");
}

}  // namespace
}  // namespace weft::dataplane

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  using namespace weft::dataplane;
  fuzz::Input input(data, size);
  const std::uint8_t setting = input.Byte();
  ByteVector bytes = Templates()[input.Byte() % Templates().size()];
  Packet descriptor;
  descriptor.segmentation = (setting & 1) == 0 ? Segmentation::kTcp : Segmentation::kUdp;
  const PortKind wire = (setting & 2) == 0 ? PortKind::kWirePacket : PortKind::kWireDatagram;
  const bool udp_checksum = (setting & 4) != 0;
  const std::uint16_t high = input.Byte();
  descriptor.segment_size = static_cast<std::uint16_t>(high << 8 | input.Byte());
  descriptor.checksum = ChecksumState::kPartial;
  descriptor.checksum_start = input.Byte();
  const std::uint16_t beyond = input.Byte();
  descriptor.checksum_start = static_cast<std::uint16_t>(descriptor.checksum_start + (beyond << 8));
  descriptor.checksum_offset = input.Byte();
  PortFeatures aggregating;
  aggregating.datagram_aggregation = true;
  aggregating.max_segments = static_cast<std::uint16_t>(1 + (setting >> 3));
  aggregating.max_aggregate = 2000u * (32 - (setting >> 3));
  while (!input.empty()) {
    const std::uint8_t at = input.Byte();
    const std::byte value{input.Byte()};
    if (at < bytes.size()) bytes[at] = value;
  }
  // The content of the field is the sender's.
  if (const auto inner = ParseInnerIp(bytes)) {
    const bool is_tcp = descriptor.segmentation == Segmentation::kTcp;
    const std::uint32_t field = inner->header_length + (is_tcp ? 16u : 6u);
    if (field + 2 <= bytes.size()) {
      StoreBe16(bytes.data() + field, PseudoHeader(inner->source(), inner->destination(),
                                                   is_tcp ? IpProtocol::kTcp : IpProtocol::kUdp,
                                                   inner->total_length - inner->header_length)
                                          .Fold());
    }
  }

  LocalVtep local;
  local.outer_source = Ip("192.0.2.2");
  local.mac = Mac("02:00:00:00:00:02");
  local.udp_checksum = udp_checksum;
  struct Tables {
    explicit Tables(const LocalVtep& vtep) : remotes(vtep, peers) {
      const auto to = [](const char* subnet) {
        return RemoteSpec{"linux-1", *IpPrefix::Parse(subnet), Ip("192.0.2.1"),
                          Mac("02:00:00:00:00:01")};
      };
      remotes.Resync(std::vector{to("10.244.1.0/24"), to("fd00:1::/64")});
    }
    PeerTable peers;
    RemoteTable remotes;
  };
  static std::array<std::unique_ptr<Tables>, 2> tables;
  auto& mine = tables[udp_checksum ? 1 : 0];
  if (!mine) mine = std::make_unique<Tables>(local);
  ForwarderConfig config;
  config.local = local;
  config.wire = wire;
  Counters counters;
  Forwarder forwarder(config, mine->remotes, mine->peers, counters);

  fuzz::ExactBuffers buffers;
  static const auto batch = std::make_unique<Batch>();
  static const auto replies = std::make_unique<Batch>();
  batch->clear();
  replies->clear();
  Packet& packet = batch->Add(descriptor);
  const Packet lent = buffers.Lend(bytes);
  packet.data = lent.data;
  packet.length = lent.length;
  packet.headroom = lent.headroom;
  forwarder.Encapsulate(*batch, *replies);
  if (packet.verdict != Verdict::kForward || packet.segmentation == Segmentation::kNone) return 0;

  const ByteVector stamped = fuzz::BytesOf(packet);
  const Bytes payload = Bytes(stamped).subspan(SuperframeHeaderLength(packet));
  Require(payload.size() > packet.segment_size, "a superframe represents several packets");
  const auto singles = fuzz::CutUp(packet, wire, {});
  CheckSegments(packet, payload, wire, singles);
  Require(singles == fuzz::CutUp(packet, wire, aggregating), "aggregates hold the same packets");
  Require(stamped == fuzz::BytesOf(packet), "the superframe stays as it is");
  return 0;
}
