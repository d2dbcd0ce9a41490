// SPDX-License-Identifier: Apache-2.0
// Foreign routes in the place of a peer's route: which are kept, which are taken over, and which
// one stays when two programs contend.
#include <chrono>
#include <utility>

#include "control/sinks/host_route_sink.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fake_host.h"
#include "tests/support/fake_route_ledger.h"
#include "tests/support/lease_makers.h"

namespace weft::control {
namespace {

using host::Route;
using host::RouteKind;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Address;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakePeer;
using testing::Prefix;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::uint32_t kEth0 = 2, kOther = 3, kUpstream = 5, kTunnel = 7;

Route To(std::string_view destination, std::string_view gateway, std::uint32_t adapter = kEth0) {
  Route route;
  route.destination = Prefix(destination);
  if (!gateway.empty()) route.gateway = Address(gateway);
  route.adapter_index = adapter;
  return route;
}
Route Marked(Route route) {
  route.marked = true;
  return route;
}
template <typename Change>
Route With(Route route, const Change& change) {
  change(route);
  return route;
}

// eth0 192.0.2.9/24, other 198.51.100.9/24, flannel.1 of upstream's; peers a and b are on eth0.
class ForeignRouteTest : public ::testing::Test {
 protected:
  ForeignRouteTest() {
    const struct {
      std::uint32_t index;
      const char* name;
      const char* address;
    } rows[] = {{kEth0, "eth0", "192.0.2.9"},
                {kOther, "other", "198.51.100.9"},
                {kUpstream, "flannel.1", "10.244.0.0"},
                {kTunnel, "flannel.4096", "10.244.0.0"}};
    for (const auto& row : rows) {
      host::Adapter adapter;
      adapter.index = row.index;
      adapter.name = row.name;
      adapter.up = true;
      adapter.addresses = {{Address(row.address), row.index < kUpstream ? 24 : 32}};
      host.adapters.push_back(adapter);
    }
  }
  static HostRouteConfig Config() {
    HostRouteConfig config;
    config.underlay = {kEth0, "eth0"};
    config.network = Prefix("10.244.0.0/16");
    config.upstream_device = "flannel.1";
    return config;
  }
  static HostRouteConfig OfTunnel(IpFamily family = IpFamily::kV4) {
    HostRouteConfig config;
    config.family = family;
    config.network = Prefix(family == IpFamily::kV4 ? "10.244.0.0/16" : "fd00:244::/48");
    config.tunnel = {kTunnel, "flannel.4096"};
    config.direct = false;
    config.node_address = Address("192.0.2.9");
    return config;
  }
  HostRouteSink Make(HostRouteConfig config) {
    return HostRouteSink(
        host, std::move(config), &ledger, [this] { return now; },
        [this](const IpPrefix& subnet) { return subnet == a.subnet ? a : lease::Peer(); });
  }
  static RouteKey Key(std::string_view destination, std::string_view gateway) {
    return {Prefix(destination), Address(gateway)};
  }

  testing::FakeHost host;
  testing::FakeRouteLedger ledger{host};
  std::chrono::steady_clock::time_point now{};
  HostRouteSink sink = Make(Config());
  HostRouteSink tunnel = Make(OfTunnel());
  const lease::Peer a = MakePeer("a", "10.244.1.0/24", "192.0.2.1");
  const lease::Peer b = MakePeer("b", "10.244.2.0/24", "192.0.2.2");
  const Route to_a = Marked(To("10.244.1.0/24", "192.0.2.1"));
  const Route into_tunnel = Marked(To("10.244.1.0/24", "", kTunnel));
};

// ---- what was there before

TEST_F(ForeignRouteTest, OneOfExactlyAPeersSubnetBlocksThatPeerAlone) {
  const Route rows[] = {
      With(To("10.244.1.0/24", ""), [](Route& r) { r.kind = RouteKind::kDerived; }),
      With(To("10.244.1.0/24", "", kUpstream), [](Route& r) { r.kind = RouteKind::kDerived; }),
      With(To("10.244.1.0/24", "", 0), [](Route& r) { r.kind = RouteKind::kUnreachable; }),
      With(To("10.244.1.0/24", "192.0.2.1"), [](Route& r) { r.claimed = true; }),
      With(To("10.244.1.0/24", "192.0.2.1"), [](Route& r) { r.metric = 100; }),
      With(To("10.244.1.0/24", "192.0.2.1"), [](Route& r) { r.source = Address("192.0.2.9"); }),
      To("10.244.1.0/24", "203.0.113.1"),           // on link of nothing
      To("10.244.1.0/24", "192.0.2.77"),            // on link, but not the peer
      To("10.244.1.0/24", "198.51.100.1", kOther),  // of another adapter
      To("10.244.1.0/24", "192.0.2.1", kOther),
      To("10.244.1.0/24", "", kEth0),
  };
  for (const auto& make : {&Config, +[] { return OfTunnel(); }}) {
    for (const Route& foreign : rows) {
      HostRouteSink fresh = Make(make());
      host.routes = {foreign};
      const lease::SinkReport report = fresh.Resync(std::vector{a, b});
      EXPECT_THAT(host.routes, SizeIs(2));
      EXPECT_THAT(host.routes, Contains(foreign));
      EXPECT_EQ(report.desired, 2u);
      EXPECT_EQ(report.applied, 1u);
      EXPECT_EQ(report.failed, 1u) << "a condition of that peer";
      EXPECT_THAT(report.pending, ElementsAre(HasSubstr("not flanneld's, has this destination")));
      EXPECT_THAT(ledger.former, IsEmpty());
      host.routes.erase(host.routes.begin());
      EXPECT_EQ(fresh.Retry().applied, 2u) << "once it is gone";
      fresh.Resync({});
    }
  }
}

TEST_F(ForeignRouteTest, TheExistingRouteIsNamed) {
  host.routes = {
      To("10.244.1.0/24", "198.51.100.1", kOther),
      With(To("10.244.2.0/24", "", 0), [](Route& r) { r.kind = RouteKind::kUnreachable; })};
  EXPECT_THAT(
      sink.Resync(std::vector{a, b}).pending,
      ElementsAre("route 10.244.1.0/24 via 192.0.2.1 dev eth0: a route via 198.51.100.1 dev "
                  "other, which is not flanneld's, has this destination, the subnet of node "
                  "\"a\"; remove it, or give that node another podCIDR",
                  HasSubstr("route 10.244.2.0/24 via 192.0.2.2 dev eth0: a blackhole or "
                            "unreachable route, which is not flanneld's, has this destination")));
}

// Of several adapters, or of one without a name.
TEST_F(ForeignRouteTest, OneThatIsNotKnownToBeUpstreamsBlocksItsPeer) {
  host.adapters[1].name.clear();
  HostRouteConfig config = OfTunnel();
  config.node_address = Address("203.0.113.9");  // of no adapter
  for (const std::uint32_t adapter : {0u, kOther}) {
    HostRouteSink fresh = Make(config);
    host.routes = {To("10.244.1.0/24", "192.0.2.1", adapter)};
    EXPECT_THAT(fresh.Resync(std::vector{a}).pending, ElementsAre(HasSubstr("not flanneld's")))
        << adapter;
  }
}

TEST_F(ForeignRouteTest, OneThatWasReadBeforeItsPeerCameBlocksItToo) {
  host.routes = {To("10.244.1.0/24", "198.51.100.1", kOther)};
  for (HostRouteSink* each : {&sink, &tunnel}) {
    each->Resync({});
    EXPECT_THAT(each->Update({{a}, {}}).pending, ElementsAre(HasSubstr("not flanneld's")));
  }
}

TEST_F(ForeignRouteTest, OneOutsideOfTheNetworkBlocksItsPeerToo) {
  host.routes = {To("10.99.1.0/24", "198.51.100.1", kOther)};
  for (HostRouteSink* each : {&sink, &tunnel}) {
    EXPECT_THAT(each->Resync(std::vector{MakePeer("x", "10.99.1.0/24", "192.0.2.1")}).pending,
                ElementsAre(HasSubstr("not flanneld's")));
  }
}

TEST_F(ForeignRouteTest, TheUnderlayIsTheGivenAdapterNotThatOfTheAddress) {
  HostRouteConfig config = Config();
  config.node_address = Address("198.51.100.9");
  EXPECT_EQ(Make(config).Resync(std::vector{a}).applied, 1u);
}

// Of 100,000 peers a copy is 15 MB.
TEST_F(ForeignRouteTest, ATunnelsSinkKeepsNoPeerAndAsksForTheOneThatItNames) {
  host.routes = {To("10.244.1.0/24", "198.51.100.1", kOther)};
  const lease::Peer reported = MakePeer("reported", "10.244.1.0/24", "192.0.2.1");
  EXPECT_THAT(tunnel.Resync(std::vector{reported}).pending,
              ElementsAre(HasSubstr("the subnet of node \"a\"")));
  EXPECT_THAT(sink.Resync(std::vector{reported}).pending,
              ElementsAre(HasSubstr("the subnet of node \"reported\"")));
}

// An Update reads nothing: the kernel reports it.
TEST_F(ForeignRouteTest, ARouteAddedSinceTheReadIsNotOverwritten) {
  const Route foreign = With(To("10.244.1.0/24", "192.0.2.1"), [](Route& r) { r.claimed = true; });
  for (HostRouteSink* each : {&sink, &tunnel}) {
    host.routes.clear();
    each->Resync({});
    host.routes = {foreign};
    EXPECT_THAT(each->Update({{a}, {}}).pending, ElementsAre(HasSubstr("file exists")));
    EXPECT_THAT(host.routes, ElementsAre(foreign));
    EXPECT_THAT(ledger.routes, IsEmpty()) << "not put by us";
    EXPECT_THAT(each->Retry().pending, ElementsAre(HasSubstr("which is not flanneld's")));
  }
}

// ---- routes of upstream's flanneld

TEST_F(ForeignRouteTest, UpstreamsIsTakenOverAndEnteredAsItWas) {
  const Route rows[] = {
      To("10.244.1.0/24", "192.0.2.1"),
      With(To("10.244.1.0/24", "10.244.1.0", kUpstream), [](Route& r) { r.onlink = true; }),
  };
  for (const Route& upstreams : rows) {
    HostRouteSink fresh = Make(Config());
    host.routes = {upstreams};
    ledger.former.clear();
    EXPECT_EQ(fresh.Resync(std::vector{a}).applied, 1u);
    EXPECT_THAT(host.routes, ElementsAre(to_a));
    ASSERT_THAT(ledger.former, SizeIs(1));
    EXPECT_EQ(ledger.former[0].route, upstreams);
    EXPECT_EQ(ledger.former[0].adapter, upstreams.adapter_index == kEth0 ? "eth0" : "flannel.1");
    EXPECT_THAT(host.done, ElementsAre("replace 10.244.1.0/24")) << "not a moment without";
    host.done.clear();
    fresh.Update({{}, {a.subnet}});
    EXPECT_THAT(host.routes, IsEmpty());
    EXPECT_THAT(ledger.former, SizeIs(1)) << "restored by a reset";
    host.done.clear();
  }
}

// A cluster that changes from host-gw to vxlan.
TEST_F(ForeignRouteTest, UpstreamsOnTheUnderlayIsReplacedByTheTunnels) {
  const Route upstreams = To("10.244.1.0/24", "192.0.2.1");
  host.routes = {upstreams};
  tunnel.Resync(std::vector{a});
  EXPECT_THAT(host.routes, ElementsAre(into_tunnel));
  ASSERT_THAT(ledger.former, SizeIs(1));
  EXPECT_EQ(ledger.former[0].route, upstreams);
  EXPECT_THAT(ledger.routes, IsEmpty()) << "the tunnel's go with it";
}

// It is removed with the device, too.
TEST_F(ForeignRouteTest, OneOnOurOwnDeviceIsTakenOverWithoutAnEntry) {
  host.routes = {To("10.244.1.0/24", "", kTunnel)};
  tunnel.Resync(std::vector{a});
  EXPECT_THAT(host.routes, ElementsAre(into_tunnel));
  EXPECT_THAT(ledger.former, IsEmpty());
}

// Its file and folder are not made for them.
TEST_F(ForeignRouteTest, TheTunnelsRoutesLeaveTheLedgerAlone) {
  class Untouched final : public RouteLedger {
    RouteKeys Owned(const IpPrefix&) override { return Touch(), RouteKeys(); }
    void Intend(const RouteKeys&) override { Touch(); }
    void IntendTakeover(const std::vector<FormerRoute>&) override { Touch(); }
    void Forget(const RouteKeys&) override { Touch(); }
    static void Touch() { ADD_FAILURE() << "it is used"; }
  } untouched;
  HostRouteSink fresh(host, OfTunnel(), &untouched);
  host.routes = {To("10.244.1.0/24", "", kTunnel)};
  EXPECT_EQ(fresh.Resync(std::vector{a}).applied, 1u);
  EXPECT_EQ(fresh.Update({{b}, {a.subnet}}).applied, 1u);
}

TEST_F(ForeignRouteTest, OneToNoPeerStays) {
  const Route upstreams = To("10.244.9.0/24", "192.0.2.99");
  host.routes = {upstreams};
  sink.Resync(std::vector{a});
  EXPECT_THAT(host.routes, UnorderedElementsAre(upstreams, to_a));
}

// ---- routes that replaced ours

TEST_F(ForeignRouteTest, OneThatReplacedOursIsReplacedAtOnceThenWithBackOff) {
  const Route rows[] = {
      To("10.244.1.0/24", "192.0.2.77"),  // like upstream's, but added after ours
      With(To("10.244.1.0/24", "192.0.2.77"), [](Route& r) { r.claimed = true; }),
  };
  for (const Route& theirs : rows) {
    host.routes.clear();
    HostRouteSink fresh = Make(Config());
    fresh.Resync(std::vector{a});
    std::vector<std::int64_t> pauses;  // seconds
    for (int round = 0; round < 12; ++round) {
      host.routes = {theirs};
      const auto since = now;
      lease::SinkReport report = fresh.Retry();
      while (report.applied == 0) {
        EXPECT_THAT(host.routes, ElementsAre(theirs)) << "not fought over";
        EXPECT_THAT(report.pending, ElementsAre(HasSubstr("a route via 192.0.2.77 dev eth0")));
        EXPECT_EQ(report.failed, 1u);
        now += seconds(1);
        report = fresh.Retry();
      }
      pauses.push_back(std::chrono::duration_cast<seconds>(now - since).count());
      EXPECT_THAT(host.routes, ElementsAre(to_a));
      EXPECT_THAT(report.pending, IsEmpty());
      EXPECT_THAT(report.notes, ElementsAre(HasSubstr("another program replaces the route")))
          << "reported, though it is put back";
    }
    EXPECT_THAT(pauses, ElementsAre(0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300));
    EXPECT_THAT(ledger.former, IsEmpty());
    now += minutes(10) + seconds(1);
    EXPECT_THAT(fresh.Retry().notes, IsEmpty()) << "over";
    host.routes = {theirs};
    EXPECT_EQ(fresh.Retry().applied, 1u) << "at once again";
    fresh.Resync({});
  }
}

// An address was added on another link (`ip addr add 10.244.1.7/24 dev other`) and our route was
// flushed: ours in place of the link's route would cut the host off from that link.
TEST_F(ForeignRouteTest, TheLinksOwnIsNeverReplaced) {
  const Route links = With(To("10.244.1.0/24", "", kOther), [](Route& route) {
    route.kind = RouteKind::kDerived;
    route.claimed = true;
    route.source = Address("10.244.1.7");
  });
  const Route theirs = To("10.244.1.0/24", "192.0.2.77");
  for (const bool contested : {false, true}) {
    host.routes.clear();
    HostRouteSink fresh = Make(Config());
    fresh.Resync(std::vector{a});
    if (contested) {
      host.routes = {theirs};
      EXPECT_EQ(fresh.Retry().applied, 1u);
    }
    host.routes = {links};
    for (int round = 0; round < 3; ++round, now += minutes(1)) {
      const lease::SinkReport report = fresh.Retry();
      EXPECT_THAT(report.pending, ElementsAre(HasSubstr("a route dev other (made by the system)")));
      if (!contested) EXPECT_THAT(report.notes, IsEmpty());
      EXPECT_THAT(host.routes, ElementsAre(links));
    }
    host.routes.clear();
    EXPECT_EQ(fresh.Retry().applied, 1u);
    const Route beside = With(links, [](Route& route) { route.metric = 100; });
    host.routes = {theirs, beside};
    now += minutes(11);
    EXPECT_EQ(fresh.Retry().applied, 1u) << "it is not in the way";
    EXPECT_THAT(host.routes, ElementsAre(beside, to_a));
    host.routes.clear();
    fresh.Resync({});
  }
}

TEST_F(ForeignRouteTest, TheNamedRouteIsTheForeignOneNotUpstreams) {
  const Route upstreams =
      With(To("10.244.1.0/24", "192.0.2.1"), [](Route& route) { route.metric = 0; });
  const Route foreign =
      With(To("10.244.1.0/24", "198.51.100.1", kOther), [](Route& route) { route.metric = 7; });
  host.routes = {upstreams, foreign};
  EXPECT_THAT(sink.Resync(std::vector{a}).pending,
              ElementsAre(HasSubstr(": a route via 198.51.100.1 dev other")));
}

TEST_F(ForeignRouteTest, OfManyContestsAHundredAreNamed) {
  std::vector<lease::Peer> peers;
  for (int i = 0; i < 130; ++i) {
    peers.push_back(
        MakePeer("n" + std::to_string(i), "10.244." + std::to_string(i) + ".0/24", "192.0.2.1"));
  }
  sink.Resync(peers);
  for (Route& route : host.routes) route = To(route.destination.ToString(), "192.0.2.77");
  const std::vector<std::string> notes = sink.Retry().notes;
  EXPECT_THAT(notes, SizeIs(101));
  EXPECT_EQ(notes.back(), "and 30 more");
}

TEST_F(ForeignRouteTest, ARouteThatIsPutBackIsNamedForSeconds) {
  sink.Resync(std::vector{a});
  host.routes = {To("10.244.1.0/24", "192.0.2.77")};
  EXPECT_THAT(sink.Retry().notes, ElementsAre(HasSubstr("(once, last with")));
  now += seconds(6);
  EXPECT_THAT(sink.Retry().notes, IsEmpty());
}

TEST_F(ForeignRouteTest, AContestIsOverWithItsPeer) {
  sink.Resync(std::vector{a});
  const Route theirs = To("10.244.1.0/24", "192.0.2.77");
  for (int round = 0; round < 2; ++round) {
    host.routes = {theirs};
    sink.Retry();
  }
  EXPECT_THAT(sink.Update({{}, {a.subnet}}).notes, IsEmpty());
  EXPECT_THAT(host.routes, ElementsAre(theirs)) << "foreign to the end";
  host.routes.clear();
  sink.Resync(std::vector{a});
  host.routes = {theirs};
  EXPECT_THAT(sink.Retry().notes, SizeIs(1));
  sink.Resync({});
  EXPECT_THAT(sink.Retry().notes, IsEmpty());
}

// A route that is only missing is restored whenever that is detected.
TEST_F(ForeignRouteTest, FlushedRoutesAreRestoredAtOnceEachTime) {
  for (HostRouteSink* each : {&sink, &tunnel}) {
    each->Resync(std::vector{a, b});
    for (int round = 0; round < 5; ++round) {
      host.routes.clear();
      const lease::SinkReport report = each->Retry();
      EXPECT_EQ(report.applied, 2u);
      EXPECT_THAT(report.notes, IsEmpty());
      EXPECT_THAT(host.routes, SizeIs(2));
    }
    each->Resync({});
  }
}

// ---- routes next to ours

TEST_F(ForeignRouteTest, OneThatPrecedesOursIsReportedAndKept) {
  struct Row {
    const char* description;
    IpFamily family;
    std::uint32_t metric;  // of the other
    bool before, precedes;
  };
  for (const Row& row : {Row{"listed first", IpFamily::kV4, 0, true, true},
                         Row{"listed later", IpFamily::kV4, 0, false, false},
                         Row{"a greater metric", IpFamily::kV4, 100, true, false},
                         Row{"IPv6, the link's", IpFamily::kV6, 256, false, true},
                         Row{"IPv6, a greater metric", IpFamily::kV6, 2000, true, false}}) {
    HostRouteSink fresh = Make(OfTunnel(row.family));
    const lease::Peer peer =
        row.family == IpFamily::kV4 ? a : MakePeer("a", "fd00:244:0:1::/64", "2001:db8::1");
    fresh.Resync(std::vector{peer});
    const Route other =
        With(To(peer.subnet.ToString(), "", kOther), [&](Route& r) { r.metric = row.metric; });
    host.routes.insert(row.before ? host.routes.begin() : host.routes.end(), other);
    const lease::SinkReport report = fresh.Retry();
    EXPECT_EQ(report.applied, row.precedes ? 0u : 1u) << row.description;
    EXPECT_EQ(report.failed, row.precedes ? 1u : 0u) << row.description;
    EXPECT_THAT(report.notes, IsEmpty()) << row.description;
    if (row.precedes)
      EXPECT_THAT(report.pending, ElementsAre(HasSubstr("has no effect"))) << row.description;
    else
      EXPECT_THAT(report.pending, IsEmpty()) << row.description;
    EXPECT_THAT(host.routes, SizeIs(2)) << row.description;
    host.routes.clear();
  }
}

TEST_F(ForeignRouteTest, OfTwoThatPrecedeTheOneThatHasEffectIsNamed) {
  HostRouteSink fresh = Make(OfTunnel(IpFamily::kV6));
  const lease::Peer peer = MakePeer("a", "fd00:244:0:1::/64", "2001:db8::1");
  fresh.Resync(std::vector{peer});
  std::uint32_t metric = 1000;
  for (const std::uint32_t adapter : {kOther, kEth0}) {
    const Route other =
        With(To("fd00:244:0:1::/64", "", adapter), [&](Route& r) { r.metric = metric; });
    host.routes.insert(host.routes.end() - 1, other);
    metric = 256;
  }
  EXPECT_THAT(fresh.Retry().pending, ElementsAre(HasSubstr("has no effect: a route dev eth0, ")));
}

TEST_F(ForeignRouteTest, AStaleOrWrongOneOfOursThatIsPrecededIsReportedOnce) {
  const Route other = With(To("10.244.1.0/24", "192.0.2.5"), [](Route& r) { r.claimed = true; });
  host.routes = {other, With(to_a, [](Route& r) { r.onlink = true; })};
  host.failing = {a.subnet};
  lease::SinkReport report = sink.Resync(std::vector{a});
  EXPECT_EQ(report.applied, 0u);
  EXPECT_THAT(report.pending, SizeIs(1));
  report = sink.Resync({});
  EXPECT_EQ(report.applied, 0u);
  EXPECT_THAT(report.pending, ElementsAre(HasSubstr("operation not permitted")));
}

// A move would overwrite the first one that the kernel finds.
TEST_F(ForeignRouteTest, AMoveWaitsForOneThatPrecedes) {
  sink.Resync(std::vector{a});
  const Route other = With(To("10.244.1.0/24", "192.0.2.5"), [](Route& r) { r.claimed = true; });
  host.routes.insert(host.routes.begin(), other);
  sink.Resync(std::vector{MakePeer("a", "10.244.1.0/24", "192.0.2.77")});
  EXPECT_THAT(host.routes, ElementsAre(other, to_a));
}

// ---- which changes concern us

TEST_F(ForeignRouteTest, ChangesOfUnrelatedRoutesAreIgnored) {
  HostRouteSink both = Make([] {
    HostRouteConfig config = Config();
    config.tunnel = {kTunnel, "flannel.4096"};
    return config;
  }());
  both.Resync(std::vector{a});
  const Route adapter_only = With(Route(), [](Route& r) { r.adapter_index = kEth0; });
  const struct {
    const char* description;
    host::RouteChanges changes;
    bool concerned;
  } rows[] = {
      {"unknown what", {}, true},
      {"ours was removed", {{to_a, true, false}}, true},
      {"ours was added, by us", {{to_a, false, false}}, false},
      {"another in our place", {{To("10.244.1.0/24", "192.0.2.5"), false, false}}, true},
      {"a foreign one was removed from our place",
       {{To("10.244.1.0/24", "192.0.2.5"), true, false}},
       true},
      {"another in our place, with our mark",
       {{Marked(To("10.244.1.0/24", "192.0.2.5")), false, false}},
       true},
      {"ours without its mark", {{To("10.244.1.0/24", "192.0.2.1"), false, false}}, true},
      {"ours on link", {{With(to_a, [](Route& r) { r.onlink = true; }), false, false}}, true},
      {"ours as unreachable",
       {{With(to_a, [](Route& r) { r.kind = RouteKind::kUnreachable; }), false, false}},
       true},
      {"of no peer", {{To("10.244.9.0/24", "192.0.2.5"), true, false}}, false},
      {"a full table", {{To("198.18.0.0/15", "192.0.2.5"), true, false}}, false},
      {"a part of a peer's", {{To("10.244.1.0/25", "192.0.2.5"), false, false}}, false},
      {"the underlay's link", {{adapter_only, false, true}}, true},
      {"the tunnel's",
       {{With(adapter_only, [](Route& r) { r.adapter_index = kTunnel; }), false, true}},
       true},
      {"a pod's link",
       {{With(adapter_only, [](Route& r) { r.adapter_index = 99; }), false, true}},
       false},
      {"one of many", {{To("10.244.9.0/24", "192.0.2.5"), true, false}, {to_a, true, false}}, true},
  };
  for (const auto& row : rows)
    EXPECT_EQ(both.IsConcernedBy(row.changes), row.concerned) << row.description;
  EXPECT_FALSE(sink.IsConcernedBy({{adapter_only, false, true}})) << "not read yet";
  tunnel.Resync({});
  EXPECT_FALSE(tunnel.IsConcernedBy({{To("192.0.2.128/25", "192.0.2.5"), false, false}}));
}

TEST_F(ForeignRouteTest, WrittenRoutesAreUnverifiedUntilTheyAreRead) {
  sink.Resync(std::vector{a});
  EXPECT_FALSE(sink.unverified());
  sink.Update({{b}, {}});
  EXPECT_TRUE(sink.unverified());
  sink.Retry();
  EXPECT_FALSE(sink.unverified());
  sink.Update({{}, {b.subnet}});
  EXPECT_TRUE(sink.unverified());
}

// ---- Windows, where no route has a mark

class WindowsRouteTest : public ForeignRouteTest {
 protected:
  WindowsRouteTest() { host.windows = host.adds_next_to = true; }
};

TEST_F(WindowsRouteTest, OnlyRoutesOfTheLedgerOrALeaseAreDeleted) {
  const Route by_hand = Marked(To("10.244.77.0/24", "192.0.2.254"));
  const Route appliance = Marked(To("10.244.1.0/24", "198.51.100.1", kOther));
  const Route stale = Marked(To("10.244.9.0/24", "192.0.2.99"));
  host.routes = {by_hand, appliance, stale};
  ledger.routes = {Key("10.244.9.0/24", "192.0.2.99")};
  EXPECT_THAT(sink.Resync(std::vector{a}).pending, ElementsAre(HasSubstr("198.51.100.1")));
  EXPECT_THAT(host.routes, ElementsAre(by_hand, appliance));
  EXPECT_THAT(ledger.routes, IsEmpty());
}

TEST_F(WindowsRouteTest, OfAFormerNetworkGoesWhatTheLedgerHasWithTheSameGateway) {
  const Route former = Marked(To("10.99.9.0/24", "192.0.2.99"));
  const Route replaced = Marked(To("10.99.8.0/24", "198.51.100.1", kOther));
  host.routes = {former, replaced};
  ledger.routes = {Key("10.99.9.0/24", "192.0.2.99"), Key("10.99.8.0/24", "192.0.2.88")};
  EXPECT_THAT(sink.Resync({}).notes,
              ElementsAre("route 10.99.8.0/24 via 192.0.2.88 is no longer flanneld's: a route via "
                          "198.51.100.1 dev other has its place and is left"));
  EXPECT_THAT(host.routes, ElementsAre(replaced));
  EXPECT_THAT(ledger.routes, IsEmpty());
  EXPECT_THAT(sink.Retry().notes, SizeIs(1)) << "while it is there";
  host.routes.clear();
  EXPECT_THAT(sink.Retry().notes, IsEmpty());
}

TEST_F(WindowsRouteTest, UpstreamsIsCorrectAndOursToDelete) {
  host.routes = {With(to_a, [](Route& r) { r.metric = 256; })};
  EXPECT_EQ(sink.Resync(std::vector{a}).applied, 1u);
  EXPECT_THAT(host.done, IsEmpty());
  EXPECT_THAT(ledger.former, SizeIs(1));
  EXPECT_THAT(ledger.routes, IsEmpty()) << "not put by us";
  HostRouteSink next = Make(Config());
  EXPECT_EQ(next.Resync(std::vector{a}).applied, 1u);
  EXPECT_THAT(ledger.former, SizeIs(1)) << "entered once";
  next.Update({{}, {a.subnet}});
  EXPECT_THAT(host.routes, IsEmpty());
}

// An administrator's, or upstream's to where the peer was: the peer is named.
TEST_F(WindowsRouteTest, ARouteThroughAnotherAddressOfTheLinkStays) {
  const Route ghost = Marked(To("10.244.1.0/24", "192.0.2.77"));
  for (const std::vector<Route>& routes : {std::vector{ghost}, std::vector{ghost, to_a}}) {
    host.routes = routes;
    EXPECT_THAT(sink.Resync(std::vector{a}).pending,
                ElementsAre(HasSubstr("a route via 192.0.2.77 dev eth0, which is not flanneld's, "
                                      "has this destination, the subnet of node \"a\"")));
    EXPECT_THAT(host.routes, ::testing::ElementsAreArray(routes));
    EXPECT_THAT(ledger.former, IsEmpty());
  }
}

// With an entry in the ledger it would count as ours.
TEST_F(WindowsRouteTest, ARouteAddedSinceTheReadIsNotEntered) {
  sink.Resync({});
  host.routes = {to_a};
  sink.Update({{a}, {}});
  EXPECT_THAT(ledger.routes, IsEmpty());
}

TEST_F(WindowsRouteTest, UpstreamsStaysWhileOursIsRefused) {
  class Refusing final : public testing::FakeHost {
    std::vector<absl::Status> ReplaceRoutes(const std::vector<Route>& desired) override {
      return std::vector<absl::Status>(desired.size(), absl::UnavailableError("not now"));
    }
  } refusing;
  refusing.windows = refusing.adds_next_to = true;
  refusing.adapters = host.adapters;
  const Route upstreams = Marked(To("10.244.1.0/24", "10.244.1.0", kUpstream));
  refusing.routes = {upstreams};
  EXPECT_THAT(HostRouteSink(refusing, Config()).Resync(std::vector{a}).pending,
              ElementsAre("route 10.244.1.0/24 via 192.0.2.1 dev eth0: not now"));
  EXPECT_THAT(refusing.routes, ElementsAre(upstreams));
}

TEST_F(WindowsRouteTest, AnIpv6RouteHasNoMetricOfItsOwnThere) {
  HostRouteConfig config = Config();
  config.family = IpFamily::kV6;
  config.network = Prefix("fd00:244::/48");
  host.adapters[0].addresses.push_back({Address("2001:db8::9"), 64});
  HostRouteSink v6 = Make(config);
  v6.Resync(std::vector{MakePeer("a", "fd00:244:0:1::/64", "2001:db8::1")});
  host.routes.push_back(With(Marked(To("fd00:244:0:1::/64", "2001:db8::77", kOther)),
                             [](Route& r) { r.metric = 256; }));
  EXPECT_EQ(v6.Retry().applied, 1u) << "ours, of metric 0, comes first";
}

TEST_F(WindowsRouteTest, AReplacedRouteIsRestoredNextToTheForeignOne) {
  sink.Resync(std::vector{a});
  const Route theirs = Marked(To("10.244.1.0/24", "198.51.100.1", kOther));
  host.routes = {theirs};
  EXPECT_THAT(sink.Retry().notes, SizeIs(1));
  EXPECT_THAT(host.routes, ElementsAre(theirs, to_a));
  host.routes = {theirs};
  EXPECT_EQ(sink.Retry().applied, 0u) << "after a pause";
}

}  // namespace
}  // namespace weft::control
