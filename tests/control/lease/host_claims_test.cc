// SPDX-License-Identifier: Apache-2.0
#include "control/lease/host_claims.h"

#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::lease {
namespace {

using testing::Address;
using testing::Prefix;

TEST(HostClaims, AreFoundWhereASubnetContainsOne) {
  const std::vector<HostClaim> claims = {{Prefix("10.0.0.0/8"), "wide"},
                                         {Prefix("10.1.0.1/32"), "address"},
                                         {Prefix("192.0.2.0/24"), "link"}};
  const auto found = [&](const char* subnet) {
    const HostClaim* const claim = FindClaim(claims, Prefix(subnet));
    return claim ? claim->what : "none";
  };
  EXPECT_EQ(found("192.0.2.0/24"), "link");
  EXPECT_EQ(found("192.0.0.0/16"), "link");
  EXPECT_EQ(found("192.0.2.0/25"), "none");
  EXPECT_EQ(found("10.1.0.0/24"), "address");
  EXPECT_EQ(found("10.1.0.1/32"), "address");
  EXPECT_EQ(found("10.1.0.2/31"), "none");
  EXPECT_EQ(found("10.0.0.0/8"), "wide");
  EXPECT_EQ(found("10.0.0.0/9"), "address");
  EXPECT_EQ(found("11.0.0.0/8"), "none");
  EXPECT_EQ(found("0.0.0.0/0"), "wide");
  EXPECT_EQ(FindClaim({}, Prefix("0.0.0.0/0")), nullptr);
}

TEST(HostClaims, AnAddressOfANode) {
  for (const char* good : {"10.0.0.1", "169.254.3.4", "100.64.0.1", "240.0.0.1", "2001:db8::1"})
    EXPECT_TRUE(IsNodeAddress(Address(good))) << good;
  for (const char* bad : {"0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.1", "255.255.255.255",
                          "::", "::1", "fe80::1", "ff02::1"})
    EXPECT_FALSE(IsNodeAddress(Address(bad))) << bad;
}

}  // namespace
}  // namespace weft::lease
