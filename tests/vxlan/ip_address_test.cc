// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ip_address.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/bytes.h"
#include "tests/support/packet_builder.h"

namespace weft {
namespace {

struct TextRow {
  const char* description;
  const char* in;
  const char* out;  // null: refused
};

constexpr TextRow kV4Texts[] = {
    {"plain", "10.244.3.1", "10.244.3.1"},
    {"zeros", "0.0.0.0", "0.0.0.0"},
    {"largest", "255.255.255.255", "255.255.255.255"},
    {"empty", "", nullptr},
    {"part above 255", "10.0.0.256", nullptr},
    {"leading zero (octal to some)", "10.0.0.01", nullptr},
    {"double zero", "10.0.0.00", nullptr},
    {"three parts", "10.0.1", nullptr},
    {"five parts", "10.0.0.0.1", nullptr},
    {"empty part", "10..0.1", nullptr},
    {"trailing dot", "10.0.0.1.", nullptr},
    {"leading dot", ".10.0.0.1", nullptr},
    {"space", "10.0.0.1 ", nullptr},
    {"sign", "+10.0.0.1", nullptr},
    {"hexadecimal", "0x0a.0.0.1", nullptr},
    {"the character behind 9", "10.0.0.:", nullptr},
    {"another separator", "10.0.0:1", nullptr},
    {"number", "167772161", nullptr},
    {"prefix length", "10.0.0.1/24", nullptr},
    {"many digits", "10.0.0.1000000000000000000000", nullptr},
};

// RFC 4291 section 2.2 forms in, RFC 5952 out; the description has the section of the rule.
constexpr TextRow kV6Texts[] = {
    {"all groups", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6"},
    {"4.1: leading zeros go", "2001:0db8::0001", "2001:db8::1"},
    {"4.2.1: shorten as much as possible", "2001:db8:0:0:0:0:2:1", "2001:db8::2:1"},
    {"4.2.2: one zero group stays", "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
    {"4.2.2: even when written short", "2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
    {"4.2.3: the longest run", "2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
    {"4.2.3: the first of equals", "2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
    {"4.3: lower case", "2001:DB8::ABCD", "2001:db8::abcd"},
    {"5: IPv4-mapped", "::ffff:c000:201", "::ffff:192.0.2.1"},
    {"5: not every ffff is a mapping", "1::ffff:c000:201", "1::ffff:c000:201"},
    {"dotted quad in", "::ffff:192.0.2.1", "::ffff:192.0.2.1"},
    {"dotted quad elsewhere", "64:ff9b::192.0.2.33", "64:ff9b::c000:221"},
    {"dotted quad after six groups", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"},
    {"unspecified", "::", "::"},
    {"loopback", "::1", "::1"},
    {"zeros at the end", "fe80::", "fe80::"},
    {"unshortened zeros", "0:0:0:0:0:0:0:0", "::"},
    {"gap of one at the end", "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
    {"gap of one in front", "::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
    {"two gaps", "1::2::3", nullptr},
    {"three colons", "1:::2", nullptr},
    {"only three colons", ":::", nullptr},
    {"one colon", ":", nullptr},
    {"leading colon", ":1:2:3:4:5:6:7", nullptr},
    {"trailing colon", "1:2:3:4:5:6:7:", nullptr},
    {"trailing colon behind a gap", "::1:", nullptr},
    {"seven groups", "1:2:3:4:5:6:7", nullptr},
    {"nine groups", "1:2:3:4:5:6:7:8:9", nullptr},
    {"gap of no groups", "1:2:3:4::5:6:7:8", nullptr},
    {"five digits", "2001:0db80::1", nullptr},
    {"no digit", "2001:db8::g", nullptr},
    {"sign", "2001:db8::-1", nullptr},
    {"zone", "fe80::1%eth0", nullptr},
    {"brackets", "[::1]", nullptr},
    {"prefix length", "2001:db8::/32", nullptr},
    {"quad too early", "1.2.3.4::", nullptr},
    {"quad too late", "1:2:3:4:5:6:7:1.2.3.4", nullptr},
    {"bad quad", "::ffff:192.0.2.256", nullptr},
    {"short quad", "::192.0.2", nullptr},
    {"space", "::1 ", nullptr},
};

void CheckRows(std::span<const TextRow> rows, IpFamily family) {
  for (const TextRow& row : rows) {
    SCOPED_TRACE(row.description);
    const auto address = IpAddress::Parse(row.in);
    ASSERT_EQ(address.has_value(), row.out != nullptr) << row.in;
    if (!address) continue;
    EXPECT_EQ(address->ToString(), row.out);
    EXPECT_EQ(address->family(), family);
  }
}

TEST(IpAddress, V4TextRows) { CheckRows(kV4Texts, IpFamily::kV4); }
TEST(IpAddress, V6TextRows) { CheckRows(kV6Texts, IpFamily::kV6); }

TEST(IpAddress, AnyAddressSurvivesItsText) {
  constexpr unsigned kSeed = 5952;
  std::mt19937 random(kSeed);
  SCOPED_TRACE(kSeed);
  for (int round = 0; round < 2000; ++round) {
    ByteVector bytes(16);
    // Every second byte pair zero on average: runs of zero groups are the hard part.
    for (std::size_t i = 0; i < 16; i += 2) {
      if (random() % 2 == 0) StoreBe16(bytes.data() + i, static_cast<std::uint16_t>(random()));
    }
    const IpAddress address = IpAddress::FromBytes(IpFamily::kV6, bytes.data());
    EXPECT_EQ(IpAddress::Parse(address.ToString()), address) << address.ToString();
  }
}

TEST(IpAddress, BytesAndNumbers) {
  constexpr IpAddress kAddress = IpAddress::V4(0x0af4'0301);
  static_assert(kAddress.v4() == 0x0af4'0301);
  EXPECT_EQ(kAddress.ToString(), "10.244.3.1");
  EXPECT_EQ(Dump(kAddress.bytes()), Dump(Hex("0a f4 03 01")));
  EXPECT_EQ(kAddress.bits(), 32);
  EXPECT_EQ(IpAddress::FromBytes(IpFamily::kV4, kAddress.bytes().data()), kAddress);

  const ByteVector bytes = Hex("20010db8 00000000 00000000 00000001");
  const IpAddress v6 = IpAddress::V6(Bytes(bytes).first<16>());
  EXPECT_EQ(v6.ToString(), "2001:db8::1");
  EXPECT_EQ(Dump(v6.bytes()), Dump(bytes));
  EXPECT_EQ(v6.bits(), 128);
  EXPECT_FALSE(v6.is_v4());
}

TEST(IpAddress, DefaultIsTheUnspecifiedIpv4Address) {
  EXPECT_EQ(IpAddress(), Ip("0.0.0.0"));
  EXPECT_NE(IpAddress(), Ip("::"));
}

struct KindRow {
  const char* address;
  const char* kinds;  // letters: u unspecified, l loopback, m multicast, b broadcast, k link-local
};

TEST(IpAddress, Kinds) {
  constexpr KindRow kRows[] = {
      {"0.0.0.0", "u"},
      {"::", "u"},
      {"127.0.0.1", "l"},
      {"127.255.0.9", "l"},
      {"::1", "l"},
      {"128.0.0.1", ""},
      {"224.0.0.1", "m"},
      {"239.255.255.255", "m"},
      {"240.0.0.1", ""},
      {"ff02::1", "m"},
      {"169.254.1.1", "k"},
      {"169.255.0.1", ""},
      {"fe80::1", "k"},
      {"febf::1", "k"},
      {"fec0::1", ""},
      {"10.0.0.1", ""},
      {"255.255.255.255", "b"},
      {"fd00::1", ""},
      {"ffff:ffff::1", "m"},
      {"::ffff:127.0.0.1", ""},
  };
  for (const KindRow& row : kRows) {
    const IpAddress address = Ip(row.address);
    std::string kinds;
    if (address.IsUnspecified()) kinds += 'u';
    if (address.IsLoopback()) kinds += 'l';
    if (address.IsMulticast()) kinds += 'm';
    if (address.IsBroadcast()) kinds += 'b';
    if (address.IsLinkLocal()) kinds += 'k';
    EXPECT_EQ(kinds, row.kinds) << row.address;
  }
}

TEST(IpAddress, NextCarriesAndWraps) {
  EXPECT_EQ(Ip("10.244.3.1").Next(), Ip("10.244.3.2"));
  EXPECT_EQ(Ip("10.244.3.255").Next(), Ip("10.244.4.0"));
  EXPECT_EQ(Ip("255.255.255.255").Next(), Ip("0.0.0.0"));
  EXPECT_EQ(Ip("2001:db8::ffff").Next(), Ip("2001:db8::1:0"));
  EXPECT_EQ(Ip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff").Next(), Ip("::"));
}

TEST(IpAddress, SameV4IsSaidOfIpv4Only) {
  EXPECT_TRUE(AreSameV4(Ip("10.0.0.1"), Ip("10.0.0.1")));
  EXPECT_FALSE(AreSameV4(Ip("10.0.0.1"), Ip("10.0.0.2")));
  EXPECT_FALSE(AreSameV4(Ip("2001:db8::1"), Ip("2001:db8::2")));
}

TEST(IpAddress, OrderIsFamilyThenNumber) {
  EXPECT_LT(Ip("9.255.255.255"), Ip("10.0.0.0"));
  EXPECT_LT(Ip("127.0.0.1"), Ip("128.0.0.1"));
  EXPECT_LT(Ip("255.255.255.255"), Ip("::"));
  EXPECT_LT(Ip("2001:db8::1"), Ip("2001:db8::2"));
}

}  // namespace
}  // namespace weft
