// SPDX-License-Identifier: Apache-2.0
// Hostile packets of a few flows through Coalesce: none is lost, the order is kept, and joined
// packets are cut back into the same packets.
//
// The input: a byte of Setting, then packets: a template, flags, an argument, patches (ReadPacket).
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/offload.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/packets.h"
#include "tests/support/packet_builder.h"
#include "vxlan/ipv4.h"
#include "vxlan/udp.h"

namespace weft::dataplane {
namespace {

using fuzz::Require;

constexpr std::uint32_t kPayload = 40;

const std::vector<ByteVector>& Templates() {
  const auto v4 = [] { return PacketBuilder("10.244.1.7", "10.244.2.9").DontFragment(); };
  const auto v6 = [] { return PacketBuilder("fd00:1::7", "fd00:2::9"); };
  static const std::vector<ByteVector> templates = {
      v4().Tcp(1, 2).Payload(kPayload).Build(),
      v6().Tcp(1, 2).Payload(kPayload).Build(),
      v4().Udp(1, 2).Payload(kPayload).Build(),
      v6().Udp(1, 2).Payload(kPayload).Build(),
      v4().Tcp(1, 2).TcpTimestamps().Payload(kPayload).Build(),
      v4().DontFragment(false).Tcp(1, 2).Payload(kPayload).Build(),
      v4().Tcp(1, 2, TcpHeader::kAck | TcpHeader::kPsh).Payload(7).Build(),
      v4().Udp(1, 2).Payload(7).Build(),
      v4().UdpWithoutChecksum(1, 2).Payload(kPayload).Build(),
      v4().Ipv4Options(4).Tcp(1, 2).Payload(kPayload).Build(),
      v4().Udp(1, 2).Payload(kPayload).Fragment(0, 24).Build(),
      v4().Ping(1, 2).Payload(kPayload).Build(),
      v6().Ipv6DestinationOptions(8).Udp(1, 2).Payload(kPayload).Build(),
      v4().Tcp(1, 2).Payload(kPayload).WrongTransportChecksum().Build(),
      v4().Tcp(1, 2).Payload(1400).Build(),
  };
  return templates;
}

struct Stream {
  std::uint32_t next_sequence = 1;
  std::uint16_t next_identification = 0;
};

void RightChecksums(ByteVector& packet) {
  if (packet.size() >= Ipv4Header::kSize && Load8(packet.data()) == 0x45) {
    StoreBe16(packet.data() + 10, 0);
    StoreBe16(packet.data() + 10, SumIpv4Header(packet.data()).Checksum());
  }
  CompleteTransportChecksum(packet);
}

// Flags: 1 in sequence after the previous packet, 2 identification continues, 4 checksums are
// corrected last, 8 cut by the argument, 16 padded by it, 32 dropped already, 64 with a partial
// checksum. The low bits of the number of patches are their count.
ByteVector ReadPacket(fuzz::Input& input, Stream& stream, Packet& descriptor) {
  ByteVector bytes = Templates()[input.Byte() % Templates().size()];
  const std::uint8_t flags = input.Byte();
  const std::uint8_t argument = input.Byte();
  const std::uint8_t patches = input.Byte() & 7;
  const bool v4 = Load8(bytes.data()) >> 4 == 4;
  if ((flags & 2) != 0 && v4) StoreBe16(bytes.data() + 4, stream.next_identification++);
  const auto inner = ParseInnerIp(bytes);
  if ((flags & 1) != 0 && inner->protocol == IpProtocol::kTcp) {
    std::byte* const tcp = bytes.data() + inner->header_length;
    StoreBe32(tcp + 4, stream.next_sequence);
    const std::uint32_t header = inner->header_length + (Load8(tcp + 12) >> 4) * 4u;
    stream.next_sequence += static_cast<std::uint32_t>(bytes.size()) - header;
  }
  if ((flags & 8) != 0)
    bytes.resize(bytes.size() - std::min<std::size_t>(argument, bytes.size() - 1));
  if ((flags & 16) != 0) bytes.resize(bytes.size() + argument);
  for (int i = 0; i < patches; ++i) {
    const std::uint8_t at = input.Byte();
    const std::byte value{input.Byte()};
    if (at < bytes.size()) bytes[at] = value;
  }
  if ((flags & 4) != 0) RightChecksums(bytes);
  if ((flags & 32) != 0) descriptor.verdict = Verdict::kForeignVni;
  if ((flags & 64) != 0) descriptor.checksum = ChecksumState::kPartial;
  return bytes;
}

// Equal, except for fields that RFC 6864 leaves open and the two forms of a zero sum.
void RequireSameSegment(const ByteVector& cut, const ByteVector& original) {
  if (cut == original) return;
  fuzz::RequireRight(cut);
  fuzz::RequireRight(original);
  const auto inner = ParseInnerIp(original);
  const auto plain = [&](ByteVector bytes) {
    if (inner->is_v4()) {
      if (inner->dont_fragment) StoreBe16(bytes.data() + 4, 0);
      StoreBe16(bytes.data() + 10, 0);
    }
    StoreBe16(bytes.data() + inner->header_length + (inner->protocol == IpProtocol::kTcp ? 16 : 6),
              0);
    return bytes;
  };
  Require(plain(cut) == plain(original), "a segment is what was joined");
}

// A superframe, finished whole, is a right packet too.
void RequireRightWhole(const Packet& superframe) {
  ByteVector copy = fuzz::BytesOf(superframe);
  Packet whole = superframe;
  whole.data = copy.data();
  Require(CompleteChecksum(whole), "its checksum lies in it");
  fuzz::RequireRight(copy);
}

}  // namespace
}  // namespace weft::dataplane

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  using namespace weft::dataplane;
  fuzz::Input input(data, size);
  const std::uint8_t setting = input.Byte();
  PortFeatures pods;
  pods.tcp_segmentation = (setting & 1) == 0;
  pods.udp_segmentation = (setting & 2) == 0;
  pods.partial_checksum = (setting & 4) == 0;
  const bool slices = (setting & 8) != 0;  // end to end in one buffer, as an aggregate's are
  const std::uint32_t tailroom = setting >> 4 << 8;  // of a packet in a separate buffer
  Stream stream;
  std::vector<ByteVector> originals;
  std::vector<Packet> descriptors;
  while (!input.empty() && originals.size() < kMaxBatch) {
    Packet descriptor;
    originals.push_back(ReadPacket(input, stream, descriptor));
    descriptors.push_back(descriptor);
  }

  constexpr std::uint32_t kBetween = 22;  // VXLAN and Ethernet headers were there
  ByteVector aggregate;
  for (const ByteVector& each : originals) {
    aggregate.resize(aggregate.size() + kBetween);
    aggregate.insert(aggregate.end(), each.begin(), each.end());
  }
  fuzz::ExactBuffers buffers;
  static const auto batch = std::make_unique<Batch>();
  batch->clear();
  std::byte* next = buffers.Lend(aggregate).data;
  for (std::size_t i = 0; i < originals.size(); ++i) {
    Packet packet = slices ? Packet() : buffers.Lend(originals[i], tailroom);
    if (slices) {
      packet.data = next + kBetween;
      packet.length = static_cast<std::uint32_t>(originals[i].size());
      packet.headroom = kBetween;
      next = packet.data + packet.length;
    }
    packet.verdict = descriptors[i].verdict;
    packet.checksum = descriptors[i].checksum;
    batch->Add(packet);
  }
  Coalesce(*batch, pods);

  std::size_t at = 0;
  for (const Packet& packet : *batch) {
    Require(at < originals.size(), "no more packets than there were");
    Require(packet.verdict == descriptors[at].verdict, "verdicts stay with their packets");
    if (packet.segmentation == Segmentation::kNone) {
      Require(packet.checksum == descriptors[at].checksum, "a packet alone stays as it was");
      Require(fuzz::BytesOf(packet) == originals[at++], "a packet alone stays as it was");
      continue;
    }
    Require(packet.verdict == Verdict::kForward && pods.partial_checksum, "who takes superframes");
    Require(
        packet.segmentation == Segmentation::kTcp ? pods.tcp_segmentation : pods.udp_segmentation,
        "superframes of what the port takes");
    Require(packet.length <= 65'535, "a superframe is an IP packet");
    RequireRightWhole(packet);
    const auto segments = fuzz::CutUp(packet, PortKind::kPodL3, {});
    Require(segments.size() == WirePackets(packet) && segments.size() >= 2, "WirePackets");
    for (const ByteVector& segment : segments) {
      Require(at < originals.size(), "no more packets than there were");
      RequireSameSegment(segment, originals[at++]);
    }
  }
  Require(at == originals.size(), "no fewer packets than there were");
  return 0;
}
