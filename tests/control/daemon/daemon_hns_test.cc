// SPDX-License-Identifier: Apache-2.0
// The daemon of a Windows node: HNS, an emulator in this process, moves the packets.
#include <thread>

#include "control/cni/installed_config.h"
#include "control/emulator/hns/emulator.h"
#include "control/file_io.h"
#include "control/log.h"
#include "hns/client.h"
#include "hns/overlay_plan.h"
#include "tests/control/daemon/daemon_fixture.h"
#include "tests/hns/watched_api.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/fake_host.h"
#include "tests/support/ledger_rows.h"

namespace weft::daemon {
namespace {

using hns::emulator::Restart;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DaemonHnsTest : public DaemonFixture {
 protected:
  // The machine as weft sees it (eth0) and as HNS sees it: the address is the same.
  struct Emulation {
    hns::emulator::SystemClock clock;
    weft::testing::EthernetNode node{clock, {}, "eth0"};
    hns::emulator::Emulator& hns = node.hns();
  };

  absl::Status StartOnHns(config::DataPlane data_plane = config::DataPlane::kHns) {
    config_.options.data_plane = data_plane;
    if (data_plane != config::DataPlane::kHns) config_.options.hns_emulator = "follower";
    config_.hns = {emulation_, &emulation_->hns};
    return Start(weft::testing::HostWithDefaultRoute("192.168.1.10", "192.168.1.254"));
  }
  static Node Own() { return Node("a").Leased("10.244.1.0/24", "192.168.1.10"); }
  static Node Peer() {
    return Node("b").Leased("10.244.2.0/24", "192.168.1.2", "02:00:00:00:00:02");
  }
  hns::Network Network() {
    const auto networks = hns::Client(emulation_->hns).Networks("flannel.4096");
    EXPECT_TRUE(networks.ok()) << networks.status();
    return networks.ok() && networks->size() == 1 ? networks->front() : hns::Network();
  }
  std::vector<std::string> Routes() {
    std::vector<std::string> routes;
    for (const hns::Policy& policy : Network().policies) {
      if (const auto route = hns::ReadRemoteSubnetRoute(policy)) {
        routes.push_back(route->destination.ToString() + " via " +
                         route->provider_address.ToString() + " " + route->router_mac.ToString());
      }
    }
    return routes;
  }

  // The requests of `flannelctl plan` and `hns repair`.
  absl::StatusOr<admin::Plan> Request(const std::string& name, bool repair) {
    std::optional<absl::StatusOr<admin::Plan>> plan;
    EXPECT_TRUE(RunUntil([&] {
      if (!plan) plan = daemon_->RequestPlan(name, repair);
      return plan.has_value();
    }));
    return plan ? *plan : absl::StatusOr<admin::Plan>(absl::UnknownError("no answer"));
  }
  // As `flannelctl reset` reads it.
  std::vector<ledger::Row> Entries(std::string_view kind = "hns-network") {
    std::vector<ledger::Row> rows = weft::testing::RowsOnDisk(config_.options.state_dir);
    std::erase_if(rows, [&](const ledger::Row& row) { return row.kind != kind; });
    return rows;
  }
  // The network that the daemon would make, made by another program.
  void MakeNetwork() {
    const hns::OverlaySpec spec{"flannel.4096",
                                *IpPrefix::Parse("10.244.1.0/24"),
                                *hns::IsolationId::From(4096),
                                4789,
                                "",
                                *IpAddress::Parse("192.168.1.10"),
                                false};
    ASSERT_TRUE(hns::Client(emulation_->hns).Create(hns::OverlayNetwork(spec)).ok());
  }

  const std::shared_ptr<Emulation> emulation_ = std::make_shared<Emulation>();
};

// kube-proxy's source VIP, reserved where an overlay network of HNS is this node's data plane.
TEST_F(DaemonHnsTest, TheSourceVipIsReserved) {
  config_.options.source_vip_file = Path("sourceVip.json");
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(daemon_->ReadStatus().source_vip, IpAddress::Parse("10.244.1.2"));
  EXPECT_TRUE(std::filesystem::exists(Path("networks/flannel.4096/10.244.1.2")));
  EXPECT_TRUE(std::filesystem::exists(Path("sourceVip.json")));
}

// Released while flanneld did not run, as by host-local's GC: no pod may get kube-proxy's address.
TEST_F(DaemonHnsTest, ALostSourceVipIsTakenFromKubeProxysEndpoint) {
  MakeNetwork();
  hns::Endpoint endpoint;
  endpoint.network = Network().id;
  endpoint.ip_configurations = {{*IpAddress::Parse("10.244.1.7"), 24}};
  ASSERT_TRUE(hns::Client(emulation_->hns).CreateEndpoint(endpoint).ok());
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntil([this] { return daemon_->ReadStatus().source_vip.has_value(); }));
  EXPECT_EQ(daemon_->ReadStatus().source_vip, IpAddress::Parse("10.244.1.7"));
  EXPECT_TRUE(std::filesystem::exists(Path("networks/flannel.4096/10.244.1.7")));
}

TEST_F(DaemonHnsTest, AStoreThatIsNoFolderIsAConditionAndNothingElse) {
  std::ofstream(Path("networks")) << "a file";
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  const admin::Status status = daemon_->ReadStatus();
  EXPECT_FALSE(status.source_vip);
  EXPECT_THAT(status.conditions, ::testing::Contains(::testing::Field(
                                     &admin::ConditionStatus::subject, "source-vip")));
  EXPECT_EQ(Sample("weft_condition_active{subject=\"source-vip\"}"), 1);
  EXPECT_EQ(Sample("weft_condition_active{subject=\"vni\"}"), 0);
}

TEST_F(DaemonHnsTest, BothOfTwoConditionsOfOneSubjectAreShown) {
  config_.options.source_vip_file = Path("none") + "/sourceVip.json";
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  const auto shows = [this](std::string_view text) {
    return RunUntil([&] {
      for (const admin::ConditionStatus& each : daemon_->ReadStatus().conditions)
        if (each.subject == "source-vip" && each.condition.find(text) != std::string::npos)
          return true;
      return false;
    });
  };
  ASSERT_TRUE(shows("the file of the source VIP, "));
  std::filesystem::remove_all(Path("networks"));
  std::ofstream(Path("networks")) << "a file";
  EXPECT_TRUE(shows("; the file of the source VIP, "));
}

TEST_F(DaemonHnsTest, WithoutAStoreNoSourceVipIsReserved) {
  config_.options.source_vip_store.clear();
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_FALSE(daemon_->ReadStatus().source_vip);
}

// As after a change from host-gw to vxlan: no pod starts, which flanneld alone can tell.
TEST_F(DaemonHnsTest, ACniConfigurationForAnotherNetworkIsACondition) {
  const auto install = [this](const std::string& name) {
    const std::string text =
        R"({"name":")" + name + R"(","cniVersion":"1.0.0","plugins":[{"type":"azure-vnet"}]})";
    return cni::InstallConfig({Path("state"), Path("net.d/10-flannel.conflist"), text}).status();
  };
  const auto condition = [this] {
    for (const admin::ConditionStatus& each : daemon_->ReadStatus().conditions)
      if (each.subject == "cni") return each.condition;
    return std::string();
  };
  ASSERT_TRUE(install("cbr0").ok());
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns(config::DataPlane::kNone).ok());
  EXPECT_EQ(condition(), "") << "pods of a follower have another network";
  daemon_.reset();
  config_.options.hns_emulator.reset();
  config_.conf.type = control::BackendType::kAlloc;
  ASSERT_TRUE(StartOnHns().ok());
  EXPECT_EQ(condition(), "") << "flanneld makes none";
  daemon_.reset();
  config_.conf.type = control::BackendType::kVxlan;
  ASSERT_TRUE(StartOnHns().ok());
  EXPECT_THAT(condition(),
              HasSubstr("name: flanneld's network is flannel.4096: no pod can start in it"));
  ASSERT_TRUE(RunUntilReady());
  ASSERT_TRUE(install("flannel.4096").ok());
  EXPECT_TRUE(RunUntil([&] { return condition().empty(); }));
}

// Pods of a follower have another data plane, and kube-proxy another mode.
TEST_F(DaemonHnsTest, AFollowerReservesNoSourceVip) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns(config::DataPlane::kNone).ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_FALSE(daemon_->ReadStatus().source_vip);
  EXPECT_FALSE(std::filesystem::exists(Path("networks")));
}

TEST_F(DaemonHnsTest, ReadyOnceEveryRouteIsProgrammed) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  const hns::Network network = Network();
  EXPECT_EQ(network.subnets[0].prefix, *IpPrefix::Parse("10.244.1.0/24"));
  EXPECT_TRUE(network.Has(hns::policy_type::kHostRoute));
  EXPECT_THAT(Routes(), ElementsAre("10.244.2.0/24 via 192.168.1.2 02:00:00:00:00:02"));
  EXPECT_THAT(Read("subnet.env"), HasSubstr("FLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1450\n"));

  const admin::Status status = daemon_->ReadStatus();
  ASSERT_TRUE(status.hns);
  EXPECT_EQ(status.hns->state, "in-sync");
  EXPECT_EQ(status.hns->id, network.id.ToString());
  EXPECT_EQ(status.tunnel_port(), 4789) << "for flannelctl capture and explain";
  EXPECT_EQ(status.hns->router_mac, network.dr_mac());
  EXPECT_EQ(status.v4->vtep_mac, network.dr_mac()) << "the values that HNS chose are published";
  EXPECT_THAT(status.tunnels, ::testing::IsEmpty());
  EXPECT_THAT(status.peers, ElementsAre(admin::PeerStatus{.node = "b", .device = "flannel.4096"}))
      << "HNS counts no packets";
}

TEST_F(DaemonHnsTest, AnMtuThatReachesNoPodIsNoted) {
  WriteNodes({Own(), Peer()});
  config_.conf.mtu = OuterMtu::From(1400);
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_THAT(
      daemon_->ReadStatus().hns->notes,
      ::testing::Contains(HasSubstr("Backend.MTU 1400 of net-conf reaches no pod of this node")));
}

TEST_F(DaemonHnsTest, MetricsShowRoutesCallsAndRepairs) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(Sample("weft_ready"), 1);
  EXPECT_EQ(Sample("weft_leases{family=\"ipv4\",state=\"usable\"}"), 1);
  EXPECT_EQ(Sample("weft_leases{family=\"ipv4\",state=\"self\"}"), 1);
  EXPECT_EQ(Sample("weft_routes{sink=\"hns\",state=\"desired\"}"), 1);
  EXPECT_EQ(Sample("weft_routes{sink=\"hns\",state=\"applied\"}"), 1);
  EXPECT_EQ(Sample("weft_hns_call_duration_seconds_count{op=\"HcnCreateNetwork\",result="
                   "\"ok\"}"),
            1);
  EXPECT_EQ(Sample("weft_hns_restarts_total"), 0);
  for (const char* kind : {"network", "host-route", "route"})
    EXPECT_EQ(Sample(absl::StrCat("weft_hns_drift_repairs_total{kind=\"", kind, "\"}")), 0)
        << kind << ": the first writes are no repairs";

  // A peer that comes is no repair; a network that another program deletes is one, its routes and
  // HostRoute are not counted again.
  WriteNodes(
      {Own(), Peer(), Node("c").Leased("10.244.3.0/24", "192.168.1.3", "02:00:00:00:00:03")});
  ASSERT_TRUE(RunUntil([this] { return Routes().size() == 2 && Ready(); }));
  const hns::Network network = Network();
  ASSERT_TRUE(hns::Client(emulation_->hns).DeleteNetwork(network.id, network.name).ok());
  ASSERT_TRUE(
      RunUntil([this] { return Sample("weft_hns_drift_repairs_total{kind=\"network\"}") == 1; }));
  ASSERT_TRUE(RunUntil([this] { return Ready() && Routes().size() == 2; }));
  EXPECT_EQ(Sample("weft_hns_drift_repairs_total{kind=\"route\"}"), 0);
  EXPECT_EQ(Sample("weft_hns_drift_repairs_total{kind=\"host-route\"}"), 0);
}

TEST_F(DaemonHnsTest, WhatWasRestoredIsLoggedInStatusAndReportedToTheSupervisor) {
  service::Health health;
  config_.on_health = [&](const service::Health& now) { health = now; };
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(daemon_->ReadStatus().hns->restored, std::nullopt);
  const hns::Network network = Network();
  ASSERT_TRUE(hns::Client(emulation_->hns).DeleteNetwork(network.id, network.name).ok());
  ::testing::internal::CaptureStderr();
  control::StartLog(control::LogFormat::kKlog, 0);  // Windows' handle of stderr is another now
  const auto restored_once = RunUntil([&] { return health.restored == 1 && Ready(); });
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("] restored the network flannel.4096 in HNS, which another program or HNS "
                        "had deleted or changed; 1 restored in 24 h\n"));
  ASSERT_TRUE(restored_once);
  EXPECT_EQ(health.last_restored,
            "restored the network flannel.4096 in HNS, which another program or HNS had deleted or "
            "changed; 1 restored in 24 h");
  const admin::Restored restored = daemon_->ReadStatus().hns->restored.value();
  EXPECT_EQ(restored.count, 1u);
  EXPECT_EQ(restored.what, "the network flannel.4096");
  EXPECT_NEAR(static_cast<double>(restored.last),
              static_cast<double>(control::UnixSecondsAt(std::chrono::steady_clock::now())), 100);
}

TEST_F(DaemonHnsTest, NotReadyWhileANetworkThatIsDeletedAgainAndAgainIsMissing) {
  WriteNodes({Own(), Peer()});
  ::testing::internal::CaptureStderr();
  control::StartLog(control::LogFormat::kKlog, 0);
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  for (int i = 0; i < 4; ++i) {
    const hns::Network network = Network();
    ASSERT_TRUE(hns::Client(emulation_->hns).DeleteNetwork(network.id, network.name).ok());
    ASSERT_TRUE(RunUntil([&] { return daemon_->ReadStatus().hns->id != network.id.ToString(); }));
    if (i < 3) ASSERT_TRUE(RunUntil([&] { return Ready() && Routes().size() == 1; }));
  }
  EXPECT_FALSE(Ready());
  EXPECT_THAT(
      CheckNamed("hns").text,
      HasSubstr("the HNS network flannel.4096 is gone: another program or HNS deleted it, 4 "
                "times in a short time"));
  EXPECT_THAT(Read("subnet.env"), HasSubstr("FLANNEL_SUBNET=10.244.1.1/24")) << "it stays";
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("] restored the network flannel.4096"));
  EXPECT_EQ(log.find("] restored "), log.rfind("] restored ")) << "once in 5 minutes";
}

// For any reason: it is a condition of that peer. If all of several fail, it is a condition of HNS.
TEST_F(DaemonHnsTest, OneRefusedRouteDoesNotDelayReadiness) {
  for (const bool all : {false, true}) {
    const auto watched = std::make_shared<hns::WatchedApi>(emulation_->hns);
    watched->before = [all](const hns::WatchedApi::Step& step) -> std::optional<hns::Hresult> {
      const bool route = step.document.find("RemoteSubnetRoute") != std::string::npos;
      const bool bad = step.document.find("10.244.3.0/24") != std::string::npos;
      if (step.function != "HcnModifyNetwork" || !route || !(bad || all)) return std::nullopt;
      return hns::hresult::kInvalidPolicy;
    };
    WriteNodes(
        {Own(), Peer(), Node("c").Leased("10.244.3.0/24", "192.168.1.3", "02:00:00:00:00:03")});
    config_.options.data_plane = config::DataPlane::kHns;
    config_.hns = watched;
    ASSERT_TRUE(Start(weft::testing::HostWithDefaultRoute("192.168.1.10", "192.168.1.254")).ok());
    ASSERT_TRUE(RunUntil([&] {
      const auto sinks = daemon_->ReadStatus().sinks;
      return !sinks.empty() && sinks[0].pending.size() == (all ? 2 : 1);
    }));
    EXPECT_THAT(daemon_->ReadStatus().sinks[0].pending[all ? 1 : 0],
                HasSubstr("remote subnet 10.244.3.0/24: "));
    if (all)
      EXPECT_FALSE(CheckNamed("sinks").ok);
    else
      EXPECT_TRUE(RunUntilReady());
    EXPECT_EQ(Read("subnet.env").empty(), all);
    if (!all)
      EXPECT_THAT(Routes(), ElementsAre("10.244.2.0/24 via 192.168.1.2 "
                                        "02:00:00:00:00:02"));
    daemon_.reset();
    ASSERT_TRUE(hns::Client(emulation_->hns).DeleteNetwork(Network().id, "flannel.4096").ok());
    std::filesystem::remove(Path("subnet.env"));
    std::filesystem::remove_all(Path("state"));
  }
}

TEST_F(DaemonHnsTest, BeforeTheManagementIpThereIsNeitherSubnetEnvNorReadiness) {
  hns::emulator::Settings settings;
  settings.management_ip = std::chrono::hours(1);
  emulation_->hns.Set(settings);
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntil([this] { return daemon_->ReadStatus().hns->state == "management-ip"; }));
  EXPECT_FALSE(CheckNamed("hns").ok);
  EXPECT_THAT(CheckNamed("hns").text, HasSubstr("management IP"));
  EXPECT_FALSE(Ready());
  EXPECT_EQ(Read("subnet.env"), "");
  EXPECT_EQ(daemon_->ReadStatus().v4->vtep_mac, std::nullopt) << "nothing is reported too early";
}

TEST_F(DaemonHnsTest, AServiceThatIsStoppedIsWaitedFor) {
  emulation_->hns.Stop();
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntil([this] { return !CheckNamed("hns").text.empty(); }));
  EXPECT_FALSE(Ready());
  emulation_->hns.Start();
  EXPECT_TRUE(RunUntilReady());
}

TEST_F(DaemonHnsTest, ANetworkLostInARestartIsReportedAndRestored) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  const std::string before = daemon_->ReadStatus().hns->id;
  emulation_->hns.RestartService({Restart::Networks::kLost, false, false});
  ASSERT_TRUE(RunUntil([&] { return daemon_->ReadStatus().hns->id != before && Ready(); }));
  EXPECT_EQ(Routes().size(), 1u);
  EXPECT_EQ(daemon_->ReadStatus().v4->vtep_mac, Network().dr_mac());
}

TEST_F(DaemonHnsTest, AStopOfTheDaemonChangesNothingInHns) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  daemon_.reset();
  EXPECT_EQ(Routes().size(), 1u);
  EXPECT_EQ(emulation_->hns.open_handles(), 0u);
}

TEST_F(DaemonHnsTest, ItsObjectsAreInTheLedger) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  const ledger::Row entry{"hns-network",
                          "flannel.4096",
                          Network().id.ToString(),
                          false,
                          "Overlay 10.244.1.0/24 VSID 4096",
                          control::BootId()};
  EXPECT_THAT(Entries(), ElementsAre(entry));
  daemon_.reset();
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_THAT(Entries(), ElementsAre(entry)) << "the next start knows its own";
  EXPECT_THAT(Entries("firewall-rule"),
              ElementsAre(ledger::Row{"firewall-rule", "OverlayTraffic4789UDP", "4789"}));
}

TEST_F(DaemonHnsTest, AnExistingNetworkIsEnteredAsAdopted) {
  MakeNetwork();
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  ASSERT_EQ(Entries().size(), 1u);
  EXPECT_TRUE(Entries()[0].adopted);
}

TEST_F(DaemonHnsTest, KilledDuringACreateItRecognizesItsNetworkAtTheNextStart) {
  ASSERT_TRUE(ledger::Ledger(config_.options.state_dir)
                  .Intend({ledger::HnsObject{hns::Kind::kNetwork,
                                             "flannel.4096",
                                             {},
                                             false,
                                             "Overlay 10.244.1.0/24 VSID 4096",
                                             control::BootId()}})
                  .ok());
  MakeNetwork();
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  ASSERT_EQ(Entries().size(), 1u);
  EXPECT_FALSE(Entries()[0].adopted);
  EXPECT_EQ(Entries()[0].id, Network().id.ToString());
}

TEST_F(DaemonHnsTest, DriftIsPlannedAndRepairedOnRequest) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_THAT(Request("1", false).value().differences, ::testing::IsEmpty());

  hns::Client client(emulation_->hns);
  hns::Policy route;
  for (const hns::Policy& policy : Network().policies)
    if (policy.type == hns::policy_type::kRemoteSubnetRoute) route = policy;
  {
    auto network = client.Open(Network());
    ASSERT_TRUE(network.ok() && network->Remove({route}).ok());
  }
  const admin::Plan plan = Request("2", false).value();
  EXPECT_THAT(plan.differences, ElementsAre("the route to 10.244.2.0/24 is missing"));
  ASSERT_EQ(plan.calls.size(), 1u);
  EXPECT_THAT(plan.calls[0].document, HasSubstr("10.244.2.0/24"));
  EXPECT_FALSE(plan.repaired);
  EXPECT_THAT(Routes(), ::testing::IsEmpty()) << "looking changes nothing";
  EXPECT_TRUE(Ready()) << "and holds nothing up";

  const admin::Plan repaired = Request("3", true).value();
  EXPECT_TRUE(repaired.repaired);
  EXPECT_EQ(repaired.calls, plan.calls);
  EXPECT_THAT(repaired.left, ::testing::IsEmpty());
  EXPECT_EQ(Routes().size(), 1u);

  emulation_->hns.Stop();
  EXPECT_TRUE(absl::IsUnavailable(Request("4", false).status()));
}

TEST_F(DaemonHnsTest, ARefusedRepairGivesTheCauseAndIsNotDone) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  {
    auto network = hns::Client(emulation_->hns).Open(Network());
    ASSERT_TRUE(network.ok());
    for (const hns::Policy& policy : Network().policies) {
      if (policy.type == hns::policy_type::kRemoteSubnetRoute)
        ASSERT_TRUE(network->Remove({policy}).ok());
    }
  }
  hns::emulator::Fault fault;
  fault.function = "HcnModifyNetwork";
  fault.code = hns::hresult::kInvalidPolicy;
  fault.count = hns::emulator::Fault::kAlways;
  emulation_->hns.Add(fault);
  const admin::Plan refused = Request("1", true).value();
  EXPECT_THAT(refused.left, ElementsAre("the route to 10.244.2.0/24 is missing"));
  EXPECT_THAT(refused.done.value(), ::testing::IsEmpty());
  EXPECT_THAT(refused.causes.value(), ::testing::Contains(HasSubstr("(0x803B000D)")));

  emulation_->hns.ClearFaults();
  const admin::Plan done = Request("2", true).value();
  EXPECT_THAT(done.left, ::testing::IsEmpty());
  EXPECT_THAT(done.done.value(), ElementsAre("the route to 10.244.2.0/24 is missing"));
  EXPECT_EQ(done.causes, std::nullopt);
}

// Answers to a client that left are never fetched: the oldest is dropped, of any name.
TEST_F(DaemonHnsTest, TheLatestRequestsAreKept) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  for (int i = 0; i < 17; ++i)
    EXPECT_EQ(daemon_->RequestPlan("z" + std::to_string(i), false), std::nullopt);
  EXPECT_EQ(daemon_->RequestPlan("a", false), std::nullopt) << "requested last";
  EXPECT_EQ(daemon_->RequestPlan("z17", false), std::nullopt);
  std::optional<absl::StatusOr<admin::Plan>> plan;
  EXPECT_TRUE(RunUntil([&] { return (plan = daemon_->RequestPlan("z17", false)).has_value(); }));
  EXPECT_NE(daemon_->RequestPlan("a", false), std::nullopt) << "HNS answers in turn";
}

// Its end waits for HNS's thread, whose reports are then queued in the loop.
TEST_F(DaemonHnsTest, AnswersOfHnsAfterTheEndAreIgnored) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  daemon_->RequestPlan("1", false);
  EXPECT_TRUE(weft::testing::Await(std::chrono::seconds(15),
                                   [&] { return daemon_->ReadStatus().hns->calls > 0; }));
  daemon_.reset();
  bool ran = false;
  loop_.Post([&] { ran = true; });
  EXPECT_TRUE(RunUntil([&] { return ran; }));
}

TEST_F(DaemonHnsTest, ARepairThatCannotBeReadBackIsAnError) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  hns::Policy route;
  for (const hns::Policy& policy : Network().policies)
    if (policy.type == hns::policy_type::kRemoteSubnetRoute) route = policy;
  {
    auto network = hns::Client(emulation_->hns).Open(Network());
    ASSERT_TRUE(network.ok() && network->Remove({route}).ok());
  }
  emulation_->hns.OnEachCall(nullptr, [this](const hns::ApiCall& call, const hns::Reply&) {
    if (call.function() == "HcnModifyNetwork") emulation_->hns.Stop();
  });
  EXPECT_TRUE(absl::IsUnavailable(Request("1", true).status()));
  emulation_->hns.OnEachCall(nullptr, nullptr);
}

TEST_F(DaemonHnsTest, BeforeTheLeaseIsKnownThereIsNothingToPlan) {
  WriteNodes({Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  EXPECT_THAT(std::string(Request("1", false).status().message()),
              HasSubstr("the desired state of HNS is not known yet"));
}

TEST_F(DaemonHnsTest, AnotherMtuChangesNothingInHns) {
  WriteNodes({Own(), Peer()});
  config_.options.data_plane = config::DataPlane::kHns;
  config_.hns = {emulation_, &emulation_->hns};
  auto host = weft::testing::HostWithDefaultRoute("192.168.1.10", "192.168.1.254");
  weft::testing::FakeHost* const here = host.get();
  ASSERT_TRUE(Start(std::move(host)).ok());
  ASSERT_TRUE(RunUntilReady());
  const admin::HnsStatus before = *daemon_->ReadStatus().hns;
  EXPECT_GT(before.modifying_calls, 0u);
  here->adapters[0].mtu = 1400;
  (*here->watchers.at(0))();
  ASSERT_TRUE(RunUntil(
      [this] { return Read("subnet.env").find("FLANNEL_MTU=1350\n") != std::string::npos; }));
  EXPECT_EQ(daemon_->ReadStatus().hns->modifying_calls, before.modifying_calls);
  EXPECT_EQ(daemon_->ReadStatus().hns->id, before.id);
}

TEST_F(DaemonHnsTest, AnUnwritableLedgerIsReportedAndBlocksNothing) {
  Write("state", "a file");
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns().ok());
  ASSERT_TRUE(RunUntilReady());
  ASSERT_TRUE(RunUntil([this] { return !daemon_->ReadStatus().conditions.empty(); }));
  // The journal is in the same folder.
  ASSERT_EQ(daemon_->ReadStatus().conditions.size(), 2u);
  EXPECT_EQ(daemon_->ReadStatus().conditions[0].subject, "journal");
  EXPECT_EQ(daemon_->ReadStatus().conditions[1].subject, "ledger");
  for (const admin::ConditionStatus& each : daemon_->ReadStatus().conditions)
    EXPECT_THAT(each.condition, HasSubstr("--state-dir"));
}

TEST_F(DaemonHnsTest, AFollowerReceivesTheSpecsAndSuppliesNoFacts) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartOnHns(config::DataPlane::kNone).ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(Routes().size(), 1u);
  const admin::Status status = daemon_->ReadStatus();
  EXPECT_EQ(status.hns->state, "in-sync");
  EXPECT_NE(status.v4->vtep_mac, Network().dr_mac());
}

}  // namespace
}  // namespace weft::daemon
