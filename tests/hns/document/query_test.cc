// SPDX-License-Identifier: Apache-2.0
#include "hns/document/query.h"

#include <gtest/gtest.h>

namespace weft::hns {
namespace {

TEST(QueryTest, IsHcsshimsByteForByte) {
  EXPECT_EQ(QueryJson(), R"({"SchemaVersion":{"Major":2,"Minor":0}})");
  EXPECT_EQ(QueryJson("Name", "flannel.4096"),
            R"({"SchemaVersion":{"Major":2,"Minor":0},"Filter":"{\"Name\":\"flannel.4096\"}"})");
}

TEST(QueryTest, AnyNameStaysInsideItsString) {
  EXPECT_EQ(QueryJson("Name", "a\"b\\"),
            R"({"SchemaVersion":{"Major":2,"Minor":0},"Filter":"{\"Name\":\"a\\\"b\\\\\"}"})");
}

TEST(QueryTest, IdsAreRead) {
  const auto none = ParseIds("[]");
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
  const auto two = ParseIds(
      R"(["55FEDB88-4b11-4da4-8cd1-59970718a804","00000100-0000-4000-8000-000000000001"])");
  ASSERT_TRUE(two.ok());
  ASSERT_EQ(two->size(), 2u);
  EXPECT_EQ((*two)[0].ToString(), "55fedb88-4b11-4da4-8cd1-59970718a804");
}

TEST(QueryTest, AnythingElseIsRefused) {
  for (const char* text : {"", "{}", "null", "[1]", R"(["x"])", "[[]]", "["}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseIds(text).status())) << text;
  }
}

}  // namespace
}  // namespace weft::hns
