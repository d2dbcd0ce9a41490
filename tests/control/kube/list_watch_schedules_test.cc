// SPDX-License-Identifier: Apache-2.0
// Random schedules: a cluster that changes, up to three API servers and a network that misbehave,
// and between them and a sink the real choice of a server, list-and-watch, reconciler and lease
// table. A seed is a schedule.
//   WEFT_SCHEDULES: how many (200)    WEFT_SEED: the first one's seed
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "control/kube/client/server_choice.h"
#include "control/kube/list_watch.h"
#include "control/reconciler.h"
#include "gtest/gtest.h"
#include "tests/control/kube/list_watch_truth.h"
#include "tests/support/fake_sink.h"
#include "tests/support/list_watch_carrier.h"
#include "tests/support/seed.h"

namespace weft::kube {
namespace {

using lease::NodeKey;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::FakeApiServer;
using testing::NodeFacts;
using testing::Text;
using testing::TrueText;

// A sink that must receive real differences only, and nothing before the first snapshot.
class StrictSink final : public lease::Sink {
 public:
  std::string name() const override { return "strict"; }
  lease::SinkReport Resync(std::span<const lease::Peer> all) override {
    const int touched = inner.touched;
    lease::SinkReport report = inner.Resync(all);
    EXPECT_TRUE(!in_sync || inner.touched == touched) << "a change was not reported";
    return report;
  }
  lease::SinkReport Update(const lease::PeerChanges& changes) override {
    EXPECT_FALSE(changes.empty());
    for (const lease::Peer& peer : changes.upserts) {
      const auto at = inner.entries.find(peer.subnet);
      EXPECT_TRUE(at == inner.entries.end() || at->second != peer) << "needless: " << Text(peer);
    }
    for (const IpPrefix& subnet : changes.removals)
      EXPECT_TRUE(inner.entries.contains(subnet)) << "needless: - " << subnet.ToString();
    return inner.Update(changes);
  }
  lease::SinkReport Retry() override { return inner.Retry(); }

  testing::FakeSink inner;
  bool in_sync = false;  // nothing is waiting to be reported: a resync (every five minutes) finds
                         // no difference
};

// The history of each Node, to judge the table by. A lease's value is the revision that made it,
// written in its MAC.
class History {
 public:
  void Note(const NodeKey& node, int revision, std::optional<int> value) {
    auto& life = lives_[node];
    if (life.empty() || life.rbegin()->second != value) life[revision] = value;
  }

  // The table may be late, but never goes back: each lease is at least as new as any seen of its
  // Node, and a removed lease had ended after it was last seen.
  void Judge(const lease::LeaseTable& table) {
    std::map<NodeKey, int> now;
    for (const lease::LeaseRow& row : table.Rows()) now[row.node] = ValueOf(*row.lease.vtep_mac);
    for (const auto& [node, value] : now) {
      const auto& life = lives_.at(node);
      ASSERT_TRUE(life.contains(value)) << node.name << "/" << node.uid << " was never " << value;
      ASSERT_GE(value, seen_[node]) << node.name << "/" << node.uid << " is back from the past";
      seen_[node] = value;
    }
    for (const auto& [node, value] : before_) {
      if (now.contains(node)) continue;
      const auto& life = lives_.at(node);
      auto end = life.upper_bound(seen_[node]);
      while (end != life.end() && end->second) ++end;
      ASSERT_TRUE(end != life.end()) << node.name << "/" << node.uid << " is lost";
      seen_[node] = end->first;
    }
    before_ = std::move(now);
  }

  static std::string MacOf(int value) {
    char text[18];
    std::snprintf(text, sizeof text, "02:00:00:00:%02x:%02x", value >> 8 & 0xff, value & 0xff);
    return text;
  }

 private:
  static int ValueOf(const MacAddress& mac) {
    const std::string text = mac.ToString();
    return std::stoi(text.substr(12, 2), nullptr, 16) << 8 |
           std::stoi(text.substr(15, 2), nullptr, 16);
  }

  std::map<NodeKey, std::map<int, std::optional<int>>> lives_;  // revision → value from then on
  std::map<NodeKey, int> seen_;                                 // not older than this revision
  std::map<NodeKey, int> before_;
};

class Schedule {
 public:
  explicit Schedule(std::uint32_t seed)
      : random_(seed),
        servers_(1 + seed % 3),
        choice_(std::vector<ServerChoice::Server>(servers_.size(), {"server"})) {
    carrier_.on_send = [this] { return Serve(); };
    carrier_.on_answer = [this](int status) { Judge(status); };
    carrier_.on_fault = [this](const std::string& why) { choice_.Failed(choice_.current(), why); };
    reconciler_.SetOwn(testing::OwnIdentityOf("us"));
    reconciler_.AddSink(sink_);
  }

  void Run() {
    for (int i = 0; i < 5; ++i) ChangeTruth();
    for (int i = 0; i < 3; ++i) ChangeManners();
    carrier_.Start();
    const int steps = 100 + Below(700);
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      Step();
      Check();
    }
    if (!::testing::Test::HasFailure()) Quiesce();
  }

 private:
  int Below(int n) { return std::uniform_int_distribution<>(0, n - 1)(random_); }
  template <typename T, std::size_t kSize>
  T Any(const T (&of)[kSize]) {
    return of[Below(static_cast<int>(kSize))];
  }

  // ---- the cluster

  void Put(NodeFacts node, std::optional<int> value) {
    const NodeKey key{node.name, node.uid};
    server_.Put(std::move(node));
    history_.Note(key, server_.revision(), value);
  }
  // With a lease that is new in every case.
  void Lease(NodeFacts node, const std::string& subnet) {
    const int value = server_.revision() + 1;
    node.Leased(subnet, "192.0.2." + std::to_string(1 + Below(20)), History::MacOf(value));
    Put(std::move(node), value);
  }
  void Create(const std::string& name) {
    const NodeFacts node =
        NodeFacts(name).Uid("u" + std::to_string(++uids_)).Created(1000 + server_.revision());
    if (Below(4) == 0) return Put(node, std::nullopt);
    Lease(node, "10.244." + std::to_string(Below(12)) + ".0/24");
  }
  void Delete(const NodeFacts& node) {
    const NodeKey key{node.name, node.uid};
    server_.Delete(node.name);
    history_.Note(key, server_.revision(), std::nullopt);
  }
  void ChangeTruth() {
    static constexpr const char* kNames[] = {"a", "b", "c", "d", "e", "f", "g", "us"};
    const std::string name = Any(kNames);
    const auto at = server_.nodes().find(name);
    if (at == server_.nodes().end()) return Create(name);
    NodeFacts node = at->second;
    switch (Below(6)) {
      case 0:
        return Delete(node);
      case 1:  // made again, perhaps with its subnet
        Delete(node);
        if (node.pod_cidr.empty()) return Create(name);
        node.uid = "u" + std::to_string(++uids_);
        return Lease(node, node.pod_cidr);
      case 2:  // stripped
        node.annotations.clear();
        return Put(std::move(node), std::nullopt);
      case 3:  // annotated again
        return Lease(node, node.pod_cidr.empty() ? "10.244.40.0/24" : node.pod_cidr);
      case 4: {  // a new node gets its subnet before it is deleted itself
        if (node.pod_cidr.empty() || server_.nodes().contains("heir")) return Heartbeat(node);
        return Lease(
            NodeFacts("heir").Uid("u" + std::to_string(++uids_)).Created(1000 + server_.revision()),
            node.pod_cidr);
      }
      default:
        return Heartbeat(node);
    }
  }
  void Heartbeat(NodeFacts node) {
    node.ForeignAnnotation("beat", std::to_string(server_.revision()));
    server_.Put(std::move(node));
  }

  // ---- the servers

  // One of those that serve the cluster; each has its own cache of etcd.
  struct Server {
    FakeApiServer::StreamedList streamed_list = FakeApiServer::StreamedList::kServed;
    FakeApiServer::Protobuf protobuf = FakeApiServer::Protobuf::kServed;
    int lag = 0;
    bool waits = true;
    bool down = false;
  };
  Server& AnyServer() { return servers_[Below(static_cast<int>(servers_.size()))]; }
  // The next request meets the server in use. False: it is down.
  bool Serve() {
    const Server& server = servers_[choice_.current()];
    server_.streamed_list = server.streamed_list;
    server_.protobuf = server.protobuf;
    server_.lag = server.lag;
    server_.waits = server.waits;
    return !server.down;
  }
  void Judge(int status) {
    if (status == 0 || status == 500 || (status >= 502 && status <= 504)) {
      choice_.Failed(choice_.current(), "down");
    } else {
      choice_.Answered(choice_.current());
    }
  }

  void ChangeManners() {
    using StreamedList = FakeApiServer::StreamedList;
    using Protobuf = FakeApiServer::Protobuf;
    switch (Below(6)) {
      case 0:
        AnyServer().streamed_list =
            Any({StreamedList::kServed, StreamedList::kServed, StreamedList::kRefused,
                 StreamedList::kRefusedByEvent, StreamedList::kIgnored});
        break;
      case 1:
        AnyServer().protobuf = Any({Protobuf::kServed, Protobuf::kServed, Protobuf::kAbsent,
                                    Protobuf::kRefused, Protobuf::kFeigned});
        break;
      case 2:
        AnyServer().waits = Below(2) == 0;
        break;
      case 3:
        server_.most_in_page = static_cast<std::size_t>(1 + Below(4));
        break;
      case 4:
        server_.wrong_lengths = Below(3) == 0;
        break;
      case 5:
        AnyServer().down = Below(2) == 0;
        break;
    }
  }
  void RefuseSome() {
    FakeApiServer::Refusal refusal;
    refusal.status.code =
        Any({400, 401, 403, 404, 406, 410, 410, 413, 415, 422, 429, 500, 502, 503, 504});
    if (refusal.status.code == 410) refusal.status.reason = "Expired";
    refusal.event = Below(3) == 0;
    refusal.plain_text = Below(4) == 0;
    if (Below(4) == 0) refusal.status.retry_after = 1 + Below(30);
    const int times = Any({1, 1, 2, 3, 6});
    for (int i = 0; i < times; ++i) server_.refusals.push_back(refusal);
  }

  // ---- the network and the time

  // With `carried`, the server's answers are delivered at once.
  void PassTime(control::Duration time, bool carried) {
    const control::TimePoint end = clock_.Now() + time;
    while (!::testing::Test::HasFailure()) {
      if (carried) carrier_.Run();
      const control::TimePoint tick = reconciler_.NextDeadline().value_or(end);
      const control::TimePoint next = std::min({end, carrier_.deadline(), tick});
      if (next > clock_.Now()) sent_before_ = carrier_.sent();
      clock_.AdvanceTo(std::max(next, clock_.Now()));
      if (tick <= clock_.Now()) {
        sink_.in_sync = reconciler_.report().in_sync;
        reconciler_.Tick();
      }
      if (carrier_.deadline() <= clock_.Now()) carrier_.Time();
      Check();
      if (next == end) break;
    }
  }
  void Step() {
    const int dice = Below(100);
    if (dice < 30) {
      carrier_.Step(static_cast<std::size_t>(Any({1, 7, 100, 1000, 100'000})));
    } else if (dice < 46) {
      carrier_.Run();
    } else if (dice < 51) {
      carrier_.Cut();
    } else if (dice < 53) {
      if (carrier_.answer() != nullptr) carrier_.answer()->End();
    } else if (dice < 69) {
      PassTime(milliseconds(Below(Any({500, 5000, 40'000, 200'000}))), Below(2) == 0);
    } else if (dice < 82) {
      ChangeTruth();
    } else if (dice < 85) {
      server_.Compact();
    } else if (dice < 87) {
      server_.SendBookmarks();
    } else if (dice < 95) {
      AnyServer().lag = Below(5);  // the next request meets another cache
    } else if (dice < 98) {
      ChangeManners();
    } else {
      RefuseSome();
    }
  }

  // ---- the invariants

  void Check() {
    if (!reconciler_.report().source_synced) {
      ASSERT_EQ(sink_.inner.resyncs + sink_.inner.updates, 0);
      return;
    }
    if (judged_ != reconciler_.table().generation()) {
      judged_ = reconciler_.table().generation();
      history_.Judge(reconciler_.table());
    }
    if (reconciler_.report().in_sync) ASSERT_EQ(SinkText(), PeersText());
    ASSERT_LE(carrier_.sent() - sent_before_, 40u) << "requests without a pause";
  }
  // The rows by subnet; of one that several Nodes have, not who uses it but how many.
  static std::string WithoutContests(const std::string& text) {
    struct Row {
      absl::string_view line, state;
    };
    std::map<absl::string_view, std::vector<Row>> subnets;
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
      subnets[words[1]].push_back({line, words.back()});
    }
    std::string result;
    for (const auto& [subnet, rows] : subnets) {
      int in_use = 0;
      for (const auto& [line, state] : rows) {
        if (state != "overlap" && state != "self") ++in_use;
        const absl::string_view shown =
            rows.size() == 1 ? line : line.substr(0, line.size() - state.size());
        absl::StrAppend(&result, shown, "\n");
      }
      if (rows.size() > 1) absl::StrAppend(&result, subnet, " is used by ", in_use, "\n");
    }
    return result;
  }
  // The content of the sink, and what it should be by the table.
  std::string SinkText() const {
    std::string text;
    for (const auto& [subnet, peer] : sink_.inner.entries) text += Text(peer) + "\n";
    return text;
  }
  std::string PeersText() const {
    std::string text;
    for (const lease::Peer& peer : reconciler_.table().Snapshot(IpFamily::kV4))
      text += Text(peer) + "\n";
    return text;
  }
  // For so long all is well.
  void Calm(minutes time) {
    for (minutes i(0); i < time; ++i) {
      PassTime(minutes(1), true);
      server_.SendBookmarks();
    }
  }
  void Quiesce() {
    for (Server& each : servers_) {
      const bool waits = each.waits;
      each = Server();
      each.waits = waits;
    }
    Serve();
    server_.wrong_lengths = false;
    server_.refusals.clear();
    Calm(minutes(10));
    ExpectTruth();
    // Everything again, and nothing to do.
    const int updates = sink_.inner.updates;
    FakeApiServer::Refusal expired;
    expired.status.code = 410;
    server_.refusals = {expired};
    carrier_.Cut();
    Calm(minutes(1));
    ExpectTruth();
    EXPECT_EQ(sink_.inner.updates, updates);
  }
  // Of two Nodes with one subnet, the one that was reported first is in use; the server's Nodes do
  // not determine which.
  void ExpectTruth() const {
    EXPECT_EQ(WithoutContests(Text(reconciler_.table())),
              WithoutContests(TrueText(server_.nodes(), testing::OwnIdentityOf("us"))));
    EXPECT_EQ(reconciler_.report().condition, std::nullopt);
    EXPECT_TRUE(carrier_.live());
    const auto us = server_.nodes().find("us");
    ASSERT_EQ(reconciler_.own_node().has_value(), us != server_.nodes().end());
    if (us != server_.nodes().end()) {
      EXPECT_EQ(reconciler_.own_node()->node, (NodeKey{"us", us->second.uid}));
      EXPECT_EQ(reconciler_.own_node()->managed, testing::IsManaged(us->second));
    }
  }

  std::mt19937 random_;
  std::vector<Server> servers_;
  ServerChoice choice_;
  testing::ManualClock clock_;
  FakeApiServer server_;
  History history_;
  StrictSink sink_;
  control::Reconciler reconciler_{clock_, [] { return 0.0; }, {}};
  ListWatch machine_{clock_, [this] { return std::uniform_real_distribution<>(0, 1)(random_); },
                     AnnotationKeys(), "us", reconciler_};
  testing::ListWatchCarrier carrier_{clock_, server_, machine_};
  std::uint64_t judged_ = 0;     // the table's generation
  std::size_t sent_before_ = 0;  // the clock moved last
  int uids_ = 0;
};

TEST(ListWatchSchedules, TheTableEqualsTheServersNodes) {
  const char* const desired = std::getenv("WEFT_SCHEDULES");
  const std::uint32_t schedules =
      desired == nullptr ? 200 : static_cast<std::uint32_t>(std::stoul(desired));
  const std::uint32_t first = TestSeed();
  for (std::uint32_t seed = first; seed != first + schedules; ++seed) {
    SCOPED_TRACE("once more: WEFT_SCHEDULES=1 WEFT_SEED=" + std::to_string(seed));
    Schedule(seed).Run();
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace weft::kube
