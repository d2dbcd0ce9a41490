// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ip_prefix.h"

#include <gtest/gtest.h>

#include "tests/support/packet_builder.h"

namespace weft {
namespace {

struct PrefixText {
  const char* description;
  const char* in;
  const char* out;  // null: refused
};

// As Go's net.ParseCIDR decides.
constexpr PrefixText kPrefixTexts[] = {
    {"flannel's lease", "10.244.3.0/24", "10.244.3.0/24"},
    {"host bits are cleared", "10.244.3.17/24", "10.244.3.0/24"},
    {"host bits inside a byte", "10.244.255.255/20", "10.244.240.0/20"},
    {"everything", "1.2.3.4/0", "0.0.0.0/0"},
    {"one address", "192.0.2.1/32", "192.0.2.1/32"},
    {"leading zero in the length, as Go takes it", "10.0.0.0/08", "10.0.0.0/8"},
    {"IPv6", "2001:db8:0:1::1/64", "2001:db8:0:1::/64"},
    {"IPv6, odd length", "2001:db8::ffff/113", "2001:db8::8000/113"},
    {"IPv6 one address", "::1/128", "::1/128"},
    {"no length", "10.244.3.0", nullptr},
    {"empty length", "10.244.3.0/", nullptr},
    {"empty address", "/24", nullptr},
    {"too long", "10.244.3.0/33", nullptr},
    {"too long for IPv6", "::/129", nullptr},
    {"negative", "10.244.3.0/-1", nullptr},
    {"negative zero", "10.244.3.0/-0", nullptr},
    {"plus sign", "10.244.3.0/+1", nullptr},
    {"hexadecimal", "10.244.3.0/0x18", nullptr},
    {"a letter", "10.244.3.0/a", nullptr},
    {"a letter behind", "10.244.3.0/2a", nullptr},
    {"mask instead of length", "10.244.3.0/255.255.255.0", nullptr},
    {"two slashes", "10.244.3.0/24/24", nullptr},
    {"space", "10.244.3.0/24 ", nullptr},
    {"overflow", "10.244.3.0/99999999999999999999", nullptr},
    {"bad address", "10.244.3/24", nullptr},
};

TEST(IpPrefix, TextRows) {
  for (const PrefixText& row : kPrefixTexts) {
    SCOPED_TRACE(row.description);
    const auto prefix = IpPrefix::Parse(row.in);
    ASSERT_EQ(prefix.has_value(), row.out != nullptr) << row.in;
    EXPECT_EQ(prefix ? prefix->ToString() : "", row.out ? row.out : "");
  }
}

IpPrefix Prefix(const char* text) { return *IpPrefix::Parse(text); }

TEST(IpPrefix, OfRefusesLengthsOutsideTheFamily) {
  EXPECT_FALSE(IpPrefix::From(Ip("10.0.0.0"), -1));
  EXPECT_FALSE(IpPrefix::From(Ip("10.0.0.0"), 33));
  EXPECT_TRUE(IpPrefix::From(Ip("::"), 33));
  EXPECT_FALSE(IpPrefix::From(Ip("::"), 129));
  EXPECT_EQ(IpPrefix::From(Ip("10.1.2.3"), 8), Prefix("10.0.0.0/8"));
}

TEST(IpPrefix, ContainsAddresses) {
  const IpPrefix lease = Prefix("10.244.3.0/24");
  EXPECT_TRUE(lease.Contains(Ip("10.244.3.0")));
  EXPECT_TRUE(lease.Contains(Ip("10.244.3.255")));
  EXPECT_FALSE(lease.Contains(Ip("10.244.2.255")));
  EXPECT_FALSE(lease.Contains(Ip("10.244.4.0")));
  EXPECT_FALSE(lease.Contains(Ip("::ffff:10.244.3.1")));
  EXPECT_TRUE(Prefix("0.0.0.0/0").Contains(Ip("255.255.255.255")));
  EXPECT_FALSE(Prefix("0.0.0.0/0").Contains(Ip("::1")));
  EXPECT_TRUE(Prefix("2001:db8::/33").Contains(Ip("2001:db8:7fff::1")));
  EXPECT_FALSE(Prefix("2001:db8::/33").Contains(Ip("2001:db8:8000::1")));
  EXPECT_TRUE(Prefix("2001:db8::8000/113").Contains(Ip("2001:db8::8001")));
  EXPECT_FALSE(Prefix("2001:db8::8000/113").Contains(Ip("2001:db8::1")));
}

TEST(IpPrefix, ContainsAndOverlapsPrefixes) {
  const IpPrefix cluster = Prefix("10.244.0.0/16");
  const IpPrefix lease = Prefix("10.244.3.0/24");
  EXPECT_TRUE(cluster.Contains(lease));
  EXPECT_TRUE(lease.Contains(lease));
  EXPECT_FALSE(lease.Contains(cluster));
  EXPECT_FALSE(Prefix("10.244.0.0/24").Contains(cluster)) << "of the same base";
  EXPECT_TRUE(cluster.Overlaps(lease));
  EXPECT_TRUE(lease.Overlaps(cluster));
  EXPECT_FALSE(lease.Overlaps(Prefix("10.244.4.0/24")));
  EXPECT_FALSE(Prefix("0.0.0.0/0").Overlaps(Prefix("::/0")));
}

TEST(IpPrefix, PartsOfALease) {
  const IpPrefix lease = Prefix("10.244.3.0/24");
  EXPECT_EQ(lease.base(), Ip("10.244.3.0"));
  EXPECT_EQ(lease.length(), 24);
  EXPECT_EQ(lease.family(), IpFamily::kV4);
  EXPECT_EQ(IpPrefix(), Prefix("0.0.0.0/0"));
}

TEST(IpPrefix, Netmasks) {
  EXPECT_EQ(Netmask(IpFamily::kV4, 0), Ip("0.0.0.0"));
  EXPECT_EQ(Netmask(IpFamily::kV4, 20), Ip("255.255.240.0"));
  EXPECT_EQ(Netmask(IpFamily::kV4, 24), Ip("255.255.255.0"));
  EXPECT_EQ(Netmask(IpFamily::kV4, 32), Ip("255.255.255.255"));
  EXPECT_EQ(Netmask(IpFamily::kV6, 65), Ip("ffff:ffff:ffff:ffff:8000::"));
}

}  // namespace
}  // namespace weft
