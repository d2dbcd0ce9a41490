// SPDX-License-Identifier: Apache-2.0
#include "vxlan/mac_address.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/bytes.h"

namespace weft {
namespace {

struct MacText {
  const char* description;
  const char* in;
  const char* out;  // null: refused
};

// Six-byte rows of Go's net.ParseMAC tests and of its documentation, and near misses.
constexpr MacText kMacTexts[] = {
    {"colons", "00:15:5d:8c:2f:93", "00:15:5d:8c:2f:93"},
    {"hyphens, as Windows prints", "00-15-5D-8C-2F-93", "00:15:5d:8c:2f:93"},
    {"Cisco dots", "0015.5d8c.2f93", "00:15:5d:8c:2f:93"},
    {"upper case", "00:15:5D:8C:2F:93", "00:15:5d:8c:2f:93"},
    {"mixed case", "aB:Cd:eF:00:00:01", "ab:cd:ef:00:00:01"},
    {"all zeros", "00:00:00:00:00:00", "00:00:00:00:00:00"},
    {"broadcast", "ff:ff:ff:ff:ff:ff", "ff:ff:ff:ff:ff:ff"},
    {"empty", "", nullptr},
    {"one group short", "00:15:5d:8c:2f", nullptr},
    {"one group too many", "00:15:5d:8c:2f:93:01", nullptr},
    {"EUI-64 is not an Ethernet address", "02:00:5e:10:00:00:00:01", nullptr},
    {"EUI-64 in dots", "0200.5e10.0000.0001", nullptr},
    {"mixed separators", "00:15-5d:8c-2f:93", nullptr},
    {"separator changes late", "00:15:5d:8c:2f-93", nullptr},
    {"digits only", "00155d8c2f93", nullptr},
    {"one digit in a group", "0:15:5d:8c:2f:093", nullptr},
    {"no hexadecimal digit", "00:15:5d:8c:2f:9g", nullptr},
    {"space before", " 00:15:5d:8c:2f:93", nullptr},
    {"space after", "00:15:5d:8c:2f:93 ", nullptr},
    {"dots and colons", "0015.5d8c:2f93", nullptr},
    {"dots between pairs", "00.15.5d.8c.2f.93", nullptr},
    {"colons between pairs", "0015:5d8c:2f93", nullptr},
    {"trailing dot", "0015.5d8c.2f9.", nullptr},
};

TEST(MacAddress, TextRows) {
  for (const MacText& row : kMacTexts) {
    SCOPED_TRACE(row.description);
    const auto mac = MacAddress::Parse(row.in);
    ASSERT_EQ(mac.has_value(), row.out != nullptr);
    EXPECT_EQ(mac ? mac->ToString() : "", row.out ? row.out : "");
  }
}

TEST(MacAddress, TextAndBytesAgree) {
  const ByteVector bytes = Hex("00155d8c2f93");
  const MacAddress mac = MacAddress::FromBytes(bytes.data());
  EXPECT_EQ(mac, MacAddress::Parse("00:15:5d:8c:2f:93"));
  EXPECT_EQ(Dump(mac.bytes()), Dump(bytes));
}

TEST(MacAddress, SpecialAddresses) {
  EXPECT_TRUE(MacAddress().IsZero());
  EXPECT_FALSE(MacAddress::Parse("00:00:00:00:00:01")->IsZero());
  EXPECT_TRUE(MacAddress::Parse("ff:ff:ff:ff:ff:ff")->IsGroup());
  EXPECT_TRUE(MacAddress::Parse("01:00:5e:00:00:01")->IsGroup());
  EXPECT_FALSE(MacAddress::Parse("02:00:00:00:00:01")->IsGroup());
}

TEST(MacAddress, OrderIsThatOfTheBytes) {
  EXPECT_LT(*MacAddress::Parse("00:00:00:00:00:ff"), *MacAddress::Parse("00:00:00:00:01:00"));
  EXPECT_LT(*MacAddress::Parse("7f:00:00:00:00:00"), *MacAddress::Parse("80:00:00:00:00:00"));
}

}  // namespace
}  // namespace weft
