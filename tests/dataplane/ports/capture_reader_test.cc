// SPDX-License-Identifier: Apache-2.0
// Files that dataplane/ports/pcapng.h wrote, and others, as libpcap reads them.
#include "dataplane/ports/capture_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/packet_builder.h"
#include "tests/support/test_path.h"

namespace weft::dataplane {
namespace {

using ::testing::HasSubstr;

class CaptureReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto library = PcapLibrary::Load();
    if (!library.ok() || !(*library)->open_offline) GTEST_SKIP() << "no libpcap that reads files";
    library_ = *library;
  }
  ~CaptureReaderTest() override { std::filesystem::remove(path_); }

  absl::StatusOr<std::unique_ptr<CaptureReader>> Read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return CaptureReader::Open(*library_, path_);
  }

  const std::string path_ = weft::testing::TestPath().string() + ".pcapng";
  const PcapLibrary* library_ = nullptr;
};

TEST_F(CaptureReaderTest, EveryBlockThatWeWrite) {
  const ByteVector frame = Hex("0102030405");
  const std::vector<std::pair<IpAddress, std::string>> names = {{Ip("192.0.2.1"), "a"},
                                                                {Ip("2001:db8::1"), "node-b"}};
  std::string text;
  pcapng::AppendSection(text, "test");
  pcapng::AppendInterface(text, LinkType::kEthernet, 100, "eth0");
  pcapng::AppendNames(text, names);
  pcapng::AppendNames(text, {});
  for (const std::string_view comment : {"", "a to b", "four", "five5"}) {
    pcapng::AppendPacket(text, {.time = CaptureTime(1'700'000'000'123'456'789),
                                .original_length = 1000,
                                .bytes = frame,
                                .comment = comment,
                                .direction = comment.empty() ? PcapngPacket::Direction::kUnknown
                                                             : PcapngPacket::Direction::kInbound});
    pcapng::AppendStatistics(text, 0, CaptureTime(1), 5, 6);
  }
  EXPECT_EQ(text.size() % 4, 0u);
  const auto reader = Read(text);
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (int i = 0; i < 4; ++i) {
    const auto record = (*reader)->Next();
    ASSERT_TRUE(record.ok() && *record) << record.status();
    EXPECT_EQ((*record)->link_type, LinkType::kEthernet);
    EXPECT_EQ((*record)->time, CaptureTime(1'700'000'000'123'456'789));
    EXPECT_EQ((*record)->original_length, 1000u);
    EXPECT_EQ(ByteVector((*record)->bytes.begin(), (*record)->bytes.end()), frame);
  }
  EXPECT_FALSE((*reader)->Next()->has_value());
}

// Raw IP has another number in a file than in memory.
TEST_F(CaptureReaderTest, RawIp) {
  std::string text;
  pcapng::AppendSection(text, "test");
  pcapng::AppendInterface(text, LinkType::kRaw, 100, "tun0");
  pcapng::AppendPacket(text, {.time = CaptureTime(-5), .original_length = 1, .bytes = Hex("45")});
  const auto reader = Read(text);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto record = (*reader)->Next();
  ASSERT_TRUE(record.ok() && *record) << record.status();
  EXPECT_EQ((*record)->link_type, LinkType::kRaw);
  EXPECT_EQ(LinkTypeOf(kPcapRawBsd), LinkType::kRaw);
  EXPECT_EQ((*record)->time, CaptureTime(0)) << "before 1970 there is no time";
}

// The only way in which libpcap reads raw IP of two interfaces.
TEST_F(CaptureReaderTest, IpPacketsWithAnEthernetHeader) {
  std::string text;
  pcapng::AppendSection(text, "test");
  for (const char* name : {"flannel.1", "eth0"})
    pcapng::AppendInterface(text, LinkType::kEthernet, 100, name);
  for (const std::uint32_t interface : {0u, 1u}) {
    pcapng::AppendPacket(text, {.interface = interface,
                                .original_length = 2,
                                .bytes = interface == 0 ? Hex("4500") : Hex("6000"),
                                .add_ethernet = true});
  }
  pcapng::AppendPacket(text, {.original_length = 2, .bytes = {}, .add_ethernet = true});
  const auto reader = Read(text);
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (const char* expected :
       {"00000000000000000000000008004500", "00000000000000000000000086dd6000",
        "0000000000000000000000000800"}) {
    const auto record = (*reader)->Next();
    ASSERT_TRUE(record.ok() && *record) << record.status();
    EXPECT_EQ(ByteVector((*record)->bytes.begin(), (*record)->bytes.end()), Hex(expected));
    EXPECT_EQ((*record)->original_length, 16u);
  }
}

TEST_F(CaptureReaderTest, DamageIsNamedAndTheRecordsBeforeItAreGood) {
  std::string text;
  pcapng::AppendSection(text, "test");
  pcapng::AppendInterface(text, LinkType::kEthernet, 100, "eth0");
  for (int i = 0; i < 2; ++i)
    pcapng::AppendPacket(text, {.original_length = 4, .bytes = Hex("01020304")});
  const auto reader = Read(text.substr(0, text.size() - 10));
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE((*reader)->Next()->has_value());
  const auto second = (*reader)->Next();
  EXPECT_EQ(second.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("capture file " + path_ + ": "));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("the records before it are good"));
}

TEST_F(CaptureReaderTest, WhatIsNoCaptureIsRefused) {
  for (const char* text : {"", "not a capture at all, but a text of many words"}) {
    const absl::Status status = Read(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("capture file " + path_ + ": "));
  }
  EXPECT_THAT(std::string(CaptureReader::Open(*library_, "/no/such/file").status().message()),
              HasSubstr("/no/such/file: "));
  PcapLibrary old = *library_;
  old.open_offline = nullptr;
  EXPECT_EQ(CaptureReader::Open(old, path_).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(PcapngTest, APacketHasTheOptionsThatAreGiven) {
  using Direction = PcapngPacket::Direction;
  const struct {
    const char* comment;
    Direction direction;
    std::size_t size;  // of a block of 36 bytes, options of 8, and their end of 4
  } rows[] = {{"", Direction::kUnknown, 36},
              {"four", Direction::kUnknown, 48},
              {"", Direction::kInbound, 48},
              {"four", Direction::kInbound, 56}};
  for (const auto& row : rows) {
    std::string text;
    pcapng::AppendPacket(text, {.original_length = 4,
                                .bytes = Hex("01020304"),
                                .comment = row.comment,
                                .direction = row.direction});
    EXPECT_EQ(text.size(), row.size);
  }
}

}  // namespace
}  // namespace weft::dataplane
