// SPDX-License-Identifier: Apache-2.0
// Hostile datagrams treated as unfinished packets of a Linux stack: no byte is written, and each
// packet with a partial checksum or superframe is completed into correct packets.
//
// The input: two bytes of MTU, two of segment size, a byte of settings, then the VXLAN payload.
#include <cstdint>
#include <memory>

#include "dataplane/virtual_underlay.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/packets.h"
#include "vxlan/inner_frame.h"

namespace weft::dataplane {
namespace {

using fuzz::Require;

void CheckAggregate(const Packet& whole) {
  Packet packet = whole;
  packet.segmentation = Segmentation::kDatagrams;
  DetectSuperframe(packet);
  Require(packet.segment_size == whole.segment_size && packet.data == whole.data &&
              packet.length == whole.length,
          "only the kind is decided");
  if (packet.segmentation == Segmentation::kDatagrams) return;
  Require(packet.segmentation == Segmentation::kNone, "no other kind");
  const auto first = ParseInnerFrame(whole.bytes().subspan(8));
  Require(
      first.ok() && first->total_length + 22 == whole.length && first->protocol == IpProtocol::kUdp,
      "a superframe is one UDP packet from its first byte to its last");
}

// `packet` is the result of AcceptUnfinished.
void CheckFinished(const Packet& packet, const ByteVector& original, InnerMtu mtu) {
  Require(fuzz::BytesOf(packet) == original, "no byte is written");
  if (packet.checksum == ChecksumState::kOnWire) {
    return Require(packet.segmentation == Segmentation::kNone, "a superframe is unfinished");
  }
  ByteVector copy = original;
  Packet whole = packet;
  whole.data = copy.data();
  Require(CompleteChecksum(whole), "the checksum lies in it");
  Require(VerifyTransportChecksum(copy) == TransportChecksum::kRight, "finished, it is right");
  if (packet.segmentation == Segmentation::kNone) return;
  Require(packet.segmentation != Segmentation::kDatagrams, "no aggregate");
  if (packet.verdict != Verdict::kForward) {
    return Require(packet.verdict == Verdict::kTinySegments && WirePackets(packet) > 128,
                   "more segments than a socket sends");
  }
  const std::uint32_t header = SuperframeHeaderLength(packet);
  Require(header != 0 && header <= packet.length && packet.segment_size != 0, "its headers");
  Require(packet.segmentation == Segmentation::kUdp || header + packet.segment_size <= mtu.bytes(),
          "TCP segments fit the pods' MTU");
  const auto segments = fuzz::CutUp(packet, PortKind::kPodL3, {});
  std::size_t sent = header;
  for (const ByteVector& segment : segments) {
    fuzz::RequireRight(segment);
    const Bytes piece = Bytes(segment).subspan(header);
    Require(sent + piece.size() <= original.size() &&
                fuzz::SameBytes(piece, Bytes(original).subspan(sent, piece.size())),
            "a segment's payload");
    sent += piece.size();
  }
  Require(sent == original.size(), "all of the payload");
}

}  // namespace
}  // namespace weft::dataplane

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  using namespace weft::dataplane;
  fuzz::Input input(data, size);
  const auto word = [&] {
    const std::uint32_t high = input.Byte();
    return high << 8 | input.Byte();
  };
  const auto mtu = InnerMtu::From(std::max<std::uint32_t>(word() % 9000, InnerMtu::kMin));
  const auto segment_size = static_cast<std::uint16_t>(word());
  const std::uint8_t setting = input.Byte();
  if (input.empty()) return 0;
  const Bytes payload = input.Take(size);

  fuzz::ExactBuffers buffers;
  Packet whole = buffers.Lend(payload);
  whole.segment_size = segment_size;
  CheckAggregate(whole);

  // The result of decapsulation: exactly one IP packet. A fuzzer cannot guess a sum, so the
  // pseudo-header's is written where the setting selects it.
  constexpr std::size_t kBefore = 22;
  const Bytes frame = payload.subspan(std::min(payload.size(), std::size_t{8}));
  const auto inner = ParseInnerFrame(frame);
  if (!inner) return 0;
  ByteVector ip(payload.begin() + kBefore, payload.begin() + kBefore + inner->total_length);
  if ((setting & 1) != 0 && CompleteTransportChecksum(ip)) {
    const std::size_t start = inner->header_length;
    const std::size_t field = start + (inner->protocol == IpProtocol::kTcp   ? 16
                                       : inner->protocol == IpProtocol::kUdp ? 6
                                                                             : 2);
    const PartialSum pseudo =
        inner->is_v4()
            ? PseudoHeaderV4(inner->source_v4(), inner->destination_v4(), inner->protocol,
                             inner->total_length - inner->header_length)
            : PseudoHeaderV6(std::span<const std::byte, 16>(ip.data() + 8, 16),
                             std::span<const std::byte, 16>(ip.data() + 24, 16), inner->protocol,
                             inner->total_length - inner->header_length);
    StoreBe16(ip.data() + field, pseudo.Fold());
  }
  static const auto batch = std::make_unique<Batch>();
  batch->clear();
  Packet& packet = batch->Add(buffers.Lend(ip));
  packet.segment_size = segment_size;
  static const SegmentSizes nothing_learnt;
  AcceptUnfinished(*batch, *mtu, nothing_learnt);
  CheckFinished(packet, ip, *mtu);
  return 0;
}
