// SPDX-License-Identifier: Apache-2.0
// Memory that the control plane takes for each lease, as operator new counts it: from the bytes of
// a streaming list to the lease table, all leases to a sink, and the journal. The figures are the
// same in every run.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/journal/journal.h"
#include "control/kube/list_watch.h"
#include "control/reconciler.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/answers.h"
#include "tests/support/lease_makers.h"
#include "tests/support/manual_clock.h"
#include "tests/support/test_path.h"

namespace weft::control {
namespace {

constexpr std::size_t kFew = 1'000, kMany = 11'000;
constexpr std::size_t kPiece = std::size_t{64} << 10;  // in which bytes arrive

// Bytes for a lease at most: 5 % more than on 27 November 2026. Who lowers a figure lowers its
// limit.
const std::map<std::string, double> kLimits = {
    {"leases", 117.2},    {"leases, peak", 116.2},   {"all leases to a sink, peak", 168},
    {"journal, peak", 1}, {"journal read, peak", 1},
};

// Accepts everything and keeps nothing.
class Sink final : public lease::Sink {
 public:
  std::string name() const override { return "counted"; }
  lease::SinkReport Resync(std::span<const lease::Peer> all) override {
    peers = all.size();
    return Retry();
  }
  lease::SinkReport Update(const lease::PeerChanges&) override { return Retry(); }
  lease::SinkReport Retry() override { return {peers, peers, {}}; }

  std::size_t peers = 0;
};

// A streaming list of our Node and `count` others, each as large as real ones are.
std::string StreamOf(std::size_t count) {
  const testing::Answers answers(kube::Encoding::kProtobuf);
  std::string bytes = answers.Event(
      "ADDED", testing::NodeFacts("own").Uid("uid-own").Leased("10.255.0.0/24", "192.0.2.1"));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string number = absl::StrCat(100'000 + i), x = absl::StrCat(i / 256),
                      y = absl::StrCat(i % 256);
    bytes +=
        answers.Event("ADDED", testing::NodeFacts("node-" + number + ".example.internal")
                                   .Uid("0123abcd-0123-4567-89ab-000000" + number)
                                   .Version(number)
                                   .Created(1'786'708'800)
                                   .Leased("10." + x + "." + y + ".0/24", "172.16." + x + "." + y)
                                   .Large());
  }
  return bytes + answers.Bookmark("999999", true);
}

lease::OwnIdentity Own(std::optional<IpPrefix> subnet) {
  lease::OwnIdentity own;
  own.node_name = "own";
  own.v4.network = testing::Prefix("10.0.0.0/8");
  own.v4.subnet = subnet;
  return own;
}

// The least that the journal can be read with.
journal::Header Header() {
  journal::Header header;
  header.scope.boot = header.scope.source = header.scope.net_conf = "x";
  header.own.node.name = "own";
  return header;
}

// What `work` takes at most, and what of it remains.
template <typename Work>
std::pair<double, double> PeakAndRest(const Work& work) {
  const std::int64_t before = AllocatedBytes();
  BeginPeak();
  work();
  return {static_cast<double>(PeakBytes() - before),
          static_cast<double>(AllocatedBytes() - before)};
}

// Bytes by the names of kLimits.
std::map<std::string, double> Measure(std::size_t count) {
  std::map<std::string, double> found;
  const std::string stream = StreamOf(count);
  const testing::ManualClock clock;
  const auto middle = [] { return 0.5; };
  ReconcilerHooks hooks;
  Reconciler* owner = nullptr;
  hooks.on_own_node = [&owner](const std::optional<lease::OwnNode>& node) {
    if (node) owner->SetOwn(Own(node->v4.subnet));
  };
  Reconciler reconciler(clock, middle, hooks, {.own = Own(std::nullopt)});
  owner = &reconciler;
  kube::ListWatch list_watch(clock, middle, {}, "own", reconciler);
  std::tie(found["leases, peak"], found["leases"]) = PeakAndRest([&] {
    list_watch.Start();
    list_watch.OnHead({200, "application/vnd.kubernetes.protobuf;stream=watch", {}});
    for (std::size_t at = 0; at < stream.size(); at += kPiece)
      list_watch.OnBody(std::string_view(stream).substr(at, kPiece));
  });
  EXPECT_EQ(reconciler.report().leases, count + 1);

  Sink sink;
  found["all leases to a sink, peak"] = PeakAndRest([&] { reconciler.AddSink(sink); }).first;
  EXPECT_EQ(sink.peers, count);

  const std::filesystem::path folder = testing::TestPath();
  const journal::Journal journal(folder.string());
  found["journal, peak"] = PeakAndRest([&] {
                             const auto saved = journal.Save(Header(), [&](journal::Visit visit) {
                               reconciler.table().ForEachInUse(visit);
                             });
                             EXPECT_TRUE(saved.ok()) << saved;
                           }).first;
  std::size_t read = 0;
  found["journal read, peak"] = PeakAndRest([&] {
                                  const auto add = [&read](const lease::Lease&) { ++read; };
                                  EXPECT_TRUE(journal.Load(add).ok());
                                }).first;
  EXPECT_EQ(read, count);
  std::filesystem::remove_all(folder);
  return found;
}

TEST(LeaseBytes, TheCounterCounts) {
  std::string* volatile kept = nullptr;  // or the compiler may leave the pair out
  const auto [peak, rest] = PeakAndRest([&] {
    kept = new std::string(1000, 'x');
    delete std::exchange(kept, new std::string);
  });
  delete kept;
  EXPECT_EQ(peak, 1024 + 48 + 48);
  EXPECT_EQ(rest, 48);
}

TEST(LeaseBytes, AreWithinTheirLimits) {
  const std::map<std::string, double> few = Measure(kFew), many = Measure(kMany);
  for (const auto& [what, limit] : kLimits) {
    const double figure = (many.at(what) - few.at(what)) / (kMany - kFew);
    std::printf("%s: %.1f bytes for a lease, limit %.1f\n", what.c_str(), figure, limit);
    EXPECT_LE(figure, limit) << what << ": bytes for a lease; a commit that raises it says why";
  }
}

}  // namespace
}  // namespace weft::control
