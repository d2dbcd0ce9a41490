// SPDX-License-Identifier: Apache-2.0
#include "vxlan/text/printable.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(OneLineTest, ForeignTextIsOneLineWithoutTerminalCodes) {
  struct Text {
    const char* description;
    std::string_view in;
    std::string_view out;
  };
  constexpr Text kRows[] = {
      {"plain", "Not found. ", "Not found."},
      {"nothing", "", ""},
      {"Chinese stays", "参数错误。", "参数错误。"},
      {"German stays", "Ung\xc3\xbcltig", "Ung\xc3\xbcltig"},
      {"two bytes, on either side of C1", "\xc2\xa7\xc3\x80", "\xc2\xa7\xc3\x80"},
      {"three, on either side of the marks", "—‰₩⁰⁄", "—‰₩⁰⁄"},
      {"three, that end as the marks do", "〨て", "〨て"},
      {"four", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
      {"more than four", "\xf8\x88\x80\x80\x80", "?????"},
      {"a character that is cut off by another", "\xc3x\xe5\x8fx", "?x??x"},
      {"line ends", "one\r\ntwo", "one  two"},
      {"a terminal's escape", "a\x1b[31mb", "a [31mb"},
      {"the same in C1",
       "a\xc2\x9b"
       "31mb",
       "a 31mb"},
      {"DEL",
       "a\x7f"
       "b",
       "a b"},
      {"a line separator",
       "a\xe2\x80\xa8"
       "b",
       "a b"},
      {"text that is turned round",
       "a\xe2\x80\xae"
       "b\xe2\x81\xa6"
       "c",
       "a b c"},
      {"no UTF-8", "a\xff\xc3", "a??"},
      {"an overlong slash", "\xc0\xaf", "??"},
      {"overlong, a surrogate, overlong, beyond the last character",
       "\xe0\x9f\xbf\xed\xa0\x80\xf0\x8f\xbf\xbf\xf4\x90\x80\x80", "??????????????"},
      {"the characters beside them", "\xe0\xa0\x80\xed\x9f\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
       "\xe0\xa0\x80\xed\x9f\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
      {"longer than the limit", "0123456789abcdefghijklmnop", "0123456789abcdefghij..."},
      {"cut between characters", "0123456789012345678\xc3\xbc", "0123456789012345678..."},
  };
  for (const Text& row : kRows) EXPECT_EQ(OneLine(row.in, 20), row.out) << row.description;
}

TEST(CharacterSizeTest, ACharacterThatTheTextCutsOffIsNone) {
  EXPECT_EQ(CharacterSize(std::string_view("\xc3\xbc", 2)), 2u);
  EXPECT_EQ(CharacterSize(std::string_view("\xc3\xbc", 1)), 0u);
  EXPECT_EQ(CharacterSize("\xff"), 0u);
}

TEST(Quoted, PlainTextIsQuoted) { EXPECT_EQ(Quoted("node-1"), "\"node-1\""); }

TEST(Quoted, LogLinesAndTerminalCodesAreEscaped) {
  EXPECT_EQ(Quoted("a\nE0101 forged\x1b[2J\t\"\\\x80"), R"("a\nE0101 forged\x1b[2J\t\"\\\x80")");
  EXPECT_EQ(Quoted(std::string_view("\0", 1)), R"("\x00")");
}

TEST(Quoted, LongTextIsCutAndItsLengthShown) {
  EXPECT_EQ(Quoted(std::string(1000, 'x'), 4), "\"xxxx\"... (1000 bytes)");
  EXPECT_LT(Quoted(std::string(1 << 20, '\x01')).size(), 400u);
}

TEST(LineAndColumn, BothFromOne) {
  EXPECT_EQ(LineAndColumn("abc", 0), "line 1, column 1");
  EXPECT_EQ(LineAndColumn("a\nbc\n", 3), "line 2, column 2");
  EXPECT_EQ(LineAndColumn("a\nbc\n", 5), "line 3, column 1");
  EXPECT_EQ(LineAndColumn("a", 99), "line 1, column 2");
}

}  // namespace
}  // namespace weft
