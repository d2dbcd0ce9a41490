// SPDX-License-Identifier: Apache-2.0
#include "dataplane/address_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/support/seed.h"

namespace weft::dataplane {
namespace {

TEST(AddressKey, KeepsTheFirstBits) {
  const AddressKey all{~std::uint64_t{0}, ~std::uint64_t{0}};
  EXPECT_EQ(all.First(0), (AddressKey{0, 0}));
  EXPECT_EQ(all.First(1), (AddressKey{std::uint64_t{1} << 63, 0}));
  EXPECT_EQ(all.First(64), (AddressKey{~std::uint64_t{0}, 0}));
  EXPECT_EQ(all.First(65), (AddressKey{~std::uint64_t{0}, std::uint64_t{1} << 63}));
  EXPECT_EQ(all.First(127), (AddressKey{~std::uint64_t{0}, ~std::uint64_t{1}}));
  EXPECT_EQ(all.First(128), all);
}

TEST(AddressIndex, AnEmptyIndexHoldsNothingNotEvenZero) {
  Edition edition;
  AddressIndexWriter writer(edition);
  EXPECT_EQ(writer.Find({0, 0}), 0u);
  writer.Erase({0, 0});
  EXPECT_EQ(writer.size(), 0u);
}

TEST(AddressIndex, AnOlderStateKeepsItsAnswers) {
  Edition edition;
  AddressIndexWriter writer(edition);
  writer.Set({1, 1}, 7);
  const AddressIndex* const old = writer.index();
  const auto none = edition.Publish();
  writer.Set({1, 1}, 8);
  writer.Set({2, 2}, 9);
  const auto retired = edition.Publish();
  EXPECT_EQ(old->Find({1, 1}), 7u);
  EXPECT_EQ(old->Find({2, 2}), 0u);
  EXPECT_EQ(writer.Find({1, 1}), 8u);
}

TEST(AddressIndex, AChangeReplacesOneBucketAndTheDirectory) {
  Edition edition;
  AddressIndexWriter writer(edition);
  for (std::uint64_t i = 0; i < 10'000; ++i) writer.Set({0, i}, 1);
  const auto first = edition.Publish();
  writer.Set({0, 77}, 2);
  EXPECT_EQ(edition.Publish().size(), 2u);
}

TEST(AddressIndex, KeyZeroSurvivesTheSplits) {
  Edition edition;
  AddressIndexWriter writer(edition);
  for (std::uint32_t i = 0; i < 1000; ++i) writer.Set({0, i}, i + 1);
  EXPECT_EQ(writer.Find({0, 0}), 1u);
}

TEST(AddressIndex, AgreesWithAMapThroughRandomChanges) {
  const std::uint32_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Edition edition;
  AddressIndexWriter writer(edition);
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> naive;
  std::vector<RetiredPage> retired;
  for (int step = 0; step < 40'000; ++step) {
    // Dense keys in the low word, as addresses are; grows, then shrinks.
    const AddressKey key{random() % 2, random() % 4096};
    const bool erase = step > 20'000 ? random() % 3 != 0 : random() % 3 == 0;
    if (erase) {
      writer.Erase(key);
      naive.erase({key.high, key.low});
    } else {
      const auto value = static_cast<std::uint32_t>(random() | 1);
      writer.Set(key, value);
      naive[{key.high, key.low}] = value;
    }
    ASSERT_EQ(writer.size(), naive.size());
    if (step % 16 == 0) retired = edition.Publish();
    const AddressKey asked{random() % 3, random() % 4200};
    const auto found = naive.find({asked.high, asked.low});
    ASSERT_EQ(writer.Find(asked), found == naive.end() ? 0 : found->second);
  }
  for (const auto& [key, value] : naive) ASSERT_EQ(writer.Find({key.first, key.second}), value);
}

}  // namespace
}  // namespace weft::dataplane
