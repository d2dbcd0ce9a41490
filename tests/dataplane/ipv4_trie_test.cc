// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ipv4_trie.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>
#include <utility>

#include "tests/support/seed.h"

namespace weft::dataplane {
namespace {

std::uint32_t MaskOf(int length) { return length == 0 ? 0 : ~std::uint32_t{0} << (32 - length); }

// The obvious slow one.
class NaiveTable {
 public:
  using Key = std::pair<std::uint32_t, int>;
  std::map<Key, std::uint32_t> prefixes;

  std::uint32_t Find(std::uint32_t address, int below = 33) const {
    for (int length = below - 1; length >= 0; --length) {
      const auto found = prefixes.find({address & MaskOf(length), length});
      if (found != prefixes.end()) return found->second;
    }
    return 0;
  }
};

struct Row {
  const char* description;
  std::uint32_t address;
  std::uint32_t value;
};

TEST(Ipv4Trie, TheLongestPrefixWins) {
  Edition edition;
  Ipv4TrieWriter writer(edition);
  writer.Insert(0x0a00'0000, 8, 1);
  writer.Insert(0x0af4'0000, 16, 2);
  writer.Insert(0x0af4'0100, 24, 3);
  writer.Insert(0x0af4'0180, 25, 4);
  writer.Insert(0x0af4'01ff, 32, 5);
  const Row rows[] = {
      {"below all", 0x09ff'ffff, 0},     {"first of /8", 0x0a00'0000, 1},
      {"last of /8", 0x0aff'ffff, 1},    {"above all", 0x0b00'0000, 0},
      {"/16", 0x0af4'0200, 2},           {"/24's .0", 0x0af4'0100, 3},
      {"/24 below /25", 0x0af4'017f, 3}, {"/25", 0x0af4'0180, 4},
      {"/25 below /32", 0x0af4'01fe, 4}, {"/32", 0x0af4'01ff, 5},
  };
  for (const Row& row : rows)
    EXPECT_EQ(writer.trie()->Find(row.address), row.value) << row.description;
}

TEST(Ipv4Trie, ErasingUncoversTheShorterPrefix) {
  Edition edition;
  Ipv4TrieWriter writer(edition);
  writer.Insert(0x0af4'0100, 24, 3);
  writer.Insert(0x0af4'0000, 16, 2);  // inserted later, still shorter
  EXPECT_EQ(writer.trie()->Find(0x0af4'0101), 3u);
  writer.Erase(0x0af4'0100, 24, 3, 2);
  EXPECT_EQ(writer.trie()->Find(0x0af4'0101), 2u);
  writer.Erase(0x0af4'0000, 16, 2, 0);
  EXPECT_EQ(writer.trie()->Find(0x0af4'0101), 0u);
}

TEST(Ipv4Trie, GivesMemoryBack) {
  Edition edition;
  Ipv4TrieWriter writer(edition);
  const std::size_t empty = writer.bytes();
  writer.Insert(0, 0, 1);
  EXPECT_EQ(writer.bytes(), empty) << "a default route needs no pages";
  writer.Insert(0x0af4'0180, 25, 2);
  EXPECT_GT(writer.bytes(), empty);
  writer.Insert(0x0af4'0280, 25, 3);
  const std::size_t both = writer.bytes();
  writer.Erase(0x0af4'0180, 25, 2, 1);
  EXPECT_LT(writer.bytes(), both) << "a hole before the other";
  writer.Insert(0x0af4'0180, 25, 2);
  EXPECT_EQ(writer.bytes(), both) << "which is filled again";
  writer.Erase(0x0af4'0280, 25, 3, 1);
  writer.Erase(0x0af4'0180, 25, 2, 1);
  EXPECT_EQ(writer.bytes(), empty);
  EXPECT_EQ(writer.trie()->Find(0x0af4'0180), 1u);
  writer.Insert(0x0af4'0100, 24, 2);
  const std::size_t one = writer.bytes();
  writer.Insert(0x0af4'0000, 16, 3);
  EXPECT_EQ(writer.bytes(), one) << "no page for each /24 of a /16";
}

TEST(Ipv4Trie, AnOlderStateKeepsItsAnswers) {
  Edition edition;
  Ipv4TrieWriter writer(edition);
  writer.Insert(0x0af4'0100, 24, 1);
  writer.Insert(0x0af4'0280, 25, 2);
  const Ipv4Trie* const old = writer.trie();
  edition.Publish();
  writer.Erase(0x0af4'0100, 24, 1, 0);
  writer.Insert(0x0af4'02ff, 32, 3);
  EXPECT_EQ(old->Find(0x0af4'0101), 1u);
  EXPECT_EQ(old->Find(0x0af4'02ff), 2u);
  EXPECT_EQ(writer.trie()->Find(0x0af4'0101), 0u);
  EXPECT_EQ(writer.trie()->Find(0x0af4'02ff), 3u);
  EXPECT_GE(edition.Publish().size(), 3u) << "root, /12 page and /24 page were replaced";
}

TEST(Ipv4Trie, AgreesWithANaiveTableThroughRandomChanges) {
  const std::uint32_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Edition edition;
  Ipv4TrieWriter writer(edition);
  NaiveTable naive;
  std::uint32_t next_value = 1;
  std::vector<RetiredPage> retired;
  for (int step = 0; step < 2000; ++step) {
    // Few distinct bits, so that prefixes nest and meet again; short prefixes are rarer.
    const int length =
        random() % 8 == 0 ? static_cast<int>(random() % 33) : 10 + static_cast<int>(random() % 23);
    const std::uint32_t base = (0x0af0'0000 | (random() & 0x001f'03ff)) & MaskOf(length);
    const auto known = naive.prefixes.find({base, length});
    if (known == naive.prefixes.end()) {
      naive.prefixes[{base, length}] = next_value;
      writer.Insert(base, length, next_value++);
    } else {
      const std::uint32_t value = known->second;
      naive.prefixes.erase(known);
      writer.Erase(base, length, value, naive.Find(base, length));
    }
    if (random() % 4 == 0) retired = edition.Publish();
    for (int i = 0; i < 40; ++i) {
      const std::uint32_t address = i % 4 == 0 ? static_cast<std::uint32_t>(random())
                                               : 0x0af0'0000 | (random() & 0x001f'03ff);
      ASSERT_EQ(writer.trie()->Find(address), naive.Find(address))
          << std::hex << address << " step " << std::dec << step;
    }
    for (const std::uint32_t edge :
         {base - 1, base, base | ~MaskOf(length), (base | ~MaskOf(length)) + 1}) {
      ASSERT_EQ(writer.trie()->Find(edge), naive.Find(edge))
          << std::hex << edge << " step " << std::dec << step;
    }
  }
  while (!naive.prefixes.empty()) {
    auto any = std::next(naive.prefixes.begin(),
                         static_cast<std::ptrdiff_t>(random() % naive.prefixes.size()));
    const auto [key, value] = *any;
    naive.prefixes.erase(any);
    writer.Erase(key.first, key.second, value, naive.Find(key.first, key.second));
  }
  Edition fresh;
  EXPECT_EQ(writer.bytes(), Ipv4TrieWriter(fresh).bytes());
}

}  // namespace
}  // namespace weft::dataplane
