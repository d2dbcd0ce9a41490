// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/device_route_sink.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fake_host.h"
#include "tests/support/lease_makers.h"

namespace weft::control {
namespace {

using testing::Address;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakePeer;
using testing::Prefix;

constexpr std::uint32_t kDevice = 7;

host::Route RouteOf(std::string_view destination, std::string_view gateway, std::uint32_t adapter,
                    bool onlink) {
  host::Route route;
  route.destination = Prefix(destination);
  route.gateway = Address(gateway);
  route.adapter_index = adapter;
  route.onlink = onlink;
  return route;
}

class DeviceRouteSinkTest : public ::testing::Test {
 protected:
  testing::FakeHost host;
  DeviceRouteSink sink{host, kDevice, "flannel.4096", IpFamily::kV4};
  const lease::Peer a = MakePeer("a", "10.244.1.0/24", "192.0.2.1");
  const lease::Peer b = MakePeer("b", "10.244.2.0/24", "192.0.2.2");
};

// `10.244.1.0/24 via 10.244.1.0 dev flannel.4096 onlink`, upstream v0.28.9.
TEST_F(DeviceRouteSinkTest, TheRouteIsUpstreams) {
  sink.Resync(std::vector{a});
  EXPECT_THAT(host.routes, ElementsAre(RouteOf("10.244.1.0/24", "10.244.1.0", kDevice, true)));
}

TEST_F(DeviceRouteSinkTest, Ipv6) {
  DeviceRouteSink v6(host, kDevice, "flannel.4096", IpFamily::kV6);
  v6.Resync(std::vector{a, MakePeer("a", "fd00:0:0:1::/64", "2001:db8::1")});
  EXPECT_THAT(host.routes, ElementsAre(RouteOf("fd00:0:0:1::/64", "fd00:0:0:1::", kDevice, true)));
  EXPECT_EQ(v6.name(), "routes on flannel.4096 (IPv6)");
}

TEST_F(DeviceRouteSinkTest, WhatTheSystemFillsInIsNotWrong) {
  host::Route there = RouteOf("10.244.1.0/24", "10.244.1.0", kDevice, true);
  there.metric = 1024;
  there.source = Address("10.244.0.0");
  host.routes = {there};
  EXPECT_EQ(sink.Resync(std::vector{a}).applied, 1u);
  EXPECT_THAT(host.done, IsEmpty());
}

TEST_F(DeviceRouteSinkTest, RoutesOfAnotherShapeOrDeviceAreNotOurs) {
  const std::vector<host::Route> foreign = {
      RouteOf("10.244.8.0/24", "10.244.8.1", kDevice, true),   // another gateway
      RouteOf("10.244.9.0/24", "10.244.9.0", kDevice, false),  // not onlink
      RouteOf("10.244.7.0/24", "10.244.7.0", 3, true),         // another device
  };
  host.routes = foreign;
  sink.Resync({});
  EXPECT_EQ(host.routes, foreign);
}

TEST_F(DeviceRouteSinkTest, AWrongGatewayIsReplaced) {
  host.routes = {RouteOf("10.244.1.0/24", "10.244.1.1", kDevice, true)};
  sink.Resync(std::vector{a});
  EXPECT_THAT(host.routes, ElementsAre(RouteOf("10.244.1.0/24", "10.244.1.0", kDevice, true)));
}

TEST_F(DeviceRouteSinkTest, ResyncReadsBackAndSaysWhatIsNotThere) {
  host.loses_routes = true;
  const lease::SinkReport report = sink.Resync(std::vector{a});
  EXPECT_EQ(report.applied, 0u);
  EXPECT_THAT(report.pending,
              ElementsAre("route 10.244.1.0/24 dev flannel.4096: not there when read back"));
}

TEST_F(DeviceRouteSinkTest, ResyncReadsBackAndSaysWhatIsStillThere) {
  host.routes = {RouteOf("10.244.3.0/24", "10.244.3.0", kDevice, true)};
  host.keeps_routes = true;
  const lease::SinkReport report = sink.Resync(std::vector{a});
  EXPECT_EQ(report.desired, 1u);
  EXPECT_EQ(report.applied, 1u);
  EXPECT_THAT(report.pending,
              ElementsAre("route 10.244.3.0/24 dev flannel.4096: still there when read back"));
  host.keeps_routes = false;
  EXPECT_THAT(sink.Retry().pending, IsEmpty());
  EXPECT_THAT(host.routes, ElementsAre(RouteOf("10.244.1.0/24", "10.244.1.0", kDevice, true)));
}

// Routes that are in place are not read back a second time: a resync of 100,000 is one dump.
TEST_F(DeviceRouteSinkTest, AResyncThatChangesNothingReadsOnce) {
  sink.Resync(std::vector{a});
  EXPECT_EQ(host.reads, 2u) << "before and after";
  sink.Resync(std::vector{a});
  EXPECT_EQ(host.reads, 3u);
}

TEST_F(DeviceRouteSinkTest, PeersOfTheOtherFamilyAreNotItsMatter) {
  lease::SinkReport report =
      sink.Resync(std::vector{MakePeer("a", "fd00:0:0:1::/64", "192.0.2.1")});
  EXPECT_EQ(report.desired, 0u);
  report = sink.Update({{MakePeer("b", "fd00:0:0:2::/64", "192.0.2.2")}, {Prefix("fd00::/64")}});
  EXPECT_EQ(report.desired, 0u);
  EXPECT_THAT(host.done, IsEmpty());
}

TEST_F(DeviceRouteSinkTest, AFailedRemovalNamesTheRouteAndTheCause) {
  sink.Resync(std::vector{a});
  host.failing = {a.subnet};
  const lease::SinkReport report = sink.Update({{}, {a.subnet}});
  EXPECT_EQ(report.desired, 0u);
  EXPECT_THAT(report.pending,
              ElementsAre("route 10.244.1.0/24 dev flannel.4096: operation not permitted"));
}

TEST_F(DeviceRouteSinkTest, ATroubleThatPassedIsNotTold) {
  host.failing = {a.subnet};
  sink.Resync(std::vector{a});
  host.failing.clear();
  EXPECT_THAT(sink.Resync(std::vector{a}).pending, IsEmpty());
  host.unreadable = absl::UnavailableError("gone");
  EXPECT_THAT(sink.Resync(std::vector{a}).pending,
              ElementsAre("routes of flannel.4096 cannot be read: gone"));
  EXPECT_THAT(sink.Retry().pending, ElementsAre(HasSubstr("cannot be read"))) << "while it lasts";
}

TEST_F(DeviceRouteSinkTest, AnUpdateReadsNothing) {
  sink.Resync({});
  host.reads = 0;
  sink.Update({{a}, {}});
  EXPECT_EQ(host.reads, 0u);
}

TEST_F(DeviceRouteSinkTest, AFailureNamesTheRouteAndTheCause) {
  host.failing = {a.subnet};
  const lease::SinkReport report = sink.Resync(std::vector{a, b});
  EXPECT_THAT(report.pending,
              ElementsAre("route 10.244.1.0/24 dev flannel.4096: network is unreachable"));
}

TEST_F(DeviceRouteSinkTest, WhileTheRoutesCannotBeReadNothingIsTouchedAndTheRetryReadsFirst) {
  host.routes = {RouteOf("10.244.3.0/24", "10.244.3.0", kDevice, true)};
  host.unreadable = absl::UnavailableError("netlink: out of memory");
  lease::SinkReport report = sink.Resync(std::vector{a});
  EXPECT_EQ(report.desired, 1u);
  EXPECT_EQ(report.applied, 0u);
  EXPECT_THAT(report.pending,
              ElementsAre("routes of flannel.4096 cannot be read: netlink: out of memory"));
  report = sink.Update({{b}, {}});
  EXPECT_EQ(report.desired, 2u);
  EXPECT_THAT(host.done, IsEmpty());

  host.unreadable = absl::OkStatus();
  report = sink.Retry();
  EXPECT_EQ(report.applied, 2u);
  EXPECT_THAT(report.pending, IsEmpty());
  EXPECT_THAT(host.done,
              ElementsAre("put 10.244.1.0/24", "put 10.244.2.0/24", "remove 10.244.3.0/24"));
}

TEST_F(DeviceRouteSinkTest, AddsBeforeItRemoves) {
  sink.Resync(std::vector{a});
  host.done.clear();
  sink.Update({{b}, {a.subnet}});
  EXPECT_THAT(host.done, ElementsAre("put 10.244.2.0/24", "remove 10.244.1.0/24"));
}

}  // namespace
}  // namespace weft::control
