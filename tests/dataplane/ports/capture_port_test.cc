// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/capture_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/dataplane/ports/port_harnesses.h"
#include "tests/support/packet_builder.h"
#include "tests/support/test_path.h"

namespace weft::dataplane {
namespace {

class CapturePortTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string base = weft::testing::TestPath().string();
    in_ = base + ".in.pcap";
    out_ = base + ".out.pcap";
  }
  void TearDown() override {
    std::filesystem::remove(in_);
    std::filesystem::remove(out_);
  }
  void Write(LinkType link_type, const std::vector<ByteVector>& packets) {
    auto writer = CaptureWriter::Open(in_, link_type);
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (const ByteVector& packet : packets) ASSERT_TRUE(writer->Write({}, packet).ok());
  }
  std::unique_ptr<CapturePort> Open(PortKind kind) {
    auto port = CapturePort::Open({.kind = kind, .read_path = in_});
    EXPECT_TRUE(port.ok()) << port.status();
    return port.ok() ? *std::move(port) : nullptr;
  }

  std::string in_;
  std::string out_;
};

const ByteVector kPacket = PacketBuilder("10.244.1.2", "10.244.1.3").Payload(20).Build();
const MacAddress kA = Mac("02:00:00:00:00:0a");
const MacAddress kB = Mac("02:00:00:00:00:0b");

TEST_F(CapturePortTest, StripsEthernetForIpKinds) {
  const PacketBuilder builder = PacketBuilder("10.244.1.2", "10.244.1.3").Payload(20);
  const PacketBuilder v6 = PacketBuilder("2001:db8::1", "2001:db8::2").Payload(20);
  ByteVector arp = builder.BuildFrame(kA, kB);
  StoreBe16(arp.data() + 12, 0x0806);
  Write(LinkType::kEthernet, {builder.BuildFrame(kA, kB), builder.BuildFrame(kA, kB, 7), arp,
                              Hex("0011"), v6.BuildFrame(kA, kB)});
  for (const PortKind kind : {PortKind::kPodL3, PortKind::kWirePacket}) {
    const auto port = Open(kind);
    EXPECT_EQ(ReceiveBytes(*port), (std::vector<ByteVector>{kPacket, kPacket, v6.Build()}))
        << "plain and VLAN-tagged, and IPv6";
    EXPECT_EQ(port->Counts()[0].value, 2u) << "ARP, and a stump";
  }
  EXPECT_EQ(ReceiveBytes(*Open(PortKind::kPodL2)).size(), 5u);
}

TEST_F(CapturePortTest, RawCapturesHaveNoFrames) {
  Write(LinkType::kRaw, {kPacket});
  EXPECT_EQ(ReceiveBytes(*Open(PortKind::kPodL3)), std::vector<ByteVector>{kPacket});
  const auto frames = Open(PortKind::kPodL2);
  EXPECT_TRUE(ReceiveBytes(*frames).empty());
  EXPECT_EQ(frames->Counts()[0].value, 1u);
}

TEST_F(CapturePortTest, OtherLinkTypesAreSkipped) {
  Write(static_cast<LinkType>(113), {kPacket});  // Linux cooked
  EXPECT_TRUE(ReceiveBytes(*Open(PortKind::kWirePacket)).empty());
}

TEST_F(CapturePortTest, RecordsOfOneBatchAfterTheOther) {
  Write(LinkType::kRaw, std::vector<ByteVector>(kMaxBatch + 5, kPacket));
  const auto port = Open(PortKind::kPodL3);
  EXPECT_EQ(ReceiveBytes(*port).size(), kMaxBatch);
  EXPECT_EQ(ReceiveBytes(*port).size(), 5u);
  EXPECT_EQ(ReceiveBytes(*port).size(), 0u);
}

TEST_F(CapturePortTest, ACutRecordIsSkippedAndABrokenFileIsReported) {
  Write(LinkType::kRaw, {kPacket, kPacket});
  std::filesystem::resize_file(in_, std::filesystem::file_size(in_) - 1);
  const auto port = Open(PortKind::kPodL3);
  EXPECT_EQ(ReceiveBytes(*port).size(), 1u);
  EXPECT_THAT(port->read_status().ToString(), ::testing::HasSubstr(in_));
  EXPECT_EQ(port->Counts()[1].value, 1u);
  EXPECT_EQ(ReceiveBytes(*port).size(), 0u);
}

TEST_F(CapturePortTest, StampsWithTheBatchsTime) {
  auto port = CapturePort::Open(
      {.kind = PortKind::kPodL2, .write_path = out_, .epoch = std::chrono::seconds(1'600'000'000)});
  ASSERT_TRUE(port.ok()) << port.status();
  ByteVector bytes = kPacket;
  Packet packet;
  packet.data = bytes.data();
  packet.length = static_cast<std::uint32_t>(bytes.size());
  Batch batch;
  batch.now = std::chrono::milliseconds(1500);
  batch.Add(packet);
  (*port)->Send(batch);
  ASSERT_TRUE((*port)->Flush().ok());
  auto reader = CaptureReader::Open(out_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto record = reader->Next();
  ASSERT_TRUE(record.ok() && *record);
  EXPECT_EQ((*record)->link_type, LinkType::kEthernet);
  EXPECT_EQ((*record)->time, std::chrono::milliseconds(1'600'000'001'500));
}

// Taken with a snap length: the bytes that are there are no packet.
TEST_F(CapturePortTest, ARecordThatTheSnapLengthCutIsSkipped) {
  std::ofstream file(in_, std::ios::binary);
  const ByteVector bytes =
      Concatenate(Hex("a1b2c3d4 0002 0004 00000000 00000000 00040000 00000065"
                      "00000000 00000000 00000004 00000014 45000014"),
                  Concatenate(Hex("00000000 00000000 00000030 00000030"), kPacket));
  ASSERT_EQ(kPacket.size(), 0x30u);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  const auto port = Open(PortKind::kPodL3);
  EXPECT_EQ(ReceiveBytes(*port), std::vector<ByteVector>{kPacket});
  EXPECT_EQ(port->Counts()[0].value, 1u);
}

TEST_F(CapturePortTest, WithoutFilesNothingIsReceivedAndSentPacketsAreDiscarded) {
  auto port = CapturePort::Open({.kind = PortKind::kPodL3});
  ASSERT_TRUE(port.ok()) << port.status();
  EXPECT_TRUE(ReceiveBytes(**port).empty());
  SendBytes(**port, kPacket);
  EXPECT_TRUE((*port)->Flush().ok());
}

TEST_F(CapturePortTest, AFileThatCannotBeMadeIsNamed) {
  const std::string path = (weft::testing::TestPath() / "out.pcap").string();
  EXPECT_THAT(CapturePort::Open({.write_path = path}).status().ToString(),
              ::testing::AllOf(::testing::HasSubstr(path),
                               ::testing::HasSubstr("check path and free space")));
}

TEST_F(CapturePortTest, RefusesDatagramsAndAbsentFiles) {
  EXPECT_EQ(CapturePort::Open({.kind = PortKind::kWireDatagram}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CapturePort::Open({.read_path = in_}).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace weft::dataplane
