// SPDX-License-Identifier: Apache-2.0
#include "control/cli/explain/hex_text.h"

#include <string>

#include "gmock/gmock.h"
#include "tests/support/bytes.h"

namespace weft::cli {
namespace {

struct Form {
  const char* description;
  const char* text;
};

// All of them the 20 bytes 45 00 00 14 ... below.
constexpr char kBytes[] = "45000014 00010000 40110000 0af40105 61626364";

TEST(HexTextTest, TakesEveryUsualForm) {
  const Form rows[] = {
      {"one word", "4500001400010000401100000af4010561626364"},
      {"groups", "4500 0014 0001 0000 4011 0000 0af4 0105 6162 6364"},
      {"bytes", "45 00 00 14 00 01 00 00 40 11 00 00 0a f4 01 05 61 62 63 64"},
      {"colons", "45:00:00:14:00:01:00:00:40:11:00:00:0a:f4:01:05:61:62:63:64"},
      {"hyphens", "45-00-00-14-00-01-00-00-40-11-00-00-0A-F4-01-05-61-62-63-64"},
      {"0x", "0x4500001400010000401100000af4010561626364"},
      {"a C array",
       "{0x45, 0x00, 0x00, 0x14, 0x00, 0x01, 0x00, 0x00, 0x40, 0x11,\n"
       " 0x00, 0x00, 0x0a, 0xf4, 0x01, 0x05, 0x61, 0x62, 0x63, 0x64};"},
      {"a string with escapes",
       "\"\\x45\\x00\\x00\\x14\\x00\\x01\\x00\\x00\\x40\\x11\"\n"
       "\"\\x00\\x00\\x0a\\xf4\\x01\\x05\\x61\\x62\\x63\\x64\""},
      {"lines with comments",
       "45 00 0014  # version, length\n00010000 # id\n4011 0000\n\n0af40105\n61626364\n"},
      {"xxd",
       "00000000: 4500 0014 0001 0000 4011 0000 0af4 0105  E.......@.......\n"
       "00000010: 6162 6364                                abcd\n"},
      {"xxd -g1",
       "00000000: 45 00 00 14 00 01 00 00 40 11 00 00 0a f4 01 05  E.......@.......\n"
       "00000010: 61 62 63 64                                      abcd\n"},
      {"tcpdump -x",
       "12:34:56.789012 IP 10.244.1.5 > 97.98.99.100: ip-proto-17 0\n"
       "\t0x0000:  4500 0014 0001 0000 4011 0000 0af4 0105\n"
       "\t0x0010:  6162 6364\n"},
      {"tcpdump -X",
       "12:34:56.789012 IP 10.244.1.5 > 97.98.99.100: ip-proto-17 0\n"
       "\t0x0000:  4500 0014 0001 0000 4011 0000 0af4 0105  E.......@.......\n"
       "\t0x0010:  6162 6364                                abcd\n"},
      {"hexdump -C",
       "00000000  45 00 00 14 00 01 00 00  40 11 00 00 0a f4 01 05  |E.......@.......|\n"
       "00000010  61 62 63 64                                       |abcd|\n"
       "00000014\n"},
      {"Wireshark",
       "0000   45 00 00 14 00 01 00 00 40 11 00 00 0a f4 01 05   E.......@.......\n"
       "0010   61 62 63 64                                       abcd\n"},
      {"Format-Hex of PowerShell 7",
       "\n   Label: C:\\temp\\frame.bin\n\n"
       "          Offset Bytes                                           Ascii\n"
       "                 00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F\n"
       "          ------ ----------------------------------------------- -----\n"
       "0000000000000000 45 00 00 14 00 01 00 00 40 11 00 00 0A F4 01 05 E.......@.......\n"
       "0000000000000010 61 62 63 64                                     abcd\n"},
      {"carriage returns", "4500 0014 0001 0000\r\n4011 0000 0af4 0105 6162 6364\r\n"},
  };
  for (const Form& row : rows) {
    const auto frames = ParseHexText(row.text);
    ASSERT_TRUE(frames.ok()) << row.description << ": " << frames.status();
    ASSERT_EQ(frames->size(), 1u) << row.description;
    EXPECT_EQ(Dump(frames->front()), Dump(Hex(kBytes))) << row.description;
  }
}

TEST(HexTextTest, ATextColumnOfHexadecimalLettersIsNoByte) {
  const std::string bytes = "61 61 61 61 61 61 61 61 61 61 61 61 61 61 61 61";
  for (const std::string& line : {"0000000000000000 " + bytes + " aaaaaaaaaaaaaaaa",
                                  "00000000: " + bytes + "  aaaaaaaaaaaaaaaa"}) {
    const auto frames = ParseHexText(line);
    ASSERT_TRUE(frames.ok()) << frames.status();
    EXPECT_EQ(frames->front(), ByteVector(16, std::byte{0x61})) << line;
  }
  const auto plain = ParseHexText("0000000000000000 0000");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->front(), ByteVector(10, std::byte{0})) << "digits in groups, no offset";
}

TEST(HexTextTest, ADumpMayHoldManyFrames) {
  const auto frames = ParseHexText(
      "first\n\t0x0000:  4500\nsecond\n\t0x0000:  6000 0000\nthird\n\t0x0000:  aabb cc\n");
  ASSERT_TRUE(frames.ok()) << frames.status();
  ASSERT_EQ(frames->size(), 3u);
  EXPECT_EQ((*frames)[1], Hex("60000000"));
  EXPECT_EQ((*frames)[2], Hex("aabbcc"));
}

TEST(HexTextTest, ADumpsLineEndsAtWhatIsNoWholeNumberOfBytes) {
  const auto frames = ParseHexText("00000000: 4500 001\n00000002: 4011 xyz\n00000004: 0af4 wxyz\n");
  ASSERT_TRUE(frames.ok()) << frames.status();
  ASSERT_EQ(frames->size(), 1u);
  EXPECT_EQ(frames->front(), Hex("450040110af4"));
}

TEST(HexTextTest, OnlyAnOffsetBeginsADump) {
  const struct {
    const char* text;
    const char* frame;
  } rows[] = {
      {"000  45", ""},  // refused: an odd number of digits
      {"00  45", "0045"},
      {"0000000000  45", "000000000045"},
      {"0000 4500", "00004500"},
      {"0010  4500", "00104500"},
      {"0000:4500", "00004500"},
      {"packet:  one\n\t0x0000:  4500", "4500"},
      // Sixteen digits are an offset before one blank and a byte.
      {"0000000000000000 45", "0000000000000000 45"},
      {"0000000000000000: 45 00", "0000000000000000 4500"},
      {"0000000000000000 45 00  61", "4500"},
  };
  for (const auto& [text, frame] : rows) {
    const auto frames = ParseHexText(text);
    EXPECT_EQ(Dump(frames.ok() ? frames->front() : ByteVector()), Dump(Hex(frame))) << text;
    if (frames.ok()) EXPECT_EQ(frames->size(), 1u) << text;
  }
}

struct Refusal {
  const char* text;
  const char* error;
};

TEST(HexTextTest, Refuses) {
  const Refusal rows[] = {
      {"", "there are no bytes"},
      {" \n\t", "there are no bytes"},
      {"# nothing", "there are no bytes"},
      {"0x", "line 1: \"\" is not hexadecimal"},
      {"00000000: zz", "there are no bytes"},
      {"00000000  45 00\n*\n00000020\n",
       "line 2 of the dump, \"*\", repeats the line before it; dump them all"},
      {"0x0010:  4500\n0x0000:  4500\n", "line 1 of the dump begins at offset 16, but 0 bytes"},
      {"45 0", "line 1: \"0\" is not a whole number of bytes"},
      {"4500\n450", "line 2: \"450\" is not a whole number of bytes"},
      {"hello", "line 1: \"hello\" is not hexadecimal"},
      {"45 0g", "\"0g\" is not hexadecimal"},
      {"00000000: 4500\n00000010: 4500\n", "begins at offset 16, but 2 bytes precede it"},
  };
  for (const Refusal& row : rows) {
    const auto frames = ParseHexText(row.text);
    EXPECT_EQ(frames.status().code(), absl::StatusCode::kInvalidArgument) << row.text;
    EXPECT_THAT(std::string(frames.status().message()), ::testing::HasSubstr(row.error));
  }
}

}  // namespace
}  // namespace weft::cli
