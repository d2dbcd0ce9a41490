// SPDX-License-Identifier: Apache-2.0
// The contract of every host (control/host/host.h): include, derive a HostRig, instantiate. The
// host has one adapter: up, MTU 1400, MAC 02:00:00:00:09:01, 10.9.0.1/24 and fd09::1/64, no route
// through a gateway.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "control/host/host.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/calls.h"
#include "tests/support/lease_makers.h"

namespace weft::testing {

class HostRig {
 public:
  virtual ~HostRig() = default;
  virtual host::Host& host() = 0;
  virtual std::string adapter() = 0;  // its name
  // Changes that the host object does not make itself:
  virtual void GiveAddress(std::string_view assigned) = 0;  // "10.9.0.7/24"
  virtual void TakeAddress(std::string_view assigned) = 0;
  virtual void SetUp(bool up) = 0;
  virtual void PutDefaultRoute(std::string_view gateway) = 0;
};

struct HostCase {
  std::string name;
  std::function<std::unique_ptr<HostRig>()> make;
  bool writes_links = true;  // Windows: HNS makes the adapters, not our data plane
};
inline void PrintTo(const HostCase& host, std::ostream* out) { *out << host.name; }

class HostContract : public ::testing::TestWithParam<HostCase> {
 protected:
  std::unique_ptr<HostRig> rig = GetParam().make();
  host::Host& host() { return rig->host(); }

  host::Adapter Given() {
    const auto adapters = host().Adapters();
    EXPECT_TRUE(adapters.ok()) << adapters.status();
    if (adapters.ok()) {
      for (const host::Adapter& adapter : *adapters) {
        if (adapter.name == rig->adapter()) return adapter;
      }
    }
    return {};
  }
  // By a gateway, as host-gw has it.
  host::Route Marked(std::string_view destination, std::string_view gateway) {
    host::Route route;
    route.destination = Prefix(destination);
    route.gateway = Address(gateway);
    route.adapter_index = Given().index;
    route.marked = true;
    return route;
  }
  std::vector<host::Route> Routes(IpFamily family = IpFamily::kV4) {
    auto routes = host().Routes(family, Given().index);
    EXPECT_TRUE(routes.ok()) << routes.status();
    std::vector<host::Route> found = routes.value_or(std::vector<host::Route>());
    std::erase_if(found, [](const host::Route& route) {
      return route.kind == host::RouteKind::kDerived;  // of the adapter's addresses
    });
    return found;
  }
  static void ExpectAllOk(const std::vector<absl::Status>& statuses, std::size_t count) {
    EXPECT_EQ(statuses.size(), count);
    for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
  }
  static constexpr std::uint32_t kNoAdapter = 4711;
};

TEST_P(HostContract, TheAdapterIsListed) {
  const host::Adapter adapter = Given();
  EXPECT_NE(adapter.index, 0u);
  EXPECT_TRUE(adapter.up);
  EXPECT_FALSE(adapter.loopback);
  EXPECT_EQ(adapter.mtu, 1400u);
  EXPECT_EQ(adapter.mac, Mac("02:00:00:00:09:01"));
  EXPECT_THAT(adapter.addresses,
              ::testing::IsSupersetOf({host::AssignedAddress{Address("10.9.0.1"), 24},
                                       host::AssignedAddress{Address("fd09::1"), 64}}));
  EXPECT_THAT(Routes(), ::testing::IsEmpty()) << "what an address brings is distinguished";
}

TEST_P(HostContract, AChangeIsSeen) {
  rig->GiveAddress("10.9.0.7/24");
  EXPECT_THAT(Given().addresses,
              ::testing::Contains(host::AssignedAddress{Address("10.9.0.7"), 24}));
  rig->TakeAddress("10.9.0.1/24");
  EXPECT_THAT(Given().addresses,
              ::testing::Not(::testing::Contains(host::AssignedAddress{Address("10.9.0.1"), 24})));
  rig->SetUp(false);
  EXPECT_FALSE(Given().up);
}

TEST_P(HostContract, ARouteIsReadBackUnchangedAndRemoved) {
  const host::Route route = Marked("10.244.2.0/24", "10.9.0.2");
  const host::Route v6 = Marked("fd00:244:2::/64", "fd09::2");
  ExpectAllOk(host().PutRoutes({route, v6}), 2);
  ExpectAllOk(host().ReplaceRoutes({route, v6}), 2);  // again: nothing new
  EXPECT_THAT(Routes(), ::testing::ElementsAre(route));
  EXPECT_THAT(Routes(IpFamily::kV6), ::testing::ElementsAre(v6));
  ExpectAllOk(host().RemoveRoutes({Marked("10.244.3.0/24", "10.9.0.2"), route, v6, route}), 4);
  EXPECT_THAT(Routes(), ::testing::IsEmpty());
  EXPECT_THAT(Routes(IpFamily::kV6), ::testing::IsEmpty());
}

// The old one may stay next to it, depending on the system; the removal must name exactly the old
// one.
TEST_P(HostContract, AnotherGatewayThenTheRemovalOfTheOldLeavesTheNew) {
  const host::Route old = Marked("10.244.2.0/24", "10.9.0.2");
  const host::Route moved = Marked("10.244.2.0/24", "10.9.0.3");
  ExpectAllOk(host().PutRoutes({old}), 1);
  ExpectAllOk(host().ReplaceRoutes({moved}), 1);
  EXPECT_THAT(Routes(), ::testing::Contains(moved));
  ExpectAllOk(host().RemoveRoutes({old}), 1);
  EXPECT_THAT(Routes(), ::testing::ElementsAre(moved));
}

// The same to the last detail, for what differs where a route counts as another.
TEST_P(HostContract, AddingDoesNotChangeAnExistingRoute) {
  const host::Route there = Marked("10.244.2.0/24", "10.9.0.2");
  const host::Route v6 = Marked("fd00:244:2::/64", "fd09::2");
  ExpectAllOk(host().PutRoutes({there, v6}), 2);
  const auto again = host().PutRoutes({there, v6, Marked("10.244.3.0/24", "10.9.0.2")});
  ASSERT_EQ(again.size(), 3u);
  EXPECT_TRUE(absl::IsAlreadyExists(again[0])) << again[0];
  EXPECT_TRUE(absl::IsAlreadyExists(again[1])) << again[1];
  EXPECT_TRUE(again[2].ok()) << again[2];
  EXPECT_THAT(std::string(again[0].message()),
              ::testing::StartsWith("cannot put route 10.244.2.0/24 via 10.9.0.2 on adapter "));
  EXPECT_THAT(Routes(), ::testing::Contains(there));
}

TEST_P(HostContract, ARefusedRouteIsNamedAndTheRestIsAdded) {
  const auto statuses =
      host().PutRoutes({Marked("10.244.2.0/24", "10.9.0.2"), Marked("10.244.3.0/24", "203.0.113.1"),
                        Marked("10.244.4.0/24", "10.9.0.2")});
  ASSERT_EQ(statuses.size(), 3u);
  EXPECT_TRUE(statuses[0].ok()) << statuses[0];
  EXPECT_THAT(std::string(statuses[1].message()),
              ::testing::StartsWith("cannot put route 10.244.3.0/24 via 203.0.113.1 on adapter "));
  EXPECT_TRUE(statuses[2].ok()) << statuses[2];
  EXPECT_EQ(Routes().size(), 2u);
}

TEST_P(HostContract, TheRouteToADestination) {
  ExpectAllOk(
      host().PutRoutes({Marked("10.244.0.0/16", "10.9.0.2"), Marked("10.244.7.0/24", "10.9.0.3")}),
      2);
  const auto neighbour = host().RouteTo(Address("10.9.0.77"));
  ASSERT_TRUE(neighbour.ok()) << neighbour.status();
  EXPECT_EQ(neighbour->adapter_index, Given().index);
  EXPECT_EQ(neighbour->gateway, std::nullopt);
  EXPECT_EQ(neighbour->source, Address("10.9.0.1"));
  const auto longest = host().RouteTo(Address("10.244.7.1"));
  ASSERT_TRUE(longest.ok()) << longest.status();
  EXPECT_EQ(longest->gateway, Address("10.9.0.3"));
  EXPECT_EQ(longest->source, Address("10.9.0.1"));
  EXPECT_THAT(std::string(host().RouteTo(Address("198.51.100.1")).status().message()),
              ::testing::StartsWith("cannot find a route to 198.51.100.1: "));
}

TEST_P(HostContract, TheDefaultRouteIsFound) {
  EXPECT_FALSE(host().RouteTo(Address("198.51.100.1")).ok());
  rig->PutDefaultRoute("10.9.0.254");
  const auto way = host().RouteTo(Address("198.51.100.1"));
  ASSERT_TRUE(way.ok()) << way.status();
  EXPECT_EQ(way->adapter_index, Given().index);
  EXPECT_EQ(way->gateway, Address("10.9.0.254"));
}

TEST_P(HostContract, AnAddressIsGivenAndALinkSetUp) {
  rig->SetUp(false);
  if (!GetParam().writes_links) {
    EXPECT_TRUE(absl::IsUnimplemented(host().SetLinkUp(Given().index, 1350)));
    EXPECT_TRUE(
        absl::IsUnimplemented(host().AddAddress(Given().index, {Address("10.244.1.0"), 32})));
    EXPECT_FALSE(Given().up);
    return;
  }
  EXPECT_TRUE(host().SetLinkUp(Given().index, 1350).ok());
  EXPECT_TRUE(Given().up);
  EXPECT_EQ(Given().mtu, 1350u);
  const host::AssignedAddress address{Address("10.244.1.0"), 32};
  EXPECT_TRUE(host().AddAddress(Given().index, address).ok());
  EXPECT_TRUE(host().AddAddress(Given().index, address).ok()) << "there already";
  EXPECT_THAT(Given().addresses, ::testing::Contains(address));
}

TEST_P(HostContract, ForwardingIsReadBack) {
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    for (const bool on : {true, false, true}) {
      EXPECT_TRUE(host().SetForwarding(Given().index, family, on).ok());
      const auto read = host().Forwarding(Given().index, family);
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(*read, on);
    }
  }
}

TEST_P(HostContract, AFirewallRuleIsMadeOrUnsupported) {
  for (int round = 0; round < 2; ++round) {
    const auto made = host().AllowUdpIn({host::kOverlayFirewallRule, 4789});
    EXPECT_TRUE(made.ok() || absl::IsUnimplemented(made.status())) << made.status();
    EXPECT_EQ(made.value_or(""), "");
  }
}

TEST_P(HostContract, AFirewallRuleOfOursIsCorrectedFoundByItsNameAndRemoved) {
  const std::string mine = host::kOverlayFirewallRule, other = "OverlayTraffic8472UDP";
  if (absl::IsUnimplemented(host().AllowUdpIn({mine, 4789}).status())) {
    EXPECT_TRUE(absl::IsUnimplemented(host().FindFirewallRule(mine).status()));
    EXPECT_TRUE(absl::IsUnimplemented(host().RemoveFirewallRule(mine)));
    return;
  }
  const auto owner = [&](const std::string& rule) {
    const auto found = host().FindFirewallRule(rule);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(host::RuleOwner::kOther);
  };
  const std::vector<IpPrefix> one = {*IpPrefix::Parse("192.168.1.11/32")},
                              two = {*IpPrefix::Parse("192.168.1.11/32"),
                                     *IpPrefix::Parse("192.168.1.64/26")};
  const host::FirewallRule any{mine, 4789};
  for (const auto& [rule, wrong] : std::vector<std::pair<host::FirewallRule, const char*>>{
           {any, ""},
           {{mine, 4789, one}, "it is for other addresses"},
           {{mine, 4789, one}, ""},
           {{mine, 4789, two}, "it is for other addresses"},
           {{mine, 4790, two}, "it is not for port 4790"}}) {
    const auto made = host().AllowUdpIn(rule);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(*made, wrong);
  }
  EXPECT_EQ(owner(other), host::RuleOwner::kNone);
  ASSERT_TRUE(host().AllowUdpIn({other, 8472}).ok());
  EXPECT_EQ(owner(mine), host::RuleOwner::kOurs);
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(host().RemoveFirewallRule(mine).ok()) << "also one that is not there";
    EXPECT_EQ(owner(mine), host::RuleOwner::kNone);
    EXPECT_EQ(owner(other), host::RuleOwner::kOurs);
  }
}

TEST_P(HostContract, MissingObjectsAreNamed) {
  for (const absl::Status& status :
       {host().SetForwarding(kNoAdapter, IpFamily::kV4, true),
        host().Forwarding(kNoAdapter, IpFamily::kV4).status(), host().SetLinkUp(kNoAdapter, 1400),
        host().AddAddress(kNoAdapter, {Address("10.0.0.1"), 32})}) {
    EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("cannot "));
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("4711"));
  }
}

TEST_P(HostContract, ChangesAreReportedUntilTheWatchEnds) {
  Calls calls;
  auto watch = host().WatchChanges([&] { calls.Add(); });
  ASSERT_TRUE(watch.ok()) << watch.status();
  rig->GiveAddress("10.9.0.7/24");
  EXPECT_TRUE(calls.MoreThan(0)) << "an address was added";
  int before = calls.count();
  rig->PutDefaultRoute("10.9.0.254");
  EXPECT_TRUE(calls.MoreThan(before)) << "a default route was added";
  before = calls.count();
  rig->SetUp(false);
  EXPECT_TRUE(calls.MoreThan(before)) << "the adapter is down";
}

TEST_P(HostContract, ForeignRouteChangesAreReportedUntilTheWatchEnds) {
  Calls calls;
  auto watch = host().WatchRoutes([&](const host::RouteChanges&) { calls.Add(); });
  ASSERT_TRUE(watch.ok()) << watch.status();
  rig->PutDefaultRoute("10.9.0.254");
  EXPECT_TRUE(calls.MoreThan(0));
  watch->reset();
}

// Another watch of the same host shows when what the ended one must not report has been reported.
TEST_P(HostContract, NothingIsReportedAfterTheWatchEnds) {
  Calls ended, other;
  auto watch = host().WatchChanges([&] { ended.Add(); });
  ASSERT_TRUE(watch.ok()) << watch.status();
  rig->GiveAddress("10.9.0.7/24");
  EXPECT_TRUE(ended.MoreThan(0));
  watch->reset();
  const int before = ended.count();
  auto witness = host().WatchChanges([&] { other.Add(); });
  ASSERT_TRUE(witness.ok()) << witness.status();
  for (const char* address : {"10.9.0.8/24", "10.9.0.9/24", "10.9.0.10/24"}) {
    const int seen = other.count();
    rig->GiveAddress(address);
    EXPECT_TRUE(other.MoreThan(seen)) << address;
  }
  witness->reset();
  EXPECT_EQ(ended.count(), before);
}

TEST_P(HostContract, BothOfTwoWatchesAreNotified) {
  Calls first, second;
  auto one = host().WatchChanges([&] { first.Add(); });
  auto other = host().WatchChanges([&] { second.Add(); });
  rig->GiveAddress("10.9.0.7/24");
  EXPECT_TRUE(first.MoreThan(0));
  EXPECT_TRUE(second.MoreThan(0));
}

inline std::string HostCaseName(const ::testing::TestParamInfo<HostCase>& info) {
  return info.param.name;
}

}  // namespace weft::testing
