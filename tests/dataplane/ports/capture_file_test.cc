// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/capture_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/bytes.h"
#include "tests/support/test_path.h"

namespace weft::dataplane {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

struct Read {
  std::vector<CaptureTime> times;
  std::vector<LinkType> link_types;
  std::vector<std::uint32_t> lengths;  // original ones
  std::vector<ByteVector> packets;
  absl::Status status;
};

Read ReadAll(const ByteVector& file) {
  Read result;
  auto reader = CaptureReader::FromBytes("test.pcap", file);
  if (!reader.ok()) {
    result.status = reader.status();
    return result;
  }
  while (true) {
    const auto record = reader->Next();
    result.status = record.status();
    if (!record.ok()) {
      EXPECT_EQ(reader->Next().status(), record.status()) << "the reader stays at the error";
      return result;
    }
    if (!*record) return result;
    result.times.push_back((*record)->time);
    result.link_types.push_back((*record)->link_type);
    result.lengths.push_back((*record)->original_length);
    result.packets.emplace_back((*record)->bytes.begin(), (*record)->bytes.end());
  }
}

std::string TempFile(const std::string& name) { return weft::testing::TestPath().string() + name; }

const char kBigEndianMicroseconds[] =
    "a1b2c3d4 0002 0004"  // magic, version 2.4
    "00000000 00000000"   // time zone, accuracy
    "00040000 00000001"   // snap length, Ethernet
    "5f5e1000 000003e8"   // 1600000000.001000 s
    "00000003 00000005"   // 3 bytes kept of 5
    "aabbcc"
    "5f5e1001 00000000"
    "00000001 00000001"
    "dd";

TEST(CaptureFile, ReadsBigEndianMicroseconds) {
  const Read read = ReadAll(Hex(kBigEndianMicroseconds));
  ASSERT_TRUE(read.status.ok()) << read.status;
  EXPECT_EQ(read.packets, (std::vector<ByteVector>{Hex("aabbcc"), Hex("dd")}));
  EXPECT_EQ(read.lengths, (std::vector<std::uint32_t>{5, 1}));
  EXPECT_EQ(read.link_types[0], LinkType::kEthernet);
  EXPECT_EQ(read.times[0], seconds(1'600'000'000) + microseconds(1000));
  EXPECT_EQ(read.times[1], seconds(1'600'000'001));
}

TEST(CaptureFile, ReadsLittleEndianMicroseconds) {
  const Read read =
      ReadAll(Hex("d4c3b2a1 0200 0400 00000000 00000000 00000400 65000000"
                  "00105e5f e8030000 03000000 05000000 aabbcc"));
  ASSERT_TRUE(read.status.ok()) << read.status;
  EXPECT_EQ(read.packets, (std::vector<ByteVector>{Hex("aabbcc")}));
  EXPECT_EQ(read.link_types[0], LinkType::kRaw);
  EXPECT_EQ(read.times[0], seconds(1'600'000'000) + microseconds(1000));
}

TEST(CaptureFile, ReadsNanosecondsOfBothOrders) {
  const Read big =
      ReadAll(Hex("a1b23c4d 0002 0004 00000000 00000000 00040000 00000065"
                  "5f5e1000 000003e8 00000001 00000001 aa"));
  ASSERT_TRUE(big.status.ok()) << big.status;
  EXPECT_EQ(big.times[0], seconds(1'600'000'000) + nanoseconds(1000));
  const Read little =
      ReadAll(Hex("4d3cb2a1 0200 0400 00000000 00000000 00000400 65000000"
                  "00105e5f e8030000 01000000 01000000 aa"));
  ASSERT_TRUE(little.status.ok()) << little.status;
  EXPECT_EQ(little.times, big.times);
}

TEST(CaptureFile, FrameCheckSequenceFlagsAreNoPartOfTheLinkType) {
  const Read read =
      ReadAll(Hex("a1b2c3d4 0002 0004 00000000 00000000 00040000 f4000001"
                  "00000000 00000000 00000001 00000001 aa"));
  ASSERT_TRUE(read.status.ok()) << read.status;
  EXPECT_EQ(read.link_types[0], LinkType::kEthernet);
}

TEST(CaptureFile, AFileOfEveryShorterLengthGivesItsGoodRecordsOrARefusal) {
  const ByteVector whole = Hex(kBigEndianMicroseconds);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Read read = ReadAll({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    const bool at_a_border = size == 24 || size == 24 + 19;
    EXPECT_EQ(read.status.ok(), at_a_border) << size;
    EXPECT_EQ(read.packets.size(), size >= 24 + 19 ? 1u : 0u) << size;
    if (!read.status.ok()) {
      EXPECT_THAT(read.status.ToString(), HasSubstr("capture file test.pcap, offset ")) << size;
    }
  }
}

struct Bad {
  std::string what;
  std::string file;
  std::string error;
};

TEST(CaptureFile, NamesTheErrorAndItsPosition) {
  const std::string classic = "a1b2c3d4 0002 0004 00000000 00000000 00040000 00000001";
  const std::string section = "0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c";
  const std::string interface = "00000001 00000014 0001 0000 00000000 00000014";
  const std::vector<Bad> rows = {
      {"text", "68656c6c6f2c20776f726c6421212121212121212121212121212121",
       "neither pcap nor pcapng"},
      {"version 3", "a1b2c3d4 0003 0004 00000000 00000000 00040000 00000001", "pcap version 3"},
      {"a huge record", classic + "00000000 00000000 7fffffff 7fffffff",
       "offset 24: a record claims 2147483647"},
      {"half a record header", classic + "00000000 0000",
       "offset 24: the file ends inside a record header"},
      {"half a record", classic + "00000000 00000000 00000004 00000004 aa",
       "offset 24: the file ends inside a record"},
      {"half a section header", "0a0d0d0a 0000001c", "inside a section header"},
      {"no byte order", "0a0d0d0a 0000001c 11111111 0001 0000 ffffffffffffffff 0000001c",
       "without byte order"},
      {"pcapng 2", "0a0d0d0a 0000001c 1a2b3c4d 0002 0000 ffffffffffffffff 0000001c",
       "pcapng version 2"},
      {"a section beyond the file",
       "0a0d0d0a 0000002c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c", "claims 44 bytes"},
      {"a block of 8 bytes", section + "00000bad 00000008 00000008 00000000",
       "offset 28: a block claims 8"},
      {"a block of 11 bytes", section + "00000006 0000000b 000000 00",
       "offset 28: a block claims 11"},
      {"a block beyond the file", section + "00000006 00000020 00000000",
       "offset 28: a block claims 32"},
      {"half a block header", section + "00000006 00", "inside a block header"},
      {"a packet without interface",
       section + "00000006 00000024 00000000 00000000 00000000 00000001 00000001 aa000000 00000024",
       "interface 0 was not described"},
      {"a packet beyond its block",
       section + interface +
           "00000006 00000024 00000000 00000000 00000000 00000005 00000005 aa000000 00000024",
       "offset 48: a packet claims 5 bytes"},
      {"a short packet block", section + interface + "00000006 00000010 00000000 00000010",
       "fewer than 20"},
      {"a simple packet first", section + "00000003 00000010 00000001 00000010",
       "before any interface"},
      {"an option beyond its block",
       section + "00000001 00000018 0001 0000 00000000 0009 0008 00000018",
       "an option reaches beyond"},
      {"an interface without room for its type", section + "00000001 00000010 00010000 00000010",
       "offset 28: an interface description of fewer than 8 bytes"},
      {"a simple packet without room for its length",
       section + interface + "00000003 0000000c 0000000c",
       "offset 48: a simple packet block of fewer than 4 bytes"},
      {"a block that is no whole number of words", section + "00000bad 0000000e 00000000 00000000",
       "offset 28: a block claims 14"},
      {"a section that is shorter than its header",
       "0a0d0d0a 00000018 1a2b3c4d 0001 0000 ffffffffffffffff 00000018",
       "a section header claims 24 bytes"},
      {"a second section without byte order",
       section + "0a0d0d0a 0000001c 11111111 0001 0000 ffffffffffffffff 0000001c",
       "offset 28: a section header without byte order"},
      {"a clock of 2^63 ticks a second",
       section + "00000001 0000001c 0001 0000 00000000 0009 0001 bf000000 0000001c",
       "time resolution"},
      {"a clock of 10^19 ticks a second",
       section + "00000001 0000001c 0001 0000 00000000 0009 0001 13000000 0000001c",
       "time resolution"},
      {"an impossible clock",
       section + "00000001 0000001c 0001 0000 00000000 0009 0001 7f000000 0000001c",
       "time resolution"},
  };
  for (const Bad& row : rows) {
    const Read read = ReadAll(Hex(row.file));
    EXPECT_TRUE(read.packets.empty()) << row.what;
    EXPECT_THAT(read.status.ToString(), HasSubstr(row.error)) << row.what;
    EXPECT_THAT(read.status.ToString(), HasSubstr("test.pcap")) << row.what;
  }
}

TEST(CaptureFile, ReadsPcapng) {
  const Read read = ReadAll(
      Hex("0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c"  // section, big-endian
          "00000001 00000014 0001 0000 00000000 00000014"  // interface 0: Ethernet, microseconds
          "00000001 00000020 0065 0000 00000000"           // interface 1: raw,
          "0009 0001 09000000 0000 0000 00000020"          //   nanoseconds
          "00000006 00000024 00000000 00000000 000f4241"   // packet of 0 at 1.000001 s
          "00000002 00000009 aabb0000 00000024"
          "00000bad 00000010 12345678 00000010"           // a block of no known type
          "00000006 00000024 00000001 00000000 3b9aca01"  // packet of 1 at 1.000000001 s
          "00000004 00000004 45000000 00000024"
          "00000003 00000014 00000003 ccddee00 00000014"));  // simple packet
  ASSERT_TRUE(read.status.ok()) << read.status;
  EXPECT_EQ(read.packets, (std::vector<ByteVector>{Hex("aabb"), Hex("45000000"), Hex("ccddee")}));
  EXPECT_EQ(read.lengths, (std::vector<std::uint32_t>{9, 4, 3}));
  EXPECT_EQ(read.link_types,
            (std::vector<LinkType>{LinkType::kEthernet, LinkType::kRaw, LinkType::kEthernet}));
  EXPECT_EQ(read.times[0], seconds(1) + microseconds(1));
  EXPECT_EQ(read.times[1], seconds(1) + nanoseconds(1));
}

TEST(CaptureFile, ARecordLongerThanAnyPacketIsDamage) {
  const std::uint32_t huge = CaptureReader::kMaxRecord + 4;
  const ByteVector section = Hex("0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c");
  const ByteVector interface = Hex("00000001 00000014 0001 0000 00000000 00000014");
  for (const bool simple : {false, true}) {
    const std::size_t fixed = simple ? 4 : 20;
    ByteVector block(8 + fixed + huge + 4);
    StoreBe32(block.data(), simple ? 3 : 6);
    StoreBe32(block.data() + 4, static_cast<std::uint32_t>(block.size()));
    StoreBe32(block.data() + (simple ? 8 : 20), huge);
    const Read read = ReadAll(Concatenate(Concatenate(section, interface), block));
    EXPECT_THAT(read.status.ToString(), HasSubstr("a packet claims " + std::to_string(huge)));
    StoreBe32(block.data() + (simple ? 8 : 20), huge - 4);
    EXPECT_TRUE(ReadAll(Concatenate(Concatenate(section, interface), block)).status.ok());
  }
}

// Section 4.2: if_tsresol with the top bit set counts in powers of two.
TEST(CaptureFile, ReadsBinaryClocks) {
  const Read read = ReadAll(
      Hex("0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c"
          "00000001 0000001c 0001 0000 00000000 0009 0001 8a000000 0000001c"  // 2^-10 s
          "00000006 00000024 00000000 00000000 00000600 00000001 00000001 aa000000 00000024"));
  ASSERT_TRUE(read.status.ok()) << read.status;
  EXPECT_EQ(read.times[0], seconds(1) + std::chrono::milliseconds(500));
}

// An option whose length is not the format's is of no use, and no reason to refuse the file.
TEST(CaptureFile, OptionsOfOddLengthAreSkipped) {
  const Read read = ReadAll(
      Hex("0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c"
          "00000001 00000040 0001 0000 00000000"
          "0009 0002 09090000"  // resolution, of two bytes
          "000e 0004 00000e10"  // offset, of four
          "0002 0003 65746800"  // if_name "eth"
          "0002 0001 03000000"  // another name
          "0003 0008 0000000000000e10"
          "00000040"
          "00000006 00000024 00000000 00000000 000f4240 00000001 00000001 aa000000 00000024"));
  ASSERT_TRUE(read.status.ok()) << read.status;
  ASSERT_EQ(read.times.size(), 1u);
  EXPECT_EQ(read.times[0], seconds(1)) << "microseconds, without offset";
}

TEST(CaptureFile, PcapngSectionsMayChangeByteOrderAndForgetInterfaces) {
  const std::string big = "0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c";
  const std::string little = "0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000";
  const Read read = ReadAll(
      Hex(big + "00000001 00000014 0001 0000 00000000 00000014" + little +
          // if_tsoffset: one hour; two halves of a 64-bit number in the section's order
          "01000000 24000000 6500 0000 00000000 0e00 0800 100e000000000000 0000 0000 24000000" +
          "06000000 24000000 00000000 00000000 01000000 01000000 01000000 45000000 24000000"));
  ASSERT_TRUE(read.status.ok()) << read.status;
  ASSERT_EQ(read.packets.size(), 1u);
  EXPECT_EQ(read.link_types[0], LinkType::kRaw);
  EXPECT_EQ(read.times[0], seconds(3600) + microseconds(1));
}

TEST(CaptureFile, WritesWhatItReads) {
  const std::string path = TempFile("round_trip.pcap");
  {
    auto writer = CaptureWriter::Open(path, LinkType::kRaw);
    ASSERT_TRUE(writer.ok()) << writer.status();
    EXPECT_TRUE(writer->Write(seconds(1'600'000'000) + nanoseconds(123'456'789), Hex("45aa")).ok());
    EXPECT_TRUE(writer->Write(seconds(-5), Hex("60")).ok());
    EXPECT_TRUE(writer->Write({}, ByteVector(CaptureWriter::kSnapLength + 10)).ok());
    EXPECT_TRUE(writer->Flush().ok());
  }
  auto reader = CaptureReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  auto record = reader->Next();
  ASSERT_TRUE(record.ok() && *record);
  EXPECT_EQ((*record)->time, seconds(1'600'000'000) + nanoseconds(123'456'789));
  EXPECT_EQ((*record)->link_type, LinkType::kRaw);
  EXPECT_EQ(ByteVector((*record)->bytes.begin(), (*record)->bytes.end()), Hex("45aa"));
  record = reader->Next();
  ASSERT_TRUE(record.ok() && *record);
  EXPECT_EQ((*record)->time, CaptureTime::zero());
  record = reader->Next();
  ASSERT_TRUE(record.ok() && *record);
  EXPECT_EQ((*record)->bytes.size(), CaptureWriter::kSnapLength);
  EXPECT_EQ((*record)->original_length, CaptureWriter::kSnapLength + 10);
  record = reader->Next();
  EXPECT_TRUE(record.ok() && !*record);
  std::filesystem::remove(path);
}

TEST(CaptureFile, ADirectoryIsNoCapture) {
  const absl::Status status = CaptureReader::Open(::testing::TempDir()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), HasSubstr("it is a directory; name a file in it"));
}

TEST(CaptureFile, ALargerFileThanTheLimitIsRefusedUnread) {
  const std::string path = TempFile("large.pcap");
  std::ofstream(path) << "x";
  std::error_code error;
  std::filesystem::resize_file(path, CaptureReader::kMaxFile + 1, error);  // sparse
  if (error) GTEST_SKIP() << "no sparse files here: " << error.message();
  const absl::Status status = CaptureReader::Open(path).status();
  std::filesystem::remove(path);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      status.ToString(),
      ::testing::AllOf(HasSubstr(path), HasSubstr("1073741825 bytes are more than 1073741824"),
                       HasSubstr("editcap -c")));
}

TEST(CaptureFile, AnEmptyFileIsNoCapture) {
  const std::string path = TempFile("empty.pcap");
  std::ofstream(path).close();
  EXPECT_THAT(CaptureReader::Open(path).status().ToString(), HasSubstr("0 bytes are no capture"));
  std::filesystem::remove(path);
}

TEST(CaptureFile, AFileThatCannotBeOpenedIsNamed) {
  const std::string path = TempFile("absent_folder") + "/x.pcap";
  EXPECT_THAT(CaptureReader::Open(path).status().ToString(), HasSubstr(path));
  EXPECT_THAT(CaptureWriter::Open(path, LinkType::kRaw).status().ToString(), HasSubstr(path));
}

}  // namespace
}  // namespace weft::dataplane
