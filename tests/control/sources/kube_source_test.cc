// SPDX-License-Identifier: Apache-2.0
// When it sends requests, and what it reports of a server. The system's timers go by the system's
// clock: those of a manual clock that is behind it are due at once, and find that it is not there
// yet; those of one that is ahead are never due.
#include "control/sources/kube_source.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fake_api_listener.h"
#include "tests/support/manual_clock.h"
#include "tests/support/wait.h"

namespace weft::control {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

class Conditions : public lease::SourceListener {
 public:
  void OnSnapshotBegin() override {}
  void OnSnapshotEnd() override {}
  void OnUpsert(const lease::Lease&) override {}
  void OnDelete(const lease::NodeKey&) override {}
  void OnRefused(const lease::RefusedNode&) override {}
  void OnCondition(const absl::Status& status) override { seen.emplace_back(status.message()); }

  std::vector<std::string> seen;
};

class KubeSourceTest : public ::testing::Test {
 protected:
  KubeSourceTest() {
    source_.emplace(
        io_, clock_, [] { return 0.0; }, client_, kube::AnnotationKeys(), "us");
  }
  static kube::ClusterServers Twice(std::uint16_t port) {
    kube::ClusterAccess access;
    access.tls = false;
    access.host = "127.0.0.1";
    access.port = port;
    access.origin = "a test";
    kube::ClusterServers servers;
    servers.servers = {access, access};
    return servers;
  }
  // And sees its first request refused.
  void StartRefused() {
    server_.refusals.emplace_back().status.code = 403;
    source_->Start(listener_);
    ASSERT_TRUE(testing::Await(
        seconds(10), [&] { return !listener_.seen.empty(); }, [&] { io_.poll_one(); }));
  }

  boost::asio::io_context io_;
  testing::FakeApiServer server_;
  testing::FakeApiListener its_port_{io_, server_};
  testing::ManualClock clock_;
  kube::ApiClient client_{io_, Twice(its_port_.port()), "flanneld/test"};
  Conditions listener_;
  std::optional<KubeSource> source_;
};

TEST_F(KubeSourceTest, APauseEndsBeforeTheLimitOfTheRequestWould) {
  clock_.AdvanceTo(steady_clock::now() - seconds(5));
  StartRefused();
  EXPECT_EQ(server_.DrainRequests().size(), 1u);
  clock_.Advance(seconds(1));
  EXPECT_TRUE(testing::Await(
      seconds(2), [&] { return !server_.DrainRequests().empty(); }, [&] { io_.poll_one(); }));
}

TEST_F(KubeSourceTest, NothingIsDoneInAPauseAndARefusalIsNoFault) {
  clock_.AdvanceTo(steady_clock::now() + std::chrono::hours(1));
  StartRefused();
  int ran = 0;
  while (ran < 1000 && io_.poll_one() != 0) ++ran;
  EXPECT_LT(ran, 1000);
  EXPECT_EQ(server_.DrainRequests().size(), 1u);
  EXPECT_TRUE(client_.Servers()[0].in_use) << client_.Servers()[0].text;
}

TEST_F(KubeSourceTest, ATimerThatIsDueWhenItEndsDoesNothing) {
  clock_.AdvanceTo(TimePoint(-std::chrono::hours(1000)));
  source_->Start(listener_);
  boost::asio::post(io_, [this] {
    clock_.Advance(std::chrono::minutes(10));
    source_.reset();
  });
  io_.poll();
  EXPECT_THAT(listener_.seen, ::testing::IsEmpty());
}

}  // namespace
}  // namespace weft::control
