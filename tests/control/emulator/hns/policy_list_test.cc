// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/policy_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/seed.h"

namespace weft::hns::emulator {
namespace {

Json Route(int to) { return {{"DestinationPrefix", std::to_string(to)}}; }

std::vector<std::string> Text(const PolicyList& list) {
  std::vector<std::string> text;
  list.ForEach([&](const PolicyList::Item& item) { text.push_back(item.type + item.settings); });
  return text;
}

TEST(PolicyListTest, KeysMayBeInAnyOrderAndTypesInAnyCase) {
  PolicyList list;
  list.Add("ACL", *ParseDocument(R"({"a":1,"b":"x"})"));
  EXPECT_TRUE(list.Has("acl", *ParseDocument(R"({"b":"x","a":1})")));
  EXPECT_FALSE(list.Has("acl", *ParseDocument(R"({"b":"X","a":1})")));
  EXPECT_EQ(list.size(), 1u);
  EXPECT_TRUE(list.Remove("aCl", *ParseDocument(R"({"b":"x","a":1})")));
  EXPECT_EQ(list.size(), 0u);
}

TEST(PolicyListTest, ARouteMayHaveNoDestination) {
  PolicyList list;
  list.Add("RemoteSubnetRoute", Json::object());
  EXPECT_TRUE(list.Remove("RemoteSubnetRoute", Json::object()));
  EXPECT_EQ(list.size(), 0u);
}

TEST(PolicyListTest, DoesWhatAPlainVectorDoes) {
  const std::uint32_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  PolicyList list;
  std::vector<std::string> model;
  for (int step = 0; step < 2000; ++step) {
    const int to = static_cast<int>(random() % 20);
    const std::string type = random() % 4 == 0 ? "Other" : "RemoteSubnetRoute";
    const std::string text = type + Dump(Route(to));
    const auto at = std::find(model.begin(), model.end(), text);
    if (random() % 2 == 0) {
      list.Add(type, Route(to));
      model.push_back(text);
    } else if (random() % 50 == 0) {
      list.RemoveType(type);
      std::erase_if(model, [&](const std::string& item) { return item.starts_with(type); });
    } else {
      EXPECT_EQ(list.Remove(type, Route(to)), at != model.end());
      if (at != model.end()) model.erase(at);
    }
    ASSERT_EQ(Text(list), model);
    const std::string route = "RemoteSubnetRoute" + Dump(Route(to));
    EXPECT_EQ(list.HasRouteTo(std::to_string(to)), std::ranges::count(model, route) != 0);
  }
}

}  // namespace
}  // namespace weft::hns::emulator
