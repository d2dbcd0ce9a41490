// SPDX-License-Identifier: Apache-2.0
#include "dataplane/edge/neighbour_table.h"

#include <gtest/gtest.h>

#include "tests/support/packet_builder.h"

namespace weft::dataplane {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const MacAddress kMac = Mac("02:00:00:00:00:01");
const MacAddress kOther = Mac("02:00:00:00:00:02");

TEST(NeighbourTable, LearnsFindsAndReplaces) {
  NeighbourTable table(16, seconds(60));
  EXPECT_FALSE(table.Find(Ip("10.0.0.1"), seconds(0)));
  table.Learn(Ip("10.0.0.1"), kMac, seconds(0));
  table.Learn(Ip("fd00::1"), kMac, seconds(0));
  EXPECT_EQ(table.Find(Ip("10.0.0.1"), seconds(1)), kMac);
  EXPECT_EQ(table.Find(Ip("fd00::1"), seconds(1)), kMac);
  EXPECT_FALSE(table.Find(Ip("10.0.0.2"), seconds(1)));
  table.Learn(Ip("10.0.0.1"), kOther, seconds(2));
  EXPECT_EQ(table.Find(Ip("10.0.0.1"), seconds(2)), kOther);
  EXPECT_EQ(table.size(), 2u);
}

TEST(NeighbourTable, ForgetsEntriesThatWereNotSeen) {
  NeighbourTable table(16, seconds(60));
  table.Learn(Ip("10.0.0.1"), kMac, seconds(0));
  EXPECT_TRUE(table.Find(Ip("10.0.0.1"), seconds(60)));
  EXPECT_FALSE(table.Find(Ip("10.0.0.1"), seconds(61)));
  table.Learn(Ip("10.0.0.1"), kMac, seconds(61));
  EXPECT_TRUE(table.Find(Ip("10.0.0.1"), seconds(120)));
}

TEST(NeighbourTable, RequestsOnceASecondAndBeforeExpiry) {
  NeighbourTable table(16, seconds(60));
  const IpAddress pod = Ip("10.0.0.1");
  EXPECT_TRUE(table.ShouldRequest(pod, seconds(0)));
  EXPECT_FALSE(table.ShouldRequest(pod, milliseconds(999)));
  EXPECT_TRUE(table.ShouldRequest(pod, milliseconds(1000)));
  EXPECT_FALSE(table.Find(pod, seconds(1))) << "requested is not known";
  EXPECT_EQ(table.size(), 0u);
  table.Learn(pod, kMac, seconds(2));
  EXPECT_FALSE(table.ShouldRequest(pod, seconds(32)));
  EXPECT_TRUE(table.ShouldRequest(pod, seconds(33))) << "past half its lifetime";
  EXPECT_TRUE(table.Find(pod, seconds(33))) << "and still good";
  EXPECT_FALSE(table.ShouldRequest(pod, milliseconds(33'500)));
}

TEST(NeighbourTable, IsBoundedAndGivesUpTheOldest) {
  NeighbourTable table(8, seconds(1'000'000));  // one set
  for (std::uint32_t i = 0; i < 8; ++i) table.Learn(IpAddress::V4(i), kMac, seconds(i));
  table.Learn(IpAddress::V4(0), kMac, seconds(8));  // seen again: 1 is the oldest now
  table.Learn(IpAddress::V4(100), kMac, seconds(9));
  EXPECT_TRUE(table.Find(IpAddress::V4(0), seconds(9)));
  EXPECT_FALSE(table.Find(IpAddress::V4(1), seconds(9)));
  EXPECT_TRUE(table.Find(IpAddress::V4(100), seconds(9)));
  EXPECT_EQ(table.size(), 8u);
}

TEST(NeighbourTable, RequestsDisplaceRequestsFirst) {
  NeighbourTable table(8, seconds(1'000'000));
  for (std::uint32_t i = 0; i < 7; ++i) table.Learn(IpAddress::V4(i), kMac, seconds(i));
  for (std::uint32_t i = 100; i < 200; ++i)
    EXPECT_TRUE(table.ShouldRequest(IpAddress::V4(i), seconds(i)));
  for (std::uint32_t i = 0; i < 7; ++i)
    EXPECT_TRUE(table.Find(IpAddress::V4(i), seconds(200))) << i;
}

TEST(NeighbourTable, ACapacityOfZeroIsStillATable) {
  NeighbourTable table(0, seconds(60));
  table.Learn(Ip("10.0.0.1"), kMac, seconds(0));
  EXPECT_EQ(table.Find(Ip("10.0.0.1"), seconds(0)), kMac);
}

TEST(NeighbourTable, ALearntEntryEndsTheRequest) {
  NeighbourTable table(16, seconds(60));
  const IpAddress pod = Ip("10.0.0.1");
  EXPECT_TRUE(table.ShouldRequest(pod, seconds(0)));
  table.Learn(pod, kMac, seconds(0));
  EXPECT_TRUE(table.ShouldRequest(pod, seconds(31))) << "requested once, answered, and due again";
}

TEST(NeighbourTable, HoldsItsCapacity) {
  NeighbourTable table(4096, seconds(60));
  for (std::uint32_t i = 0; i < 256; ++i)
    table.Learn(IpAddress::V4(0x0af4'0100 + i), kMac, seconds(0));
  std::size_t found = 0;
  for (std::uint32_t i = 0; i < 256; ++i)
    found += table.Find(IpAddress::V4(0x0af4'0100 + i), seconds(0)) ? 1 : 0;
  EXPECT_EQ(found, 256u) << "a node's /24";
}

}  // namespace
}  // namespace weft::dataplane
