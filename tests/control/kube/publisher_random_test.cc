// SPDX-License-Identifier: Apache-2.0
// In any order of events of publisher, API server, watch and foreign writers, our Node is finally
// as desired, and nothing wrong was ever sent.
#include <deque>
#include <random>

#include "simdjson.h"
#include "tests/control/kube/publisher_fixture.h"
#include "tests/support/seed.h"

namespace weft::kube {
namespace {

using namespace std::chrono_literals;

constexpr int kRuns = 300, kSteps = 150;
constexpr const char* kMacs[] = {"00:15:5d:8c:2f:93", "02:00:00:00:00:01"};

// The API server's Node, and the watch that shows it late.
class Simulation {
 public:
  explicit Simulation(std::uint32_t seed) : random_(seed) {}

  void Run() {
    for (int step = 0; step < kSteps; ++step) Step();
    // No further events from now on.
    if (awaited_) Answer(true, true);
    SetDesired(0);
    publisher_.SetReady(true);
    const control::TimePoint end = clock_.Now() + 2h;
    while (clock_.Now() < end) {
      while (!watch_.empty()) DeliverOne();
      if (Send()) {
        Answer(true, true);
      } else {
        const auto next = publisher_.NextDeadline();
        clock_.AdvanceTo(next ? std::max(*next, clock_.Now()) : end);
      }
    }
    EXPECT_TRUE(publisher_.published());
    EXPECT_EQ(publisher_.NextDeadline(), std::nullopt);
    EXPECT_EQ(publisher_.condition(), "");
    EXPECT_EQ(node_.v4.backend_data, EncodeOurs(kMacs[0]));
    EXPECT_EQ(node_.v4.public_ip, kOurIp);
    EXPECT_EQ(node_.backend_type, "vxlan");
    EXPECT_TRUE(node_.managed);
    EXPECT_EQ(condition_of_, node_.node.uid);
    // Each is answered by a few patches: what it needs, and what was not seen in time.
    EXPECT_LE(patches_, 4 * (disturbances_ + 1));
  }

 private:
  static std::string EncodeOurs(const std::string& mac) {
    return R"({"VNI":4096,"VtepMAC":")" + mac + R"("})";
  }
  int Pick(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }

  void Step() {
    switch (Pick(10)) {
      case 0:
      case 1:
        return clock_.Advance(std::chrono::milliseconds(Pick(4000)));
      case 2:
      case 3:
      case 4:
        return DeliverOne();
      case 5:
      case 6:
        Send();
        return;
      case 7:
        if (awaited_) Answer(Pick(3) != 0, Pick(4) != 0);
        return;
      case 8:
        return publisher_.SetReady(Pick(2) == 0);
      default:
        return Disturb();
    }
  }

  void Disturb() {
    ++disturbances_;
    switch (Pick(6)) {
      case 0:
        return SetDesired(Pick(3) - 1);
      case 1:  // stripped
        node_ = BareNode(node_.node.uid);
        return watch_.push_back(node_);
      case 2:
        node_.v4.public_ip = "10.9.9.9";
        return watch_.push_back(node_);
      case 3:  // deleted and created again
        watch_.push_back(std::nullopt);
        node_ = BareNode("uid-" + std::to_string(++uid_));
        return watch_.push_back(node_);
      case 4:  // the watch is cut, and a relist shows the last state only
        while (watch_.size() > 1) watch_.pop_front();
        return;
      default:  // a heartbeat
        return watch_.push_back(node_);
    }
  }

  void SetDesired(int mac) {
    publisher_.SetDesired(mac < 0 ? std::nullopt : std::optional(OurPublication(kMacs[mac])));
  }

  void DeliverOne() {
    if (watch_.empty()) return;
    publisher_.OnOwnNode(watch_.front());
    watch_.pop_front();
  }

  bool Send() {
    const auto request = publisher_.Next();
    if (!request) return false;
    EXPECT_FALSE(awaited_) << "one at a time";
    EXPECT_EQ(request->body.find(R"(\"VtepMAC\":\"\")"), std::string::npos);
    EXPECT_EQ(request->body.find(":\"\""), std::string::npos) << "nothing is ever blanked";
    EXPECT_EQ(request->target, "/api/v1/nodes/win1/status");
    awaited_ = request->body;
    ++patches_;
    return true;
  }

  // The server applied the patch or did not; the answer reports it or is lost.
  void Answer(bool done, bool told) {
    if (done) Apply(*awaited_);
    awaited_.reset();
    if (!told) return publisher_.OnAnswer(absl::UnavailableError("cut"));
    publisher_.OnAnswer(kube::Answer(done ? 200 : 503));
  }

  void Apply(const std::string& body) {
    simdjson::dom::parser parser;
    const simdjson::dom::element patch = parser.parse(body);
    simdjson::dom::object annotations;
    if (patch.at_pointer("/metadata/annotations").get(annotations) != simdjson::SUCCESS) {
      condition_of_ = node_.node.uid;
      return;
    }
    for (const auto [key, value] : annotations) {
      const std::string text(std::string_view(value.get_string().value()));
      const std::string_view name = key.substr(key.find('/') + 1);
      if (name == "backend-data") node_.v4.backend_data = text;
      if (name == "backend-type") node_.backend_type = text;
      if (name == "public-ip") node_.v4.public_ip = text;
      if (name == "kube-subnet-manager") node_.managed = text == "true";
    }
    watch_.push_back(node_);
  }

  std::mt19937 random_;
  weft::testing::ManualClock clock_;
  Publisher publisher_{clock_,
                       [] { return absl::FromUnixSeconds(1786708800); },
                       [] { return 0.5; },
                       {.keys = {}, .node_name = "win1", .set_condition = true, .retry = {}}};
  lease::OwnNode node_ = BareNode("uid-0");
  std::deque<std::optional<lease::OwnNode>> watch_{node_};
  std::optional<std::string> awaited_, condition_of_;
  int uid_ = 0, patches_ = 0, disturbances_ = 0;
};

TEST(PublisherRandom, EndsInTheDesiredState) {
  const std::uint32_t seed = TestSeed();
  for (std::uint32_t run = 0; run < kRuns && !::testing::Test::HasFailure(); ++run) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", run " + std::to_string(run));
    Simulation(seed + run).Run();
  }
}

}  // namespace
}  // namespace weft::kube
