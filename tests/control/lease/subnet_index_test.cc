// SPDX-License-Identifier: Apache-2.0
#include "control/lease/subnet_index.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::lease {
namespace {

using testing::MakeLease;
using testing::Prefix;

class SubnetIndexTest : public ::testing::Test {
 protected:
  RecordId Store(const Lease& lease) {
    std::string packed;
    Pack(lease, PackedUid(lease.node.uid), packed);
    return store.Add(packed);
  }
  RecordId Store(std::string name, std::string_view block, std::int64_t created = 0) {
    const bool v4 = Prefix(block).family() == IpFamily::kV4;
    return Store(MakeLease(std::move(name), block, v4 ? "192.0.2.1" : "2001:db8::1", created));
  }
  std::string NameOf(RecordId lease) const {
    return lease == kNoRecord ? "none" : std::string(PackedLease(store.At(lease)).name());
  }

  RecordStore store;
  SubnetIndex index{store, IpFamily::kV4};
  const IpPrefix subnet = Prefix("10.244.1.0/24");
};

TEST_F(SubnetIndexTest, AHolderStaysUntilItIsRemoved) {
  const RecordId a = Store("a", "10.244.1.0/24");
  EXPECT_EQ(index.Holder(subnet), kNoRecord);
  index.Add(a);
  EXPECT_EQ(index.Holder(subnet), a);
  EXPECT_EQ(index.size(), 1u);
  int holders = 0;
  index.ForEachHolder([&](RecordId) { ++holders; });
  EXPECT_EQ(holders, 1);
  index.Remove(a);
  EXPECT_EQ(index.Holder(subnet), kNoRecord);
  EXPECT_EQ(index.size(), 0u);
}

TEST_F(SubnetIndexTest, AroundIsTheLongestThatStrictlyContains) {
  for (const char* each : {"10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24"})
    index.Add(Store(each, each));
  EXPECT_EQ(NameOf(index.Around(Prefix("10.1.2.0/24"))), "10.1.0.0/16");
  EXPECT_EQ(NameOf(index.Around(Prefix("10.1.2.128/25"))), "10.1.2.0/24");
  EXPECT_EQ(NameOf(index.Around(Prefix("10.1.0.0/16"))), "10.0.0.0/8");
  EXPECT_EQ(NameOf(index.Around(Prefix("10.0.0.0/8"))), "none");
  EXPECT_EQ(NameOf(index.Around(Prefix("11.0.0.0/24"))), "none");
  EXPECT_EQ(NameOf(index.Around(Prefix("0.0.0.0/0"))), "none");
  EXPECT_EQ(NameOf(index.Around(Prefix("10.1.2.0/24"), 16)), "10.1.0.0/16");
  EXPECT_EQ(NameOf(index.Around(Prefix("10.1.2.0/24"), 17)), "none");
}

TEST_F(SubnetIndexTest, AroundAnAddress) {
  for (const char* each : {"10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32"})
    index.Add(Store(each, each));
  EXPECT_EQ(NameOf(index.Around(testing::Address("10.1.2.3"))), "10.1.2.3/32");
  EXPECT_EQ(NameOf(index.Around(testing::Address("10.1.2.4"))), "10.1.2.0/24");
  EXPECT_EQ(NameOf(index.Around(testing::Address("10.1.3.0"))), "10.1.0.0/16");
  EXPECT_EQ(NameOf(index.Around(testing::Address("10.2.0.0"))), "none");
}

TEST_F(SubnetIndexTest, InsideAreAllThatAreStrictlyContained) {
  const auto inside = [this](const char* around) {
    std::string names;
    for (const RecordId each : index.Inside(Prefix(around))) names += NameOf(each) + " ";
    return names;
  };
  for (const char* each : {"10.1.0.0/16", "10.1.2.0/24", "10.1.2.128/25", "10.2.0.0/24"})
    index.Add(Store(each, each));
  EXPECT_EQ(inside("10.1.0.0/16"), "10.1.2.0/24 10.1.2.128/25 ");
  EXPECT_EQ(inside("10.1.2.0/24"), "10.1.2.128/25 ");
  EXPECT_EQ(inside("10.1.2.128/25"), "");
  EXPECT_EQ(inside("10.0.0.0/8"), "10.1.0.0/16 10.1.2.0/24 10.1.2.128/25 10.2.0.0/24 ");
  EXPECT_EQ(inside("10.3.0.0/16"), "");
}

TEST_F(SubnetIndexTest, OneBaseIsManySubnets) {
  const RecordId wide = Store("wide", "10.244.0.0/16");
  const RecordId narrow = Store("narrow", "10.244.0.0/24");
  index.Add(wide);
  EXPECT_FALSE(index.has_many_lengths());
  index.Add(narrow);
  EXPECT_TRUE(index.has_many_lengths());
  EXPECT_EQ(index.Holder(Prefix("10.244.0.0/16")), wide);
  EXPECT_EQ(index.Holder(Prefix("10.244.0.0/24")), narrow);
  EXPECT_EQ(index.Holder(Prefix("10.244.0.0/20")), kNoRecord);
  index.Remove(wide);
  EXPECT_FALSE(index.has_many_lengths());
}

struct NestedRow {
  const char* description;
  const char* asked;
  const char* found;
};

constexpr NestedRow kNestedRows[] = {
    {"inside one", "10.1.2.0/24", "10.1.0.0/16"},
    {"inside two: the longer", "10.1.128.0/25", "10.1.128.0/20"},
    {"around one", "10.2.0.0/16", "10.2.3.0/24"},
    {"same base, longer inside", "10.3.0.0/16", "10.3.0.0/24"},
    {"same base, shorter around", "10.3.0.0/24", "none"},
    {"apart", "10.9.0.0/16", "none"},
    {"itself does not count", "10.2.3.0/24", "none"},
    {"everything is around something", "0.0.0.0/0", "10.1.0.0/16"},
    {"the neighbour behind", "10.2.4.0/24", "none"},
    {"the neighbour before", "10.2.2.0/24", "none"},
};

TEST_F(SubnetIndexTest, Nested) {
  for (const char* each : {"10.1.0.0/16", "10.1.128.0/20", "10.2.3.0/24", "10.3.0.0/24"})
    index.Add(Store(each, each));
  for (const NestedRow& row : kNestedRows)
    EXPECT_EQ(NameOf(index.Nested(Prefix(row.asked))), row.found) << row.description;
}

TEST_F(SubnetIndexTest, NestedAmongSubnetsOfOneLength) {
  const RecordId a = Store("a", "10.1.0.0/24");
  index.Add(a);
  index.Add(Store("b", "10.2.0.0/24"));
  EXPECT_FALSE(index.has_many_lengths());
  EXPECT_EQ(NameOf(index.Nested(Prefix("10.1.0.0/24"))), "none");
  EXPECT_EQ(NameOf(index.Nested(Prefix("10.2.0.0/16"))), "b");
  EXPECT_EQ(NameOf(index.Nested(Prefix("10.2.0.128/25"))), "b");
  index.Add(Store("c", "10.3.0.0/16"));
  index.Remove(a);
  EXPECT_TRUE(index.has_many_lengths());
}

// The subnets inside are sorted from the first query on.
TEST_F(SubnetIndexTest, NestedFollowsInsertionsAndRemovals) {
  const RecordId around = Store("around", "10.1.0.0/16");
  const RecordId inside = Store("inside", "10.1.2.0/24");
  index.Add(around);
  EXPECT_EQ(NameOf(index.Nested(Prefix("10.1.2.0/24"))), "around");
  EXPECT_EQ(NameOf(index.Nested(Prefix("10.1.0.0/16"))), "none");
  index.Add(inside);
  EXPECT_EQ(NameOf(index.Nested(Prefix("10.1.0.0/16"))), "inside");
  const RecordId first = Store("first", "10.1.1.0/24");
  index.Add(first);
  EXPECT_EQ(NameOf(index.Nested(Prefix("10.1.0.0/16"))), "first");
  index.Remove(first);
  index.Remove(inside);
  EXPECT_EQ(NameOf(index.Nested(Prefix("10.1.0.0/16"))), "none");
  index.Remove(around);
  EXPECT_EQ(NameOf(index.Nested(Prefix("10.1.2.0/24"))), "none");
}

TEST_F(SubnetIndexTest, NestedInIpv6) {
  SubnetIndex v6(store, IpFamily::kV6);
  v6.Add(Store("around", "fd00:10:244::/56"));
  EXPECT_EQ(NameOf(v6.Nested(Prefix("fd00:10:244:3::/64"))), "around");
  EXPECT_EQ(NameOf(v6.Nested(Prefix("fd00:10:244:100::/64"))), "none");
  EXPECT_EQ(NameOf(v6.Nested(Prefix("fd00::/16"))), "around");
}

}  // namespace
}  // namespace weft::lease
