// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/host_route_sink.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fake_host.h"
#include "tests/support/fake_route_ledger.h"
#include "tests/support/lease_makers.h"

namespace weft::control {
namespace {

using testing::Address;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakePeer;
using testing::Prefix;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::uint32_t kEth0 = 2, kTunnel = 7;

// As host-gw has it.
host::Route Direct(std::string_view destination, std::string_view gateway) {
  host::Route route;
  route.destination = Prefix(destination);
  route.gateway = Address(gateway);
  route.adapter_index = kEth0;
  route.marked = true;
  return route;
}

// As a tunnel has it.
host::Route Tunnelled(std::string_view destination) {
  host::Route route;
  route.destination = Prefix(destination);
  route.adapter_index = kTunnel;
  route.marked = true;
  return route;
}

host::Route NotMarked(host::Route route) {
  route.marked = false;
  return route;
}

// eth0 192.0.2.9/24; peers a and b are on its link, far is not.
class HostRouteSinkTest : public ::testing::Test {
 protected:
  HostRouteSinkTest() {
    host::Adapter eth0;
    eth0.index = kEth0;
    eth0.name = "eth0";
    eth0.up = true;
    eth0.addresses = {{Address("192.0.2.9"), 24}, {Address("2001:db8::9"), 64}};
    host.adapters = {eth0};
  }
  static HostRouteConfig Config(IpFamily family = IpFamily::kV4) {
    const bool v4 = family == IpFamily::kV4;
    return {family, {kEth0, "eth0"}, Prefix(v4 ? "10.244.0.0/16" : "fd00:244::/48"), {}};
  }
  static HostRouteConfig WithTunnel() {
    HostRouteConfig config = Config();
    config.tunnel = {kTunnel, "flannel.4096"};
    return config;
  }

  testing::FakeHost host;
  HostRouteSink sink{host, Config()};
  HostRouteSink both{host, WithTunnel()};
  const lease::Peer a = MakePeer("a", "10.244.1.0/24", "192.0.2.1");
  const lease::Peer b = MakePeer("b", "10.244.2.0/24", "192.0.2.2");
  const lease::Peer far = MakePeer("far", "10.244.3.0/24", "198.51.100.3");
};

// `10.244.1.0/24 via 192.0.2.1 dev eth0`, upstream v0.28.9; ours has the mark.
TEST_F(HostRouteSinkTest, TheRouteIsUpstreams) {
  sink.Resync(std::vector{a});
  EXPECT_THAT(host.routes, ElementsAre(Direct("10.244.1.0/24", "192.0.2.1")));
  EXPECT_EQ(sink.name(), "routes on eth0 (IPv4)");
}

TEST_F(HostRouteSinkTest, Ipv6) {
  HostRouteSink v6(host, Config(IpFamily::kV6));
  v6.Resync(std::vector{a, MakePeer("a", "fd00:244:0:1::/64", "2001:db8::1")});
  EXPECT_THAT(host.routes, ElementsAre(Direct("fd00:244:0:1::/64", "2001:db8::1")));
  EXPECT_EQ(v6.name(), "routes on eth0 (IPv6)");
}

// ---- what is not on link

TEST_F(HostRouteSinkTest, OnlyThePeerBehindARouterIsRefused) {
  const lease::SinkReport report = sink.Resync(std::vector{a, far});
  EXPECT_THAT(host.routes, ElementsAre(Direct("10.244.1.0/24", "192.0.2.1")));
  EXPECT_EQ(report.desired, 1u);
  EXPECT_EQ(report.applied, 1u);
  EXPECT_THAT(report.pending, IsEmpty());
  EXPECT_THAT(report.refused,
              ElementsAre("peer \"far\" (10.244.3.0/24) has no route: its address 198.51.100.3 is "
                          "not on the link of eth0, and host routes cannot cross a router; connect "
                          "the node to that link, or use vxlan"));
  EXPECT_THAT(sink.Update({{}, {far.subnet}}).refused, IsEmpty());
}

// Its route is not kept, because the address may be another node's by now.
TEST_F(HostRouteSinkTest, AMoveBehindARouterRemovesTheRoute) {
  sink.Resync(std::vector{a});
  const lease::Peer moved = MakePeer("a", "10.244.1.0/24", "198.51.100.1");
  EXPECT_THAT(sink.Update({{moved}, {}}).refused, ElementsAre(HasSubstr("198.51.100.1")));
  EXPECT_THAT(host.routes, IsEmpty());
  EXPECT_THAT(sink.Update({{a}, {}}).refused, IsEmpty());
  EXPECT_THAT(host.routes, ElementsAre(Direct("10.244.1.0/24", "192.0.2.1")));
}

TEST_F(HostRouteSinkTest, ARouteWithoutGatewayPutsItsDestinationOnLink) {
  host::Route on_link;
  on_link.destination = Prefix("198.51.100.0/24");
  on_link.adapter_index = kEth0 + 1;
  host.routes = {on_link};
  EXPECT_THAT(sink.Resync(std::vector{far}).refused, SizeIs(1)) << "on another adapter's link";
  host.routes[0].adapter_index = kEth0;
  EXPECT_EQ(sink.Resync(std::vector{far}).applied, 1u);
}

TEST_F(HostRouteSinkTest, AnAddressThatComesLaterIsSeenByTheResync) {
  sink.Resync(std::vector{far});
  host.adapters[0].addresses.push_back({Address("198.51.100.9"), 24});
  const lease::SinkReport report = sink.Resync(std::vector{far});
  EXPECT_THAT(report.refused, IsEmpty());
  EXPECT_EQ(report.applied, 1u);
}

// ---- our routes and foreign ones

TEST_F(HostRouteSinkTest, OnlyMarkedRoutesAreOurs) {
  host::Route without_gateway = Direct("10.244.7.0/24", "192.0.2.8");
  without_gateway.gateway.reset();
  const std::vector<host::Route> foreign = {
      without_gateway, NotMarked(Direct("10.244.8.0/24", "192.0.2.8"))};  // an administrator's
  host.routes = foreign;
  host.routes.push_back(Direct("10.244.9.0/24", "192.0.2.77"));  // of a node that is gone
  sink.Resync({});
  EXPECT_EQ(host.routes, foreign);
}

// The underlay has moved to another adapter since.
TEST_F(HostRouteSinkTest, OursAreOursOnEveryAdapter) {
  host::Route old = Direct("10.244.9.0/24", "192.0.2.77");
  old.adapter_index = 3;
  host.routes = {old};
  sink.Resync({});
  EXPECT_THAT(host.routes, IsEmpty());
}

// Network was another one before this start.
TEST_F(HostRouteSinkTest, OursAreOursOutsideOfTheNetwork) {
  const host::Route foreign = NotMarked(Direct("192.168.4.0/24", "192.0.2.78"));
  host.routes = {Direct("192.168.3.0/24", "192.0.2.77"), foreign};
  sink.Resync({});
  EXPECT_THAT(host.routes, ElementsAre(foreign));
}

// Upstream's flanneld marks nothing.
TEST_F(HostRouteSinkTest, UpstreamsRoutesAreTakenOverInPlace) {
  host.routes = {NotMarked(Direct("10.244.1.0/24", "192.0.2.1"))};
  sink.Resync(std::vector{a});
  EXPECT_THAT(host.routes, ElementsAre(Direct("10.244.1.0/24", "192.0.2.1")));
  EXPECT_THAT(host.done, ElementsAre("replace 10.244.1.0/24"));
}

TEST_F(HostRouteSinkTest, AnOnlinkRouteIsReplacedByThePlainOne) {
  host::Route there = Direct("10.244.1.0/24", "192.0.2.1");
  there.onlink = true;
  host.routes = {there};
  sink.Resync(std::vector{a});
  EXPECT_THAT(host.routes, ElementsAre(Direct("10.244.1.0/24", "192.0.2.1")));
}

TEST_F(HostRouteSinkTest, APeerOutsideTheNetworkIsReadBackToo) {
  const lease::Peer outside = MakePeer("x", "10.99.1.0/24", "192.0.2.1");
  EXPECT_EQ(sink.Resync(std::vector{outside}).applied, 1u);
  sink.Update({{}, {outside.subnet}});
  EXPECT_THAT(host.routes, IsEmpty());
}

TEST_F(HostRouteSinkTest, ValuesThatTheSystemFillsInAreCorrect) {
  host::Route there = Direct("10.244.1.0/24", "192.0.2.1");
  there.metric = 281;
  there.source = Address("192.0.2.9");
  host.routes = {there};
  EXPECT_EQ(sink.Resync(std::vector{a}).applied, 1u);
  EXPECT_THAT(host.done, IsEmpty());
}

// ---- no ghosts

TEST_F(HostRouteSinkTest, ANewAddressLeavesNoRouteToTheOldOneOnAnySystem) {
  const lease::Peer moved = MakePeer("a", "10.244.1.0/24", "192.0.2.77");
  for (const bool adds_next_to : {false, true}) {
    host.adds_next_to = adds_next_to;
    host.routes.clear();
    sink.Resync(std::vector{a});
    host.done.clear();
    EXPECT_EQ(sink.Update({{moved}, {}}).applied, 1u);
    EXPECT_THAT(host.routes, ElementsAre(Direct("10.244.1.0/24", "192.0.2.77")));
    EXPECT_THAT(host.done, ElementsAre("replace 10.244.1.0/24", "remove 10.244.1.0/24"));
    sink.Resync(std::vector{moved});
    EXPECT_EQ(host.routes.size(), 1u);
  }
}

TEST_F(HostRouteSinkTest, AStaleRouteOfAFormerProcessIsRemoved) {
  host.adds_next_to = true;
  host.routes = {Direct("10.244.1.0/24", "192.0.2.77"), Direct("10.244.1.0/24", "192.0.2.1")};
  sink.Resync(std::vector{a});
  EXPECT_THAT(host.routes, ElementsAre(Direct("10.244.1.0/24", "192.0.2.1")));
}

TEST_F(HostRouteSinkTest, TheOldRouteStaysWhileTheNewOneIsRefused) {
  sink.Resync(std::vector{a});
  host.failing = {a.subnet};
  const lease::Peer moved = MakePeer("a", "10.244.1.0/24", "192.0.2.77");
  const lease::SinkReport report = sink.Update({{moved}, {}});
  EXPECT_THAT(host.routes, ElementsAre(Direct("10.244.1.0/24", "192.0.2.1")));
  EXPECT_THAT(report.pending,
              ElementsAre("route 10.244.1.0/24 via 192.0.2.77 dev eth0: network is unreachable",
                          "route 10.244.1.0/24 via 192.0.2.1 dev eth0: stays until the route that "
                          "takes its place can be put"));
  host.failing.clear();
  EXPECT_THAT(sink.Retry().pending, IsEmpty());
  EXPECT_THAT(host.routes, ElementsAre(Direct("10.244.1.0/24", "192.0.2.77")));
}

// ---- DirectRouting

TEST_F(HostRouteSinkTest, WithATunnelThePeersBehindARouterUseIt) {
  const lease::SinkReport report = both.Resync(std::vector{a, far});
  EXPECT_THAT(host.routes, UnorderedElementsAre(Direct("10.244.1.0/24", "192.0.2.1"),
                                                Tunnelled("10.244.3.0/24")));
  EXPECT_EQ(report.applied, 2u);
  EXPECT_THAT(report.refused, IsEmpty());
  EXPECT_EQ(both.name(), "routes on eth0 and flannel.4096 (IPv4)");
}

// The kernel takes no gateway that it reaches through another one.
TEST_F(HostRouteSinkTest, APeerBehindARouterInsideTheLinksPrefixUsesTheTunnel) {
  host.adapters[0].addresses = {{Address("10.4.0.9"), 8}, {Address("10.7.0.9"), 16}};
  const auto route = [](const char* to, const char* via, std::uint32_t adapter,
                        host::RouteKind kind = host::RouteKind::kPlain) {
    host::Route made;
    made.destination = Prefix(to);
    if (*via != '\0') made.gateway = Address(via);
    made.adapter_index = adapter;
    made.kind = kind;
    return made;
  };
  const struct {
    const char* description;
    host::Route route;
    const char* peer;
    bool direct;
  } rows[] = {
      {"by a router of the link", route("10.5.0.0/16", "10.4.0.1", kEth0), "10.5.0.3", false},
      {"beside it", route("10.5.0.0/16", "10.4.0.1", kEth0), "10.6.0.3", true},
      {"by a router of another link", route("10.5.0.0/16", "172.16.0.1", 9), "10.5.0.3", false},
      {"into another device", route("10.5.0.3/32", "", 9), "10.5.0.3", false},
      {"on the link itself", route("10.5.0.0/16", "", kEth0), "10.5.0.3", true},
      {"an overlapping address", route("10.5.0.0/16", "", 9, host::RouteKind::kDerived), "10.5.0.3",
       true},
      {"no wider one", route("10.0.0.0/7", "10.4.0.1", kEth0), "10.5.0.3", true},
      {"the default route", route("0.0.0.0/0", "10.4.0.1", kEth0), "10.5.0.3", true},
      {"as wide as the link's", route("10.7.0.0/16", "10.4.0.1", kEth0), "10.7.0.3", true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    host.routes = {row.route};
    const lease::Peer peer = MakePeer("p", "10.244.5.0/24", row.peer);
    HostRouteSink tunnelled(host, WithTunnel());
    tunnelled.Resync(std::vector{peer});
    ASSERT_THAT(host.routes, SizeIs(2));
    EXPECT_EQ(host.routes[1],
              row.direct ? Direct("10.244.5.0/24", row.peer) : Tunnelled("10.244.5.0/24"));
    host.routes = {row.route};
    HostRouteSink alone(host, Config());
    EXPECT_THAT(alone.Resync(std::vector{peer}).refused, IsEmpty()) << "the system decides";
  }
}

TEST_F(HostRouteSinkTest, ARouterThatComesAndGoesMovesThePeersBehindIt) {
  host.adapters[0].addresses = {{Address("10.4.0.9"), 8}};
  const std::vector peers{MakePeer("p", "10.244.5.0/24", "10.5.0.3"), far};
  sink.Resync(std::vector<lease::Peer>{});
  both.Resync(peers);
  const host::Route router = NotMarked(Direct("10.5.0.0/16", "10.4.0.1"));
  const auto concerns = [](const HostRouteSink& one, const host::Route& route, bool gone = false) {
    return one.IsConcernedBy({host::RouteChange{route, gone}});
  };
  EXPECT_TRUE(concerns(both, router));
  EXPECT_FALSE(concerns(sink, router)) << "without a tunnel";
  EXPECT_FALSE(concerns(both, NotMarked(Direct("192.0.2.0/24", "10.4.0.1"))));
  EXPECT_FALSE(concerns(both, NotMarked(Direct("10.0.0.0/8", "10.4.0.1")))) << "the link's own";
  EXPECT_FALSE(concerns(both, Direct("10.5.0.0/16", "10.4.0.1"))) << "ours";
  host.routes.push_back(router);
  both.Retry();
  EXPECT_THAT(host.routes,
              UnorderedElementsAre(router, Tunnelled("10.244.5.0/24"), Tunnelled("10.244.3.0/24")));
  std::erase(host.routes, router);
  EXPECT_TRUE(concerns(both, router, /*gone=*/true));
  both.Retry();
  EXPECT_THAT(host.routes, UnorderedElementsAre(Direct("10.244.5.0/24", "10.5.0.3"),
                                                Tunnelled("10.244.3.0/24")));
}

TEST_F(HostRouteSinkTest, AConditionNamesTheDeviceOfItsRoute) {
  host.failing = {a.subnet, far.subnet};
  EXPECT_THAT(both.Resync(std::vector{a, far}).pending,
              ElementsAre("route 10.244.1.0/24 via 192.0.2.1 dev eth0: network is unreachable",
                          "route 10.244.3.0/24 dev flannel.4096: network is unreachable"));
}

TEST_F(HostRouteSinkTest, AMoveBetweenLinkAndTunnelAddsBeforeItRemoves) {
  both.Resync(std::vector{a});
  const lease::Peer moved = MakePeer("a", "10.244.1.0/24", "198.51.100.1");
  for (const bool adds_next_to : {false, true}) {
    host.adds_next_to = adds_next_to;
    host.done.clear();
    EXPECT_EQ(both.Update({{moved}, {}}).applied, 1u);
    EXPECT_THAT(host.routes, ElementsAre(Tunnelled("10.244.1.0/24")));
    EXPECT_EQ(both.Update({{a}, {}}).applied, 1u);
    EXPECT_THAT(host.routes, ElementsAre(Direct("10.244.1.0/24", "192.0.2.1")));
    EXPECT_THAT(host.done, ElementsAre("replace 10.244.1.0/24", "remove 10.244.1.0/24",
                                       "replace 10.244.1.0/24", "remove 10.244.1.0/24"));
  }
}

// An address of the underlay was added or removed: handled by the resync, and still the new route
// first.
TEST_F(HostRouteSinkTest, AResyncMovesTheSameWay) {
  both.Resync(std::vector{far});
  host.done.clear();
  host.adapters[0].addresses.push_back({Address("198.51.100.9"), 24});
  both.Resync(std::vector{far});
  EXPECT_THAT(host.routes, ElementsAre(Direct("10.244.3.0/24", "198.51.100.3")));
  host.adapters[0].addresses.pop_back();
  both.Resync(std::vector{far});
  EXPECT_THAT(host.routes, ElementsAre(Tunnelled("10.244.3.0/24")));
  EXPECT_THAT(host.done, ElementsAre("replace 10.244.3.0/24", "remove 10.244.3.0/24",
                                     "replace 10.244.3.0/24", "remove 10.244.3.0/24"));
}

TEST_F(HostRouteSinkTest, StaleRoutesOnTheTunnelAreRemovedAndForeignOnesStay) {
  std::vector<host::Route> foreign = {NotMarked(Tunnelled("10.244.8.0/24")),
                                      Tunnelled("10.244.7.0/24"), Tunnelled("10.244.6.0/24")};
  foreign[1].kind = host::RouteKind::kDerived;
  foreign[2].adapter_index = kEth0;
  host.routes = foreign;
  host.routes.push_back(Tunnelled("10.244.9.0/24"));
  both.Resync({});
  EXPECT_EQ(host.routes, foreign);
}

// ---- the ledger

class HostRouteLedgerTest : public HostRouteSinkTest {
 protected:
  static RouteKey Key(std::string_view destination, std::string_view gateway) {
    return {Prefix(destination), Address(gateway)};
  }
  testing::FakeRouteLedger ledger{host};
  HostRouteSink entered{host, Config(), &ledger};
};

TEST_F(HostRouteLedgerTest, EnteredBeforeTheyAreAddedAndForgottenOnceTheyAreGone) {
  entered.Resync(std::vector{a, b, far});
  EXPECT_THAT(ledger.routes,
              ElementsAre(Key("10.244.1.0/24", "192.0.2.1"), Key("10.244.2.0/24", "192.0.2.2")));
  EXPECT_EQ(ledger.batches, 1);
  entered.Resync(std::vector{a, b, far});
  EXPECT_EQ(ledger.batches, 1) << "nothing new";
  entered.Update({{}, {a.subnet, b.subnet}});
  EXPECT_THAT(ledger.routes, IsEmpty());
  EXPECT_EQ(ledger.batches, 2);
}

// The mark proves that it is ours, even without the ledger.
TEST_F(HostRouteLedgerTest, AMarkedRouteIsEntered) {
  host.routes = {Direct("10.244.1.0/24", "192.0.2.1")};
  entered.Resync(std::vector{a});
  EXPECT_THAT(host.done, IsEmpty());
  EXPECT_THAT(ledger.routes, ElementsAre(Key("10.244.1.0/24", "192.0.2.1")));
}

TEST_F(HostRouteLedgerTest, ARouteThatReturnsBetweenReadsIsEnteredAgain) {
  entered.Resync(std::vector{a});
  entered.Update({{}, {a.subnet}});
  EXPECT_THAT(ledger.routes, IsEmpty());
  entered.Update({{a}, {}});
  EXPECT_THAT(ledger.routes, ElementsAre(Key("10.244.1.0/24", "192.0.2.1")));
}

TEST_F(HostRouteLedgerTest, AMoveEndsWithOneEntry) {
  host.adds_next_to = true;
  entered.Resync(std::vector{a});
  entered.Update({{MakePeer("a", "10.244.1.0/24", "192.0.2.11")}, {}});
  EXPECT_THAT(ledger.routes, ElementsAre(Key("10.244.1.0/24", "192.0.2.11")));
}

// A vSwitch was created: a later process of ours finds its routes on the NIC and needs them on the
// switch.
TEST_F(HostRouteLedgerTest, AMoveToAnotherAdapterIsNoRemoval) {
  host.adds_next_to = true;
  host.adapters.push_back(host.adapters[0]);
  host.adapters[1].index = kEth0 + 1;
  entered.Resync(std::vector{a});
  HostRouteConfig on_switch = Config();
  on_switch.underlay.adapter_index = kEth0 + 1;
  HostRouteSink next(host, on_switch, &ledger);
  next.Resync(std::vector{a});
  ASSERT_EQ(host.routes.size(), 1u);
  EXPECT_EQ(host.routes[0].adapter_index, kEth0 + 1);
  EXPECT_EQ(ledger.batches, 1) << "nothing to enter, nothing to drop";
  EXPECT_THAT(ledger.routes, ElementsAre(Key("10.244.1.0/24", "192.0.2.1")));
}

TEST_F(HostRouteLedgerTest, ARefusedOneStaysEnteredWhileItIsDesired) {
  host.failing = {a.subnet};
  entered.Resync(std::vector{a});
  EXPECT_EQ(ledger.routes.size(), 1u) << "perhaps it was put";
  host.failing.clear();
  host.routes = {NotMarked(Direct("10.244.1.0/24", "192.0.2.77"))};
  EXPECT_THAT(entered.Update({{b}, {}}).pending, ElementsAre(HasSubstr("file exists")));
  EXPECT_EQ(ledger.routes.size(), 2u) << "still perhaps";
  host.routes.clear();
  host.failing = {a.subnet};
  entered.Update({{}, {b.subnet}});
  entered.Update({{}, {a.subnet}});
  entered.Retry();
  EXPECT_THAT(ledger.routes, IsEmpty());
}

TEST_F(HostRouteLedgerTest, EntriesOfAnEarlierProcessAreForgottenOnceTheirRoutesAreGone) {
  ledger.routes = {Key("10.244.9.0/24", "192.0.2.99"), Key("fd00:244:9::/64", "2001:db8::99")};
  entered.Resync(std::vector{a});
  EXPECT_THAT(ledger.routes, ElementsAre(Key("10.244.1.0/24", "192.0.2.1"),
                                         Key("fd00:244:9::/64", "2001:db8::99")));
}

TEST_F(HostRouteLedgerTest, AForgottenRouteIsIntendedAgainBeforeItIsAdded) {
  ledger.routes = {Key("10.244.1.0/24", "192.0.2.1")};
  entered.Resync({});
  EXPECT_THAT(ledger.routes, IsEmpty()) << "it does not exist";
  entered.Update({{a}, {}});
  EXPECT_THAT(ledger.routes, ElementsAre(Key("10.244.1.0/24", "192.0.2.1")));
}

TEST_F(HostRouteLedgerTest, TheTunnelsRoutesAreForgottenWithIt) {
  HostRouteSink with_tunnel(host, WithTunnel(), &ledger);
  with_tunnel.Resync(std::vector{a, far});
  EXPECT_THAT(ledger.routes, ElementsAre(Key("10.244.1.0/24", "192.0.2.1")));
}

// ---- errors

TEST_F(HostRouteSinkTest, WhileTheHostCannotBeReadNothingIsTouchedAndTheRetryReadsFirst) {
  host.unreadable = absl::UnavailableError("netlink: out of memory");
  lease::SinkReport report = sink.Resync(std::vector{a, far});
  EXPECT_EQ(report.applied, 0u);
  EXPECT_THAT(report.pending, ElementsAre("routes of eth0 cannot be read: netlink: out of memory"));
  EXPECT_THAT(report.refused, IsEmpty()) << "what is on link is not known";
  report = sink.Update({{b}, {}});
  EXPECT_EQ(report.desired, 3u);
  EXPECT_THAT(host.done, IsEmpty());
  host.unreadable = absl::OkStatus();
  report = sink.Retry();
  EXPECT_EQ(report.applied, 2u);
  EXPECT_THAT(report.refused, ElementsAre(HasSubstr("\"far\"")));
}

TEST_F(HostRouteSinkTest, WithoutTheAdaptersNothingIsTouchedEither) {
  class Blind final : public testing::FakeHost {
    absl::StatusOr<std::vector<host::Adapter>> Adapters() override {
      return absl::UnavailableError("netlink: out of memory");
    }
  };
  Blind blind;
  EXPECT_THAT(HostRouteSink(blind, Config()).Resync(std::vector{a}).pending,
              ElementsAre("routes of eth0 cannot be read: netlink: out of memory"));
  EXPECT_THAT(blind.done, IsEmpty());
}

TEST_F(HostRouteSinkTest, AnAdapterThatIsGoneOrDownIsWaitedFor) {
  host.adapters[0].up = false;
  EXPECT_THAT(sink.Resync(std::vector{a}).pending,
              ElementsAre("routes of eth0 cannot be read: the adapter is down; set it up"));
  const std::vector<host::Adapter> there = std::exchange(host.adapters, {});
  EXPECT_THAT(sink.Retry().pending,
              ElementsAre("routes of eth0 cannot be read: the adapter is gone"));
  host.adapters = there;
  host.adapters[0].up = true;
  EXPECT_EQ(sink.Retry().applied, 1u);
}

TEST_F(HostRouteSinkTest, ResyncReadsBackAndReportsMissingRoutes) {
  host.loses_routes = true;
  EXPECT_THAT(sink.Resync(std::vector{a}).pending,
              ElementsAre("route 10.244.1.0/24 via 192.0.2.1 dev eth0: missing when read back"));
}

TEST_F(HostRouteSinkTest, ARouteThatWasLostAndPutBackIsReportedOnce) {
  for (HostRouteSink* each : {&sink, &both}) {
    host.routes.clear();
    EXPECT_EQ(each->Resync(std::vector{a, b}).restored, 0u) << "the first routes";
    EXPECT_EQ(each->Update({{far}, {}}).restored, 0u) << "a new peer";
    std::erase_if(host.routes, [&](const auto& route) { return route.destination == a.subnet; });
    lease::SinkReport report = each->Retry();
    EXPECT_EQ(report.restored, 1u);
    EXPECT_EQ(report.restored_one, "route 10.244.1.0/24 via 192.0.2.1 dev eth0");
    EXPECT_EQ(each->Retry().restored, 0u);
    host.routes.clear();
    report = each->Resync(std::vector{a, b});
    EXPECT_EQ(report.restored, 2u) << "far's is not desired any more";
    EXPECT_EQ(report.restored_one, "route 10.244.1.0/24 via 192.0.2.1 dev eth0");
  }
}

TEST_F(HostRouteSinkTest, ALostRouteThatIsRefusedIsReportedOnceItIsBack) {
  sink.Resync(std::vector{a});
  host.routes.clear();
  host.failing = {a.subnet};
  EXPECT_EQ(sink.Retry().restored, 0u);
  host.failing.clear();
  EXPECT_EQ(sink.Retry().restored, 1u);

  host.routes.clear();
  host.failing = {a.subnet};
  sink.Retry();
  sink.Update({{}, {a.subnet}});
  host.failing.clear();
  EXPECT_EQ(sink.Update({{a}, {}}).restored, 0u) << "a peer that comes again";
  EXPECT_THAT(host.routes, SizeIs(1));
}

TEST_F(HostRouteSinkTest, AnUpdateReadsNothing) {
  sink.Resync({});
  host.reads = 0;
  sink.Update({{a}, {}});
  EXPECT_EQ(host.reads, 0u);
}

}  // namespace
}  // namespace weft::control
