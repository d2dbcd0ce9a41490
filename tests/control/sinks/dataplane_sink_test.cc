// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/dataplane_sink.h"

#include "dataplane/remote_snapshot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::control {
namespace {

using testing::Address;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Mac;
using testing::MakePeer;

class DataplaneSinkTest : public ::testing::Test {
 protected:
  // "192.0.2.1 02:00:00:00:00:01" for the remote of an inner address.
  std::string Behind(std::string_view inner) const {
    const auto snapshot = table.snapshot();
    const dataplane::Remote* remote = snapshot->Find(Address(inner));
    return remote == nullptr ? "nobody" : remote->vtep.ToString() + " " + remote->mac.ToString();
  }

  dataplane::PeerTable peers;
  dataplane::RemoteTable table{
      dataplane::LocalVtep{.outer_source = Address("192.0.2.9"), .mac = Mac("02:00:00:00:00:09")},
      peers};
  const lease::Peer a = MakePeer("a", "10.244.1.0/24", "192.0.2.1", "02:00:00:00:00:01");
};

TEST_F(DataplaneSinkTest, APeerBecomesARemote) {
  DataplaneSink sink(table);
  sink.Resync(std::vector{a});
  EXPECT_EQ(Behind("10.244.1.0"), "192.0.2.1 02:00:00:00:00:01");
  EXPECT_EQ(Behind("10.244.1.77"), "192.0.2.1 02:00:00:00:00:01");
  EXPECT_EQ(Behind("10.244.2.1"), "nobody");
}

TEST_F(DataplaneSinkTest, AChangedPeerReplacesTheRemote) {
  DataplaneSink sink(table);
  sink.Resync(std::vector{a});
  sink.Update({{MakePeer("b", "10.244.1.0/24", "192.0.2.2", "02:00:00:00:00:02")}, {}});
  EXPECT_EQ(Behind("10.244.1.1"), "192.0.2.2 02:00:00:00:00:02");
}

TEST_F(DataplaneSinkTest, ARetryReportsTheStateAndChangesNothing) {
  DataplaneSink sink(table, IpFamily::kV4, "data plane of flannel.4096");
  EXPECT_EQ(sink.name(), "data plane of flannel.4096");
  sink.Resync(std::vector{a, MakePeer("far", "fd00:0:0:1::/64", "2001:db8::1")});
  const auto version = table.version();
  const lease::SinkReport report = sink.Retry();
  EXPECT_EQ(report.desired, 2u);
  EXPECT_EQ(report.applied, 1u);
  EXPECT_THAT(report.pending, ElementsAre(HasSubstr("node \"far\"")));
  EXPECT_EQ(table.version(), version);
}

TEST_F(DataplaneSinkTest, AResyncForgetsUnreachablePeers) {
  DataplaneSink sink(table, IpFamily::kV4);
  sink.Resync(std::vector{MakePeer("far", "fd00:0:0:1::/64", "2001:db8::1")});
  EXPECT_THAT(sink.Resync(std::vector{a}).pending, IsEmpty());
}

TEST_F(DataplaneSinkTest, NestedSubnetsAreUsedByLongestPrefix) {
  DataplaneSink sink(table);
  sink.Resync(std::vector{a, MakePeer("wide", "10.244.0.0/16", "192.0.2.2", "02:00:00:00:00:02")});
  EXPECT_EQ(Behind("10.244.1.1"), "192.0.2.1 02:00:00:00:00:01");
  EXPECT_EQ(Behind("10.244.9.1"), "192.0.2.2 02:00:00:00:00:02");
}

TEST_F(DataplaneSinkTest, APeerOfAnotherOuterFamilyStaysPendingAndTheRestIsApplied) {
  DataplaneSink sink(table, IpFamily::kV4);
  const lease::Peer far = MakePeer("far", "fd00:0:0:1::/64", "2001:db8::1");
  lease::SinkReport report = sink.Resync(std::vector{a, far});
  EXPECT_EQ(report.desired, 2u);
  EXPECT_EQ(report.applied, 1u);
  EXPECT_EQ(report.failed, 1u) << "that peer's own condition";
  EXPECT_THAT(
      report.pending,
      ElementsAre(HasSubstr("public IP 2001:db8::1 of node \"far\" is not IPv4, the family")));
  report = sink.Update({{MakePeer("far", "fd00:0:0:1::/64", "192.0.2.5")}, {}});
  EXPECT_EQ(report.applied, 2u);
  EXPECT_THAT(report.pending, IsEmpty());
  report = sink.Update({{far}, {}});
  EXPECT_EQ(report.applied, 1u);
  EXPECT_EQ(Behind("fd00:0:0:1::1"), "nobody");
  report = sink.Update({{}, {far.subnet}});
  EXPECT_EQ(report.desired, 1u);
  EXPECT_THAT(report.pending, IsEmpty());
}

}  // namespace
}  // namespace weft::control
