// SPDX-License-Identifier: Apache-2.0
#include "control/http1/percent.h"

#include "gtest/gtest.h"

namespace weft::http1 {
namespace {

TEST(DecodePercentTest, Rows) {
  struct Row {
    const char* text;
    bool plus_is_space;
    std::optional<std::string> out;
  };
  const Row rows[] = {
      {"", false, ""},
      {"a%20b", false, "a b"},
      {"%41%7a%7A", false, "Azz"},
      {"a+b", true, "a b"},
      {"a+b", false, "a+b"},
      {"%2B+", true, "+ "},
      {"%C3%A9", true, "\xc3\xa9"},
      {"%ff", false, "\xff"},
      {"100%", false, {}},
      {"%4", false, {}},
      {"%g0", false, {}},
      {"%4g", false, {}},
      {"%00", false, {}},
      {"%%41", false, {}},
      {"%+1", true, {}},
  };
  for (const Row& row : rows)
    EXPECT_EQ(DecodePercent(row.text, row.plus_is_space), row.out) << row.text;
}

// RFC 9110 section 8.6: a method that may have a body announces that there is none.

TEST(EscapePercent, IsDecodedAgain) {
  std::string text;
  for (int byte = 1; byte < 256; ++byte) text += static_cast<char>(byte);
  EXPECT_EQ(EscapePercent("a/b +%-._~"), "a%2Fb%20%2B%25-._~");
  EXPECT_EQ(DecodePercent(EscapePercent(text)), text);
}

}  // namespace
}  // namespace weft::http1
