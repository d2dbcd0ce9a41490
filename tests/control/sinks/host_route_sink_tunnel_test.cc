// SPDX-License-Identifier: Apache-2.0
// One route for each peer, into a tunnel's device.
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/sinks/host_route_sink.h"
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

// As a tunnel has it.
host::Route RouteOf(std::string_view destination) {
  host::Route route;
  route.destination = Prefix(destination);
  route.adapter_index = kDevice;
  route.marked = true;
  return route;
}

HostRouteConfig Config(IpFamily family = IpFamily::kV4) {
  HostRouteConfig config;
  config.family = family;
  config.network = Prefix(family == IpFamily::kV4 ? "10.244.0.0/16" : "fd00::/48");
  config.tunnel = {kDevice, "flannel.4096"};
  config.direct = false;
  return config;
}

class TunnelRouteTest : public ::testing::Test {
 protected:
  testing::FakeHost host;
  HostRouteSink sink{host, Config()};
  const lease::Peer a = MakePeer("a", "10.244.1.0/24", "192.0.2.1");
  const lease::Peer b = MakePeer("b", "10.244.2.0/24", "192.0.2.2");
};

// `10.244.1.0/24 dev flannel.4096 proto 87`. Upstream v0.28.9 adds `via 10.244.1.0 onlink`, which
// only a device with neighbours needs, and of which the kernel keeps one next hop for each route.
TEST_F(TunnelRouteTest, TheRouteHasNoGatewayAndHasTheMark) {
  sink.Resync(std::vector{a});
  EXPECT_THAT(host.routes, ElementsAre(RouteOf("10.244.1.0/24")));
  EXPECT_EQ(sink.name(), "routes on flannel.4096 (IPv4)");
}

TEST_F(TunnelRouteTest, Ipv6) {
  HostRouteSink v6(host, Config(IpFamily::kV6));
  v6.Resync(std::vector{a, MakePeer("a", "fd00:0:0:1::/64", "2001:db8::1")});
  EXPECT_THAT(host.routes, ElementsAre(RouteOf("fd00:0:0:1::/64")));
  EXPECT_EQ(v6.name(), "routes on flannel.4096 (IPv6)");
}

TEST_F(TunnelRouteTest, ValuesThatTheSystemFillsInAreCorrect) {
  host::Route there = RouteOf("10.244.1.0/24");
  there.metric = 1024;
  there.source = Address("10.244.0.0");
  host.routes = {there};
  EXPECT_EQ(sink.Resync(std::vector{a}).applied, 1u);
  EXPECT_THAT(host.done, IsEmpty());
}

TEST_F(TunnelRouteTest, RoutesWithoutTheMarkAreNotOurs) {
  host::Route bare = RouteOf("10.244.8.0/24");
  bare.marked = false;  // an administrator's, on our device
  host.routes = {bare, RouteOf("10.99.0.0/24")};
  sink.Resync({});
  EXPECT_THAT(host.routes, ElementsAre(bare));
}

// Of an earlier process, under another Backend.Type.
TEST_F(TunnelRouteTest, OursOnTheUnderlayAreReplaced) {
  host::Route old = RouteOf("10.244.1.0/24"), stale = RouteOf("10.244.9.0/24");
  for (host::Route* each : {&old, &stale}) {
    each->adapter_index = 2;
    each->gateway = Address("192.0.2.1");
  }
  host.routes = {old, stale};
  sink.Resync(std::vector{a});
  EXPECT_THAT(host.routes, ElementsAre(RouteOf("10.244.1.0/24")));
}

TEST_F(TunnelRouteTest, AWrongGatewayIsReplaced) {
  host::Route wrong = RouteOf("10.244.1.0/24");
  wrong.gateway = Address("10.244.1.1");
  wrong.marked = false;
  host.routes = {wrong};
  sink.Resync(std::vector{a});
  EXPECT_THAT(host.routes, ElementsAre(RouteOf("10.244.1.0/24")));
}

TEST_F(TunnelRouteTest, ResyncReadsBackAndReportsMissingRoutes) {
  host.loses_routes = true;
  const lease::SinkReport report = sink.Resync(std::vector{a});
  EXPECT_EQ(report.applied, 0u);
  EXPECT_THAT(report.pending,
              ElementsAre("route 10.244.1.0/24 dev flannel.4096: missing when read back"));
}

TEST_F(TunnelRouteTest, ResyncReadsBackAndReportsRemainingRoutes) {
  host.routes = {RouteOf("10.244.3.0/24")};
  host.keeps_routes = true;
  const lease::SinkReport report = sink.Resync(std::vector{a});
  EXPECT_EQ(report.desired, 1u);
  EXPECT_EQ(report.applied, 1u);
  EXPECT_THAT(report.pending,
              ElementsAre("route 10.244.3.0/24 dev flannel.4096: still present when read back"));
  host.keeps_routes = false;
  EXPECT_THAT(sink.Retry().pending, IsEmpty());
  EXPECT_THAT(host.routes, ElementsAre(RouteOf("10.244.1.0/24")));
}

// Existing routes are not read back a second time: a resync of 100,000 is one dump.
TEST_F(TunnelRouteTest, AResyncThatChangesNothingReadsOnce) {
  sink.Resync(std::vector{a});
  EXPECT_EQ(host.reads, 2u) << "before and after";
  sink.Resync(std::vector{a});
  EXPECT_EQ(host.reads, 3u);
}

TEST_F(TunnelRouteTest, PeersOfTheOtherFamilyAreIgnored) {
  lease::SinkReport report =
      sink.Resync(std::vector{MakePeer("a", "fd00:0:0:1::/64", "192.0.2.1")});
  EXPECT_EQ(report.desired, 0u);
  report = sink.Update({{MakePeer("b", "fd00:0:0:2::/64", "192.0.2.2")}, {Prefix("fd00::/64")}});
  EXPECT_EQ(report.desired, 0u);
  EXPECT_THAT(host.done, IsEmpty());
}

TEST_F(TunnelRouteTest, AFailedRemovalNamesTheRouteAndTheCause) {
  sink.Resync(std::vector{a});
  host.failing = {a.subnet};
  const lease::SinkReport report = sink.Update({{}, {a.subnet}});
  EXPECT_EQ(report.desired, 0u);
  EXPECT_THAT(report.pending,
              ElementsAre("route 10.244.1.0/24 dev flannel.4096: operation not permitted"));
}

TEST_F(TunnelRouteTest, AConditionThatEndedIsNotReported) {
  host.failing = {a.subnet};
  sink.Resync(std::vector{a});
  host.failing.clear();
  EXPECT_THAT(sink.Resync(std::vector{a}).pending, IsEmpty());
  host.unreadable = absl::UnavailableError("gone");
  EXPECT_THAT(sink.Resync(std::vector{a}).pending,
              ElementsAre("routes of flannel.4096 cannot be read: gone"));
  EXPECT_THAT(sink.Retry().pending, ElementsAre(HasSubstr("cannot be read"))) << "while it lasts";
}

TEST_F(TunnelRouteTest, AnUpdateReadsNothing) {
  sink.Resync({});
  host.reads = 0;
  sink.Update({{a}, {}});
  EXPECT_EQ(host.reads, 0u);
}

TEST_F(TunnelRouteTest, AFailureNamesTheRouteAndTheCause) {
  host.failing = {a.subnet};
  const lease::SinkReport report = sink.Resync(std::vector{a, b});
  EXPECT_THAT(report.pending,
              ElementsAre("route 10.244.1.0/24 dev flannel.4096: network is unreachable"));
}

TEST_F(TunnelRouteTest, WhileTheRoutesCannotBeReadNothingIsTouchedAndTheRetryReadsFirst) {
  host.routes = {RouteOf("10.244.3.0/24")};
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

TEST_F(TunnelRouteTest, AddsBeforeItRemoves) {
  sink.Resync(std::vector{a});
  host.done.clear();
  sink.Update({{b}, {a.subnet}});
  EXPECT_THAT(host.done, ElementsAre("put 10.244.2.0/24", "remove 10.244.1.0/24"));
}

// ---- many

std::vector<lease::Peer> Many(int count) {
  std::vector<lease::Peer> peers;
  for (int i = 0; i < count; ++i)
    peers.push_back(MakePeer(absl::StrCat("n", i),
                             absl::StrCat("10.244.", i / 16, ".", i % 16 * 16, "/28"),
                             absl::StrCat("192.0.", i / 250, ".", i % 250)));
  return peers;
}

// Health is answered between them.
TEST_F(TunnelRouteTest, ManyAreAddedInSlices) {
  lease::SinkReport report = sink.Resync(Many(2500));
  std::vector<std::size_t> applied = {report.applied};
  while (report.more) {
    EXPECT_FALSE(report.settled);
    EXPECT_EQ(report.desired, 2500u);
    EXPECT_THAT(report.pending, IsEmpty()) << "what was not tried is no failure";
    report = sink.Retry();
    applied.push_back(report.applied);
  }
  EXPECT_THAT(applied, ElementsAre(1000, 2000, 2500));
  EXPECT_TRUE(report.settled);
  EXPECT_EQ(host.routes.size(), 2500u);
  EXPECT_EQ(host.reads, 2u) << "before and after";
}

TEST_F(TunnelRouteTest, ManyAreRemovedInSlicesAfterTheNewOnesAreAdded) {
  const std::vector<lease::Peer> many = Many(2500);
  for (lease::SinkReport report = sink.Resync(many); report.more;) report = sink.Retry();
  host.done.clear();
  lease::PeerChanges changes{{MakePeer("b", "10.245.0.0/24", "192.0.2.2")}, {}};
  for (const lease::Peer& peer : many) changes.removals.push_back(peer.subnet);
  lease::SinkReport report = sink.Update(changes);
  EXPECT_EQ(host.done.front(), "put 10.245.0.0/24");
  EXPECT_EQ(host.routes.size(), 1502u) << "one slice: one put, 999 removed";
  while (report.more) report = sink.Retry();
  EXPECT_EQ(host.routes.size(), 1u);
  EXPECT_THAT(report.pending, IsEmpty());
}

TEST_F(TunnelRouteTest, AChangeBetweenSlicesIsApplied) {
  std::vector<lease::Peer> many = Many(1500);
  sink.Resync(many);
  const lease::Peer first = many.front();
  lease::SinkReport report = sink.Update(
      {{MakePeer("b", "10.245.0.0/24", "192.0.2.2")}, {first.subnet, many.back().subnet}});
  while (report.more) report = sink.Retry();
  EXPECT_EQ(report.desired, 1499u);
  EXPECT_EQ(report.applied, 1499u);
  EXPECT_EQ(host.routes.size(), 1499u);
}

// A slice of refused routes does not delay the rest, and is tried once per pass.
TEST_F(TunnelRouteTest, RefusedOnesStopNoSlice) {
  const std::vector<lease::Peer> many = Many(2500);
  lease::SinkReport report;
  const auto slices = [&](std::span<const lease::Peer> desired) {
    int count = 1;
    for (report = sink.Resync(desired); report.more && count < 9; ++count) report = sink.Retry();
    return count;
  };
  for (std::size_t i = 0; i < 1000; ++i) host.failing.insert(many[i].subnet);
  EXPECT_EQ(slices(many), 3);
  EXPECT_EQ(report.applied, 1500u);
  EXPECT_EQ(report.failed, 1000u);
  const std::set<IpPrefix> refused = std::exchange(host.failing, {});
  EXPECT_EQ(slices(many), 1);
  host.failing = refused;
  EXPECT_EQ(slices({}), 3);
  EXPECT_EQ(report.stuck, 1000u);
  EXPECT_EQ(host.routes.size(), 1000u);
}

TEST_F(TunnelRouteTest, ThousandsOfFailuresAreNotAllNamed) {
  const std::vector<lease::Peer> many = Many(500);
  for (const lease::Peer& peer : many) host.failing.insert(peer.subnet);
  const lease::SinkReport report = sink.Resync(many);
  EXPECT_EQ(report.failed, 500u);
  EXPECT_EQ(report.pending.size(), 101u);
  EXPECT_EQ(report.pending.back(), "and 400 more");
}

}  // namespace
}  // namespace weft::control
