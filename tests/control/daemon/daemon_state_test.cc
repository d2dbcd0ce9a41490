// SPDX-License-Identifier: Apache-2.0
// What the daemon waits for, writes and reports, on a host in memory and without a data plane: on
// every system.
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <string_view>

#include "control/admin/endpoint.h"
#include "control/log.h"
#include "control/process_lock.h"
#include "tests/control/daemon/daemon_fixture.h"
#include "tests/support/fake_host.h"

namespace weft::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DaemonStateTest : public DaemonFixture {
 protected:
  // eth0 with 192.168.1.1 and the default route.
  static std::unique_ptr<weft::testing::FakeHost> MakeHost() {
    return weft::testing::HostWithDefaultRoute("192.168.1.1", "192.168.1.254");
  }
  absl::Status StartOn(std::unique_ptr<weft::testing::FakeHost> host) {
    host_ = host.get();
    return Start(std::move(host));
  }
  absl::Status StartDefault() { return StartOn(MakeHost()); }

  static Node Own(const std::string& cidr = "10.244.1.0/24") {
    return Node("a").Leased(cidr, "192.168.1.1");
  }
  static Node Peer() {
    return Node("b").Leased("10.244.2.0/24", "192.168.1.2", "02:00:00:00:00:02");
  }

  weft::testing::FakeHost* host_ = nullptr;
};

constexpr char kEnv[] =
    "FLANNEL_NETWORK=10.244.0.0/16\n"
    "FLANNEL_SUBNET=10.244.1.1/24\n"
    "FLANNEL_MTU=1450\n"
    "FLANNEL_IPMASQ=false\n";

TEST_F(DaemonStateTest, ReadyAfterStartWhenEverythingExists) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_TRUE(Ready());
  EXPECT_EQ(Read("subnet.env"), kEnv);
  EXPECT_THAT(CheckNamed("source").text, Not(HasSubstr("not read yet")));
  EXPECT_EQ(CheckNamed("own-node").text, "");
}

TEST_F(DaemonStateTest, OptionsWithoutEffectAreInTheStatus) {
  WriteNodes({Own(), Peer()});
  config_.notes = {"--busy-poll=5 has no effect"};
  config_.unprotected = "--peer-check=strict has no effect";
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_TRUE(Ready()) << "nothing waits for them";
  const admin::Status status = daemon_->ReadStatus();
  EXPECT_EQ(status.notes, config_.notes);
  EXPECT_THAT(status.conditions, ::testing::ElementsAre(admin::ConditionStatus{
                                     "options", "--peer-check=strict has no effect", 1}));
}

TEST_F(DaemonStateTest, WaitsForTheLeaseFile) {
  ::testing::internal::CaptureStderr();
  control::StartLog(control::LogFormat::kKlog, 0);
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_FALSE(Ready());
  EXPECT_FALSE(CheckNamed("source").ok);
  EXPECT_THAT(CheckNamed("source").text, HasSubstr("nodes.json"));
  EXPECT_EQ(CheckNamed("own-node").text, "the source of leases has not been read yet");
  EXPECT_EQ(Read("subnet.env"), "");
  WriteNodes({Own()});
  EXPECT_TRUE(RunUntilReady());
  EXPECT_EQ(Read("subnet.env"), kEnv);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::AllOf(HasSubstr("] ready\n"), Not(HasSubstr("not ready any more"))));
}

// For systemd and the event log.
TEST_F(DaemonStateTest, ItsHealthIsReportedWithTheReasonAndEachCondition) {
  service::Health last;
  config_.on_health = [&last](const service::Health& health) { last = health; };
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntil([&] { return last.reason.starts_with("source: "); }));
  EXPECT_FALSE(last.ready);
  WriteNodes({Own()});
  ASSERT_TRUE(RunUntil([&] { return last.ready; }));
  EXPECT_EQ(last.reason, "");
  EXPECT_TRUE(last.conditions.empty());
  Write("net-conf.json", "{");
  ASSERT_TRUE(RunUntil([&] { return !last.conditions.empty(); }));
  EXPECT_EQ(last.conditions[0].first, "net-conf");
  EXPECT_THAT(last.conditions[0].second, HasSubstr("net-conf.json"));
  EXPECT_TRUE(last.ready);
}

TEST_F(DaemonStateTest, ALogFileThatCannotBeWrittenIsACondition) {
  Write("log", "a file in the folder's place");
  control::StartLog(control::LogFormat::kKlog, 0, /*to_stderr=*/true,
                    control::LogFile{.folder = (folder_ / "log").string(), .bytes = 1000});
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_TRUE(RunUntil([&] {
    for (const admin::ConditionStatus& each : daemon_->ReadStatus().conditions)
      if (each.subject == "log" && each.condition.find("/flanneld.log: ") != std::string::npos)
        return true;
    return false;
  }));
  EXPECT_TRUE(Ready());
  control::StartLog(control::LogFormat::kKlog, 0);
}

TEST_F(DaemonStateTest, WaitsForAFileThatIsBroken) {
  Write("nodes.json", "{\"items\":[");
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_FALSE(CheckNamed("source").ok);
  WriteNodes({Own()});
  EXPECT_TRUE(RunUntilReady());
}

TEST_F(DaemonStateTest, WaitsForItsNode) {
  int reports = 0;  // by housekeeping
  config_.on_health = [&](const service::Health&) { ++reports; };
  WriteNodes({Peer()});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_TRUE(CheckNamed("source").ok);
  EXPECT_FALSE(CheckNamed("own-node").ok);
  EXPECT_THAT(CheckNamed("own-node").text, HasSubstr("\"a\""));
  EXPECT_FALSE(CheckNamed("interface").ok);
  EXPECT_EQ(CheckNamed("interface").text, "not chosen yet");
  const admin::Status status = daemon_->ReadStatus();
  EXPECT_EQ(status.interface_name, "");
  EXPECT_EQ(status.v4->subnet, std::nullopt);
  EXPECT_EQ(status.v4->public_ip, std::nullopt);
  ASSERT_TRUE(RunUntil([&] { return reports > 0; }));
  WriteNodes({Own(), Peer()});
  EXPECT_TRUE(RunUntilReady());
}

TEST_F(DaemonStateTest, WaitsForItsPodCidr) {
  WriteNodes({Node("a").Managed(), Peer()});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_THAT(CheckNamed("own-node").text, HasSubstr("podCIDR"));
  WriteNodes({Own(), Peer()});
  EXPECT_TRUE(RunUntilReady());
}

TEST_F(DaemonStateTest, WaitsWhileItsPodCidrLiesOutsideTheNetwork) {
  WriteNodes({Own("10.9.1.0/24")});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_THAT(CheckNamed("own-node").text, HasSubstr("10.9.1.0/24"));
  EXPECT_EQ(Read("subnet.env"), "");
}

TEST_F(DaemonStateTest, AnotherPodCidrRewritesTheFile) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  const std::optional<IpPrefix> former = daemon_->ReadStatus().v4->subnet;
  WriteNodes({Own("10.244.7.0/24")});
  EXPECT_TRUE(RunUntil([&] {
    const bool written = Read("subnet.env").find("10.244.7.1/24") != std::string::npos;
    EXPECT_EQ(Ready(), written || daemon_->ReadStatus().v4->subnet == former);
    return written;
  }));
}

TEST_F(DaemonStateTest, APodCidrThatLeavesTheNetworkLaterKeepsTheFile) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  WriteNodes({Own("10.9.1.0/24")});
  ASSERT_TRUE(RunUntil([this] { return !CheckNamed("own-node").ok; }));
  daemon_.reset();
  EXPECT_EQ(Read("subnet.env"), kEnv);
}

// Unlike ours in a cluster, where a MAC that was published stays.
TEST_F(DaemonStateTest, AnotherMacInTheLeaseFileIsFollowed) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  WriteNodes({Node("a").Leased("10.244.1.0/24", "192.168.1.1", "02:00:00:00:00:05")});
  EXPECT_TRUE(RunUntil([this] {
    return daemon_->ReadStatus().v4->vtep_mac == MacAddress::Parse("02:00:00:00:00:05");
  }));
}

// Upstream ends here; peers drop us, but our pods keep their addresses.
TEST_F(DaemonStateTest, ItsNodeGoneIsNotReadyAndKeepsTheFile) {
  WriteNodes({Own(), Peer()});
  ::testing::internal::CaptureStderr();
  control::StartLog(control::LogFormat::kKlog, 0);
  ASSERT_TRUE(StartDefault().ok());
  for (int round = 0; round < 2; ++round) {
    WriteNodes({Peer()});
    EXPECT_TRUE(RunUntil([this] { return !Ready(); }));
    EXPECT_EQ(Read("subnet.env"), kEnv);
    WriteNodes({Own(), Peer()});
    EXPECT_TRUE(RunUntilReady());
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::string line = "] not ready any more: ";
  EXPECT_THAT(log, HasSubstr(line + "own-node: "));
  EXPECT_EQ(log.find(line + "own-node: "), log.rfind(line + "own-node: ")) << "once in 5 minutes";
  EXPECT_THAT(log, Not(HasSubstr(line + "source: "))) << "which is ok";
}

TEST_F(DaemonStateTest, RoundsAreAtLeastFiftyMillisecondsApart) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  const auto rounds = [this] { return Sample("weft_reconcile_duration_seconds_count"); };
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) {
    const double before = rounds();
    (*host_->watchers.at(0))();
    ASSERT_TRUE(RunUntil([&] { return rounds() > before; }));
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(100));
}

TEST_F(DaemonStateTest, TheAgeOfWhatIsKnownGrowsWhileTheSourceIsMissing) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntil([this] { return Sample("weft_lease_sync_age_seconds") >= 0; }));
  std::filesystem::remove(Path("nodes.json"));
  EXPECT_TRUE(RunUntil([this] { return Sample("weft_lease_sync_age_seconds") > 1; }))
      << "four readings have failed";
}

TEST_F(DaemonStateTest, AMissingSourceChangesNothingAndIsReported) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartDefault().ok());
  std::filesystem::remove(Path("nodes.json"));
  EXPECT_TRUE(RunUntil([this] { return !daemon_->ReadStatus().source.condition.empty(); }));
  EXPECT_TRUE(Ready());
  EXPECT_EQ(CheckNamed("source").text, daemon_->ReadStatus().source.condition);
  EXPECT_EQ(daemon_->ReadLeases().leases.size(), 2u);
}

// net_conf_check_test.cc tests its text.
TEST_F(DaemonStateTest, AnAlteredNetConfIsReportedUntilItMatchesAgain) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_THAT(daemon_->ReadStatus().conditions, ::testing::IsEmpty());
  const auto condition = [this] {
    const std::vector<admin::ConditionStatus> conditions = daemon_->ReadStatus().conditions;
    return conditions.empty() ? admin::ConditionStatus() : conditions[0];
  };
  Write("net-conf.json", "garbage");
  ASSERT_TRUE(RunUntil([&] { return condition().times == 1; }));
  EXPECT_EQ(condition().subject, "net-conf");
  EXPECT_THAT(condition().condition, HasSubstr(Path("net-conf.json")));
  EXPECT_TRUE(Ready());
  EXPECT_EQ(Read("subnet.env"), kEnv);
  Write("net-conf.json", kNetConf);
  EXPECT_TRUE(RunUntil([this] { return daemon_->ReadStatus().conditions.empty(); }))
      << "what has ended is not listed";
}

TEST_F(DaemonStateTest, AForeignPublicIpIsReportedAndFailsNoCheck) {
  WriteNodes({Node("a").Leased("10.244.1.0/24", "203.0.113.9")});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_TRUE(Ready());
  const std::vector<admin::ConditionStatus> conditions = daemon_->ReadStatus().conditions;
  ASSERT_EQ(conditions.size(), 1u);
  EXPECT_EQ(conditions[0].subject, "public-ip");
  EXPECT_THAT(conditions[0].condition, HasSubstr("announce this node as 203.0.113.9"));
}

// ---- subnet.env

TEST_F(DaemonStateTest, AnotherLeasesFileIsReplacedBeforeReady) {
  Write("subnet.env", "FLANNEL_SUBNET=10.244.99.1/24\n");
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_EQ(Read("subnet.env"), kEnv);
}

// Neither the clock nor an unreadable source removes it: only another lease does.
TEST_F(DaemonStateTest, AFileStaysUntilTheLeaseIsKnownHoweverOldItIs) {
  Write("subnet.env", kEnv);
  std::filesystem::last_write_time(
      Path("subnet.env"),
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 3650));
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_EQ(Read("subnet.env"), kEnv);
  WriteNodes({Peer()});
  ASSERT_TRUE(RunUntil([this] { return CheckNamed("source").ok; }));
  EXPECT_EQ(Read("subnet.env"), kEnv) << "our Node is not there";
  WriteNodes({Own()});
  EXPECT_TRUE(RunUntilReady());
  EXPECT_EQ(Read("subnet.env"), kEnv);
}

TEST_F(DaemonStateTest, AFolderInItsPlaceIsReportedAndWaitedFor) {
  std::filesystem::create_directories(Path("subnet.env") + "/full");
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_THAT(CheckNamed("subnet-file").text, HasSubstr("subnet.env: cannot "));
  EXPECT_EQ(daemon_->ReadStatus().conditions.at(0).subject, "subnet-file");
  std::filesystem::remove_all(Path("subnet.env"));
  EXPECT_TRUE(RunUntilReady());
}

// Each restores its text at every poll; both report it.
TEST_F(DaemonStateTest, TwoDaemonsOnOneFileReportIt) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  DaemonConfig second = config_;
  second.options.ip_masq = true;
  second.options.state_dir = Path("second");
  auto other = Daemon::Make(loop_, second, MakeHost());
  ASSERT_TRUE(other.ok() && (*other)->Start().ok());
  const auto reports = [](Daemon& daemon) {
    const std::vector<admin::ConditionStatus> conditions = daemon.ReadStatus().conditions;
    return !conditions.empty() && conditions[0].subject == "subnet-file" &&
           conditions[0].condition.find("a second flanneld") != std::string::npos;
  };
  EXPECT_TRUE(RunUntil([&] { return reports(*daemon_) && reports(**other); }));
  EXPECT_FALSE(Ready() && AllOk((*other)->Checks()));
}

TEST_F(DaemonStateTest, ADeletedFileIsPutBack) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  std::filesystem::remove(Path("subnet.env"));
  EXPECT_FALSE(Ready());
  EXPECT_TRUE(RunUntilReady());
  EXPECT_EQ(Read("subnet.env"), kEnv);
}

TEST_F(DaemonStateTest, AnAlteredFileIsPutBack) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  Write("subnet.env", "FLANNEL_MTU=9000\n");
  EXPECT_TRUE(RunUntilReady());
  EXPECT_EQ(Read("subnet.env"), kEnv);
}

TEST_F(DaemonStateTest, AnUnwritableFileIsReportedAndRetried) {
  WriteNodes({Own()});
  Write("blocked", "");
  config_.options.subnet_file = Path("blocked") + "/subnet.env";
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_THAT(CheckNamed("subnet-file").text, HasSubstr("blocked"));
  daemon_.reset();
  EXPECT_FALSE(std::filesystem::exists(Path("state/journal.json"))) << "it was not in use";
  ASSERT_TRUE(StartDefault().ok());
  std::filesystem::remove(Path("blocked"));
  EXPECT_TRUE(RunUntilReady());
}

// `flannelctl reset` of that folder is refused, whatever flanneld has made.
TEST_F(DaemonStateTest, ItsStateFolderIsLockedFromTheStart) {
  ASSERT_TRUE(StartDefault().ok());
  const std::string lock = Path("state") + "/lock";
  EXPECT_TRUE(absl::IsFailedPrecondition(control::ProcessLock::TryTake(lock).status()));
  daemon_.reset();
  EXPECT_TRUE(control::ProcessLock::TryTake(lock).ok());
}

TEST_F(DaemonStateTest, AStateFolderThatAnotherHoldsDelaysNothingAndIsTriedAgain) {
  WriteNodes({Own()});
  std::filesystem::create_directories(Path("state"));
  std::optional<control::ProcessLock> other(
      *control::ProcessLock::TryTake(Path("state") + "/lock"));
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_TRUE(Ready());
  const auto ledger = [this] {
    for (const admin::ConditionStatus& each : daemon_->ReadStatus().conditions)
      if (each.subject == "ledger") return each.condition;
    return std::string();
  };
  ASSERT_TRUE(
      RunUntil([&] { return ledger().find("another process holds") != std::string::npos; }));
  other.reset();
  EXPECT_TRUE(RunUntil([&] { return ledger().empty(); }));
}

TEST_F(DaemonStateTest, TheFileStaysAfterTheEnd) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  daemon_->Stop();
  daemon_->Stop();
  EXPECT_EQ(Read("subnet.env"), kEnv);
}

TEST_F(DaemonStateTest, TheJournalIsWrittenSoonAndAtTheEnd) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntil([this] { return std::filesystem::exists(Path("state/journal.json")); }));
  WriteNodes({Own("10.244.7.0/24")});
  ASSERT_TRUE(
      RunUntil([this] { return Read("subnet.env").find("10.244.7.1/24") != std::string::npos; }));
  daemon_.reset();
  EXPECT_THAT(Read("state/journal.json"), HasSubstr("10.244.7.0/24"));
}

TEST_F(DaemonStateTest, AllocWritesTheLinksMtu) {
  config_.conf.type = control::BackendType::kAlloc;
  config_.options.ip_masq = true;
  WriteNodes({Own().Annotation("backend-type", "alloc")});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_TRUE(Ready());
  EXPECT_EQ(Read("subnet.env"),
            "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.1.1/"
            "24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n");
}

// ---- interface

TEST_F(DaemonStateTest, AMissingInterfaceIsWaitedFor) {
  config_.options.iface = {"eth9"};
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_THAT(CheckNamed("interface").text, HasSubstr("--iface=eth9: no adapter has that name"));
  host_->adapters[0].name = "eth9";
  EXPECT_TRUE(RunUntilReady());
}

TEST_F(DaemonStateTest, AHostWithoutDefaultRouteIsWaitedFor) {
  WriteNodes({Node("a").Leased("10.244.1.0/24", "203.0.113.9")});
  auto host = MakeHost();
  const std::vector<host::Route> routes = std::exchange(host->routes, {});
  ASSERT_TRUE(StartOn(std::move(host)).ok());
  EXPECT_FALSE(CheckNamed("interface").ok);
  host_->routes = routes;
  EXPECT_TRUE(RunUntilReady());
}

// The file source does not publish: peers send to the address in the file.
TEST_F(DaemonStateTest, ThePublicIpOfTheLeaseFileChoosesTheInterface) {
  auto host = MakeHost();
  host->adapters.push_back(host->adapters[0]);
  host->adapters[1].index = 3;
  host->adapters[1].name = "eth1";
  host->adapters[1].addresses = {{*IpAddress::Parse("192.168.2.1"), 24}};
  WriteNodes({Node("a").Leased("10.244.1.0/24", "192.168.2.1")});
  ASSERT_TRUE(StartOn(std::move(host)).ok());
  EXPECT_EQ(daemon_->ReadStatus().interface_name, "eth1");
}

TEST_F(DaemonStateTest, TheAnnotationWinsOverThePublicIpFlag) {
  config_.options.public_ip = "192.168.1.1";
  config_.options.iface = {"eth0"};
  WriteNodes({Own().Annotation("node-public-ip", "203.0.113.9")});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_EQ(daemon_->ReadStatus().v4->public_ip, *IpAddress::Parse("203.0.113.9"));
}

TEST_F(DaemonStateTest, AChangedMtuIsNoticed) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  host_->adapters[0].mtu = 1400;
  EXPECT_TRUE(RunUntil(
      [this] { return Read("subnet.env").find("FLANNEL_MTU=1350\n") != std::string::npos; }));
}

TEST_F(DaemonStateTest, ALinkTooNarrowForIpv6HasIpv4AndTakesNoIpv6Away) {
  const auto narrow = [this] {
    for (const admin::ConditionStatus& each : daemon_->ReadStatus().conditions)
      if (each.subject == "mtu") return each.condition;
    return std::string();
  };
  constexpr char kDual[] =
      R"({"EnableIPv6":true,"Network":"10.244.0.0/16","IPv6Network":"fd00:244::/48",)"
      R"("Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})";
  Write("net-conf.json", kDual);
  config_.conf = control::ParseNetConf(kDual, "net-conf.json", control::kHnsDefaults).value();
  WriteNodes({Own()
                  .PodCidrs({"10.244.1.0/24", "fd00:244:0:1::/64"})
                  .Annotation("public-ipv6", "2001:db8::1")});
  auto host = MakeHost();
  host->adapters[0].addresses.push_back({*IpAddress::Parse("2001:db8::1"), 64});
  host->adapters[0].mtu = 1280;
  ASSERT_TRUE(StartOn(std::move(host)).ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_THAT(Read("subnet.env"), HasSubstr("FLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1230\n"));
  EXPECT_THAT(narrow(), HasSubstr("IPv6 cannot be set up: the MTU of eth0 leaves 1210 bytes"));
  EXPECT_THAT(narrow(), HasSubstr("what peers send to this node's IPv6 pods is lost"));
  host_->adapters[0].mtu = 1500;
  ASSERT_TRUE(RunUntil(
      [this] { return Read("subnet.env").find("/64\nFLANNEL_MTU=1430\n") != std::string::npos; }));
  EXPECT_EQ(narrow(), "");
  const std::string both = Read("subnet.env");
  host_->adapters[0].mtu = 1280;
  ASSERT_TRUE(RunUntil([&] { return !narrow().empty(); }));
  EXPECT_THAT(narrow(), Not(HasSubstr("is lost"))) << "those pods keep it";
  EXPECT_THAT(narrow(), HasSubstr("at the next start: the MTU of eth0 leaves 1210 bytes"));
  EXPECT_EQ(Read("subnet.env"), both);
  EXPECT_TRUE(CheckNamed("tunnels").ok) << "they are up, and both families are connected";
}

// ---- what it reports

TEST_F(DaemonStateTest, StatusReportsWhatIsInSync) {
  WriteNodes({Own(), Peer(), Node("c").Managed().Annotation("backend-type", "vxlan")});
  ASSERT_TRUE(StartDefault().ok());
  const admin::Status status = daemon_->ReadStatus();
  EXPECT_EQ(status.node, "a");
  EXPECT_EQ(status.backend, "vxlan");
  EXPECT_EQ(status.dataplane, "none");
  EXPECT_TRUE(status.ready);
  EXPECT_EQ(status.interface_name, "eth0");
  EXPECT_EQ(status.mtu, 1450u);
  EXPECT_EQ(status.v4->subnet, *IpPrefix::Parse("10.244.1.0/24"));
  EXPECT_EQ(status.v4->vtep_mac, *MacAddress::Parse("02:00:00:00:00:01"));
  EXPECT_EQ(status.v6, std::nullopt);
  EXPECT_TRUE(status.source.in_sync);
  EXPECT_GT(status.pid, 0u);
  EXPECT_TRUE(status.tunnels.empty());
  EXPECT_EQ(status.reach, std::nullopt);
  EXPECT_EQ(Sample("weft_check_ok{check=\"source\"}"), 1);
}

TEST_F(DaemonStateTest, LeasesAreOneRowPerNodeAndTheirGenerationIncreases) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartDefault().ok());
  const admin::LeaseList before = daemon_->ReadLeases();
  ASSERT_EQ(before.leases.size(), 2u);
  EXPECT_EQ(before.leases[0].node, "a");
  EXPECT_EQ(before.leases[0].v4->state, "self");
  EXPECT_EQ(before.leases[1].v4->state, "usable");
  EXPECT_TRUE(before.leases[1].v4->usable);
  EXPECT_GE(before.generation, 1u);
  WriteNodes({Own()});
  EXPECT_TRUE(RunUntil([&] { return daemon_->generation() != before.generation; }));
  EXPECT_EQ(daemon_->ReadLeases().leases.size(), 1u);
}

// ---- which lease is used

// The second Node, the owner of this lease.
class DaemonLeaseTest : public DaemonStateTest {
 protected:
  admin::LeaseHalf Half() const {
    for (const admin::LeaseRow& row : daemon_->ReadLeases().leases) {
      if (row.node == "x") return row.v4.value_or(admin::LeaseHalf());
    }
    return {};
  }
  static Node Other(const std::string& cidr) {
    return Node("x").Leased(cidr, "203.0.113.9", "02:00:00:00:00:02");
  }
};

TEST_F(DaemonLeaseTest, ALeaseThatContainsWhatThisHostNeedsIsNotUsedFromTheStart) {
  const struct {
    const char *cidr, *why;
  } rows[] = {
      {"192.168.1.0/24", "the prefix 192.168.1.0/24 connected to eth0"},
      {"192.168.1.0/25", "this node's address 192.168.1.1 on eth0"},
      {"192.168.1.128/25", "the default gateway 192.168.1.254"},
      {"10.244.53.0/24", "name server 10.244.53.53"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.cidr);
    WriteNodes({Own(), Other(row.cidr)});
    auto host = MakeHost();
    host->name_servers = {*IpAddress::Parse("10.244.53.53")};
    ASSERT_TRUE(StartOn(std::move(host)).ok());
    EXPECT_EQ(Half().state, "host-conflict");
    EXPECT_THAT(Half().state_sentence, HasSubstr(row.why));
    EXPECT_TRUE(Ready());
    daemon_.reset();
  }
}

// A host that was renamed has two Nodes, and a tunnel to itself is none.
TEST_F(DaemonLeaseTest, ALeaseWithAnAddressOfThisHostIsNotUsed) {
  WriteNodes({Own(), Node("x").Leased("10.244.2.0/24", "192.168.1.1", "02:00:00:00:00:02")});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_EQ(Half().state, "bad-public-ip");
  EXPECT_THAT(Half().state_sentence, HasSubstr("this node's address 192.168.1.1 on eth0"));
  EXPECT_TRUE(Ready());
}

// It is published all the same, and nothing waits for them.
TEST_F(DaemonLeaseTest, WhatOtherNodesMakeOfOurLeaseAndOfTwoWithOneMacAreConditions) {
  const auto condition = [this](std::string_view subject) {
    for (const admin::ConditionStatus& each : daemon_->ReadStatus().conditions)
      if (each.subject == subject) return each.condition;
    return std::string();
  };
  const Node own = Own().Created("2026-11-02T00:00:00Z");
  WriteNodes({own, Other("10.244.2.0/24")});
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(condition("own-lease"), "");
  EXPECT_EQ(condition("vtep-mac"), "");
  WriteNodes({own, Other("10.244.1.0/24").Created("2026-11-01T00:00:00Z"),
              Node("clone").Leased("10.244.3.0/24", "203.0.113.8")});
  ASSERT_TRUE(RunUntil([&] { return !condition("own-lease").empty(); }));
  EXPECT_THAT(
      condition("own-lease"),
      ::testing::AllOf(HasSubstr("node \"x\" is older and has the same subnet, 10.244.1.0/24"),
                       Not(::testing::StartsWith(";"))));
  EXPECT_THAT(condition("vtep-mac"), HasSubstr("nodes \"a\" and \"clone\" publish one VTEP MAC"));
  EXPECT_TRUE(Ready());
  EXPECT_EQ(Read("subnet.env"), kEnv);
}

// Those that were read stay protected, and readiness does not change.
TEST_F(DaemonLeaseTest, NameServersThatCannotBeReadAnyMoreStayProtected) {
  WriteNodes({Own()});
  auto host = MakeHost();
  host->name_servers = {*IpAddress::Parse("10.244.53.53")};
  ASSERT_TRUE(StartOn(std::move(host)).ok());
  host_->name_servers_readable = absl::PermissionDeniedError("cannot read /etc/resolv.conf");
  WriteNodes({Own(), Other("10.244.53.0/24")});
  ASSERT_TRUE(RunUntil([this] { return Half().state == "host-conflict"; }));
  EXPECT_TRUE(Ready());
}

TEST_F(DaemonLeaseTest, NameServersThatCannotBeReadAtAllAreNamedAndKeepNothingUp) {
  WriteNodes({Own(), Other("10.244.53.0/24")});
  auto host = MakeHost();
  host->name_servers_readable = absl::PermissionDeniedError("cannot read /etc/resolv.conf: no");
  ::testing::internal::CaptureStderr();
  control::StartLog(control::LogFormat::kKlog, 0);
  ASSERT_TRUE(StartOn(std::move(host)).ok());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("name servers are not known, so a lease with one of them is not refused: "
                        "cannot read /etc/resolv.conf: no"));
  EXPECT_EQ(Half().state, "usable");
  EXPECT_TRUE(Ready());
}

TEST_F(DaemonLeaseTest, AnAddressThatThisHostGetsLaterIsReportedAndRemovesNoLease) {
  WriteNodes({Own(), Other("10.244.2.0/24")});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_EQ(Half().state, "usable");
  host_->adapters[0].addresses.push_back({*IpAddress::Parse("10.244.2.9"), 24});
  ASSERT_TRUE(RunUntil([this] { return Half().state == "host-changed"; }));
  EXPECT_TRUE(Half().usable);
  EXPECT_THAT(Half().state_sentence, HasSubstr("10.244.2.0/24 connected to eth0"));
  WriteNodes({Own(), Other("10.244.2.0/25")});
  EXPECT_TRUE(RunUntil([this] { return Half().state == "host-conflict"; }));
}

// By the report of another change, or every 5 s where the system reports none.
TEST_F(DaemonLeaseTest, ANewGatewayIsFoundWhereChangesOfRoutesAreNotReported) {
  class Quiet final : public weft::testing::FakeHost {
   public:
    absl::StatusOr<std::unique_ptr<host::Watch>> WatchChanges(
        std::function<void()> changed) override {
      if (!watched) return absl::UnimplementedError("not here");
      return FakeHost::WatchChanges(std::move(changed));
    }
    absl::StatusOr<std::unique_ptr<host::Watch>> WatchRoutes(
        std::function<void(const host::RouteChanges&)> changed) override {
      if (!routes_watched) return absl::UnimplementedError("not here");
      return FakeHost::WatchRoutes(std::move(changed));
    }
    bool watched = true, routes_watched = true;
  };
  const struct {
    bool is_windows, watched, routes_watched, is_reported;
  } rows[] = {{false, true, false, true},
              {true, true, true, true},
              {false, false, false, false},
              {true, true, true, false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(&row - rows);
    WriteNodes({Own(), Other("10.244.2.0/24")});
    const auto usual = MakeHost();
    auto host = std::make_unique<Quiet>();
    host->adapters = usual->adapters;
    host->routes = usual->routes;
    host->windows = row.is_windows;
    host->watched = row.watched;
    host->routes_watched = row.routes_watched;
    config_.polls_host = !row.is_reported;
    ASSERT_TRUE(StartOn(std::move(host)).ok());
    EXPECT_EQ(Half().state, "usable");
    host_->routes[0].gateway = *IpAddress::Parse("10.244.2.9");
    if (row.is_reported) (*host_->watchers.at(0))();
    EXPECT_TRUE(RunUntil([this] { return Half().state == "host-changed"; }));
    daemon_.reset();
  }
}

TEST_F(DaemonLeaseTest, OurOwnPodBridgeConflictsWithNoLease) {
  WriteNodes({Own("10.244.1.0/24"), Other("10.244.2.0/24")});
  auto host = MakeHost();
  host->adapters.push_back(host->adapters[0]);
  host->adapters[1].index = 3;
  host->adapters[1].name = "cni0";
  host->adapters[1].addresses = {{*IpAddress::Parse("10.244.1.1"), 24}};
  ASSERT_TRUE(StartOn(std::move(host)).ok());
  EXPECT_EQ(Half().state, "usable");
  // Another Node has our old podCIDR by now, and our Node has a new one.
  host_->adapters.pop_back();
  WriteNodes({Own("10.244.7.0/24"), Other("10.244.1.0/24")});
  EXPECT_TRUE(RunUntil([this] { return Half().subnet == *IpPrefix::Parse("10.244.1.0/24"); }));
  EXPECT_EQ(Half().state, "usable");
}

TEST_F(DaemonLeaseTest, NetworkFollowsTheFile) {
  WriteNodes({Own(), Other("10.245.2.0/24")});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_EQ(Half().state, "outside-network");
  Write("net-conf.json",
        R"({"Network":"10.244.0.0/15","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})");
  EXPECT_TRUE(RunUntil([this] { return Half().state == "usable"; }));
  Write("net-conf.json", kNetConf);
  EXPECT_TRUE(RunUntil([this] { return Half().state == "host-changed"; }));
  Write("net-conf.json", "garbage");
  EXPECT_EQ(Half().state, "host-changed");
}

TEST_F(DaemonLeaseTest, AWiderNetworkAtTheStartIsUsedAtOnce) {
  Write("net-conf.json",
        R"({"Network":"10.244.0.0/15","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})");
  WriteNodes({Own(), Other("10.245.2.0/24")});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_EQ(Half().state, "usable");
}

TEST_F(DaemonLeaseTest, NodesThatHaveNotJoinedAreShown) {
  WriteNodes({Own(), Node("plain"), Node("x").Annotation("kube-subnet-manager", "yes")});
  ASSERT_TRUE(StartDefault().ok());
  const std::vector<lease::NotJoinedNode> nodes = daemon_->ReadLeases().not_joined;
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].node.name, "plain");
  EXPECT_THAT(nodes[0].reason,
              HasSubstr("flannel.alpha.coreos.com/kube-subnet-manager is missing: no flanneld has "
                        "published a lease on this Node, or its annotations were removed"));
  EXPECT_THAT(nodes[1].reason, HasSubstr("is \"yes\", not \"true\""));
  EXPECT_EQ(daemon_->ReadStatus().not_joined_nodes, 2u);
  EXPECT_TRUE(Ready());
}

TEST_F(DaemonLeaseTest, OurNameInAnotherCaseIsReported) {
  config_.options.node_name = "A";
  for (const Node& own : {Own(), Node("a")}) {
    WriteNodes({own, Peer()});
    ASSERT_TRUE(StartDefault().ok());
    EXPECT_THAT(CheckNamed("own-node").text,
                HasSubstr("node \"A\" is not among the Nodes, but \"a\" is"));
    daemon_.reset();
  }
}

TEST_F(DaemonStateTest, WithoutHnsThereIsNothingToPlan) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  const auto plan = daemon_->RequestPlan("1", false);
  ASSERT_TRUE(plan);
  EXPECT_THAT(std::string(plan->status().message()),
              HasSubstr("this flanneld does not program HNS"));
}

// A notification of the system while the daemon ends has no effect.
TEST_F(DaemonStateTest, AChangeOfTheHostAfterTheEndIsIgnored) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_EQ(host_->watchers.size(), 2u) << "of facts, of routes";
  for (const auto& watcher : host_->watchers) (*watcher)();
  daemon_.reset();
  bool ran = false;
  loop_.Post([&] { ran = true; });
  EXPECT_TRUE(RunUntil([&] { return ran; }));
}

// An earlier process of ours may have it open for a while.
TEST_F(DaemonStateTest, AHealthPortInUseIsWaitedFor) {
  WriteNodes({Own()});
  config_.options.healthz_ip = "127.0.0.1";
  config_.options.healthz_port = 0;
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_NE(daemon_->healthz_port(), 0);
  DaemonConfig second = config_;
  second.options.healthz_port = daemon_->healthz_port();
  second.options.state_dir += "-2";
  auto other = Daemon::Make(loop_, second, MakeHost());
  ASSERT_TRUE(other.ok() && (*other)->Start().ok());
  EXPECT_EQ((*other)->healthz_port(), 0);
  EXPECT_EQ((*other)->ReadStatus().conditions.at(0).subject, "health");
  EXPECT_THAT((*other)->ReadStatus().conditions.at(0).condition,
              ::testing::AllOf(HasSubstr("health checks: "), HasSubstr("--healthz-port")));
  daemon_.reset();
  EXPECT_TRUE(RunUntil([&] { return (*other)->healthz_port() != 0; }));
  EXPECT_THAT((*other)->ReadStatus().conditions, ::testing::IsEmpty());
}

// Some probes do not use GET; upstream's handler accepts any method.
TEST_F(DaemonStateTest, HealthAnswersAnyMethod) {
  WriteNodes({Own()});
  config_.options.healthz_ip = "127.0.0.1";
  config_.options.healthz_port = 0;
  ASSERT_TRUE(StartDefault().ok());
  boost::asio::ip::tcp::socket probe(loop_.io());
  probe.connect({boost::asio::ip::make_address("127.0.0.1"), daemon_->healthz_port()});
  boost::asio::write(probe,
                     boost::asio::buffer(std::string_view(
                         "POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")));
  ASSERT_TRUE(RunUntil([&] { return probe.available() > 0; }));
  std::array<char, 12> answer{};
  boost::asio::read(probe, boost::asio::buffer(answer));
  EXPECT_EQ(std::string(answer.data(), answer.size()), "HTTP/1.1 200");
}

TEST_F(DaemonStateTest, AnAdminEndpointInUseIsWaitedFor) {
  WriteNodes({Own()});
  config_.options.admin = admin::DefaultEndpoint().starts_with('\\')
                              ? R"(\\.\pipe\weft-taken-admin-endpoint)"
                              : Path("admin.sock");
  ASSERT_TRUE(StartDefault().ok());
  DaemonConfig second = config_;
  second.options.subnet_file = Path("second.env");
  auto other = Daemon::Make(loop_, second, MakeHost());
  ASSERT_TRUE(other.ok() && (*other)->Start().ok());
  EXPECT_TRUE(RunUntil([&] { return AllOk((*other)->Checks()); })) << "the network works";
  EXPECT_THAT((*other)->Checks().back().text, HasSubstr("flannelctl cannot reach this flanneld: "));
  EXPECT_EQ((*other)->ReadStatus().conditions.at(0).subject, "admin");
  daemon_.reset();
  EXPECT_TRUE(RunUntil([&] { return (*other)->ReadStatus().conditions.empty(); }));
  EXPECT_NE((*other)->Checks().back().name, "admin");
}

TEST_F(DaemonStateTest, WhatIsOpenAndKnownIsNotOpenedOrLoggedAgain) {
  WriteNodes({Own()});
  config_.options.healthz_ip = "127.0.0.1";
  config_.options.healthz_port = 0;
  config_.options.admin = admin::DefaultEndpoint().starts_with('\\')
                              ? R"(\\.\pipe\weft-open-admin-endpoint)"
                              : Path("admin.sock");
  int reports = 0;  // by housekeeping
  config_.on_health = [&](const service::Health&) { ++reports; };
  ::testing::internal::CaptureStderr();
  control::StartLog(control::LogFormat::kKlog, 1);
  ASSERT_TRUE(StartDefault().ok());
  const std::uint16_t port = daemon_->healthz_port();
  ASSERT_TRUE(RunUntil([&] { return reports > 2; }));
  const std::string log = ::testing::internal::GetCapturedStderr();
  control::StartLog(control::LogFormat::kKlog, 0);
  EXPECT_EQ(daemon_->healthz_port(), port);
  EXPECT_THAT(daemon_->ReadStatus().conditions, ::testing::IsEmpty());
  EXPECT_THAT(log, HasSubstr("] generation "));
  EXPECT_EQ(log.find("] generation "), log.rfind("] generation ")) << log;
}

TEST_F(DaemonStateTest, AnInvalidHealthOrAdminAddressEndsTheStart) {
  config_.options.healthz_port = 0;
  config_.options.healthz_ip = "localhost";
  EXPECT_TRUE(absl::IsInvalidArgument(StartDefault()));
  config_.options.healthz_port.reset();
  config_.options.admin = "/" + std::string(200, 'x');
  EXPECT_TRUE(absl::IsInvalidArgument(StartDefault()));
}

// Both are due at once: the second one's handler is already queued when the first cancels it.
TEST(TimerTest, ACancelledOrRestartedTimerDoesNotRunEvenWhenDue) {
  EventLoop loop;
  Timer first(loop), second(loop), third(loop);
  std::vector<std::string> ran;
  const auto now = std::chrono::steady_clock::now();
  first.Set(now - std::chrono::seconds(3), [&] {
    ran.push_back("first");
    second.Cancel();
    third.Set(now, [&] {
      ran.push_back("third, later");
      loop.Stop();
    });
  });
  second.Set(now - std::chrono::seconds(2), [&] { ran.push_back("second"); });
  third.Set(now - std::chrono::seconds(1), [&] { ran.push_back("third"); });
  loop.Run();
  EXPECT_THAT(ran, ::testing::ElementsAre("first", "third, later"));
}

TEST_F(DaemonStateTest, AWrongAnnotationPrefixIsNamed) {
  config_.options.kube_annotation_prefix = "org";
  EXPECT_THAT(std::string(StartDefault().message()), HasSubstr("--kube-annotation-prefix"));
}

}  // namespace
}  // namespace weft::daemon
