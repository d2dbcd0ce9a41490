// SPDX-License-Identifier: Apache-2.0
// The decorators: calls pass through them unchanged, and are counted or timed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hns/api/timed_api.h"
#include "tests/hns/recording_api.h"
#include "tests/support/counting_api.h"

namespace weft::hns {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Pair;

const Guid kNetworkId = *Guid::Parse("00000100-0000-4000-8000-000000000001");

// Every function once, of the network where there is a choice.
void CallEach(Api& api) {
  api.Enumerate(Kind::kNetwork, "q");
  const Handle network = api.Create(Kind::kNetwork, Handle::kNone, kNetworkId, "s").handle;
  const Handle endpoint = api.Create(Kind::kEndpoint, network, kNetworkId, "e").handle;
  const Handle again = api.Open(Kind::kNetwork, kNetworkId).handle;
  api.Modify(Kind::kNetwork, again, "m");
  api.Query(Kind::kNetwork, again, "p");
  api.Close(Kind::kNetwork, again);
  api.Close(Kind::kEndpoint, endpoint);
  api.Delete(Kind::kNetwork, kNetworkId);
  api.Call("GET", "/globals/version", "");
  api.Call("POST", "/networks/", "{}");
  api.Call("DELETE", "/networks/1", "");
  const Handle subscription = api.Subscribe(nullptr).handle;
  api.Unsubscribe(subscription);
}

TEST(CountingApiTest, PassesEveryCallOn) {
  RecordingApi direct, behind;
  CountingApi counting(behind);
  CallEach(direct);
  CallEach(counting);
  EXPECT_EQ(behind.calls, direct.calls);
  EXPECT_EQ(behind.calls.size(), 14u);
  EXPECT_EQ(behind.open, direct.open);
}

TEST(CountingApiTest, PassesEveryAnswerBack) {
  RecordingApi behind;
  CountingApi counting(behind);
  Reply reply;
  reply.code = hresult::kInvalidJson;
  reply.text = "text";
  reply.error_record = "record";
  behind.Answer("HcnModifyNetwork", reply);
  behind.AnswerCode("HcnCloseNetwork", hresult::kInvalidHandle);
  const Reply got = counting.Modify(Kind::kNetwork, Handle{7}, "m");
  EXPECT_EQ(got.code, hresult::kInvalidJson);
  EXPECT_EQ(got.text, "text");
  EXPECT_EQ(got.error_record, "record");
  EXPECT_EQ(counting.Close(Kind::kNetwork, Handle{7}), hresult::kInvalidHandle);
}

TEST(CountingApiTest, CountsByFunctionAndWhatChangesHns) {
  RecordingApi behind;
  CountingApi counting(behind);
  CallEach(counting);
  const CallCounts counts = counting.counts();
  EXPECT_EQ(counts.total, 14u);
  EXPECT_EQ(counts.modifying, 6u);  // two Creates, Modify, Delete, POST, DELETE
  EXPECT_THAT(
      counts.by_function,
      ElementsAre(Pair("HNSCall", 3u), Pair("HcnCloseEndpoint", 1u), Pair("HcnCloseNetwork", 1u),
                  Pair("HcnCreateEndpoint", 1u), Pair("HcnCreateNetwork", 1u),
                  Pair("HcnDeleteNetwork", 1u), Pair("HcnEnumerateNetworks", 1u),
                  Pair("HcnModifyNetwork", 1u), Pair("HcnOpenNetwork", 1u),
                  Pair("HcnQueryNetworkProperties", 1u), Pair("HcnRegisterServiceCallback", 1u),
                  Pair("HcnUnregisterServiceCallback", 1u)));
}

// An Api whose every call takes three seconds of the test's clock, and records the watcher's state.
class SlowApi final : public InterceptedApi {
 public:
  SlowApi(Api& api, TimedApi::Clock::time_point& now) : InterceptedApi(api), now_(now) {}
  const TimedApi* watched_by = nullptr;
  std::vector<std::optional<TimedApi::Running>> seen;

 private:
  Reply Carry(const ApiCall&, absl::FunctionRef<Reply()> make) override {
    seen.push_back(watched_by->running());
    now_ += seconds(3);
    return make();
  }
  TimedApi::Clock::time_point& now_;
};

TEST(TimedApiTest, ReportsTheCallInProgressAndItsDuration) {
  RecordingApi behind;
  TimedApi::Clock::time_point now{};
  SlowApi slow(behind, now);
  std::vector<std::string> reported;
  TimedApi timed(
      slow,
      [&](const ApiCall& call, Hresult code, TimedApi::Clock::duration took) {
        reported.push_back(std::string(call.function) + "|" + call.object + "|" +
                           std::to_string(code) + "|" +
                           std::to_string(std::chrono::duration_cast<seconds>(took).count()));
      },
      [&] { return now; });
  slow.watched_by = &timed;
  behind.AnswerCode("HcnOpenNetwork", 5);

  EXPECT_EQ(timed.running(), std::nullopt);
  timed.Open(Kind::kNetwork, kNetworkId);
  timed.Modify(Kind::kNetwork, Handle{1}, "m");
  timed.Call("GET", "/networks/", "");
  EXPECT_EQ(timed.running(), std::nullopt);

  EXPECT_THAT(reported, ElementsAre("HcnOpenNetwork|" + kNetworkId.ToString() + "|5|3",
                                    "HcnModifyNetwork||0|3", "HNSCall|GET /networks/|0|3"));
  ASSERT_EQ(slow.seen.size(), 3u);
  ASSERT_TRUE(slow.seen[0] && slow.seen[1]);
  EXPECT_EQ(slow.seen[0]->what, "HcnOpenNetwork " + kNetworkId.ToString());
  EXPECT_EQ(slow.seen[0]->since, TimedApi::Clock::time_point{});
  EXPECT_EQ(slow.seen[1]->what, "HcnModifyNetwork");
  EXPECT_EQ(slow.seen[1]->since, TimedApi::Clock::time_point{} + seconds(3));
}

}  // namespace
}  // namespace weft::hns
