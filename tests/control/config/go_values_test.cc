// SPDX-License-Identifier: Apache-2.0
#include "control/config/go_values.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace weft::config {
namespace {

TEST(GoBool, TakesGosTwelveWordsAndNothingElse) {
  for (const char* text : {"1", "t", "T", "true", "TRUE", "True"})
    EXPECT_EQ(ParseGoBool(text), true) << text;
  for (const char* text : {"0", "f", "F", "false", "FALSE", "False"})
    EXPECT_EQ(ParseGoBool(text), false) << text;
  for (const char* text : {"", "yes", "no", "on", "tRUE", " true", "true ", "2"}) {
    EXPECT_EQ(ParseGoBool(text), std::nullopt) << text;
  }
}

struct IntRow {
  const char* text;
  std::int64_t value;
};

// strconv.ParseInt(text, 0, 64), run with Go 1.19.
TEST(GoInt, ReadsEveryBase) {
  const IntRow rows[] = {
      {"0", 0},
      {"-0", 0},
      {"+7", 7},
      {"-7", -7},
      {"10", 10},
      {"010", 8},
      {"0x10", 16},
      {"0X1f", 31},
      {"0o17", 15},
      {"0O17", 15},
      {"0b101", 5},
      {"0B1", 1},
      {"1_000", 1000},
      {"0x_1F", 31},
      {"0_7", 7},
      {"0b_1_0", 2},
      {"-0x8", -8},
      {"00", 0},
      {"0x7fffffffffffffff", std::numeric_limits<std::int64_t>::max()},
      {"-9223372036854775808", std::numeric_limits<std::int64_t>::min()},
      {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
  };
  for (const IntRow& row : rows) {
    const GoInt read = ParseGoInt(row.text);
    EXPECT_EQ(read.error, GoIntError::kNone) << row.text;
    EXPECT_EQ(read.value, row.value) << row.text;
  }
}

TEST(GoInt, RefusesWhatGoRefuses) {
  for (const char* text :
       {"",    "-",   "+",     "_",   "1_",  "_1",  "1__0", "0x",  "0b", "0o",  "0x_",
        "0b2", "08",  "0o8",   "0xg", "1.0", "1e3", " 1",   "1 ",  "0_", "--1", "0x1_",
        "abc", "0b_", "1 000", "1[",  "1^",  "1`",  "0x:",  "08`", "1b1"}) {
    EXPECT_EQ(ParseGoInt(text).error, GoIntError::kSyntax) << text;
  }
}

TEST(GoInt, DistinguishesRangeFromSyntax) {
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "0x8000000000000000",
                           "99999999999999999999999",
                           "0b1111111111111111111111111111111111111111111111111111111111111111"}) {
    EXPECT_EQ(ParseGoInt(text).error, GoIntError::kRange) << text;
  }
  EXPECT_EQ(ParseGoInt("99999999999999999999999x").error, GoIntError::kSyntax);
}

}  // namespace
}  // namespace weft::config
