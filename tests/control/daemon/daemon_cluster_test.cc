// SPDX-License-Identifier: Apache-2.0
// The daemon as a member of a cluster whose API server is a script: its requests, their order, what
// it writes and reports. Over real sockets; on every system. (tests/e2e has the real server.)
#include <algorithm>
#include <atomic>
#include <utility>

#include "control/daemon/cluster_member.h"
#include "control/emulator/hns/emulator.h"
#include "hns/client.h"
#include "tests/control/daemon/daemon_fixture.h"
#include "tests/support/answers.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/fake_host.h"
#include "tests/support/manual_clock.h"
#include "tests/support/scripted_server.h"
#include "tests/support/written_source.h"

namespace weft::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using weft::testing::Ending;
using weft::testing::NodeFacts;

class DaemonClusterTest : public DaemonFixture {
 protected:
  void SetUp() override {
    DaemonFixture::SetUp();
    config_.options.kube_subnet_mgr = true;
    config_.options.lease_file.clear();
    config_.options.healthz_port = 0;
    kube::ClusterAccess access;
    access.tls = false;
    access.host = "127.0.0.1";
    access.port = server_.port();
    access.token.text = "planted-token";
    access.origin = "a script";
    config_.cluster = access;
  }
  // eth0 with 192.168.1.1 and the default route.
  absl::Status StartDefault() {
    return Start(weft::testing::HostWithDefaultRoute("192.168.1.1", "192.168.1.254"));
  }

  // Our Node with a subnet and no annotation of ours.
  static NodeFacts Bare() {
    return NodeFacts("a")
        .Uid("5ac2b1c4-8c33-4b0c-9c5f-0d3c5d1f8b01")
        .Version("7")
        .PodCidr("10.244.1.0/24");
  }
  static NodeFacts Published() { return Bare().Leased("10.244.1.0/24", "192.168.1.1"); }
  // A streaming list of these, which stays open as the watch.
  void AnswerStream(const std::vector<NodeFacts>& nodes) {
    std::string body;
    for (const NodeFacts& node : nodes) body += weft::testing::NodeEventJson("ADDED", node);
    body += weft::testing::BookmarkJson("9", /*initial_events_end=*/true);
    server_.Answer({.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + body,
                    .ending = Ending::kHold});
  }
  void Answer(const std::string& status, const std::string& body) {
    server_.Answer({.bytes = "HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\n" +
                             "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body});
  }
  static std::string Refusal(int code, std::string reason, std::string message) {
    weft::testing::StatusFacts status;
    status.code = code;
    status.reason = std::move(reason);
    status.message = std::move(message);
    return weft::testing::StatusJson(status);
  }
  // A daemon was ready and has ended.
  void LeaveAJournal() {
    AnswerStream({Published()});
    Answer("200 OK", "{}");
    ASSERT_TRUE(StartDefault().ok());
    ASSERT_TRUE(RunUntilReady());
    ASSERT_TRUE(RunUntilRequests(2));  // the second is the node's condition
    daemon_->Stop();
    daemon_.reset();
    ASSERT_NE(Read("state/journal.json"), "");
  }
  // The next daemon, whose server answers 503.
  void StartWithoutTheServer() {
    Answer("503 Service Unavailable", "");
    ASSERT_TRUE(StartDefault().ok());
    ASSERT_TRUE(
        RunUntil([&] { return CheckNamed("source").text.find("503") != std::string::npos; }));
  }
  ::testing::AssertionResult RunUntilRequests(
      std::size_t count, std::source_location where = std::source_location::current()) {
    return RunUntil([&] { return server_.requests().size() >= count; }, where);
  }

  weft::testing::ScriptedServer server_{loop_.io(), {}};
};

TEST_F(DaemonClusterTest, PublishesOnceAndCompleteThenSetsTheCondition) {
  AnswerStream({Bare()});
  Answer("200 OK", "{}");
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntilRequests(2));
  EXPECT_THAT(server_.requests()[0],
              StartsWith("GET /api/v1/nodes?watch=1&sendInitialEvents=true"));
  EXPECT_THAT(server_.requests()[0], HasSubstr("Authorization: Bearer planted-token\r\n"));
  const std::string& patch = server_.requests()[1];
  EXPECT_THAT(patch, StartsWith("PATCH /api/v1/nodes/a/status HTTP/1.1\r\n"));
  EXPECT_THAT(patch, HasSubstr("Content-Type: application/strategic-merge-patch+json\r\n"));
  EXPECT_THAT(patch, AllOf(HasSubstr(R"("flannel.alpha.coreos.com/kube-subnet-manager":"true")"),
                           HasSubstr(R"("flannel.alpha.coreos.com/public-ip":"192.168.1.1")"),
                           HasSubstr(R"(\"VNI\":4096,\"VtepMAC\":\"02:)")));
  EXPECT_FALSE(CheckNamed("published").ok) << "the watch has not shown the patched Node";
}

// Upstream's dual-stack peers take no lease without IPv6, not even for IPv4.
TEST_F(DaemonClusterTest, ALinkTooNarrowForIpv6PublishesItAllTheSame) {
  constexpr char kDual[] =
      R"({"EnableIPv6":true,"Network":"10.244.0.0/16","IPv6Network":"fd00:244::/48",)"
      R"("Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})";
  Write("net-conf.json", kDual);
  config_.conf = control::ParseNetConf(kDual, "net-conf.json", control::kHnsDefaults).value();
  AnswerStream({Bare().PodCidrs({"10.244.1.0/24", "fd00:244:0:1::/64"})});
  Answer("200 OK", "{}");
  auto host = weft::testing::HostWithDefaultRoute("192.168.1.1", "192.168.1.254");
  host->adapters[0].addresses.push_back({*IpAddress::Parse("2001:db8::1"), 64});
  host->adapters[0].mtu = 1280;
  ASSERT_TRUE(Start(std::move(host)).ok());
  ASSERT_TRUE(RunUntilRequests(2));
  EXPECT_THAT(server_.requests()[1],
              AllOf(HasSubstr(R"("flannel.alpha.coreos.com/public-ip":"192.168.1.1")"),
                    HasSubstr(R"("flannel.alpha.coreos.com/public-ipv6":"2001:db8::1")"),
                    HasSubstr(R"("flannel.alpha.coreos.com/backend-v6-data":)")));
}

TEST_F(DaemonClusterTest, ARestartOfAHealthyNodeWritesNothingButTheCondition) {
  AnswerStream({Published()});
  Answer("200 OK", "{}");
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntilReady());
  ASSERT_TRUE(RunUntilRequests(2));
  EXPECT_THAT(server_.requests()[1],
              AllOf(StartsWith("PATCH /api/v1/nodes/a/status"), HasSubstr("NetworkUnavailable"),
                    Not(HasSubstr("annotations"))));
  EXPECT_EQ(daemon_->ReadStatus().v4->vtep_mac->ToString(), "02:00:00:00:00:01");
  EXPECT_EQ(CheckNamed("published").text, "");
  EXPECT_THAT(daemon_->ReadStatus().source.servers, ::testing::IsEmpty()) << "there is one";
  for (const admin::Check& check : daemon_->Checks()) EXPECT_NE(check.name, "api-server");
}

TEST_F(DaemonClusterTest, ARefusedLeaseIsCountedAndReported) {
  AnswerStream({Bare()});
  Answer("403 Forbidden", Refusal(403, "Forbidden", "nodes/status is forbidden"));
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(
      RunUntil([this] { return Sample("weft_api_errors_total{request=\"publish\"}") >= 1; }));
  EXPECT_FALSE(CheckNamed("published").ok);
  EXPECT_THAT(CheckNamed("published").text, HasSubstr("403"));
}

TEST_F(DaemonClusterTest, WhoElseMayChangeTheCredentialsIsAConditionUntilItIsCorrected) {
  const auto exposed = std::make_shared<std::string>("/etc/kubernetes belongs to user 999");
  config_.cluster->servers[0].exposed = [exposed] { return *exposed; };
  AnswerStream({Published()});
  ASSERT_TRUE(StartDefault().ok());
  const auto conditions = daemon_->ReadStatus().conditions;
  ASSERT_FALSE(conditions.empty());
  EXPECT_EQ(conditions[0].subject, "credentials");
  EXPECT_EQ(conditions[0].condition, "/etc/kubernetes belongs to user 999");
  exposed->clear();
  EXPECT_TRUE(RunUntil([this] {
    for (const admin::ConditionStatus& each : daemon_->ReadStatus().conditions)
      if (each.subject == "credentials") return false;
    return true;
  }));
}

// The journal of an earlier process of this boot confirms nothing to the cluster: until the server
// answers, the node publishes nothing, and is not ready.
TEST_F(DaemonClusterTest, FromTheJournalNothingIsPublished) {
  ASSERT_NO_FATAL_FAILURE(LeaveAJournal());
  const std::size_t before = server_.requests().size();
  ASSERT_NO_FATAL_FAILURE(StartWithoutTheServer());
  EXPECT_THAT(CheckNamed("source").text, HasSubstr("stay as flanneld left them (journal of 20"));
  EXPECT_FALSE(Ready());
  EXPECT_FALSE(CheckNamed("published").ok);
  EXPECT_TRUE(CheckNamed("subnet-file").ok);
  for (std::size_t i = before; i < server_.requests().size(); ++i)
    EXPECT_THAT(server_.requests()[i], StartsWith("GET ")) << i;
}

// A node that joins another cluster without a reboot.
TEST_F(DaemonClusterTest, TheJournalOfAnotherClusterIsNotUsed) {
  ASSERT_NO_FATAL_FAILURE(LeaveAJournal());
  config_.cluster->servers[0].tls_server_name = "api.other.example";
  ASSERT_NO_FATAL_FAILURE(StartWithoutTheServer());
  EXPECT_THAT(CheckNamed("source").text, Not(HasSubstr("journal")));
  EXPECT_FALSE(CheckNamed("subnet-file").ok);
}

// Or of the same one, which the server sends before its list has ended.
TEST_F(DaemonClusterTest, TheJournalOfADeletedNodeIsDropped) {
  ASSERT_NO_FATAL_FAILURE(LeaveAJournal());
  server_.Answer({.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" +
                           weft::testing::NodeEventJson("ADDED", Published().Uid("made-anew")),
                  .ending = Ending::kHold});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_THAT(CheckNamed("source").text, HasSubstr("journal of 20"));
  ASSERT_TRUE(RunUntil([&] { return CheckNamed("own-node").ok; }));
  EXPECT_FALSE(CheckNamed("source").ok);
  EXPECT_THAT(CheckNamed("source").text, Not(HasSubstr("journal")));
  EXPECT_EQ(Read("state/journal.json"), "");
}

TEST_F(DaemonClusterTest, TheJournalOfTheSameNodeIsInForceUntilTheListHasEnded) {
  ASSERT_NO_FATAL_FAILURE(LeaveAJournal());
  server_.Answer({.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" +
                           weft::testing::NodeEventJson("ADDED", Published()),
                  .ending = Ending::kHold});
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntil([&] { return CheckNamed("own-node").ok; }));
  EXPECT_THAT(CheckNamed("source").text, HasSubstr("journal of 20"));
  EXPECT_NE(Read("state/journal.json"), "");
}

TEST_F(DaemonClusterTest, ALeaseThatContainsTheApiServersAddressIsNotUsed) {
  config_.cluster->servers[0].host = "10.244.9.9";
  config_.cluster->servers[0].proxy = kube::Proxy{"127.0.0.1", server_.port(), "", ""};
  AnswerStream({Published(), NodeFacts("x").Uid("u").Leased("10.244.9.0/24", "192.168.1.2")});
  Answer("200 OK", "{}");
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntilReady());
  const admin::LeaseList list = daemon_->ReadLeases();
  ASSERT_EQ(list.leases.size(), 2u);
  EXPECT_EQ(list.leases[1].v4->state, "host-conflict");
  EXPECT_THAT(list.leases[1].v4->state_sentence, HasSubstr("the API server's address 10.244.9.9"));
}

// The first of two servers is away; the second one gives the list and gets the lease.
TEST_F(DaemonClusterTest, AnotherServerIsUsedAndStatusNamesBoth) {
  kube::ClusterAccess away = config_.cluster->servers[0];
  away.port = weft::testing::ScriptedServer(loop_.io(), {}).port();  // closed again
  config_.cluster->servers.insert(config_.cluster->servers.begin(), away);
  AnswerStream({Published()});
  Answer("200 OK", "{}");
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntilReady());
  const std::string first = "http://127.0.0.1:" + std::to_string(away.port) + " (a script)";
  const std::string second = "http://127.0.0.1:" + std::to_string(server_.port()) + " (a script)";
  const admin::Status status = daemon_->ReadStatus();
  EXPECT_EQ(status.source.description, "Kubernetes API " + second);
  ASSERT_EQ(status.source.servers.size(), 2u);
  EXPECT_EQ(status.source.servers[0].server, first);
  EXPECT_FALSE(status.source.servers[0].in_use);
  EXPECT_THAT(status.source.servers[0].text, StartsWith("failed: connection refused"));
  EXPECT_TRUE(status.source.servers[1].in_use);
  EXPECT_EQ(status.source.servers[1].text, "in use, taken over from " + first);
  EXPECT_TRUE(CheckNamed("api-server").ok);
  EXPECT_THAT(CheckNamed("api-server").text,
              AllOf(HasSubstr(first + ": failed"), HasSubstr(second + ": in use")));
}

// What other nodes make of its lease is not, before all are.
TEST_F(DaemonClusterTest, OurNodeIsKnownBeforeTheListHasEnded) {
  const NodeFacts older =
      NodeFacts("older").Uid("u").Created(1).Leased("10.244.1.0/24", "192.168.1.2");
  int reports = 0;  // by housekeeping
  config_.on_health = [&](const service::Health&) { ++reports; };
  server_.Answer({.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" +
                           weft::testing::NodeEventJson("ADDED", older) +
                           weft::testing::NodeEventJson("ADDED", Published().Created(2)),
                  .ending = Ending::kHold});
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntil([&] { return CheckNamed("own-node").ok && reports > 1; }));
  EXPECT_FALSE(CheckNamed("source").ok);
  EXPECT_EQ(Read("subnet.env"), "");
  for (const admin::ConditionStatus& each : daemon_->ReadStatus().conditions)
    EXPECT_NE(each.subject, "own-lease");
}

TEST_F(DaemonClusterTest, OurNodeDeletedBeforeTheListHasEndedIsMissing) {
  server_.Answer({.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" +
                           weft::testing::NodeEventJson("ADDED", Published()) +
                           weft::testing::NodeEventJson("DELETED", Published()),
                  .ending = Ending::kHold});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_TRUE(RunUntil(
      [&] { return CheckNamed("own-node").text.find("node \"a\" is not among the Nodes") == 0; }));
  EXPECT_FALSE(CheckNamed("source").ok);
}

// Upstream ends here; our pods keep their addresses.
TEST_F(DaemonClusterTest, OurNodeDeletedIsNotReadyAndKeepsTheFile) {
  config_.options.set_node_network_unavailable = false;
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
  server_.Answer({.bytes = head + weft::testing::NodeEventJson("ADDED", Published()) +
                           weft::testing::BookmarkJson("9", /*initial_events_end=*/true)});
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntilReady());
  const std::string env = Read("subnet.env");
  server_.Answer({.bytes = head + weft::testing::NodeEventJson("DELETED", Published()),
                  .ending = Ending::kHold});
  ASSERT_TRUE(RunUntil([&] { return !CheckNamed("own-node").ok; }));
  EXPECT_THAT(CheckNamed("own-node").text, HasSubstr("node \"a\" is not among the Nodes"));
  ASSERT_TRUE(RunUntil([&] { return !CheckNamed("published").ok; }));
  EXPECT_EQ(Read("subnet.env"), env);
}

TEST_F(DaemonClusterTest, MetricsCountListsRestartsOfTheWatchAndErrors) {
  config_.options.node_name.clear();
  config_.options.pod_name = "p";
  config_.options.pod_namespace = "n";
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
  Answer("500 Internal Server Error", "{}");
  Answer("200 OK", R"({"kind":"Pod","spec":{"nodeName":"a"}})");
  Answer("500 Internal Server Error", "{}");
  server_.Answer({.bytes = head + weft::testing::NodeEventJson("ADDED", Bare()) +
                           weft::testing::BookmarkJson("9", /*initial_events_end=*/true)});
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntil([&] { return CheckNamed("source").ok; }));
  EXPECT_EQ(Sample("weft_api_lists_total"), 2);
  EXPECT_EQ(Sample("weft_api_errors_total{request=\"pod\"}"), 1);
  EXPECT_EQ(Sample("weft_api_errors_total{request=\"nodes\"}"), 1);
  // From here on no connection is answered: neither the next watch nor our lease.
  ASSERT_TRUE(RunUntil([&] {
    return Sample("weft_api_watch_restarts_total") >= 1 &&
           Sample("weft_api_errors_total{request=\"publish\"}") >= 1;
  }));
  EXPECT_EQ(Sample("weft_api_lists_total"), 2);
  EXPECT_EQ(Sample("weft_api_errors_total{request=\"pod\"}"), 1);
}

TEST_F(DaemonClusterTest, TheNameComesFromThePod) {
  config_.options.node_name.clear();
  config_.options.pod_name = "kube-flannel-x";
  config_.options.pod_namespace = "kube-flannel";
  Answer("200 OK", R"({"kind":"Pod","spec":{"nodeName":"a"}})");
  AnswerStream({Published()});
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_TRUE(RunUntilReady());
  EXPECT_THAT(server_.requests()[0],
              StartsWith("GET /api/v1/namespaces/kube-flannel/pods/kube-flannel-x HTTP/1.1\r\n"));
  EXPECT_EQ(daemon_->ReadStatus().node, "a");
}

TEST_F(DaemonClusterTest, AForbiddenPodIsReportedAndRequestedAgain) {
  config_.options.node_name.clear();
  config_.options.pod_name = "p";
  config_.options.pod_namespace = "n";
  Answer("403 Forbidden", Refusal(403, "Forbidden", "pods is forbidden"));
  Answer("200 OK", R"({"kind":"Pod","spec":{"nodeName":"a"}})");
  AnswerStream({Published()});
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntil([&] {
    return !CheckNamed("own-node").ok && server_.connections() == 1 &&
           CheckNamed("own-node").text.find("403") != std::string::npos;
  }));
  EXPECT_THAT(CheckNamed("own-node").text,
              AllOf(HasSubstr("n/p"), HasSubstr("NODE_NAME"), Not(HasSubstr("planted"))));
  EXPECT_TRUE(RunUntilReady());
}

TEST_F(DaemonClusterTest, AFailedRequestForThePodIsRetried) {
  config_.options.node_name.clear();
  config_.options.pod_name = "p";
  config_.options.pod_namespace = "n";
  server_.Answer({.bytes = "", .ending = Ending::kReset});
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntil(
      [&] { return CheckNamed("own-node").text.find("the node of pod n/p is not known: ") == 0; }));
  Answer("200 OK", R"({"kind":"Pod","spec":{"nodeName":"a"}})");
  AnswerStream({Published()});
  EXPECT_TRUE(RunUntilReady());
}

TEST_F(DaemonClusterTest, WaitsForItsNode) {
  AnswerStream({NodeFacts("b").Version("3")});
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntil([&] {
    return CheckNamed("source").ok &&
           CheckNamed("own-node").text.find("node \"a\" is not among the Nodes") == 0;
  }));
  EXPECT_EQ(server_.requests().size(), 1u) << "there is nothing to write to";
}

// As of a proxy that has a JSON document for everything.
TEST_F(DaemonClusterTest, AServerWhoseAnswerIsNoListIsLeftForTheNext) {
  weft::testing::ScriptedServer next(loop_.io(), {});
  kube::ClusterAccess access = config_.cluster->servers[0];
  access.port = next.port();
  config_.cluster->servers.push_back(access);
  Answer("200 OK", R"(["moved"])");
  next.Answer({.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" +
                        weft::testing::NodeEventJson("ADDED", Published()) +
                        weft::testing::BookmarkJson("9", /*initial_events_end=*/true),
               .ending = Ending::kHold});
  next.Answer({.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                        "Content-Length: 2\r\n\r\n{}"});  // a condition
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntil([&] { return CheckNamed("source").ok; }));
  const admin::SourceStatus source = daemon_->ReadStatus().source;
  ASSERT_EQ(source.servers.size(), 2u);
  EXPECT_EQ(source.servers[0].text, "failed: it answers 200 with what is no list of Nodes");
  EXPECT_TRUE(source.servers[1].in_use);
  EXPECT_EQ(source.last_answer_age, std::nullopt) << "it is young";
  daemon_.reset();  // before the server
}

TEST_F(DaemonClusterTest, ARefusalIsReportedWithoutSecretsWhileHealthAnswers) {
  Answer("401 Unauthorized", Refusal(401, "Unauthorized", "Unauthorized"));
  ASSERT_TRUE(StartDefault().ok());
  EXPECT_NE(daemon_->healthz_port(), 0);
  ASSERT_TRUE(RunUntil([&] { return CheckNamed("source").text.find("401") != std::string::npos; }));
  EXPECT_FALSE(CheckNamed("source").ok);
  EXPECT_THAT(CheckNamed("source").text, Not(HasSubstr("planted")));
}

// HNS chooses the MAC that peers send to: another one in the first patch, and they would send into
// the void until the next.
TEST_F(DaemonClusterTest, NothingIsPublishedBeforeHnsHasGivenMacAndAddress) {
  struct Emulation {
    class TurnedClock final : public hns::emulator::Clock {
     public:
      hns::emulator::Milliseconds Now() override { return now; }
      void Sleep(hns::emulator::Milliseconds) override {}
      std::atomic<hns::emulator::Milliseconds> now{std::chrono::hours(1)};
    };
    TurnedClock clock;
    weft::testing::EthernetNode node{clock, {}, "eth0", "192.168.1.1"};
    hns::emulator::Emulator& hns = node.hns();
  };
  const struct {
    const char* description;
    hns::emulator::Settings settings;
  } rows[] = {{"no router MAC", {.dr_mac = std::chrono::hours(1)}},
              {"no management IP", {.management_ip = std::chrono::hours(1)}}};
  config_.options.data_plane = config::DataPlane::kHns;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    const auto emulation = std::make_shared<Emulation>();
    emulation->hns.Set(row.settings);
    config_.hns = {emulation, &emulation->hns};
    AnswerStream({Bare()});
    Answer("200 OK", "{}");
    const std::size_t before = server_.requests().size();
    ASSERT_TRUE(StartDefault().ok());
    ASSERT_TRUE(RunUntil([&] {
      const auto hns = daemon_->ReadStatus().hns;
      return hns && hns->state == "management-ip";
    }));
    EXPECT_EQ(server_.requests().size(), before + 1) << "the list alone";

    emulation->clock.now = std::chrono::hours(3);
    ASSERT_TRUE(RunUntilRequests(before + 2));
    const auto networks = hns::Client(emulation->hns).Networks("flannel.4096");
    ASSERT_TRUE(networks.ok() && networks->size() == 1) << networks.status();
    EXPECT_THAT(server_.requests().back(),
                AllOf(StartsWith("PATCH "),
                      HasSubstr(R"(\"VtepMAC\":\")" + networks->front().dr_mac()->ToString())));
    daemon_.reset();
  }
}

TEST_F(DaemonClusterTest, TheServersSilenceIsAFactThenACondition) {
  weft::testing::ManualClock clock;
  clock.AdvanceTo(std::chrono::steady_clock::now());  // as the loop's timers
  weft::testing::WrittenSource source;
  AnswerStream({Published()});
  ClusterMember member(
      loop_, clock, config_.options, *config_.cluster, kube::AnnotationKeys(),
      [](const std::string&) {}, [] {});
  member.Start(source);
  ASSERT_TRUE(RunUntil([&] { return member.synced_at().has_value(); }));
  const auto condition_after = [&](std::chrono::seconds by, bool source_fails) {
    clock.Advance(by);
    member.Poll(source_fails);
    return member.silence_condition().text();
  };
  EXPECT_EQ(condition_after(std::chrono::seconds(95), false), "");
  EXPECT_EQ(member.silence().age, std::chrono::seconds(95));
  EXPECT_THAT(condition_after(std::chrono::seconds(60), false),
              HasSubstr("the API server has sent nothing for 155 s"));
  EXPECT_EQ(condition_after(std::chrono::seconds(1), true), "") << "the source's says more";
}

// As above, in status; the loop's timers go on meanwhile.
TEST_F(DaemonClusterTest, TheServersSilenceIsInStatus) {
  struct AheadClock final : control::Clock {
    control::TimePoint Now() const override { return std::chrono::steady_clock::now() + ahead; }
    std::chrono::seconds ahead{0};
  };
  const auto clock = std::make_shared<AheadClock>();
  config_.clock = clock;
  AnswerStream({Published()});
  Answer("200 OK", "{}");
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntil([&] { return CheckNamed("source").ok; }));
  EXPECT_EQ(daemon_->ReadStatus().source.last_answer_age, std::nullopt);
  clock->ahead = std::chrono::seconds(95);
  EXPECT_GE(daemon_->ReadStatus().source.last_answer_age, 95u);
  clock->ahead = std::chrono::seconds(155);
  EXPECT_TRUE(RunUntil([&] {
    const auto conditions = daemon_->ReadStatus().conditions;
    return std::ranges::find(conditions, "api-server", &admin::ConditionStatus::subject) !=
           conditions.end();
  }));
}

TEST_F(DaemonClusterTest, APodCidrOutsideNetworkIsNotPublished) {
  AnswerStream({Bare().PodCidr("10.9.1.0/24")});
  ASSERT_TRUE(StartDefault().ok());
  ASSERT_TRUE(RunUntil([&] { return CheckNamed("source").ok; }));
  ASSERT_TRUE(RunUntil([&] { return !CheckNamed("own-node").text.empty(); }));
  EXPECT_THAT(CheckNamed("own-node").text, HasSubstr("10.9.1.0/24"));
  EXPECT_EQ(server_.requests().size(), 1u);
}

}  // namespace
}  // namespace weft::daemon
