// SPDX-License-Identifier: Apache-2.0
// A cut at every byte of a list and of an event, single bytes, wrong lengths: in each case the
// lease table finally equals the server's Nodes.
#include <memory>
#include <string>

#include "control/kube/list_watch.h"
#include "control/reconciler.h"
#include "gtest/gtest.h"
#include "tests/control/kube/list_watch_truth.h"
#include "tests/support/list_watch_carrier.h"
#include "tests/support/sanitized.h"

namespace weft::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::FakeApiServer;
using testing::NodeFacts;
using testing::Text;
using testing::TrueText;

// The objects of one daemon, not in sync yet; the server has three Nodes.
struct Cluster {
  Cluster(FakeApiServer::Protobuf protobuf, FakeApiServer::StreamedList streamed_list) {
    server.protobuf = protobuf;
    server.streamed_list = streamed_list;
    for (int n = 1; n <= 3; ++n) Put(n);
    reconciler.SetOwn(testing::OwnIdentityOf("us"));
  }
  void Put(int n, const std::string& mac = "02:00:00:00:00:01") {
    const std::string number = std::to_string(n);
    server.Put(NodeFacts("n" + number)
                   .Uid("u" + number)
                   .Created(1000 + n)
                   .Leased("10.244." + number + ".0/24", "192.0.2." + number, mac));
  }
  // Until only waiting is left.
  std::size_t CountSteps() {
    std::size_t steps = 0;
    while (carrier.Step(1)) ++steps;
    return steps;
  }
  void ExpectTruth() const {
    EXPECT_TRUE(reconciler.report().source_synced);
    EXPECT_EQ(Text(reconciler.table()), TrueText(server.nodes(), testing::OwnIdentityOf("us")));
    EXPECT_EQ(reconciler.report().condition, std::nullopt);
  }

  testing::ManualClock clock;
  FakeApiServer server;
  control::Reconciler reconciler{clock, [] { return 0.0; }, {}};
  ListWatch machine{clock, [] { return 0.0; }, AnnotationKeys(), "us", reconciler};
  testing::ListWatchCarrier carrier{clock, server, machine};
};

class ListWatchCut : public ::testing::TestWithParam<
                         std::pair<FakeApiServer::Protobuf, FakeApiServer::StreamedList>> {
 protected:
  static std::unique_ptr<Cluster> Make() {
    return std::make_unique<Cluster>(GetParam().first, GetParam().second);
  }
};
INSTANTIATE_TEST_SUITE_P(
    Ways, ListWatchCut,
    ::testing::Values(
        std::pair(FakeApiServer::Protobuf::kServed, FakeApiServer::StreamedList::kServed),
        std::pair(FakeApiServer::Protobuf::kServed, FakeApiServer::StreamedList::kRefused),
        std::pair(FakeApiServer::Protobuf::kAbsent, FakeApiServer::StreamedList::kServed),
        std::pair(FakeApiServer::Protobuf::kAbsent, FakeApiServer::StreamedList::kRefused)),
    [](const auto& of) {
      return std::string(of.param.first == FakeApiServer::Protobuf::kServed ? "protobuf" : "json") +
             (of.param.second == FakeApiServer::StreamedList::kServed ? "_stream" : "_list");
    });

TEST_P(ListWatchCut, AtEveryByteOfTheFirstSnapshot) {
  const auto whole = Make();
  whole->carrier.Start();
  const std::size_t steps = whole->CountSteps();
  ASSERT_GT(steps, 500u);
  for (std::size_t cut = 0; cut <= steps; cut += testing::kCutStep) {
    SCOPED_TRACE("cut after " + std::to_string(cut) + " bytes");
    const auto cluster = Make();
    cluster->carrier.Start();
    for (std::size_t i = 0; i < cut; ++i) cluster->carrier.Step(1);
    cluster->carrier.Cut();
    cluster->carrier.RunFor(seconds(15));
    cluster->ExpectTruth();
  }
}

TEST_P(ListWatchCut, AtEveryByteOfALaterSnapshot) {
  const auto begin = [] {
    auto cluster = Make();
    cluster->carrier.Start();
    cluster->carrier.RunFor(seconds(20));
    cluster->server.Delete("n2");
    cluster->Put(4);
    cluster->server.Compact();
    return cluster;
  };
  const auto whole = begin();
  whole->carrier.Cut();
  const std::size_t steps = whole->CountSteps();
  ASSERT_GT(steps, 500u);
  for (std::size_t cut = 0; cut <= steps; cut += testing::kCutStep) {
    SCOPED_TRACE("cut after " + std::to_string(cut) + " bytes");
    const auto cluster = begin();
    cluster->carrier.Cut();
    for (std::size_t i = 0; i < cut; ++i) cluster->carrier.Step(1);
    cluster->carrier.Cut();
    cluster->carrier.RunFor(seconds(15));
    cluster->ExpectTruth();
  }
}

TEST_P(ListWatchCut, AtEveryByteOfEvents) {
  const auto begin = [] {
    auto cluster = Make();
    cluster->carrier.Start();
    cluster->carrier.RunFor(seconds(20));
    cluster->Put(4);
    cluster->Put(1, "02:00:00:00:00:99");
    cluster->server.Delete("n3");
    return cluster;
  };
  const std::size_t steps = begin()->CountSteps();
  ASSERT_GT(steps, 500u);
  for (std::size_t cut = 0; cut <= steps; cut += testing::kCutStep) {
    SCOPED_TRACE("cut after " + std::to_string(cut) + " bytes");
    const auto cluster = begin();
    for (std::size_t i = 0; i < cut; ++i) cluster->carrier.Step(1);
    cluster->carrier.Cut();
    cluster->carrier.RunFor(seconds(15));
    cluster->ExpectTruth();
    cluster->server.DrainRequests();
  }
}

TEST_P(ListWatchCut, TwentyBytesASecond) {
  const auto cluster = Make();
  cluster->carrier.Start();
  cluster->carrier.RunSlowlyFor(minutes(3), milliseconds(50));
  cluster->ExpectTruth();
  cluster->Put(4);
  cluster->server.Delete("n1");
  cluster->carrier.RunSlowlyFor(minutes(10), milliseconds(50));
  cluster->ExpectTruth();
}

TEST_P(ListWatchCut, WrongLengths) {
  const auto cluster = Make();
  cluster->server.wrong_lengths = true;
  cluster->carrier.Start();
  cluster->carrier.RunFor(minutes(3));
  cluster->Put(4);
  cluster->Put(5);
  cluster->carrier.RunFor(minutes(3));
  cluster->server.wrong_lengths = false;
  cluster->carrier.RunFor(minutes(3));
  cluster->ExpectTruth();
}

}  // namespace
}  // namespace weft::kube
