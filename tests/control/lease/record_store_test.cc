// SPDX-License-Identifier: Apache-2.0
#include "control/lease/record_store.h"

#include <map>
#include <random>
#include <set>
#include <string>

#include "control/lease/record_set.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"
#include "tests/support/seed.h"

namespace weft::lease {
namespace {

std::string Read(const RecordStore& store, RecordId record, std::size_t size) {
  return {store.At(record), size};
}

using Model = std::map<RecordId, std::string>;

std::size_t SizeAt(const RecordStore& store, const Model& model, const char* at) {
  for (const auto& [record, bytes] : model) {
    if (store.At(record) == at) return bytes.size();
  }
  ADD_FAILURE() << "no record at this place";
  return 1;
}

// How many ForEach visits; each is one of the model, and is visited once.
std::size_t All(const RecordStore& store, const Model& model) {
  std::set<RecordId> seen;
  store.ForEach([&](const char* at) { return SizeAt(store, model, at); },
                [&](RecordId record) {
                  EXPECT_TRUE(model.contains(record));
                  EXPECT_TRUE(seen.insert(record).second);
                });
  return seen.size();
}

TEST(RecordStore, ThePlaceOfARemovedRecordIsTakenByTheNextOfItsSize) {
  RecordStore store;
  const RecordId a = store.Add(std::string(57, 'a'));
  const RecordId b = store.Add(std::string(64, 'b'));
  EXPECT_NE(a, kNoRecord);
  EXPECT_NE(a, b);
  store.Remove(a, 57);
  EXPECT_NE(store.Add(std::string(65, 'c')), a) << "it is larger";
  EXPECT_EQ(store.Add(std::string(64, 'd')), a);
  EXPECT_EQ(Read(store, b, 64), std::string(64, 'b'));
}

TEST(RecordStore, ARecordThatFitsIsReplacedInPlace) {
  RecordStore store;
  const RecordId a = store.Add(std::string(57, 'a'));
  EXPECT_EQ(store.Replace(a, 57, std::string(64, 'b')), a);
  EXPECT_EQ(Read(store, a, 64), std::string(64, 'b'));
  const RecordId moved = store.Replace(a, 64, std::string(65, 'c'));
  EXPECT_NE(moved, a);
  EXPECT_EQ(store.Add(std::string(60, 'd')), a);
}

TEST(RecordStore, ARecordLargerThanAChunkHasItsOwn) {
  RecordStore store;
  const std::string large(1'000'000, 'x');
  const RecordId first = store.Add(large);
  EXPECT_EQ(Read(store, first, large.size()), large);
  store.Remove(first, large.size());
  EXPECT_EQ(store.Add(std::string(2'000'000, 'y')), first) << "its number is free again";
  EXPECT_NE(store.Add("small"), first);
}

TEST(RecordStore, AgreesWithAMap) {
  const std::uint32_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  RecordStore store;
  Model model;
  const auto any = [&] {
    const std::size_t sizes[] = {1, 8, 9, 64, 72, 500, 8'000, 65'535, 65'536, 65'537};
    const std::size_t size =
        random() % 4 == 0 ? sizes[random() % std::size(sizes)] : 40 + random() % 60;
    return std::string(size, static_cast<char>('a' + random() % 26));
  };
  for (int step = 0; step < 20'000; ++step) {
    const auto at = model.empty() ? model.end() : model.lower_bound(random() % (1u << 22));
    if (at == model.end() || random() % 5 < 2) {
      std::string bytes = any();
      const RecordId record = store.Add(bytes);
      ASSERT_TRUE(model.emplace(record, std::move(bytes)).second) << "used twice";
      continue;
    }
    ASSERT_EQ(Read(store, at->first, at->second.size()), at->second);
    if (random() % 2 == 0) {
      store.Remove(at->first, at->second.size());
      model.erase(at);
      continue;
    }
    std::string bytes = any();
    const RecordId record = store.Replace(at->first, at->second.size(), bytes);
    model.erase(at);
    ASSERT_TRUE(model.emplace(record, std::move(bytes)).second);
  }
  for (const auto& [record, bytes] : model) ASSERT_EQ(Read(store, record, bytes.size()), bytes);
  EXPECT_EQ(All(store, model), model.size());
}

TEST(RecordStore, EachIsVisitedOnceAndMayBeRemovedThen) {
  RecordStore store;
  Model model;
  for (const std::size_t size :
       {57, 200'000, 8, 65'536, 40, 65'535, 64, 100'000, 65'536, 300'000}) {
    std::string bytes(size, 'x');
    const RecordId record = store.Add(bytes);
    model[record] = std::move(bytes);
  }
  EXPECT_EQ(All(store, model), 10u);
  store.ForEach([&](const char* at) { return SizeAt(store, model, at); },
                [&](RecordId record) {
                  if (model.at(record).size() % 16 == 8) return;
                  store.Remove(record, model.at(record).size());
                  model.erase(record);
                });
  EXPECT_EQ(model.size(), 2u) << "8 and 40";
  EXPECT_EQ(All(store, model), 2u);
}

TEST(RecordSet, RecordsOfOneHashAreToldApart) {
  struct Key {
    std::string name;
    std::uint32_t hash = 7;
    bool Matches(const PackedLease& lease) const { return lease.name() == name; }
  };
  RecordStore store;
  RecordSet<Key> set(store);
  const auto add = [&](const std::string& name) {
    std::string bytes;
    Pack(testing::MakeLease(name, "10.244.1.0/24", "192.0.2.1"), PackedUid(""), bytes);
    return set.FindOrAdd(Key{name}, [&] { return store.Add(bytes); }).record;
  };
  const RecordId a = add("a"), b = add("b");
  EXPECT_NE(a, b);
  EXPECT_EQ(set.Find(Key{"a"}), a);
  EXPECT_EQ(set.Find(Key{"b"}), b);
  EXPECT_EQ(set.Find(Key{"c"}), kNoRecord);
}

}  // namespace
}  // namespace weft::lease
