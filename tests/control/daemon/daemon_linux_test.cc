// SPDX-License-Identifier: Apache-2.0
// The daemon with its userspace data plane against the kernel, in its own network namespace. u0
// 10.9.0.1/24 and fd09::1/64 is the underlay (its veth peer p0 is up); there is no other device.
#include <sched.h>
#include <sys/mount.h>

#include "control/host/host.h"
#include "control/log.h"
#include "tests/control/daemon/daemon_fixture.h"
#include "tests/support/netns.h"

namespace weft::daemon {
namespace {

using ::testing::HasSubstr;

class DaemonLinuxTest : public DaemonFixture {
 protected:
  void SetUp() override {
    ASSERT_EQ(EnterPrivateNetns(), "");
    for (const char* command : {
             "link add u0 type veth peer name p0",
             "address add 10.9.0.1/24 dev u0",
             "address add fd09::1/64 dev u0 nodad",
             "link set p0 up",
             "link set u0 up",
         }) {
      ASSERT_EQ(RunIp(command), "") << command;
    }
    DaemonFixture::SetUp();
    config_.options.data_plane = config::DataPlane::kUserspace;
    absl::StatusOr<std::unique_ptr<host::Host>> host = host::OpenHost();
    ASSERT_TRUE(host.ok()) << host.status();
    observer_ = *std::move(host);
  }

  absl::Status StartHere() {
    absl::StatusOr<std::unique_ptr<host::Host>> host = host::OpenHost();
    return host.ok() ? Start(*std::move(host)) : host.status();
  }

  // Zero: no such device.
  std::uint32_t IndexOf(std::string_view name) {
    const auto adapters = observer_->Adapters();
    for (const host::Adapter& adapter : *adapters) {
      if (adapter.name == name) return adapter.index;
    }
    return 0;
  }
  // "10.244.2.0/24 ours, 10.244.9.0/24 via 10.9.0.9, ...", sorted.
  std::string RoutesOn(std::string_view device, IpFamily family = IpFamily::kV4) {
    const std::uint32_t index = IndexOf(device);
    if (index == 0) return "no device";
    std::vector<std::string> lines;
    const auto routes = observer_->Routes(family, index);
    if (!routes.ok()) return std::string(routes.status().message());
    for (const host::Route& route : *routes) {
      if (route.kind == host::RouteKind::kDerived) continue;
      lines.push_back(route.destination.ToString() +
                      (route.gateway ? " via " + route.gateway->ToString() : "") +
                      (route.marked ? " ours" : ""));
    }
    std::sort(lines.begin(), lines.end());
    std::string out;
    for (const std::string& line : lines) out += (out.empty() ? "" : ", ") + line;
    return out;
  }

  static Node Own(const std::string& cidr = "10.244.1.0/24") {
    return Node("a").Leased(cidr, "10.9.0.1");
  }
  static Node Peer(int n) {
    const std::string number = std::to_string(n);
    return Node("peer" + number)
        .Leased("10.244." + number + ".0/24", "10.9.0." + number, "02:00:00:00:00:0" + number);
  }

  std::unique_ptr<host::Host> observer_;
};

TEST_F(DaemonLinuxTest, HasDeviceRoutesAndFileWhenReady) {
  WriteNodes({Own(), Peer(2), Peer(3)});
  const absl::Status status = StartHere();
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(RoutesOn("flannel.4096"), "10.244.2.0/24 ours, 10.244.3.0/24 ours");
  const auto adapters = observer_->Adapters();
  ASSERT_TRUE(adapters.ok());
  for (const host::Adapter& adapter : *adapters) {
    if (adapter.name != "flannel.4096") continue;
    EXPECT_TRUE(adapter.up);
    EXPECT_EQ(adapter.mtu, 1450u);
    EXPECT_THAT(adapter.addresses,
                ::testing::ElementsAre(host::AssignedAddress{*IpAddress::Parse("10.244.1.0"), 32}));
  }
  EXPECT_THAT(Read("subnet.env"), HasSubstr("FLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1450\n"));
}

TEST_F(DaemonLinuxTest, TheRecordOfCniInstallIsNamedWhereItIsOfALaterVersion) {
  const std::string text = R"({"apiVersion": "weft/cni/v2", "version": 2})";
  std::filesystem::create_directories(Path("state"));
  Write("state/cni.json", text);
  WriteNodes({Own(), Peer(2)});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  std::string named;
  for (const admin::ConditionStatus& each : daemon_->ReadStatus().conditions)
    if (each.subject == "cni") named = each.condition;
  EXPECT_THAT(named, HasSubstr("cni.json has version 2"));
  daemon_.reset();
  EXPECT_EQ(Read("state/cni.json"), text);
}

// A start without the lease file uses the journal of the process before.
class DaemonJournalTest : public DaemonLinuxTest {
 protected:
  // A daemon with two peers has ended; the lease file is gone.
  void SetUp() override {
    DaemonLinuxTest::SetUp();
    WriteNodes({Own(), Peer(2), Peer(3)});
    ASSERT_TRUE(StartHere().ok());
    ASSERT_TRUE(RunUntilReady());
    End();
    std::filesystem::remove(Path("nodes.json"));
    ASSERT_EQ(RoutesOn("flannel.4096"), "no device");
  }
  void End() { daemon_.reset(); }
  void EditJournal(std::string_view from, std::string_view to) const {
    std::string text = Read("state/journal.json");
    const std::size_t at = text.find(from);
    ASSERT_NE(at, text.npos) << text;
    text.replace(at, from.size(), to);
    Write("state/journal.json", text);
  }
  // The condition of the journal.
  std::string Reported() const {
    for (const admin::ConditionStatus& each : daemon_->ReadStatus().conditions)
      if (each.subject == "journal") return each.condition;
    return "";
  }
  void ExpectNotUsed() {
    ASSERT_TRUE(StartHere().ok());
    EXPECT_EQ(RoutesOn("flannel.4096"), "no device");
    EXPECT_THAT(CheckNamed("source").text, ::testing::Not(HasSubstr("journal")));
    EXPECT_FALSE(CheckNamed("subnet-file").ok);
  }
  static constexpr char kBoth[] = "10.244.2.0/24 ours, 10.244.3.0/24 ours";
};

TEST_F(DaemonJournalTest, ItsLeasesAreInUseAtOnceAndNotConfirmed) {
  const std::string env = Read("subnet.env");
  ::testing::internal::CaptureStderr();
  control::StartLog(control::LogFormat::kKlog, 0);
  ASSERT_TRUE(StartHere().ok());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("journal.json is of this boot: "));
  EXPECT_EQ(RoutesOn("flannel.4096"), kBoth) << "when Start returns";
  EXPECT_FALSE(Ready());
  EXPECT_FALSE(CheckNamed("source").ok);
  EXPECT_THAT(CheckNamed("source").text,
              ::testing::AllOf(HasSubstr("nodes.json"),
                               HasSubstr("until it answers the leases of "
                                         "the journal of 20"),
                               HasSubstr("are in use, not confirmed")));
  for (const char* check : {"own-node", "interface", "tunnels", "sinks", "subnet-file"})
    EXPECT_TRUE(CheckNamed(check).ok) << check;
  EXPECT_FALSE(daemon_->ReadStatus().ready);
  EXPECT_FALSE(daemon_->ReadStatus().source.in_sync);
  EXPECT_THAT(daemon_->ReadLeases().source, HasSubstr("not confirmed"));
  EXPECT_EQ(daemon_->ReadLeases().leases.size(), 2u);
  EXPECT_EQ(Read("subnet.env"), env);
}

TEST_F(DaemonJournalTest, TheSourceReplacesIt) {
  ASSERT_TRUE(StartHere().ok());
  const std::uint32_t device = IndexOf("flannel.4096");
  WriteNodes({Own(), Peer(3), Peer(4)});
  EXPECT_TRUE(RunUntilReady());
  EXPECT_EQ(RoutesOn("flannel.4096"), "10.244.3.0/24 ours, 10.244.4.0/24 ours");
  EXPECT_EQ(IndexOf("flannel.4096"), device) << "the tunnel is the same";
  EXPECT_EQ(CheckNamed("source").text.find("journal"), std::string::npos);
  const auto journal_has = [this](const char* peer) {
    return Read("state/journal.json").find(peer) != std::string::npos;
  };
  ASSERT_TRUE(RunUntil([&] { return journal_has("peer4"); }));
  EXPECT_FALSE(journal_has("peer2"));
  WriteNodes({Own(), Peer(3), Peer(5)});
  ASSERT_TRUE(RunUntil(
      [this] { return RoutesOn("flannel.4096") == "10.244.3.0/24 ours, 10.244.5.0/24 ours"; }));
  End();
  EXPECT_TRUE(journal_has("peer5"));
  EXPECT_FALSE(journal_has("peer4"));
}

// It was deleted while no flanneld ran, and another Node has its subnet.
TEST_F(DaemonJournalTest, OurNodeThatTheSourceDoesNotHaveIsMissing) {
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(CheckNamed("own-node").ok);
  WriteNodes({Peer(3), Node("x").Leased("10.244.1.0/24", "10.9.0.7", "02:00:00:00:00:07")});
  ASSERT_TRUE(RunUntil([this] { return !CheckNamed("own-node").ok; }));
  EXPECT_THAT(CheckNamed("own-node").text, HasSubstr("node \"a\" is not among the Nodes"));
  EXPECT_TRUE(RunUntil([this] {
    for (const admin::ConditionStatus& each : daemon_->ReadStatus().conditions)
      if (each.condition.find("names 10.244.1.0/24, which is node \"x\"'s") != std::string::npos)
        return true;
    return false;
  }));
}

// In a large cluster some Node's readiness changes all the time, and the journal has none.
TEST_F(DaemonJournalTest, ReadinessDoesNotWriteIt) {
  const std::filesystem::path file = Path("state/journal.json");
  std::filesystem::remove(file);
  std::string nodes = weft::testing::NodeListJson({Own(), Peer(2), Peer(3)});
  Write("nodes.json", nodes);
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntil([&] { return std::filesystem::exists(file); }));
  const auto written = std::filesystem::last_write_time(file);
  const std::uint64_t generation = daemon_->generation();
  const std::string none = "\"conditions\":[";
  nodes.insert(nodes.rfind(none) + none.size(), R"({"type":"Ready","status":"False"})");
  Write("nodes.json", nodes);
  ASSERT_TRUE(RunUntil([&] { return daemon_->generation() != generation; }));
  End();
  EXPECT_EQ(std::filesystem::last_write_time(file), written);
}

// In a cluster: the Node's InternalIP, by which the interface is chosen, is not known yet.
TEST_F(DaemonJournalTest, TheAddressOfBeforeChoosesTheInterface) {
  config_.options.kube_subnet_mgr = true;
  for (const char* command :
       {"link add nic1 type veth peer name nic2", "address add 10.98.0.5/24 dev nic1",
        "link set nic1 up", "route add default dev nic1"})
    ASSERT_EQ(RunIp(command), "") << command;
  ASSERT_TRUE(StartHere().ok());
  EXPECT_EQ(CheckNamed("interface").text, "u0");
}

TEST_F(DaemonJournalTest, AnotherPodCidrFromTheSourceReplacesSubnetEnv) {
  ASSERT_TRUE(StartHere().ok());
  WriteNodes({Own("10.244.7.0/24"), Peer(2)});
  EXPECT_TRUE(RunUntilReady());
  EXPECT_THAT(Read("subnet.env"), HasSubstr("FLANNEL_SUBNET=10.244.7.1/24\n"));
}

// A restart while the source is away twice in a row.
TEST_F(DaemonJournalTest, ItLastsOverSeveralRestarts) {
  ASSERT_TRUE(StartHere().ok());
  const std::string text = Read("state/journal.json");
  End();
  EXPECT_EQ(Read("state/journal.json"), text) << "leases that are not confirmed are not written";
  ASSERT_TRUE(StartHere().ok());
  EXPECT_EQ(RoutesOn("flannel.4096"), kBoth);
}

TEST_F(DaemonJournalTest, OfAnotherBootItIsNotUsed) {
  EditJournal("\"boot\":\"", "\"boot\":\"x");
  ExpectNotUsed();
}

// A masked /proc: one note at the start, no condition, and nothing is written that no start could
// use.
TEST_F(DaemonJournalTest, WhereTheBootCannotBeReadThereIsNone) {
  constexpr char kBootId[] = "/proc/sys/kernel/random/boot_id";
  ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
  ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  ASSERT_EQ(::mount("/dev/null", kBootId, nullptr, MS_BIND, nullptr), 0);
  std::filesystem::remove(Path("state/journal.json"));
  WriteNodes({Own(), Peer(2)});
  for (int start = 0; start < 2; ++start) {
    ::testing::internal::CaptureStderr();
    control::StartLog(control::LogFormat::kKlog, 0);
    EXPECT_TRUE(StartHere().ok());
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr("journal.json is not used: which boot this is cannot be read"));
    EXPECT_TRUE(RunUntilReady());
    EXPECT_EQ(Reported(), "");
    End();
    EXPECT_FALSE(std::filesystem::exists(Path("state/journal.json")));
  }
  EXPECT_EQ(::umount2(kBootId, MNT_DETACH), 0);
}

TEST_F(DaemonJournalTest, OfAnotherNodeItIsNotUsed) {
  config_.options.node_name = "z";
  ExpectNotUsed();
}

TEST_F(DaemonJournalTest, OfAnotherNetConfItIsNotUsed) {
  config_.conf.vni = *Vni::From(5000);
  ExpectNotUsed();
}

TEST_F(DaemonJournalTest, OfASubnetOutsideOfTheNetworkItIsNotUsed) {
  EditJournal("\"10.244.1.0/24\"", "\"10.99.1.0/24\"");
  ExpectNotUsed();
}

// Leases are of use to a tunnel of flanneld's own alone.
TEST_F(DaemonJournalTest, UnderAnotherDataPlaneItHasNoLeases) {
  const auto expect_none = [this](config::DataPlane data_plane) {
    config_.options.data_plane = data_plane;
    ASSERT_TRUE(StartHere().ok());
    EXPECT_THAT(CheckNamed("source").text, HasSubstr("stay as flanneld left them"));
    EXPECT_EQ(RoutesOn("flannel.4096"), "no device");
  };
  expect_none(config::DataPlane::kNone);
  WriteNodes({Own(), Peer(2)});
  ASSERT_TRUE(RunUntilReady());
  End();
  std::filesystem::remove(Path("nodes.json"));
  expect_none(config::DataPlane::kUserspace);
}

// They stay on the underlay.
TEST_F(DaemonJournalTest, WithDirectRoutesItHasNoLeases) {
  config_.conf.direct_routing = true;
  WriteNodes({Own(), Peer(2)});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(daemon_->ReadStatus().reach->heard, std::nullopt) << "their packets are not seen";
  End();
  EXPECT_THAT(Read("state/journal.json"), ::testing::Not(HasSubstr("peer")));
}

TEST_F(DaemonJournalTest, DamagedItIsReported) {
  Write("state/journal.json", "rubbish");
  ExpectNotUsed();
  EXPECT_THAT(Reported(), HasSubstr("journal.json is not used: line 1"));
  WriteNodes({Own()});
  EXPECT_TRUE(RunUntil([&] { return Reported().empty(); })) << "it is written again";
}

// Its header is as good as it was: what outlives the process stays.
TEST_F(DaemonJournalTest, DamagedLeasesAreReportedAndNoneIsUsed) {
  EditJournal("\"10.244.3.0/24\"", "\"10.244.3.0/33\"");
  ASSERT_TRUE(StartHere().ok());
  EXPECT_EQ(RoutesOn("flannel.4096"), "no device");
  EXPECT_THAT(Reported(), HasSubstr("journal.json is not used: line 3"));
  EXPECT_TRUE(CheckNamed("subnet-file").ok);
}

// As an earlier flanneld meets it after a step back.
TEST_F(DaemonJournalTest, OfALaterVersionItIsNamedAndStays) {
  EditJournal("\"version\":1", "\"version\":2");
  const std::string text = Read("state/journal.json");
  ExpectNotUsed();
  WriteNodes({Own(), Peer(2)});
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(RoutesOn("flannel.4096"), "10.244.2.0/24 ours");
  EXPECT_THAT(Reported(), HasSubstr("version 2"));
  End();
  EXPECT_EQ(Read("state/journal.json"), text);
}

// A subnet.env of another lease is newer than the journal; without one that lease was withdrawn.
TEST_F(DaemonJournalTest, WithoutItsSubnetEnvItIsNotUsed) {
  const std::string env = Read("subnet.env");
  Write("subnet.env", "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.9.1/24\n");
  ExpectNotUsed();
  EXPECT_THAT(Read("subnet.env"), HasSubstr("10.244.9.1/24")) << "it stays";
  End();
  std::filesystem::remove(Path("subnet.env"));
  ExpectNotUsed();
  EXPECT_FALSE(std::filesystem::exists(Path("subnet.env")));
  End();
  Write("subnet.env", env);
  ASSERT_TRUE(StartHere().ok());
  EXPECT_EQ(RoutesOn("flannel.4096"), kBoth);
}

// Routes on the underlay outlive the process: the journal, which may be seconds old, must remove
// none of them, and has no leases.
TEST_F(DaemonJournalTest, RoutesThatOutliveTheProcessAreNotTouched) {
  config_.options.data_plane = config::DataPlane::kRoutes;
  config_.conf.type = control::BackendType::kHostGw;
  WriteNodes({Own().Annotation("backend-type", "host-gw"),
              Peer(2).Annotation("backend-type", "host-gw"),
              Peer(3).Annotation("backend-type", "host-gw")});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  const std::string routes = RoutesOn("u0");
  ASSERT_THAT(routes, HasSubstr("10.244.3.0/24 via 10.9.0.3"));
  End();
  EXPECT_THAT(Read("state/journal.json"), ::testing::Not(HasSubstr("peer")));
  std::filesystem::remove(Path("nodes.json"));
  ASSERT_TRUE(StartHere().ok());
  EXPECT_THAT(CheckNamed("source").text, HasSubstr("stay as flanneld left them"));
  EXPECT_EQ(RoutesOn("u0"), routes);
  EXPECT_TRUE(CheckNamed("subnet-file").ok);
}

TEST_F(DaemonLinuxTest, FollowsItsPeers) {
  WriteNodes({Own(), Peer(2)});
  ASSERT_TRUE(StartHere().ok());
  WriteNodes({Own(), Peer(3)});
  EXPECT_TRUE(RunUntil([this] { return RoutesOn("flannel.4096") == "10.244.3.0/24 ours"; }))
      << RoutesOn("flannel.4096");
}

TEST_F(DaemonLinuxTest, AnotherPodCidrRebuildsTheTunnel) {
  WriteNodes({Own(), Peer(2)});
  ASSERT_TRUE(StartHere().ok());
  const std::uint32_t before = IndexOf("flannel.4096");
  WriteNodes({Own("10.244.7.0/24"), Peer(2)});
  ASSERT_TRUE(
      RunUntil([this] { return Read("subnet.env").find("10.244.7.1/24") != std::string::npos; }));
  EXPECT_TRUE(Ready());
  EXPECT_NE(IndexOf("flannel.4096"), before);
  EXPECT_EQ(RoutesOn("flannel.4096"), "10.244.2.0/24 ours");
}

TEST_F(DaemonLinuxTest, ADeletedDeviceComesBack) {
  WriteNodes({Own(), Peer(2)});
  ASSERT_TRUE(StartHere().ok());
  const std::uint32_t before = IndexOf("flannel.4096");
  ASSERT_EQ(RunIp("link delete flannel.4096"), "");
  EXPECT_TRUE(RunUntil([&] {
    return IndexOf("flannel.4096") != before && IndexOf("flannel.4096") != 0 && Ready();
  }));
  EXPECT_EQ(RoutesOn("flannel.4096"), "10.244.2.0/24 ours");
}

// By notification, not by polling.
TEST_F(DaemonLinuxTest, FlushedRoutesAreRestoredAtOnce) {
  config_.polls_host = false;
  WriteNodes({Own(), Peer(2), Peer(3)});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  const std::string routes = RoutesOn("flannel.4096");
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(RunIp("route flush dev flannel.4096"), "");
    EXPECT_NE(RoutesOn("flannel.4096"), routes);
    const weft::testing::Wait wait(std::chrono::seconds(5));
    EXPECT_TRUE(RunUntil([&] { return RoutesOn("flannel.4096") == routes; }));
    EXPECT_TRUE(wait.Ended());
  }
  // The kernel removes them with the device, and reports none.
  ASSERT_EQ(RunIp("link set flannel.4096 down"), "");
  ASSERT_EQ(RunIp("link set flannel.4096 up"), "");
  EXPECT_TRUE(RunUntil([&] { return RoutesOn("flannel.4096") == routes; }));
}

// Once at once, then with backoff; status names the missing route meanwhile.
TEST_F(DaemonLinuxTest, AReplacedRouteIsRestoredAtOnceTheFirstTime) {
  WriteNodes({Own(), Peer(2)});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  const auto sink = [this] {
    for (const admin::SinkStatus& each : daemon_->ReadStatus().sinks)
      if (each.name == "routes on flannel.4096 (IPv4)") return each;
    return admin::SinkStatus();
  };
  constexpr char kForeignRoute[] = "route replace 10.244.2.0/24 via 10.9.0.9 dev u0";
  ASSERT_EQ(RunIp(kForeignRoute), "");
  EXPECT_TRUE(RunUntil([&] { return RoutesOn("flannel.4096") == "10.244.2.0/24 ours"; }));
  EXPECT_TRUE(RunUntil([&] { return !daemon_->ReadStatus().conditions.empty(); }));
  EXPECT_THAT(daemon_->ReadStatus().conditions[0].condition,
              HasSubstr("another program replaces the route to 10.244.2.0/24 (once, last with "
                        "a route via 10.9.0.9 dev u0)"));
  ASSERT_EQ(RunIp(kForeignRoute), "");
  EXPECT_TRUE(RunUntil([&] { return sink().applied == 0; }));
  EXPECT_EQ(RoutesOn("u0"), "10.244.2.0/24 via 10.9.0.9");
  EXPECT_TRUE(RunUntil([&] { return sink().applied == 1; })) << "after a pause";
  EXPECT_EQ(RoutesOn("flannel.4096"), "10.244.2.0/24 ours");
}

// A Node that announces the underlay's own prefix once took the node off the network for good.
TEST_F(DaemonLinuxTest, AnExistingRouteIsNeverOverwritten) {
  ASSERT_EQ(RunIp("route add blackhole 10.244.5.0/24"), "");
  ASSERT_EQ(RunIp("route add 10.244.6.0/24 via 10.9.0.9 dev u0 proto static"), "");
  const auto before = observer_->Routes(IpFamily::kV4, 0).value();
  WriteNodes({Own(), Peer(2), Peer(5), Peer(6),
              Node("thief").Leased("10.9.0.0/24", "10.9.0.7", "02:00:00:00:00:07")});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntil([&] { return RoutesOn("flannel.4096") == "10.244.2.0/24 ours"; }));
  auto after = observer_->Routes(IpFamily::kV4, 0).value();
  std::erase_if(after, [](const host::Route& route) { return route.marked; });
  EXPECT_THAT(after, ::testing::UnorderedElementsAreArray(before));
  for (const admin::SinkStatus& each : daemon_->ReadStatus().sinks) {
    if (each.name != "routes on flannel.4096 (IPv4)") continue;
    EXPECT_EQ(each.applied, 1u);
    EXPECT_GT(each.desired, each.applied);
    EXPECT_THAT(each.pending, ::testing::Contains(HasSubstr("route 10.244.5.0/24 dev flannel.4096: "
                                                            "a blackhole or unreachable route")));
  }
  WriteNodes({Own(), Peer(2)});
  ASSERT_TRUE(RunUntilReady());
  after = observer_->Routes(IpFamily::kV4, 0).value();
  std::erase_if(after, [](const host::Route& route) { return route.marked; });
  EXPECT_THAT(after, ::testing::UnorderedElementsAreArray(before)) << "still there";
  WriteNodes({Own(), Peer(2), Peer(6)});
  ASSERT_EQ(RunIp("route del 10.244.6.0/24 via 10.9.0.9"), "");
  EXPECT_TRUE(RunUntil([&] {
    return RoutesOn("flannel.4096") == "10.244.2.0/24 ours, 10.244.6.0/24 ours";
  })) << "once it is gone";
}

TEST_F(DaemonLinuxTest, StopRemovesTheDeviceAndTheSocketAndKeepsTheFile) {
  config_.options.admin = Path("admin.sock");
  WriteNodes({Own(), Peer(2)});
  ASSERT_TRUE(StartHere().ok());
  EXPECT_TRUE(std::filesystem::exists(Path("admin.sock")));
  const weft::testing::Wait wait(std::chrono::seconds(5));
  daemon_->Stop();
  EXPECT_TRUE(wait.Ended());
  EXPECT_EQ(IndexOf("flannel.4096"), 0u);
  EXPECT_FALSE(std::filesystem::exists(Path("admin.sock")));
  EXPECT_TRUE(std::filesystem::exists(Path("subnet.env")));
}

TEST_F(DaemonLinuxTest, DualStackHasADeviceForEachFamily) {
  config_.conf.enable_ipv6 = true;
  config_.conf.ipv6_network = *IpPrefix::Parse("fd00:244::/48");
  const auto dual = [](const std::string& name, const std::string& number) {
    return Node(name)
        .Leased("10.244." + number + ".0/24", "10.9.0." + number)
        .PodCidrs({"10.244." + number + ".0/24", "fd00:244:0:" + number + "::/64"})
        .Annotation("backend-v6-data",
                    R"({"VNI":4096,"VtepMAC":"02:00:00:00:06:0)" + number + "\"}")
        .Annotation("public-ipv6", "fd09::" + number);
  };
  WriteNodes({dual("a", "1"), dual("b", "2")});
  const absl::Status status = StartHere();
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(RoutesOn("flannel.4096"), "10.244.2.0/24 ours");
  EXPECT_EQ(RoutesOn("flannel-v6.4096", IpFamily::kV6), "fd00:244:0:2::/64 ours");
  EXPECT_THAT(Read("subnet.env"),
              HasSubstr("FLANNEL_IPV6_SUBNET=fd00:244:0:1::1/64\nFLANNEL_MTU=1430\n"));
  ASSERT_EQ(daemon_->ReadStatus().tunnels.size(), 2u);
}

TEST_F(DaemonLinuxTest, APortInUseIsWaitedForAndLeavesNoDevice) {
  WriteNodes({Own()});
  ASSERT_TRUE(StartHere().ok());
  DaemonConfig second = config_;
  second.conf.vni = *Vni::From(5000);
  second.options.subnet_file = Path("second.env");
  second.options.state_dir = Path("second");
  auto other = Daemon::Make(loop_, second, *host::OpenHost());
  ASSERT_TRUE(other.ok() && (*other)->Start().ok());
  const auto tunnels = [&] {
    for (const admin::Check& check : (*other)->Checks())
      if (check.name == "tunnels") return check;
    return admin::Check();
  };
  EXPECT_FALSE(tunnels().ok);
  EXPECT_THAT(tunnels().text, ::testing::AllOf(HasSubstr("4789"), HasSubstr("taken")));
  EXPECT_EQ(IndexOf("flannel.5000"), 0u);
  daemon_.reset();
  EXPECT_TRUE(RunUntil([&] { return tunnels().ok; }));
  EXPECT_NE(IndexOf("flannel.5000"), 0u);
}

TEST_F(DaemonLinuxTest, StatusHasCountersOfEveryDrop) {
  WriteNodes({Own(), Peer(2)});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  const admin::Status status = daemon_->ReadStatus();
  ASSERT_EQ(status.tunnels.size(), 1u);
  const admin::TunnelStatus& tunnel = status.tunnels[0];
  EXPECT_EQ(tunnel.to_wire.packets.size(), dataplane::kVerdictCount);
  EXPECT_EQ(tunnel.to_wire.packets[0].name, "forward");
  std::vector<std::string> kernel;
  for (const admin::KernelCount& count : tunnel.kernel) kernel.push_back(count.name);
  EXPECT_THAT(kernel, ::testing::IsSupersetOf(
                          {"socket-overflow", "device-tx-dropped", "udp-checksum-errors"}));
  EXPECT_EQ(status.sinks.size(), 2u);
  EXPECT_EQ(status.sinks[0].applied, 1u);
  EXPECT_EQ(status.reach->heard, 0u);
}

}  // namespace
}  // namespace weft::daemon
