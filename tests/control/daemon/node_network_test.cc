// SPDX-License-Identifier: Apache-2.0
// What stands and what is told on a host in memory, round by round. Tunnels need a kernel:
// node_network_linux_test.cc.
#include "control/daemon/node_network.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "tests/control/daemon/node_network_fixture.h"
#include "tests/support/fake_host.h"

namespace weft::daemon {
namespace {

using ::testing::HasSubstr;

class NodeNetworkTest : public NodeNetworkFixture {
 protected:
  // eth0 with 10.9.0.1 and the default route.
  void MakeHere() {
    auto host = weft::testing::HostWithDefaultRoute("10.9.0.1", "10.9.0.254");
    host_ = host.get();
    Make(std::move(host));
  }

  static lease::Lease HostGw(const char* name, const char* subnet, const char* public_ip) {
    lease::Lease made = weft::testing::MakeLease(name, subnet, public_ip);
    made.backend_type = "host-gw";
    made.v4->vtep_mac.reset();
    made.v4->vni.reset();
    return made;
  }

  weft::testing::FakeHost* host_ = nullptr;
};

TEST_F(NodeNetworkTest, StandsAfterOneRound) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  EXPECT_EQ(Round(), "");
  for (const char* name : {"interface", "tunnels", "sinks", "subnet-file"})
    EXPECT_TRUE(CheckNamed(name).ok) << name << ": " << CheckNamed(name).text;
  EXPECT_EQ(CheckNamed("sinks").text, "");
  EXPECT_THAT(Env(), HasSubstr("FLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1450\n"));
  EXPECT_EQ(network_->setup()->underlay.name, "eth0");
  admin::Status status;
  network_->FillStatus(status);
  EXPECT_EQ(status.interface_name, "eth0");
  EXPECT_EQ(status.mtu, 1450u);
}

TEST_F(NodeNetworkTest, WhatSinksLackIsShownUpToThreeItems) {
  MakeHere();
  const struct {
    bool resynced;
    std::vector<std::string> pending;
    const char* text;
  } rows[] = {
      {true, {}, ""},
      {false, {}, "routes: not given anything yet"},
      {true, {"a", "b", "c"}, "routes: a; routes: b; routes: c"},
      {true, {"a", "b", "c", "d", "e"}, "routes: a; routes: b; routes: c; and 2 more"},
  };
  for (const auto& row : rows) {
    control::ReconcilerReport report;
    report.sinks.resize(1);
    report.sinks[0].name = "routes";
    report.sinks[0].resynced = row.resynced;
    report.sinks[0].report.pending = row.pending;
    std::vector<admin::Check> checks;
    network_->AppendChecks(report, checks);
    std::erase_if(checks, [](const admin::Check& check) { return check.name != "sinks"; });
    ASSERT_EQ(checks.size(), 1u);
    EXPECT_EQ(checks[0].text, row.text);
  }
}

TEST_F(NodeNetworkTest, WhereHnsHasNothingToDoNothingIsWaitedFor) {
  conf_.type = control::BackendType::kAlloc;
  options_.dataplane = "hns";
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  EXPECT_EQ(Round(), "");
  EXPECT_TRUE(network_->stands());
}

TEST_F(NodeNetworkTest, TheFileWaitsForTheSinks) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  ASSERT_TRUE(Apply().ok());
  network_->Settle(false);
  EXPECT_EQ(Env(), "");
  EXPECT_FALSE(CheckNamed("sinks").ok);
  EXPECT_THAT(CheckNamed("subnet-file").text, ::testing::EndsWith("subnet.env not written yet"));
  network_->Settle(true);
  EXPECT_NE(Env(), "");
  EXPECT_TRUE(CheckNamed("sinks").ok);
}

// Once every sink held everything, a later lapse takes nothing back.
TEST_F(NodeNetworkTest, TheFileIsPutBackWhileASinkIsBehind) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  ASSERT_EQ(Round(), "");
  const std::string env = Env();
  std::filesystem::remove(options_.subnet_file);
  network_->Settle(false);
  EXPECT_EQ(Env(), env);
}

// Between the new lease and its first truth no pod may start with the old subnet.
TEST_F(NodeNetworkTest, AnotherSubnetWithdrawsTheFileUntilTheSinksHoldIt) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  ASSERT_EQ(Round(), "");
  Lease("10.244.7.0/24", "10.9.0.1");
  ASSERT_TRUE(Apply().ok());
  EXPECT_FALSE(std::filesystem::exists(options_.subnet_file));
  network_->Settle(false);
  EXPECT_FALSE(std::filesystem::exists(options_.subnet_file));
  network_->Settle(true);
  EXPECT_THAT(Env(), HasSubstr("10.244.7.1/24"));
}

TEST_F(NodeNetworkTest, ALostLeaseTakesNothingBack) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  ASSERT_EQ(Round(), "");
  const std::string env = Env();
  std::filesystem::last_write_time(  // as if the clock had been set since
      options_.subnet_file,
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 3650));
  facts_ = absl::NotFoundError("node \"a\" is not there");
  ASSERT_TRUE(Apply().ok());
  EXPECT_EQ(Env(), env);
  EXPECT_TRUE(network_->setup());
}

TEST_F(NodeNetworkTest, CloseLeavesTheFile) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  ASSERT_EQ(Round(), "");
  network_->Close();
  network_->Close();
  EXPECT_NE(Env(), "");
}

TEST_F(NodeNetworkTest, HostGwPutsARouteToEachPeer) {
  options_.dataplane = "routes";
  conf_.type = control::BackendType::kHostGw;
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  weft::testing::TellSnapshot(
      reconciler_,
      {HostGw("a", "10.244.1.0/24", "10.9.0.1"), HostGw("b", "10.244.2.0/24", "10.9.0.2")}, {});
  EXPECT_EQ(Round(), "");
  EXPECT_THAT(host_->done, ::testing::ElementsAre("put 10.244.2.0/24"));
  EXPECT_EQ(CheckNamed("tunnels").text, "none: peers are reached by host routes");
  EXPECT_TRUE(CheckNamed("sinks").ok);
  EXPECT_THAT(Env(), HasSubstr("FLANNEL_MTU=1500\n"));
  network_->Close();
  EXPECT_TRUE(reconciler_.report().sinks.empty());
  EXPECT_EQ(host_->routes.size(), 2u) << "the default route, and the peer's";
}

// As after a vSwitch was bound to it: another index, the same name.
TEST_F(NodeNetworkTest, AnotherUnderlayTakesTheRoutesAlong) {
  options_.dataplane = "routes";
  conf_.type = control::BackendType::kHostGw;
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  weft::testing::TellSnapshot(
      reconciler_,
      {HostGw("a", "10.244.1.0/24", "10.9.0.1"), HostGw("b", "10.244.2.0/24", "10.9.0.2")}, {});
  EXPECT_EQ(Round(), "");
  host_->adapters[0].index = 12;
  host_->routes[0].adapter_index = 12;
  EXPECT_EQ(Round(), "");
  EXPECT_EQ(reconciler_.report().sinks.size(), 1u);
  ASSERT_EQ(host_->routes.size(), 2u);
  EXPECT_EQ(host_->routes[1].adapter_index, 12u);
}

TEST_F(NodeNetworkTest, WhatOthersTookAwayIsPutBackWhenItIsReported) {
  options_.dataplane = "routes";
  conf_.type = control::BackendType::kHostGw;
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  weft::testing::TellSnapshot(
      reconciler_,
      {HostGw("a", "10.244.1.0/24", "10.9.0.1"), HostGw("b", "10.244.2.0/24", "10.9.0.2")}, {});
  EXPECT_EQ(Round(), "");
  host::RouteChange change;
  change.gone = true;
  change.route.destination = *IpPrefix::Parse("10.77.0.0/16");
  EXPECT_FALSE(network_->RoutesChanged({change}));
  change.route.destination = *IpPrefix::Parse("10.244.2.0/24");
  EXPECT_TRUE(network_->RoutesChanged({change}));
  std::erase_if(host_->routes, [](const host::Route& route) { return route.marked; });
  network_->RecheckRoutes(/*all=*/true);
  EXPECT_THAT(host_->done, ::testing::ElementsAre("put 10.244.2.0/24", "put 10.244.2.0/24"));
}

// A node with a full table of BGP, or with a route to each of 100,000 peers.
TEST_F(NodeNetworkTest, AChangeOfALeaseReadsNoRoutes) {
  for (const char* dataplane : {"none", "routes"}) {
    options_.dataplane = dataplane;
    if (options_.dataplane == "routes") conf_.type = control::BackendType::kHostGw;
    MakeHere();
    Lease("10.244.1.0/24", "10.9.0.1");
    EXPECT_EQ(Round(), "");
    const std::size_t reads = host_->reads;
    for (const char* subnet : {"10.244.3.0/24", "10.244.4.0/24", "10.244.5.0/24"}) {
      reconciler_.OnUpsert(HostGw(subnet, subnet, "10.9.0.3"));
      EXPECT_EQ(Round(), "");
    }
    EXPECT_EQ(host_->reads, reads) << dataplane;
    network_->RecheckRoutes(/*all=*/false);
    const bool routes = options_.dataplane == "routes";
    EXPECT_EQ(host_->reads, reads + (routes ? 1 : 0)) << "once for all that was written";
    network_->RecheckRoutes(/*all=*/false);
    EXPECT_EQ(host_->reads, reads + (routes ? 1 : 0));
    network_->HostChanged();
    EXPECT_EQ(Round(), "");
    EXPECT_EQ(host_->reads, reads + (routes ? 3 : 2)) << "each family once";
    host_->adapters[0].mtu = 1400;
    EXPECT_EQ(Round(), "");
    EXPECT_EQ(host_->reads, reads + (routes ? 5 : 4));
    network_->Close();
  }
}

TEST_F(NodeNetworkTest, AnotherAddressMayBringAPeerOnLink) {
  options_.dataplane = "routes";
  conf_.type = control::BackendType::kHostGw;
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  weft::testing::TellSnapshot(
      reconciler_,
      {HostGw("a", "10.244.1.0/24", "10.9.0.1"), HostGw("b", "10.244.2.0/24", "10.99.0.2")}, {});
  EXPECT_EQ(Round(), "");
  EXPECT_THAT(host_->done, ::testing::IsEmpty());
  host_->adapters[0].addresses.push_back({*IpAddress::Parse("10.99.0.1"), 24});
  host::Route link;
  link.destination = *IpPrefix::Parse("10.99.0.0/24");
  link.adapter_index = 2;
  host_->routes.push_back(link);
  EXPECT_EQ(Round(), "");
  EXPECT_THAT(host_->done, ::testing::ElementsAre("put 10.244.2.0/24"));
}

// ---- what is an error and what is waited for

TEST_F(NodeNetworkTest, AHostThatCannotBeReadIsWaitedForByName) {
  class Unreadable final : public weft::testing::FakeHost {
   public:
    absl::StatusOr<std::vector<host::Adapter>> Adapters() override {
      return failing_ == "adapters" ? Failure() : FakeHost::Adapters();
    }
    absl::StatusOr<std::vector<host::Route>> Routes(IpFamily family, std::uint32_t index) override {
      const std::string_view what = family == IpFamily::kV4 ? "IPv4 routes" : "IPv6 routes";
      if (failing_ == what) return Failure();
      return FakeHost::Routes(family, index);
    }
    absl::Status Failure() const {
      return absl::UnavailableError(absl::StrCat("cannot read the ", failing_));
    }
    std::string failing_;
  };
  auto host = std::make_unique<Unreadable>();
  Unreadable* const unreadable = host.get();
  const auto usual = weft::testing::HostWithDefaultRoute("10.9.0.1", "10.9.0.254");
  host->adapters = usual->adapters;
  host->routes = usual->routes;
  Make(std::move(host));
  Lease("10.244.1.0/24", "10.9.0.1");
  for (const char* what : {"adapters", "IPv4 routes", "IPv6 routes"}) {
    unreadable->failing_ = what;
    EXPECT_EQ(Round(), "") << what;
    EXPECT_FALSE(CheckNamed("interface").ok) << what;
    EXPECT_EQ(CheckNamed("interface").text, absl::StrCat("cannot read the ", what));
  }
  unreadable->failing_.clear();
  EXPECT_EQ(Round(), "");
  EXPECT_TRUE(CheckNamed("interface").ok);
}

TEST_F(NodeNetworkTest, WhatNamesTheInterfaceMustFitAtTheStart) {
  const struct {
    const char* description;
    std::function<void(Options&)> name;
    std::uint32_t mtu;
    const char* message;  // empty: it is waited for
  } rows[] = {
      {"name", [](Options& o) { o.iface = {"eth9"}; }, 1500, "--iface=eth9"},
      {"expression", [](Options& o) { o.iface_regex = {"^wl"}; }, 1500, "--iface-regex=^wl"},
      {"reach", [](Options& o) { o.iface_can_reach = "fd00::9"; }, 1500, "--iface-can-reach=fd0"},
      {"no address", [](Options& o) { o.public_ip = "nat"; }, 1500, "correct --public-ip"},
      {"nobody's address", [](Options& o) { o.public_ip = "203.0.113.9"; }, 1500, ""},
      {"a link without MTU", [](Options& o) { o.iface = {"eth0"}; }, 0, ""},
  };
  const Options usual = options_;
  for (const auto& row : rows) {
    options_ = usual;
    row.name(options_);
    MakeHere();
    host_->adapters[0].mtu = row.mtu;
    Lease("10.244.1.0/24", "10.9.0.1");
    const std::string error = Round();
    EXPECT_EQ(error.empty(), *row.message == '\0') << row.description << ": " << error;
    EXPECT_THAT(error, HasSubstr(row.message)) << row.description;
    EXPECT_FALSE(CheckNamed("interface").ok) << row.description;
  }
}

TEST_F(NodeNetworkTest, AMissingInterfaceIsAnErrorOnlyWhenNamedAndNothingStood) {
  options_.iface = {"eth0"};
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  const std::vector<host::Adapter> adapters = std::exchange(host_->adapters, {});
  EXPECT_THAT(Round(), HasSubstr("--iface=eth0"));
  host_->adapters = adapters;
  EXPECT_EQ(Round(), "");
  host_->adapters.clear();
  EXPECT_EQ(Round(), "");
  EXPECT_FALSE(CheckNamed("interface").ok);
  EXPECT_THAT(CheckNamed("interface").text, HasSubstr("--iface=eth0"));
  EXPECT_TRUE(CheckNamed("subnet-file").ok);
  host_->adapters = adapters;
  EXPECT_EQ(Round(), "");
  EXPECT_TRUE(CheckNamed("interface").ok);
}

TEST_F(NodeNetworkTest, WithoutAFlagTheInterfaceIsWaitedFor) {
  MakeHere();
  Lease("10.244.1.0/24", "203.0.113.9");
  const std::vector<host::Route> routes = std::exchange(host_->routes, {});
  EXPECT_EQ(Round(), "");
  EXPECT_FALSE(CheckNamed("interface").ok);
  host_->routes = routes;
  EXPECT_EQ(Round(), "");
  EXPECT_EQ(CheckNamed("interface").text, "eth0");
}

TEST_F(NodeNetworkTest, AnMtuTooSmallIsAnErrorUntilSomethingStood) {
  conf_.enable_ipv4 = false;
  conf_.enable_ipv6 = true;
  conf_.ipv6_network = *IpPrefix::Parse("fd00:244::/48");
  MakeHere();
  host_->adapters[0].addresses = {{*IpAddress::Parse("fd09::1"), 64}};
  host_->routes[0].destination = *IpPrefix::Parse("::/0");
  host_->routes[0].gateway = *IpAddress::Parse("fd09::fe");
  lease::OwnNode own;
  own.node = {"a", ""};
  own.v6.subnet = *IpPrefix::Parse("fd00:244:0:1::/64");
  reconciler_.OnOwnNode(own);
  facts_ = control::DeriveOwnFacts("a", own, conf_);
  host_->adapters[0].mtu = 1300;
  EXPECT_THAT(Round(), HasSubstr("the MTU of eth0 leaves 1230"));
  host_->adapters[0].mtu = 1500;
  EXPECT_EQ(Round(), "");
  EXPECT_TRUE(CheckNamed("tunnels").ok);
  host_->adapters[0].mtu = 1300;
  EXPECT_EQ(Round(), "");
  EXPECT_THAT(CheckNamed("tunnels").text, HasSubstr("the MTU of eth0 leaves 1230"));
  EXPECT_EQ(network_->setup()->env.mtu.octets(), 1430u);
}

// The address is nobody's, so the UDP port cannot be had, on any system.
TEST_F(NodeNetworkTest, ATunnelThatCannotBeOpenedIsAnErrorAndWritesNothing) {
  options_.dataplane = "userspace";
  MakeHere();
  host_->adapters[0].addresses = {{*IpAddress::Parse("203.0.113.1"), 24}};
  Lease("10.244.1.0/24", "203.0.113.1");
  // No host has this address; on Windows there is no such data plane yet.
  EXPECT_THAT(Round(), ::testing::AnyOf(HasSubstr("203.0.113.1"), HasSubstr("needs Npcap")));
  EXPECT_FALSE(CheckNamed("tunnels").ok);
  EXPECT_EQ(Env(), "");
  EXPECT_TRUE(reconciler_.report().sinks.empty());
}

}  // namespace
}  // namespace weft::daemon
