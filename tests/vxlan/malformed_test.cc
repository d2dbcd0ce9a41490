// SPDX-License-Identifier: Apache-2.0
#include "vxlan/malformed.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "vxlan/vni.h"

namespace weft {
namespace {

TEST(Malformed, EveryReasonHasItsOwnNameAndASentence) {
  std::set<std::string_view> names;
  std::set<std::string_view> sentences;
  for (std::size_t i = 0; i < kMalformedCount; ++i) {
    const auto reason = static_cast<Malformed>(i);
    const std::string_view name = Name(reason);
    EXPECT_FALSE(name.empty()) << i;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), name.npos) << name;
    EXPECT_TRUE(Sentence(reason).ends_with('.')) << name;
    names.insert(name);
    sentences.insert(Sentence(reason));
  }
  EXPECT_EQ(names.size(), kMalformedCount);
  EXPECT_EQ(sentences.size(), kMalformedCount);
}

TEST(Malformed, NamesAreInTheOrderOfTheEnumeration) {
  EXPECT_EQ(Name(Malformed::kTruncated), "truncated");
  EXPECT_EQ(Name(Malformed::kBadChecksum), "bad_checksum");
  EXPECT_EQ(Name(Malformed::kNoVniFlag), "no_vni_flag");
  EXPECT_EQ(Name(Malformed::kNotEthernetIpv4Arp), "not_ethernet_ipv4_arp");
}

TEST(Parsed, HoldsAValue) {
  const Parsed<std::string> parsed(std::string("value"));
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, "value");
  EXPECT_EQ(parsed->size(), 5u);
}

TEST(Parsed, HoldsAReason) {
  const Parsed<std::string> parsed(Malformed::kNotIp);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error(), Malformed::kNotIp);
}

TEST(Parsed, ComparesValuesAndReasons) {
  using P = Parsed<int>;
  EXPECT_EQ(P(1), P(1));
  EXPECT_FALSE(P(1) == P(2));
  EXPECT_FALSE(P(1) == P(Malformed::kNotIp));
  EXPECT_EQ(P(Malformed::kNotIp), P(Malformed::kNotIp));
  EXPECT_FALSE(P(Malformed::kNotIp) == P(Malformed::kTruncated));
}

// A type without default constructor, in a constant expression.
constexpr Parsed<Vni> Seven() { return *Vni::From(7); }
static_assert(Seven() && Seven()->value() == 7);
static_assert(!Parsed<Vni>(Malformed::kTruncated));
static_assert(std::is_trivially_copyable_v<Parsed<Vni>>);

}  // namespace
}  // namespace weft
