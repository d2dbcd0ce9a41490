// SPDX-License-Identifier: Apache-2.0
#include "control/lease/subnet_index.h"

#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::lease {
namespace {

using testing::MakeLease;
using testing::Prefix;

TEST(Precedes, NewerThenNameThenUid) {
  Lease a = MakeLease("a", "10.244.1.0/24", "192.0.2.1", 100);
  Lease b = MakeLease("b", "10.244.1.0/24", "192.0.2.2", 200);
  EXPECT_TRUE(Precedes(b, a));
  EXPECT_FALSE(Precedes(a, b));
  b.created = 100;
  EXPECT_TRUE(Precedes(a, b));
  b.node = {"a", "uid-b"};
  EXPECT_TRUE(Precedes(a, b));
  EXPECT_FALSE(Precedes(a, a));
}

TEST(SubnetIndex, TheNewestHoldsAndTheNextFollows) {
  const IpPrefix subnet = Prefix("10.244.1.0/24");
  const Lease old_one = MakeLease("old", "10.244.1.0/24", "192.0.2.1", 100);
  const Lease new_one = MakeLease("new", "10.244.1.0/24", "192.0.2.2", 200);
  SubnetIndex index;

  SubnetIndex::Change change = index.Add(subnet, old_one);
  EXPECT_EQ(change.before, nullptr);
  EXPECT_EQ(change.after, &old_one);
  change = index.Add(subnet, new_one);
  EXPECT_EQ(change.before, &old_one);
  EXPECT_EQ(change.after, &new_one);
  EXPECT_EQ(index.Holder(subnet), &new_one);

  change = index.Remove(subnet, new_one);
  EXPECT_EQ(change.after, &old_one);
  change = index.Remove(subnet, old_one);
  EXPECT_EQ(change.after, nullptr);
  EXPECT_EQ(index.Holder(subnet), nullptr);
  EXPECT_TRUE(index.all().empty());
}

TEST(SubnetIndex, RemovingALoserChangesNoHolder) {
  const IpPrefix subnet = Prefix("10.244.1.0/24");
  const Lease old_one = MakeLease("old", "10.244.1.0/24", "192.0.2.1", 100);
  const Lease new_one = MakeLease("new", "10.244.1.0/24", "192.0.2.2", 200);
  SubnetIndex index;
  index.Add(subnet, new_one);
  index.Add(subnet, old_one);
  const SubnetIndex::Change change = index.Remove(subnet, old_one);
  EXPECT_EQ(change.before, change.after);
}

struct NestedRow {
  const char* description;
  const char* asked;
  const char* found;  // nullptr: none
};

constexpr NestedRow kNestedRows[] = {
    {"inside one", "10.1.2.0/24", "10.1.0.0/16"},
    {"inside two: the longer", "10.1.128.0/25", "10.1.128.0/20"},
    {"around one", "10.2.0.0/16", "10.2.3.0/24"},
    {"same base, longer inside", "10.3.0.0/16", "10.3.0.0/24"},
    {"same base, shorter around", "10.3.0.0/24", nullptr},
    {"apart", "10.9.0.0/16", nullptr},
    {"itself does not count", "10.2.3.0/24", nullptr},
    {"everything is around something", "0.0.0.0/0", "10.1.0.0/16"},
    {"the neighbour behind", "10.2.4.0/24", nullptr},
    {"the neighbour before", "10.2.2.0/24", nullptr},
};

TEST(SubnetIndex, Nested) {
  std::vector<Lease> leases;
  for (const char* subnet : {"10.1.0.0/16", "10.1.128.0/20", "10.2.3.0/24", "10.3.0.0/24"}) {
    leases.push_back(MakeLease(subnet, subnet, "192.0.2.1"));
  }
  SubnetIndex index;
  for (const Lease& lease : leases) index.Add(lease.v4->subnet, lease);
  for (const NestedRow& row : kNestedRows) {
    const Lease* found = index.Nested(Prefix(row.asked));
    EXPECT_EQ(found == nullptr ? "none" : found->node.name,
              row.found == nullptr ? "none" : row.found)
        << row.description;
  }
}

TEST(SubnetIndex, NestedForgetsWhatIsRemoved) {
  const Lease around = MakeLease("around", "10.1.0.0/16", "192.0.2.1");
  SubnetIndex index;
  index.Add(around.v4->subnet, around);
  EXPECT_EQ(index.Nested(Prefix("10.1.2.0/24")), &around);
  index.Remove(around.v4->subnet, around);
  EXPECT_EQ(index.Nested(Prefix("10.1.2.0/24")), nullptr);
}

TEST(SubnetIndex, NestedInIpv6) {
  const Lease around = MakeLease("around", "fd00:10:244::/56", "2001:db8::1");
  SubnetIndex index;
  index.Add(around.v6->subnet, around);
  EXPECT_EQ(index.Nested(Prefix("fd00:10:244:3::/64")), &around);
  EXPECT_EQ(index.Nested(Prefix("fd00:10:244:100::/64")), nullptr);
  EXPECT_EQ(index.Nested(Prefix("fd00::/16")), &around);
}

}  // namespace
}  // namespace weft::lease
