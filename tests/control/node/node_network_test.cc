// SPDX-License-Identifier: Apache-2.0
// The state and the reports on a host in memory, round by round. Tunnels need a kernel:
// node_network_linux_test.cc.
#include "control/node/node_network.h"
#include "control/log.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "tests/control/node/node_network_fixture.h"
#include "tests/support/fake_host.h"

namespace weft::node {
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

TEST_F(NodeNetworkTest, InSyncAfterOneRound) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  EXPECT_EQ(Round(), "");
  for (const char* name : {"interface", "tunnels", "sinks", "subnet-file"})
    EXPECT_TRUE(CheckNamed(name).ok) << name << ": " << CheckNamed(name).text;
  EXPECT_EQ(CheckNamed("sinks").text, "");
  EXPECT_THAT(Env(), HasSubstr("FLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1450\n"));
  EXPECT_EQ(network_->plan()->underlay.name, "eth0");
  admin::Status status;
  network_->FillStatus(status);
  EXPECT_EQ(status.interface_name, "eth0");
  EXPECT_EQ(status.mtu, 1450u);
}

TEST_F(NodeNetworkTest, AnUnreadSourceIsReportedByItsOwnCheckOnly) {
  MakeHere();
  const auto log_of = [&](const absl::Status& why) {
    ::testing::internal::CaptureStderr();
    control::StartLog(control::LogFormat::kKlog, 0);  // Windows' handle of stderr is another now
    facts_ = why;
    Apply();
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(log_of(absl::NotFoundError("no such Node")), HasSubstr("waiting: no such Node"));
  EXPECT_EQ(log_of(absl::UnavailableError("no Nodes yet")), "");
}

TEST_F(NodeNetworkTest, PendingItemsOfSinksAreShownUpToThree) {
  MakeHere();
  const struct {
    bool resynced;
    std::vector<std::string> pending;
    const char* text;
  } rows[] = {
      {true, {}, ""},
      {false, {}, "routes: has received no snapshot yet"},
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
  options_.data_plane = config::DataPlane::kHns;
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  EXPECT_EQ(Round(), "");
  EXPECT_TRUE(network_->is_up());
}

TEST_F(NodeNetworkTest, TheFileWaitsForTheSinks) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  Apply();
  network_->Settle(false);
  EXPECT_EQ(Env(), "");
  EXPECT_FALSE(CheckNamed("sinks").ok);
  EXPECT_THAT(CheckNamed("subnet-file").text, ::testing::EndsWith("subnet.env not written yet"));
  network_->Settle(true);
  EXPECT_NE(Env(), "");
  EXPECT_TRUE(CheckNamed("sinks").ok);
}

// Once every sink was in sync, a later failure withdraws nothing.
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
TEST_F(NodeNetworkTest, AnotherSubnetWithdrawsTheFileUntilTheSinksHaveIt) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  ASSERT_EQ(Round(), "");
  Lease("10.244.7.0/24", "10.9.0.1");
  Apply();
  EXPECT_FALSE(std::filesystem::exists(options_.subnet_file));
  network_->Settle(false);
  EXPECT_FALSE(std::filesystem::exists(options_.subnet_file));
  network_->Settle(true);
  EXPECT_THAT(Env(), HasSubstr("10.244.7.1/24"));
}

// Also where the interface for the new lease is not there yet: the old text is not put back.
TEST_F(NodeNetworkTest, AnotherSubnetWithdrawsTheFileWhileTheInterfaceIsWaitedFor) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  ASSERT_EQ(Round(), "");
  const std::vector<host::Adapter> adapters = std::exchange(host_->adapters, {});
  Lease("10.244.7.0/24", "10.9.0.1");
  for (int round = 0; round < 2; ++round) {
    Round();
    EXPECT_THAT(CheckNamed("interface").text, HasSubstr("eth0 is missing"));
    EXPECT_EQ(Env(), "");
  }
  host_->adapters = adapters;
  EXPECT_EQ(Round(), "");
  EXPECT_THAT(Env(), HasSubstr("10.244.7.1/24"));
}

// It is judged once for each lease; what another program does later is put back, ever more rarely.
TEST_F(NodeNetworkTest, AForeignFileIsNotRemovedRepeatedly) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  ASSERT_EQ(Round(), "");
  const std::string ours = Env(), theirs = "FLANNEL_SUBNET=10.244.99.1/24\n";
  Write("subnet.env", theirs);
  EXPECT_EQ(Round(), "");
  EXPECT_EQ(Env(), ours) << "once at once";
  Write("subnet.env", theirs);
  for (int second = 0; second < 10; ++second) {
    EXPECT_EQ(Round(), "");
    EXPECT_EQ(Env(), theirs);
    clock_.Advance(std::chrono::seconds(1));
  }
  EXPECT_FALSE(CheckNamed("subnet-file").ok);
  EXPECT_EQ(Round(), "");
  EXPECT_EQ(Env(), ours);
  EXPECT_THAT(Condition("subnet-file").text(), HasSubstr("another program keeps changing it"));
}

// MTU and IPMASQ are not part of the lease: the file stays until it is replaced.
TEST_F(NodeNetworkTest, AnotherMtuKeepsTheFileUntilItIsReplaced) {
  options_.ip_masq = true;
  MakeHere();
  Write("subnet.env",
        "FLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_IPMASQ=false\n");
  const std::string before = Env();
  Lease("10.244.1.0/24", "10.9.0.1");
  Apply();
  network_->Settle(false);
  EXPECT_EQ(Env(), before) << "another order, no MTU, another IPMASQ: the same lease";
  EXPECT_FALSE(CheckNamed("subnet-file").ok);
  EXPECT_EQ(Round(), "");
  EXPECT_THAT(Env(), HasSubstr("FLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"));
  host_->adapters[0].mtu = 1400;
  const std::string of_1500 = Env();
  Apply();
  network_->Settle(false);
  EXPECT_EQ(Env(), of_1500);
  EXPECT_EQ(Round(), "");
  EXPECT_THAT(Env(), HasSubstr("FLANNEL_MTU=1350\n"));
}

TEST_F(NodeNetworkTest, ARestoredFileIsLoggedWithWhatItWas) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  ASSERT_EQ(Round(), "");
  const std::string ours = Env();
  Write("subnet.env", "FLANNEL_SUBNET=10.42.0.1/24\n");
  ::testing::internal::CaptureStderr();
  control::StartLog(control::LogFormat::kKlog, 0);  // Windows' handle of stderr is another now
  EXPECT_EQ(Round(), "");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("subnet.env: it had \"FLANNEL_SUBNET=10.42.0.1/24\\n\"\n"));
  EXPECT_EQ(Env(), ours);
}

// New pods would get addresses that the cluster routes to b.
TEST_F(NodeNetworkTest, AFileWhoseSubnetAnotherNodeHasIsRemovedAfterAMinute) {
  MakeHere();
  Write("subnet.env", "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.2.1/24\n");
  const std::string left = Env();
  const auto reported = [this] {
    std::string text;
    std::vector<backend::NamedCondition> conditions;
    network_->AppendConditions(conditions);
    for (const auto& [name, condition] : conditions) text += condition.text();
    return text;
  };
  const auto apply_after = [this](std::chrono::seconds by) {
    clock_.Advance(by);
    Apply();
    network_->Settle(true, clock_.Now());
  };
  apply_after(std::chrono::seconds(61));
  EXPECT_EQ(reported(), "") << "the source has not answered";
  const lease::Lease b = weft::testing::MakeLease("b", "10.244.2.0/24", "10.9.0.2");
  lease::Lease incomplete = b;
  incomplete.v4->vtep_mac.reset();
  weft::testing::ReportSnapshot(reconciler_, {incomplete}, {});
  apply_after(std::chrono::seconds(61));
  EXPECT_EQ(reported(), "");
  reconciler_.OnUpsert(b);
  apply_after(std::chrono::seconds(0));
  EXPECT_THAT(reported(), HasSubstr("names 10.244.2.0/24, which is node \"b\"'s"));
  EXPECT_THAT(reported(), HasSubstr("; it is removed after 60 s, and is back once our Node"));
  apply_after(std::chrono::seconds(59));
  reconciler_.OnCondition(absl::UnavailableError("no answer"));
  apply_after(std::chrono::seconds(2));
  EXPECT_EQ(reported(), "") << "b may have another subnet by now";
  reconciler_.OnCondition(absl::OkStatus());
  apply_after(std::chrono::seconds(1));
  apply_after(std::chrono::seconds(59));
  EXPECT_EQ(Env(), left);
  apply_after(std::chrono::seconds(1));
  EXPECT_FALSE(std::filesystem::exists(Path("subnet.env")));
  EXPECT_THAT(reported(), HasSubstr("was removed: it named 10.244.2.0/24")) << "the cause is left";
  apply_after(std::chrono::seconds(1));
  EXPECT_THAT(reported(), HasSubstr("was removed: it named 10.244.2.0/24"));
  Lease("10.244.3.0/24", "10.9.0.1");
  EXPECT_EQ(Round(), "");
  EXPECT_THAT(Env(), HasSubstr("FLANNEL_SUBNET=10.244.3.1/24\n")) << "at once";
  EXPECT_EQ(reported(), "");
}

// Our Node is deleted while flanneld runs, and another one gets its subnet.
TEST_F(NodeNetworkTest, AFileOfOurFormerNodeIsRemovedTooAndNotRestored) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  ASSERT_EQ(Round(), "");
  const std::string ours = Env();
  reconciler_.OnDelete({"a", "uid-a"});
  reconciler_.OnOwnNode(std::nullopt);
  reconciler_.OnUpsert(weft::testing::MakeLease("c", "10.244.1.0/24", "10.9.0.3"));
  const auto facts = std::exchange(facts_, absl::NotFoundError("node \"a\" is not there"));
  for (int second = 0; second <= 61; ++second) {
    Round();
    clock_.Advance(std::chrono::seconds(1));
  }
  EXPECT_FALSE(std::filesystem::exists(Path("subnet.env")));
  reconciler_.OnDelete({"c", "uid-c"});
  facts_ = facts;
  lease::OwnNode own;
  own.node = {"a", ""};
  own.v4.subnet = *IpPrefix::Parse("10.244.1.0/24");
  reconciler_.OnOwnNode(own);
  EXPECT_EQ(Round(), "");
  EXPECT_EQ(Env(), ours);
}

// A folder in its place can neither be withdrawn nor replaced, nor does it name a lease.
TEST_F(NodeNetworkTest, AnUnwritableFileAffectsNothingElse) {
  MakeHere();
  std::filesystem::create_directories(Path("subnet.env") + "/full");
  Lease("10.244.1.0/24", "10.9.0.1");
  EXPECT_EQ(Round(), "");
  EXPECT_TRUE(network_->is_up());
  EXPECT_FALSE(CheckNamed("subnet-file").ok);
  EXPECT_THAT(Condition("subnet-file").text(), HasSubstr("subnet.env: cannot "));
  EXPECT_EQ(Round(), "");
  EXPECT_EQ(Condition("subnet-file").times(), 1u);
  std::filesystem::remove_all(Path("subnet.env"));
  EXPECT_EQ(Round(), "");
  EXPECT_EQ(Condition("subnet-file").text(), "");
  EXPECT_TRUE(CheckNamed("subnet-file").ok);
}

// One refused peer is a condition of that peer: pods start, and reach the other peers.
TEST_F(NodeNetworkTest, OneRefusedPeerDoesNotDelayReadiness) {
  options_.data_plane = config::DataPlane::kRoutes;
  conf_.type = control::BackendType::kHostGw;
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  host_->failing = {*IpPrefix::Parse("10.244.3.0/24")};
  weft::testing::ReportSnapshot(
      reconciler_,
      {HostGw("a", "10.244.1.0/24", "10.9.0.1"), HostGw("b", "10.244.2.0/24", "10.9.0.2"),
       HostGw("c", "10.244.3.0/24", "10.9.0.3")},
      {});
  EXPECT_EQ(Round(), "");
  EXPECT_TRUE(CheckNamed("sinks").ok);
  EXPECT_THAT(CheckNamed("sinks").text, HasSubstr("route 10.244.3.0/24 via 10.9.0.3"));
  EXPECT_THAT(Env(), HasSubstr("10.244.1.1/24"));
}

TEST_F(NodeNetworkTest, AllOfSeveralPeersRefusedDelayReadiness) {
  options_.data_plane = config::DataPlane::kRoutes;
  conf_.type = control::BackendType::kHostGw;
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  host_->failing = {*IpPrefix::Parse("10.244.2.0/24"), *IpPrefix::Parse("10.244.3.0/24")};
  weft::testing::ReportSnapshot(
      reconciler_,
      {HostGw("a", "10.244.1.0/24", "10.9.0.1"), HostGw("b", "10.244.2.0/24", "10.9.0.2"),
       HostGw("c", "10.244.3.0/24", "10.9.0.3")},
      {});
  EXPECT_EQ(Round(), "");
  EXPECT_FALSE(CheckNamed("sinks").ok);
  EXPECT_EQ(Env(), "");
}

// By FLANNEL_IPMASQ the CNI plugin masquerades itself, or leaves it to us.
TEST_F(NodeNetworkTest, TheFileHasIpMasqOnlyWhilePodsAreMasqueraded) {
  filter_ = std::make_shared<weft::testing::FakePacketFilter>();
  conf_.type = control::BackendType::kAlloc;
  options_.data_plane = config::DataPlane::kUserspace;
  options_.ip_masq = true;
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  filter_->writable = absl::PermissionDeniedError("not permitted");
  ASSERT_EQ(Round(), "");
  EXPECT_THAT(Env(), HasSubstr("FLANNEL_IPMASQ=false\n"));
  EXPECT_TRUE(CheckNamed("subnet-file").ok);
  EXPECT_THAT(Condition("masquerade").text(), HasSubstr("not permitted"));

  auto now = std::chrono::steady_clock::now();
  filter_->writable = absl::OkStatus();
  network_->PollPodRules(now += std::chrono::seconds(5));
  EXPECT_EQ(Round(), "");
  EXPECT_THAT(Env(), HasSubstr("FLANNEL_IPMASQ=true\n"));

  filter_->held.clear();
  filter_->writable = absl::PermissionDeniedError("not permitted");
  network_->PollPodRules(now += std::chrono::seconds(5));
  EXPECT_EQ(Round(), "");
  EXPECT_THAT(Env(), HasSubstr("FLANNEL_IPMASQ=false\n"));
}

TEST_F(NodeNetworkTest, RulesAreThoseOfTheFlagsAndOfOurLease) {
  filter_ = std::make_shared<weft::testing::FakePacketFilter>();
  conf_.type = control::BackendType::kAlloc;
  conf_.nftables = true;
  options_.data_plane = config::DataPlane::kUserspace;
  options_.ip_masq = options_.ip_masq_fully_random_disable = true;
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  ASSERT_EQ(Round(), "");
  const host::PodNetwork pods{*IpPrefix::Parse("10.244.0.0/16"), *IpPrefix::Parse("10.244.1.0/24")};
  EXPECT_EQ(filter_->held[host::FilterPart::kMasquerade],
            host::MasqueradeRules(pods, {true, false}));
  EXPECT_EQ(filter_->held[host::FilterPart::kForward], host::ForwardRules(pods.network));

  options_.ip_masq = options_.iptables_forward_rules = false;
  MakeHere();
  ASSERT_EQ(Round(), "");
  for (const auto& [part, held] : filter_->held) EXPECT_TRUE(held.empty());
  EXPECT_THAT(Env(), HasSubstr("FLANNEL_IPMASQ=false\n"));
}

// It takes the lease and writes the file, and leaves packets to another program.
TEST_F(NodeNetworkTest, WithoutADataPlaneNoRuleIsAddedAndTheFileHasNoIpMasq) {
  filter_ = std::make_shared<weft::testing::FakePacketFilter>();
  options_.ip_masq = true;
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  ASSERT_EQ(Round(), "");
  EXPECT_TRUE(filter_->reads.empty() && filter_->puts.empty());
  EXPECT_THAT(Env(), HasSubstr("FLANNEL_IPMASQ=false\n"));
}

TEST_F(NodeNetworkTest, ALostLeaseRemovesNothing) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  ASSERT_EQ(Round(), "");
  const std::string env = Env();
  std::filesystem::last_write_time(  // as if the clock had been set since
      options_.subnet_file,
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 3650));
  facts_ = absl::NotFoundError("node \"a\" is not there");
  Apply();
  EXPECT_EQ(Env(), env);
  EXPECT_TRUE(network_->plan());
}

TEST_F(NodeNetworkTest, CloseLeavesTheFile) {
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  ASSERT_EQ(Round(), "");
  network_->Close();
  network_->Close();
  EXPECT_NE(Env(), "");
}

TEST_F(NodeNetworkTest, HostGwAddsARouteToEachPeer) {
  options_.data_plane = config::DataPlane::kRoutes;
  conf_.type = control::BackendType::kHostGw;
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  weft::testing::ReportSnapshot(
      reconciler_,
      {HostGw("a", "10.244.1.0/24", "10.9.0.1"), HostGw("b", "10.244.2.0/24", "10.9.0.2")}, {});
  EXPECT_EQ(Round(), "");
  EXPECT_THAT(host_->done, ::testing::ElementsAre("put 10.244.2.0/24"));
  EXPECT_EQ(CheckNamed("tunnels").text, "none: peers are reached by host routes");
  EXPECT_TRUE(CheckNamed("sinks").ok);
  EXPECT_THAT(Env(), HasSubstr("FLANNEL_MTU=1500\n"));
  admin::Status status;
  network_->FillStatus(status);
  EXPECT_THAT(status.peers,
              ::testing::ElementsAre(admin::PeerStatus{.node = "b", .device = "eth0"}));
  network_->Close();
  EXPECT_TRUE(reconciler_.report().sinks.empty());
  EXPECT_EQ(host_->routes.size(), 2u) << "the default route, and the peer's";
}

// As after a vSwitch was bound to it: another index, the same name.
TEST_F(NodeNetworkTest, AnotherUnderlayMovesTheRoutes) {
  options_.data_plane = config::DataPlane::kRoutes;
  conf_.type = control::BackendType::kHostGw;
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  weft::testing::ReportSnapshot(
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

TEST_F(NodeNetworkTest, AReportedForeignRemovalIsRepaired) {
  options_.data_plane = config::DataPlane::kRoutes;
  conf_.type = control::BackendType::kHostGw;
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  weft::testing::ReportSnapshot(
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
  for (const auto data_plane : {config::DataPlane::kNone, config::DataPlane::kRoutes}) {
    options_.data_plane = data_plane;
    if (data_plane == config::DataPlane::kRoutes) conf_.type = control::BackendType::kHostGw;
    MakeHere();
    Lease("10.244.1.0/24", "10.9.0.1");
    EXPECT_EQ(Round(), "");
    const std::size_t reads = host_->reads;
    for (const char* subnet : {"10.244.3.0/24", "10.244.4.0/24", "10.244.5.0/24"}) {
      reconciler_.OnUpsert(HostGw(subnet, subnet, "10.9.0.3"));
      EXPECT_EQ(Round(), "");
    }
    EXPECT_EQ(host_->reads, reads) << Name(data_plane);
    network_->RecheckRoutes(/*all=*/false);
    const bool routes = data_plane == config::DataPlane::kRoutes;
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
  options_.data_plane = config::DataPlane::kRoutes;
  conf_.type = control::BackendType::kHostGw;
  MakeHere();
  Lease("10.244.1.0/24", "10.9.0.1");
  weft::testing::ReportSnapshot(
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

// ---- all is waited for

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
    EXPECT_EQ(Round(), absl::StrCat("cannot read the ", what));
    EXPECT_FALSE(CheckNamed("interface").ok) << what;
  }
  unreadable->failing_.clear();
  EXPECT_EQ(Round(), "");
  EXPECT_TRUE(CheckNamed("interface").ok);
}

// On Windows a NIC appears late, and disappears while HNS binds it.
TEST_F(NodeNetworkTest, AnInterfaceThatIsNamedIsWaitedForAtTheStartAndLater) {
  const struct {
    const char* description;
    std::function<void(config::Options&)> name;
    const char* message;
  } rows[] = {
      {"name", [](config::Options& o) { o.iface = {"eth0"}; },
       "--iface=eth0: no adapter has that name"},
      {"address", [](config::Options& o) { o.iface = {"10.9.0.1"}; },
       "--iface=10.9.0.1: no adapter"},
      {"expression", [](config::Options& o) { o.iface_regex = {"^eth"}; },
       "--iface-regex=^eth: matches"},
      {"reach", [](config::Options& o) { o.iface_can_reach = "10.9.0.9"; },
       "--iface-can-reach=10.9.0.9: "},
      {"public address", [](config::Options& o) { o.public_ip = "10.9.0.1"; },
       "no adapter has that addr"},
      {"none", [](config::Options&) {}, "the default route: this host has none"},
  };
  const config::Options usual = options_;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    options_ = usual;
    row.name(options_);
    MakeHere();
    Lease("10.244.1.0/24", "203.0.113.9");
    const std::vector<host::Adapter> adapters = std::exchange(host_->adapters, {});
    EXPECT_THAT(Round(), HasSubstr(row.message));
    EXPECT_EQ(Env(), "");
    host_->adapters = adapters;
    EXPECT_EQ(Round(), "");
    EXPECT_NE(Env(), "");
    host_->adapters.clear();
    EXPECT_EQ(Round(), "");
    clock_.Advance(std::chrono::seconds(10));
    EXPECT_THAT(Round(), HasSubstr("eth0 is missing and has lost its address 10.9.0.1"));
    EXPECT_TRUE(CheckNamed("subnet-file").ok) << "pods keep starting";
    host_->adapters = adapters;
    EXPECT_EQ(Round(), "");
    network_.reset();
    std::filesystem::remove(options_.subnet_file);
  }
}

TEST_F(NodeNetworkTest, ALinkWithoutMtuIsWaitedFor) {
  options_.iface = {"eth0"};
  MakeHere();
  host_->adapters[0].mtu = 0;
  Lease("10.244.1.0/24", "10.9.0.1");
  EXPECT_THAT(Round(), HasSubstr("adapter eth0 has the MTU 0"));
  host_->adapters[0].mtu = 1500;
  EXPECT_EQ(Round(), "");
}

// ---- the underlay (the rule itself: tests/control/underlay/underlay_keeper_test.cc)

class TwoNicsTest : public NodeNetworkTest {
 protected:
  // eth0, 10.9.0.1, with the default route, and eth1, 172.16.0.1, with one of a higher metric.
  void SetUp() override {
    NodeNetworkTest::SetUp();
    options_.kube_subnet_mgr = true;
    MakeHere();
    host_->adapters[0].mac = *MacAddress::Parse("02:00:00:00:00:a0");
    host_->adapters.push_back(host_->adapters[0]);
    host_->adapters[1].index = 3;
    host_->adapters[1].name = "eth1";
    host_->adapters[1].mac = *MacAddress::Parse("02:00:00:00:00:a1");
    host_->adapters[1].addresses = {{*IpAddress::Parse("172.16.0.1"), 24}};
    host::Route worse;
    worse.gateway = *IpAddress::Parse("172.16.0.254");
    worse.adapter_index = 3;
    worse.metric = 50;
    host_->routes.push_back(worse);
    Lease("10.244.1.0/24", "203.0.113.9");
    ASSERT_EQ(Round(), "");
    ASSERT_EQ(Underlay(), "eth0, 10.9.0.1");
  }
  std::string Underlay() const { return Text(network_->plan()->underlay); }
  // Its default route is removed with the address.
  void LoseAddress() {
    host_->adapters[0].addresses.clear();
    std::erase_if(host_->routes, [](const host::Route& route) { return route.adapter_index == 2; });
  }
  // What Round logs.
  std::string LogOf(const std::function<void()>& change) {
    ::testing::internal::CaptureStderr();
    control::StartLog(control::LogFormat::kKlog, 0);  // Windows' handle of stderr is another now
    change();
    EXPECT_EQ(Round(), "");
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(TwoNicsTest, ABetterDefaultRouteChangesNothing) {
  EXPECT_EQ(LogOf([this] {
              host_->routes[0].metric = 100;
              network_->HostChanged();
            }),
            "");
  EXPECT_EQ(Underlay(), "eth0, 10.9.0.1");
}

TEST_F(TwoNicsTest, TheSameAddressOnAnotherAdapterIsFollowedWithoutALine) {
  EXPECT_EQ(LogOf([this] {
              LoseAddress();
              host_->adapters[1].addresses = {{*IpAddress::Parse("10.9.0.1"), 24}};
            }),
            "");
  EXPECT_EQ(Underlay(), "eth1, 10.9.0.1");
}

TEST_F(TwoNicsTest, AMoveIsOneWarningWithBothValuesAndTheReason) {
  lease::OwnNode own = *reconciler_.own_node();
  const auto move = [&] { reconciler_.OnOwnNode(own); };
  own.internal_ips = {*IpAddress::Parse("172.16.0.1")};
  EXPECT_THAT(LogOf(move),
              ::testing::AllOf(::testing::StartsWith("W"),
                               HasSubstr("] this node moves from eth0, 10.9.0.1 to eth1, "
                                         "172.16.0.1: requested by the Node's InternalIP "
                                         "172.16.0.1 (move 1 of this process)\n")));
  EXPECT_EQ(Underlay(), "eth1, 172.16.0.1");
  EXPECT_EQ(LogOf([] {}), "");
  own.v4.public_ip_overwrite = "203.0.113.7";
  EXPECT_THAT(LogOf(move), HasSubstr("] this node moves from eth1, 172.16.0.1 to eth1, 172.16.0.1 "
                                     "(published as 203.0.113.7): requested by the annotation "
                                     "public-ip-overwrite (move 2 of this process)\n"));
  EXPECT_EQ(network_->public_ip(IpFamily::kV4)->ToString(), "203.0.113.7");
  own.internal_ips.clear();
  EXPECT_EQ(LogOf(move), "");
  own.v4.public_ip_overwrite.clear();
  EXPECT_THAT(LogOf(move), HasSubstr(": an annotation that named its public IP is gone (move 3"));
  options_.iface = {"eth1"};
  own.v4.node_public_ip = "203.0.113.8";
  EXPECT_THAT(LogOf(move), HasSubstr(": requested by the annotation node-public-ip (move 4"));
}

TEST_F(TwoNicsTest, ALostAddressIsWaitedForAndReportedAfterTenSeconds) {
  LoseAddress();
  constexpr char kWaits[] = "eth0 exists but has lost its address 10.9.0.1: flanneld waits";
  EXPECT_EQ(Round(), "");
  EXPECT_THAT(CheckNamed("interface").text, HasSubstr(kWaits)) << "shown at once";
  EXPECT_EQ(Condition("interface").text(), "");
  EXPECT_FALSE(network_->is_due(clock_.Now()));
  clock_.Advance(std::chrono::seconds(9));
  EXPECT_TRUE(network_->is_due(clock_.Now()));
  EXPECT_EQ(Round(), "");
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_THAT(Round(), HasSubstr(kWaits));
  EXPECT_THAT(Condition("interface").text(), HasSubstr(kWaits));
  EXPECT_EQ(Underlay(), "eth0, 10.9.0.1");
  EXPECT_EQ(network_->public_ip(IpFamily::kV4)->ToString(), "10.9.0.1");
  host_->adapters[0].addresses = {{*IpAddress::Parse("10.9.0.1"), 24}};
  EXPECT_EQ(Round(), "") << "at once, without a default route";
  EXPECT_EQ(Condition("interface").text(), "");
}

// Of an annotation, too: the operator's way out.
TEST_F(TwoNicsTest, AConfiguredAddressIsFollowed) {
  LoseAddress();
  EXPECT_EQ(Round(), "");
  lease::OwnNode own = *reconciler_.own_node();
  own.v4.node_public_ip = "172.16.0.1";
  reconciler_.OnOwnNode(own);
  EXPECT_EQ(Round(), "");
  EXPECT_EQ(Underlay(), "eth1, 172.16.0.1");
}

TEST_F(TwoNicsTest, WithoutLinkForTenSecondsTheNodeIsNotReadyAndStays) {
  for (bool host::Adapter::*const of : {&host::Adapter::link, &host::Adapter::up}) {
    const std::string text =
        absl::StrCat("the interface eth0 ", of == &host::Adapter::up ? "is down" : "has no link");
    host_->adapters[0].*of = false;
    EXPECT_EQ(Round(), "");
    clock_.Advance(std::chrono::seconds(9));
    network_->Poll(clock_.Now());
    EXPECT_TRUE(CheckNamed("interface").ok);
    EXPECT_THAT(CheckNamed("interface").text, HasSubstr(text));
    clock_.Advance(std::chrono::seconds(1));
    network_->Poll(clock_.Now());
    EXPECT_FALSE(CheckNamed("interface").ok);
    EXPECT_THAT(Condition("interface").text(), HasSubstr(text));
    clock_.Advance(std::chrono::minutes(15));
    EXPECT_NE(Round(), "");
    EXPECT_EQ(Underlay(), "eth0, 10.9.0.1");
    host_->adapters[0].*of = true;
    EXPECT_EQ(Round(), "");
    EXPECT_EQ(CheckNamed("interface").text, "eth0");
  }
}

TEST_F(NodeNetworkTest, WithoutAFlagTheInterfaceIsWaitedFor) {
  MakeHere();
  Lease("10.244.1.0/24", "203.0.113.9");
  const std::vector<host::Route> routes = std::exchange(host_->routes, {});
  EXPECT_THAT(Round(), HasSubstr("the default route: this host has none"));
  host_->routes = routes;
  network_->HostChanged();  // as the watch reports it
  EXPECT_EQ(Round(), "");
  EXPECT_EQ(CheckNamed("interface").text, "eth0");
}

// Each change of a lease is an Apply, and the routes may be 100,000.
TEST_F(NodeNetworkTest, WhileNoInterfaceMatchesRoutesAreReadEveryFewSeconds) {
  MakeHere();
  Lease("10.244.1.0/24", "203.0.113.9");
  const std::vector<host::Route> routes = std::exchange(host_->routes, {});
  EXPECT_NE(Round(), "");
  const std::size_t reads = host_->reads;
  for (int i = 0; i < 30; ++i) {
    EXPECT_NE(Round(), "");
    clock_.Advance(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(host_->reads, reads);
  host_->routes = routes;  // without a notification
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Round(), "");
  EXPECT_EQ(host_->reads, reads + 2) << "each family once";
}

TEST_F(NodeNetworkTest, AnMtuTooSmallIsWaitedFor) {
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
  EXPECT_THAT(Round(), HasSubstr("the MTU of eth0 leaves 1230"));
  EXPECT_EQ(network_->plan()->mtu.bytes(), 1430u);
}

// No adapter has the address, so the UDP port cannot be bound, on any system.
TEST_F(NodeNetworkTest, ATunnelThatCannotBeOpenedIsWaitedForAndWritesNothing) {
  options_.data_plane = config::DataPlane::kUserspace;
  MakeHere();
  host_->adapters[0].addresses = {{*IpAddress::Parse("203.0.113.1"), 24}};
  Lease("10.244.1.0/24", "203.0.113.1");
  // No host has this address; Wine binds it, and has no such device.
  EXPECT_THAT(Round(),
              ::testing::AnyOf(HasSubstr("203.0.113.1"), HasSubstr("Windows has no TUN devices")));
  EXPECT_FALSE(CheckNamed("tunnels").ok);
  EXPECT_EQ(Env(), "");
  EXPECT_TRUE(reconciler_.report().sinks.empty());
}

}  // namespace
}  // namespace weft::node
