// SPDX-License-Identifier: Apache-2.0
#include "hns/document/guid.h"

#include <gtest/gtest.h>

namespace weft::hns {
namespace {

constexpr std::string_view kText = "55fedb88-4b11-4da4-8cd1-59970718a804";

TEST(GuidTest, ReadsEitherCaseAndWritesBoth) {
  const auto guid = Guid::Parse(kText);
  ASSERT_TRUE(guid);
  EXPECT_EQ(guid->ToString(), kText);
  EXPECT_EQ(guid->ToUpperString(), "55FEDB88-4B11-4DA4-8CD1-59970718A804");
  EXPECT_EQ(Guid::Parse(guid->ToUpperString()), guid);
  EXPECT_EQ(guid->bytes()[0], 0x55);
  EXPECT_EQ(guid->bytes()[15], 0x04);
}

TEST(GuidTest, OfZeroesIsNone) {
  EXPECT_TRUE(Guid().is_zero());
  EXPECT_EQ(Guid::Parse("00000000-0000-0000-0000-000000000000"), Guid());
  EXPECT_FALSE(Guid::Parse(kText)->is_zero());
}

TEST(GuidTest, AnythingElseIsRefused) {
  for (const char* text :
       {"", "55fedb88", "{55fedb88-4b11-4da4-8cd1-59970718a804}",
        "55fedb88-4b11-4da4-8cd1-59970718a80", "55fedb88-4b11-4da4-8cd1-59970718a8044",
        "55fedb88+4b11-4da4-8cd1-59970718a804", "55fedb88-4b11-4da4-8cd1-59970718a80g",
        "55fedb88-4b11-4da4-8cd1-59970718a80G", "55fedb88-4b11-4da4-8cd1-59970718a80:",
        "55fedb88-4b11-4da4-8cd1-59970718a80/", "55fedb884b11-4da4-8cd1-59970718a804-"}) {
    EXPECT_EQ(Guid::Parse(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace weft::hns
