// SPDX-License-Identifier: Apache-2.0
#include "control/lease/address_uses.h"

#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::lease {
namespace {

using testing::Address;

TEST(AddressUses, CountsEachFamily) {
  for (const char* text : {"192.0.2.1", "2001:db8::1"}) {
    SCOPED_TRACE(text);
    AddressUses uses;
    const IpAddress address = Address(text);
    EXPECT_EQ(uses.Count(address), 0u);
    uses.Add(address);
    EXPECT_EQ(uses.Count(address), 1u);
    EXPECT_FALSE(uses.any_shared());
    uses.Add(address);
    uses.Add(address);
    EXPECT_EQ(uses.Count(address), 3u);
    EXPECT_TRUE(uses.any_shared());
    uses.Remove(address);
    uses.Remove(address);
    EXPECT_EQ(uses.Count(address), 1u);
    EXPECT_FALSE(uses.any_shared());
    uses.Remove(address);
    EXPECT_EQ(uses.Count(address), 0u);
  }
}

TEST(AddressUses, AddressesAreIndependent) {
  AddressUses uses;
  uses.Add(Address("192.0.2.1"));
  uses.Add(Address("192.0.2.1"));
  uses.Add(Address("192.0.2.2"));
  uses.Remove(Address("192.0.2.2"));
  EXPECT_EQ(uses.Count(Address("192.0.2.1")), 2u);
  EXPECT_EQ(uses.Count(Address("192.0.2.2")), 0u);
  EXPECT_EQ(uses.Count(Address("c000:201::")), 0u) << "the bytes of 192.0.2.1, in IPv6";
}

}  // namespace
}  // namespace weft::lease
