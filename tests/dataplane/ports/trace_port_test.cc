// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/trace_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "tests/dataplane/ports/port_harnesses.h"
#include "tests/support/memory_port.h"
#include "tests/support/packet_builder.h"
#include "tests/support/test_path.h"
#include "vxlan/outer_packet.h"

namespace weft::dataplane {
namespace {

// Destroyed last, when the file is no longer open: Windows requires that.
struct TempFile {
  explicit TempFile(const std::string& name) : path(weft::testing::TestPath().string() + name) {}
  ~TempFile() { std::filesystem::remove(path); }
  std::string path;
};

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Rig {
  explicit Rig(PortKind kind, std::optional<CaptureWriter> capture = {},
               std::size_t capacity = 16) {
    MemoryOptions memory;
    memory.kind = kind;
    memory.capacity = capacity;
    memory.first_address = Ip("192.0.2.1");
    memory.second_address = Ip("192.0.2.2");
    MemoryLink link = MemoryLink::Make(memory);
    far = std::move(link.second);
    TraceOptions options;
    options.describe = [this](TraceDirection, std::string_view text) { lines.emplace_back(text); };
    options.capture = std::move(capture);
    options.epoch = std::chrono::seconds(1000);
    port = std::make_unique<TracePort>(std::move(link.first), std::move(options));
  }
  std::vector<std::string> lines;
  std::unique_ptr<PacketPort> far;
  std::unique_ptr<TracePort> port;
};

const ByteVector kInner =
    PacketBuilder("10.244.1.2", "10.244.2.3").Tcp(40000, 443).Payload(10).Build();

TEST(TracePort, DescribesBothDirections) {
  Rig rig(PortKind::kPodL3);
  SendBytes(*rig.far, kInner);
  ReceiveBytes(*rig.port);
  SendBytes(*rig.port, kInner);
  EXPECT_THAT(rig.lines,
              ElementsAre(StartsWith("received 50 bytes:\n"), StartsWith("sent 50 bytes:\n")));
  EXPECT_THAT(rig.lines[0], HasSubstr("10.244.2.3"));
  EXPECT_THAT(rig.lines[0], HasSubstr("443"));
}

TEST(TracePort, PathMtusOfTheInnerPortPassThrough) {
  TracePort port(std::make_unique<NoticingPort>(), {});
  std::array<PathMtuNotice, 4> notices;
  ASSERT_EQ(port.DrainPathMtuNotices(notices), 1u);
  EXPECT_EQ(notices[0].destination, NoticingPort::kDestination);
  EXPECT_EQ(notices[0].outer_mtu, NoticingPort::kMtu);
}

TEST(TracePort, NamesSuperframesOfTcpAndUdp) {
  for (const auto& [segmentation, word] :
       {std::pair(Segmentation::kTcp, ", TCP superframe of 1000"),
        std::pair(Segmentation::kUdp, ", UDP superframe of 1000")}) {
    Rig rig(PortKind::kPodL3);
    ByteVector bytes = kInner;
    Packet packet;
    packet.data = bytes.data();
    packet.length = static_cast<std::uint32_t>(bytes.size());
    packet.segmentation = segmentation;
    packet.segment_size = 1000;
    Batch batch;
    batch.Add(packet);
    rig.port->Send(batch);
    ASSERT_EQ(rig.lines.size(), 1u);
    EXPECT_THAT(rig.lines[0], HasSubstr(word));
  }
}

TEST(TracePort, DescribesEachKindFromItsFirstHeader) {
  const VxlanBuilder outer(kInner);
  const std::vector<std::pair<PortKind, ByteVector>> rows = {
      {PortKind::kPodL2, PacketBuilder("10.244.1.2", "10.244.2.3")
                             .BuildFrame(Mac("02:00:00:00:00:01"), Mac("02:00:00:00:00:02"))},
      {PortKind::kWirePacket, outer.Build()},
      {PortKind::kWireDatagram, outer.BuildPayload()},
  };
  for (const auto& [kind, bytes] : rows) {
    Rig rig(kind);
    SendBytes(*rig.far, bytes);
    ReceiveBytes(*rig.port);
    ASSERT_EQ(rig.lines.size(), 1u);
    EXPECT_THAT(rig.lines[0], HasSubstr("10.244.2.3")) << "the innermost address is reached";
    if (kind == PortKind::kWireDatagram) EXPECT_THAT(rig.lines[0], HasSubstr(" from 192.0.2.2:\n"));
  }
}

TEST(TracePort, ShowsVerdictsAndSkipsUnofferedPackets) {
  Rig rig(PortKind::kPodL3, {}, 1);
  ByteVector bytes = kInner;
  Packet packet;
  packet.data = bytes.data();
  packet.length = static_cast<std::uint32_t>(bytes.size());
  Batch batch;
  batch.Add(packet);
  batch.Add(packet);
  batch.Add(packet).verdict = Verdict::kNoRoute;
  rig.port->Send(batch);
  EXPECT_THAT(rig.lines, ElementsAre(StartsWith("sent 50 bytes:\n"),
                                     StartsWith("sent 50 bytes (pod-full):\n")));
}

TEST(TracePort, NamesSuperframes) {
  Rig rig(PortKind::kWireDatagram);
  ByteVector bytes = VxlanBuilder(kInner).BuildPayload();
  Packet packet;
  packet.data = bytes.data();
  packet.length = static_cast<std::uint32_t>(bytes.size());
  packet.segmentation = Segmentation::kDatagrams;
  packet.segment_size = 36;
  packet.outer_address = Ip("192.0.2.2");
  Batch batch;
  batch.Add(packet);
  rig.port->Send(batch);
  EXPECT_THAT(
      rig.lines,
      ElementsAre(StartsWith("sent 72 bytes, datagrams of 36 (wire-error) to 192.0.2.2:\n")));
}

TEST(TracePort, ACaptureOfDatagramsHasOuterHeaders) {
  for (const bool v4 : {true, false}) {
    const TempFile file(v4 ? "4.pcap" : "6.pcap");
    auto writer = CaptureWriter::Open(file.path, TraceLinkType(PortKind::kWireDatagram));
    ASSERT_TRUE(writer.ok()) << writer.status();
    Rig rig(PortKind::kWireDatagram, *std::move(writer));
    ByteVector bytes = VxlanBuilder(kInner).BuildPayload();
    Packet packet;
    packet.data = bytes.data();
    packet.length = static_cast<std::uint32_t>(bytes.size());
    packet.outer_address = v4 ? Ip("192.0.2.2") : Ip("2001:db8::2");
    packet.outer_port = 50'000;
    packet.outer_ecn = 2;
    Batch batch;
    batch.now = std::chrono::seconds(1);
    batch.Add(packet);
    rig.port->Send(batch);
    ASSERT_TRUE(rig.port->Flush().ok());

    auto reader = CaptureReader::Open(file.path);
    ASSERT_TRUE(reader.ok()) << reader.status();
    const auto record = reader->Next();
    ASSERT_TRUE(record.ok() && *record);
    EXPECT_EQ((*record)->link_type, LinkType::kRaw);
    EXPECT_EQ((*record)->time, std::chrono::seconds(1001));
    const std::string text = Describe((*record)->bytes, FrameStart::kOuterIp);
    EXPECT_THAT(text, HasSubstr(v4 ? "192.0.2.2" : "2001:db8::2"));
    EXPECT_THAT(text, HasSubstr("50000"));
    EXPECT_THAT(text, HasSubstr("10.244.2.3"));
    const std::size_t headers = (v4 ? 20 : 40) + 8;
    ASSERT_EQ((*record)->bytes.size(), headers + bytes.size());
    EXPECT_EQ(ByteVector((*record)->bytes.begin() + static_cast<std::ptrdiff_t>(headers),
                         (*record)->bytes.end()),
              bytes);
  }
}

TEST(TracePort, CapturesFramesAsTheyAre) {
  const TempFile file("frames.pcap");
  auto writer = CaptureWriter::Open(file.path, TraceLinkType(PortKind::kPodL2));
  ASSERT_TRUE(writer.ok()) << writer.status();
  Rig rig(PortKind::kPodL2, *std::move(writer));
  const ByteVector frame = MakePacket(PortKind::kPodL2, 1, 80);
  SendBytes(*rig.far, frame);
  ReceiveBytes(*rig.port);
  SendBytes(*rig.port, frame);
  ASSERT_TRUE(rig.port->Flush().ok());
  auto reader = CaptureReader::Open(file.path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (int i = 0; i < 2; ++i) {
    const auto record = reader->Next();
    ASSERT_TRUE(record.ok() && *record);
    EXPECT_EQ((*record)->link_type, LinkType::kEthernet);
    EXPECT_EQ(ByteVector((*record)->bytes.begin(), (*record)->bytes.end()), frame);
  }
}

}  // namespace
}  // namespace weft::dataplane
