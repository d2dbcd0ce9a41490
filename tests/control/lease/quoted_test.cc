// SPDX-License-Identifier: Apache-2.0
#include "control/lease/quoted.h"

#include "gtest/gtest.h"

namespace weft::lease {
namespace {

TEST(Quoted, PlainTextStandsInQuotes) { EXPECT_EQ(Quoted("node-1"), "\"node-1\""); }

TEST(Quoted, NobodyWritesLogLinesOrTerminalCodesThroughUs) {
  EXPECT_EQ(Quoted("a\nE0101 forged\x1b[2J\t\"\\\x80"), R"("a\nE0101 forged\x1b[2J\t\"\\\x80")");
  EXPECT_EQ(Quoted(std::string_view("\0", 1)), R"("\x00")");
}

TEST(Quoted, LongTextIsCutAndItsLengthTold) {
  EXPECT_EQ(Quoted(std::string(1000, 'x'), 4), "\"xxxx\"... (1000 octets)");
  EXPECT_LT(Quoted(std::string(1 << 20, '\x01')).size(), 400u);
}

}  // namespace
}  // namespace weft::lease
