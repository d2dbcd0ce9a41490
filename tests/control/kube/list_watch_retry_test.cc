// SPDX-License-Identifier: Apache-2.0
// When a request is repeated, how long the server may be silent, and what is reported to people.
#include "control/kube/list_watch.h"
#include "tests/control/kube/list_watch_fixture.h"

namespace weft::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ListWatchRetry : public ListWatchTest {
 protected:
  // Until the next request, in milliseconds; none: it is running.
  std::optional<int> Pause() const {
    if (!carrier.waits()) return std::nullopt;
    return static_cast<int>(
        std::chrono::duration_cast<milliseconds>(carrier.deadline() - clock.Now()).count());
  }
  // Until the action's time, in seconds.
  int Patience() const {
    return static_cast<int>(
        std::chrono::duration_cast<seconds>(carrier.deadline() - clock.Now()).count());
  }
};

// ---- pauses

TEST_F(ListWatchRetry, PausesDoubleToTenSeconds) {
  carrier.Start();
  for (const int pause : {800, 1600, 3200, 6400, 10000, 10000}) {
    carrier.Fail();
    EXPECT_EQ(Pause(), pause);
    carrier.ToDeadline();
  }
}

TEST_F(ListWatchRetry, EachPauseHasJitter) {
  roll = 0.5;
  carrier.Start();
  for (const int pause : {1200, 2400, 4800}) {
    carrier.Fail();
    EXPECT_EQ(Pause(), pause);
    carrier.ToDeadline();
  }
}

TEST_F(ListWatchRetry, PausesAreResetAfterAWatchLastedAWhile) {
  carrier.Start();
  for (int i = 0; i < 5; ++i) {
    carrier.Fail();
    carrier.ToDeadline();
  }
  carrier.RunFor(milliseconds(4900));
  carrier.Cut();
  EXPECT_EQ(Pause(), std::nullopt) << "it had lived";
  carrier.Fail();
  EXPECT_EQ(Pause(), 10000);
  carrier.ToDeadline();
  carrier.RunFor(seconds(5));
  carrier.Cut();
  carrier.Fail();
  EXPECT_EQ(Pause(), 800);
}

TEST_F(ListWatchRetry, TheServersRetryAfterIsObeyed) {
  struct Row {
    const char* description;
    std::optional<int> head, details;  // seconds
    int pause;                         // milliseconds
  };
  const Row rows[] = {
      {"in the head", 7, {}, 7000},
      {"in the Status", {}, 9, 9000},
      {"the Status knows better", 7, 9, 9000},
      {"less than ours", 0, {}, 800},
      {"ours is longer", {}, 1, 1000},
      {"a foolish one", 86400, {}, 300'000},
  };
  for (const Row& row : rows) {
    for (const int code : {429, 503, 500}) {
      testing::WrittenSource written;
      ListWatch fresh(
          clock, [] { return 0.0; }, AnnotationKeys(), "", written);
      testing::ListWatchCarrier anew(clock, server, fresh);
      Refusal refusal = Http(code);
      refusal.retry_after = row.head;
      refusal.status.retry_after = row.details.value_or(0);
      server.refusals = {refusal};
      anew.Start();
      anew.Run();
      ASSERT_TRUE(anew.waits());
      EXPECT_EQ(anew.deadline() - clock.Now(), milliseconds(row.pause))
          << row.description << ", " << code;
    }
  }
}

TEST_F(ListWatchRetry, TheServersRetryAfterHasJitter) {
  roll = 0.5;
  Refusal refusal = Http(429);
  refusal.retry_after = 100;
  server.refusals = {refusal};
  carrier.Start();
  carrier.Run();
  EXPECT_EQ(Pause(), 105'000);
}

TEST_F(ListWatchRetry, AnErrorEventMayHaveARetryAfterToo) {
  Synced();
  Refusal refusal = Event(429, "TooManyRequests");
  refusal.status.retry_after = 20;
  server.refusals = {refusal};
  carrier.Cut();
  carrier.Run();
  EXPECT_EQ(Pause(), 20'000);
  carrier.ToDeadline();
  EXPECT_THAT(Requests(), ElementsAre("watch@2", "watch@2"));
}

// ---- storms

TEST_F(ListWatchRetry, AWatchThatEndsAtOnceIsACondition) {
  std::vector<std::string> faults;
  carrier.on_fault = [&](const std::string& fault) { faults.push_back(fault); };
  Synced();
  carrier.Cut();
  for (const int pause : {800, 1600, 3200}) {
    carrier.Step();  // the head
    carrier.answer()->End();
    carrier.Step();
    EXPECT_EQ(Pause(), pause);
    EXPECT_EQ(source.condition.message(),
              "cannot watch nodes: the watch ends as soon as it begins: the server has ended it; "
              "trying again");
    carrier.ToDeadline();
  }
  carrier.RunFor(seconds(5));
  EXPECT_THAT(Reported(), ElementsAre("condition", "begin", "upsert a/1 10.244.1.0/24",
                                      "upsert b/1 10.244.2.0/24", "end", "well again"));
  EXPECT_THAT(faults, IsEmpty()) << "a watch may have no events";
}

TEST_F(ListWatchRetry, OnlyAWatchThatRunsResetsThePauses) {
  Synced();
  carrier.Cut();
  carrier.Step();  // the head
  carrier.answer()->End();
  carrier.Step();
  for (const int pause : {800, 1600, 3200, 6400, 10000}) {
    EXPECT_EQ(Pause(), pause);
    carrier.ToDeadline();
    carrier.Fail();
  }
  EXPECT_THAT(Reported(), ElementsAre("condition", "condition"));
}

// A middlebox that cuts streams; without a list the table would stay at the first snapshot.
TEST_F(ListWatchRetry, WatchesThatEndAtOnceLeadBackToAList) {
  server.streamed_list = testing::FakeApiServer::StreamedList::kRefused;
  Synced();
  carrier.Cut();
  Requests();
  for (int i = 0; i < 3; ++i) {
    carrier.Step();  // the head
    carrier.answer()->End();
    carrier.Step();
    ASSERT_TRUE(carrier.waits());
    carrier.ToDeadline();
  }
  EXPECT_THAT(Requests(), ElementsAre("watch@2", "watch@2", "list@2"));
}

TEST_F(ListWatchRetry, WatchesWithEventsAreRequestedOnceASecond) {
  Synced();
  carrier.Cut();
  for (int i = 0; i < 5; ++i) {
    server.Put(Node("a", 3 + i));
    carrier.Step();
    carrier.Step();
    carrier.Cut();
    EXPECT_EQ(Pause(), 1000);
    carrier.ToDeadline();
  }
  for (const std::string& line : Reported()) EXPECT_THAT(line, HasSubstr("upsert a/1"));
}

TEST_F(ListWatchRetry, SnapshotsThatExpireAtOnceAreRequestedWithBackOff) {
  server.streamed_list = testing::FakeApiServer::StreamedList::kRefused;
  Synced();
  for (int i = 0; i < 4; ++i) {
    server.refusals.push_back(Http(410, "Expired"));
    server.refusals.back().only = "watch";
  }
  carrier.Cut();
  for (const int pause : {800, 1600, 3200}) {
    carrier.Run();
    EXPECT_EQ(Pause(), pause);
    carrier.ToDeadline();
  }
  EXPECT_THAT(Requests(), ElementsAre("watch@2", "list@2", "watch@2", "list@2", "watch@2", "list@2",
                                      "watch@2", "list@2"));
}

// ---- what is reported to people

TEST_F(ListWatchRetry, EveryInvalidAnswerIsAConditionUntilASuccess) {
  struct Row {
    Refusal refusal;
    absl::StatusCode code;
    const char* part;
  };
  Refusal gate = Http(429, "", "Too many requests, please try again later.");
  gate.plain_text = true;
  const Row rows[] = {
      {Http(401, "Unauthorized", "Unauthorized"), absl::StatusCode::kUnauthenticated,
       "they are read again for every try"},
      {Http(403, "Forbidden", "nodes is forbidden: User \"x\" cannot watch resource \"nodes\""),
       absl::StatusCode::kPermissionDenied, "cannot watch resource"},
      {Http(404), absl::StatusCode::kNotFound, "check the server's address and path"},
      {gate, absl::StatusCode::kUnavailable, "Too many requests, please try again later."},
      {Http(500, "InternalError"), absl::StatusCode::kUnavailable, "500"},
      {Http(503, "ServiceUnavailable", "apiserver not ready"), absl::StatusCode::kUnavailable,
       "apiserver not ready"},
      {Event(500, "InternalError", "watch cache broke"), absl::StatusCode::kUnavailable,
       "watch cache broke"},
  };
  Synced();
  for (const Row& row : rows) {
    server.refusals = {row.refusal};
    carrier.Cut();
    carrier.Run();
    EXPECT_EQ(source.condition.code(), row.code) << row.part;
    EXPECT_THAT(std::string(source.condition.message()), HasSubstr("cannot watch nodes: "));
    EXPECT_THAT(std::string(source.condition.message()), HasSubstr(row.part));
    carrier.RunFor(seconds(8));
    EXPECT_THAT(Reported(), ElementsAre("condition", "well again")) << row.part;
    EXPECT_THAT(Requests(), ElementsAre("watch@2", "watch@2")) << row.part;
  }
}

TEST_F(ListWatchRetry, ARefusedTokenIsNamed) {
  carrier.Start();
  HttpHead head{401, "application/json", std::nullopt};
  head.credentials = "the token in the file /t";
  machine.OnHead(head);
  machine.OnEnd(absl::OkStatus());
  EXPECT_THAT(source.condition.message(),
              HasSubstr("; it does not accept the token in the file /t; "));
}

TEST_F(ListWatchRetry, TheSameConditionIsReportedOnce) {
  carrier.Start();
  for (int i = 0; i < 5; ++i) {
    carrier.Fail();
    carrier.ToDeadline();
  }
  EXPECT_THAT(Reported(), ElementsAre("condition"));
  EXPECT_EQ(source.condition.message(), "cannot list nodes: connection refused; trying again");
  carrier.Fail(absl::UnauthenticatedError("the server's certificate has expired"));
  EXPECT_THAT(Reported(), ElementsAre("condition"));
  EXPECT_EQ(source.condition.code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(ListWatchRetry, ACutWatchThatResumesAtOnceIsNoCondition) {
  Synced();
  carrier.Cut();
  carrier.RunFor(minutes(1));
  EXPECT_THAT(Reported(), IsEmpty());
}

TEST_F(ListWatchRetry, AServerThatClosesWithoutAnAnswer) {
  carrier.Start();
  carrier.End(absl::OkStatus());
  EXPECT_EQ(source.condition.message(), "cannot list nodes: no answer; trying again");
}

// ---- silence

TEST_F(ListWatchRetry, AStreamsAnswerHasHalfAMinuteAListsAMinute) {
  carrier.Start();
  EXPECT_EQ(Patience(), 30);
  carrier.ToDeadline();
  EXPECT_EQ(source.condition.message(), "cannot list nodes: no answer in time; trying again");
  EXPECT_EQ(Pause(), 800);
  server.refusals = {Http(422)};
  carrier.ToDeadline();
  for (int i = 0; i < 3; ++i) carrier.Step();
  EXPECT_EQ(Patience(), 60);
  carrier.Run();
  Reported();
  carrier.RunFor(seconds(20));
  carrier.Cut();
  EXPECT_EQ(Patience(), 30);
  carrier.ToDeadline();
  EXPECT_EQ(source.condition.message(), "cannot watch nodes: no answer in time; trying again");
}

TEST_F(ListWatchRetry, AListMayPauseForHalfAMinute) {
  server.streamed_list = testing::FakeApiServer::StreamedList::kRefused;
  server.Put(Node("a", 1));
  carrier.Start();
  for (int i = 0; i < 4; ++i) carrier.Step();
  for (int i = 0; i < 3; ++i) {
    carrier.Step(1);
    EXPECT_EQ(Patience(), 30);
    clock.Advance(seconds(29));
  }
  carrier.ToDeadline();
  EXPECT_EQ(source.condition.message(), "cannot list nodes: the answer stalls; trying again");
  EXPECT_EQ(Pause(), 800);
}

// An byte now and then is not silence; no list is so long.
TEST_F(ListWatchRetry, ASlowListHasThreeMinutes) {
  std::vector<std::string> faults;
  carrier.on_fault = [&](const std::string& fault) { faults.push_back(fault); };
  server.streamed_list = testing::FakeApiServer::StreamedList::kRefused;
  for (int n = 1; n < 10; ++n) server.Put(Node("n" + std::to_string(n), n));
  carrier.Start();
  for (int i = 0; i < 4; ++i) carrier.Step();  // to the list's head
  carrier.RunSlowlyFor(seconds(179), seconds(1));
  EXPECT_TRUE(source.condition.ok());
  carrier.RunSlowlyFor(seconds(3), seconds(1));
  EXPECT_EQ(source.condition.message(),
            "cannot list nodes: the answer takes more than 3 minutes; trying again");
  carrier.RunSlowlyFor(seconds(400), seconds(1));
  EXPECT_THAT(Requests(), ::testing::Contains("page")) << "another way, after three";
  EXPECT_THAT(faults, IsEmpty());
}

TEST_F(ListWatchRetry, AStreamedListHasThreeMinutesUpToItsMark) {
  for (int n = 1; n < 100; ++n) server.Put(Node("n" + std::to_string(n), n));
  carrier.Start();
  carrier.RunSlowlyFor(seconds(179), std::chrono::milliseconds(50));
  EXPECT_THAT(Requests(), ElementsAre("stream"));
  carrier.RunSlowlyFor(seconds(2), std::chrono::milliseconds(50));
  EXPECT_THAT(Requests(), ElementsAre("list"));
}

TEST_F(ListWatchRetry, AListThatIsCutNamesTheCause) {
  server.streamed_list = testing::FakeApiServer::StreamedList::kRefused;
  server.Put(Node("a", 1));
  carrier.Start();
  for (int i = 0; i < 4; ++i) carrier.Step();
  carrier.Step(1);
  carrier.Cut();
  EXPECT_EQ(source.condition.message(),
            "cannot list nodes: cut during the answer: connection reset; trying again");
}

// What only the receiver of the answer sees: the client then asks another server.
TEST_F(ListWatchRetry, AServerWhoseAnswerStallsHasFailed) {
  std::vector<std::string> faults;
  carrier.on_fault = [&](const std::string& fault) { faults.push_back(fault); };
  const std::string stalled = "no byte for 30 s within its answer";
  server.Put(Node("a", 1));
  carrier.Start();
  carrier.Step();
  carrier.ToDeadline();
  EXPECT_THAT(faults, ElementsAre(stalled)) << "the head of a streamed list, and then nothing";
  carrier.Step();
  carrier.ToDeadline();
  EXPECT_THAT(faults, ElementsAre(stalled, stalled)) << "the same of a list";
  EXPECT_EQ(source.condition.message(), "cannot list nodes: the answer stalls; trying again");
}

TEST_F(ListWatchRetry, AServerThatMayWorkHasNotFailed) {
  std::vector<std::string> faults;
  carrier.on_fault = [&](const std::string& fault) { faults.push_back(fault); };
  server.Put(Node("a", 1));
  server.streamed_list = testing::FakeApiServer::StreamedList::kIgnored;
  carrier.Start();
  carrier.RunFor(seconds(60));
  EXPECT_THAT(Requests(), ElementsAre("stream", "list", "watch@1")) << "it does not know the mark";
  carrier.RunFor(seconds(150));
  EXPECT_THAT(Requests(), ElementsAre("watch@1")) << "a watch may be silent";
  carrier.RunFor(seconds(150));
  EXPECT_THAT(faults, IsEmpty());
}

// It may have come back from before the version (etcd was restored): another server would still
// show the former state.
TEST_F(ListWatchRetry, AStreamedListOfAVersionThatStallsIsNoFault) {
  Synced();
  std::vector<std::string> faults;
  carrier.on_fault = [&](const std::string& fault) { faults.push_back(fault); };
  Lines asked;
  for (int i = 0; i < 20 && (asked.empty() || asked.back() != "stream@2"); ++i) {
    carrier.Step();  // the head of a watch that stays silent
    carrier.ToDeadline();
    for (const std::string& request : Requests()) asked.push_back(request);
  }
  EXPECT_THAT(asked, ElementsAre("watch@2", "stream@2"));
  carrier.Step();
  carrier.ToDeadline();
  EXPECT_THAT(Requests(), ElementsAre("list@2"));
  EXPECT_THAT(faults, IsEmpty());
  carrier.Step();
  carrier.ToDeadline();
  EXPECT_THAT(faults, ElementsAre("no byte for 30 s within its answer")) << "a list waits for none";
}

TEST_F(ListWatchRetry, AServerWhoseAnswerIsNoListHasFailed) {
  std::vector<std::string> faults;
  carrier.on_fault = [&](const std::string& fault) { faults.push_back(fault); };
  server.protobuf = testing::FakeApiServer::Protobuf::kFeigned;
  carrier.Start();
  for (int i = 0; i < 2; ++i) carrier.Step();
  const std::string no_list = "it answers 200 with what is no list of Nodes";
  EXPECT_THAT(faults, ElementsAre(no_list));
  server.protobuf = testing::FakeApiServer::Protobuf::kServed;
  carrier.Step();
  carrier.End(absl::OkStatus());
  EXPECT_THAT(faults, ElementsAre(no_list, no_list)) << "nothing at all";
  server.Put(Node("a", 1));
  server.Put(Node("b", 2));
  server.lag = 1;  // the mark is one change away
  carrier.ToDeadline();
  carrier.Run();
  carrier.End(absl::OkStatus());
  EXPECT_THAT(faults, ElementsAre(no_list, no_list)) << "a part of it";
}

// ---- the age of the last answer

TEST_F(ListWatchRetry, EachAnswerIsOne) {
  EXPECT_FALSE(machine.counts().answered_at);
  server.Put(Node("a", 1));
  carrier.Start();
  EXPECT_FALSE(machine.counts().answered_at);
  carrier.Run();
  EXPECT_EQ(machine.counts().answered_at, clock.Now());
  carrier.RunFor(seconds(100));
  const control::TimePoint before = clock.Now() - seconds(100);
  EXPECT_EQ(machine.counts().answered_at, before);
  server.SendBookmarks();
  carrier.Run();
  EXPECT_EQ(machine.counts().answered_at, clock.Now());
  carrier.RunFor(seconds(10));
  server.refusals = {Http(403)};
  carrier.Cut();
  carrier.Run();
  EXPECT_EQ(machine.counts().answered_at, clock.Now()) << "a refusal is one too";
}

TEST_F(ListWatchRetry, TheIntervalOfBookmarksIsMeasuredWithinOneWatch) {
  Synced();
  const auto bookmark_after = [&](int pause) {
    carrier.RunFor(seconds(pause));
    server.SendBookmarks();
    carrier.Run();
    return std::chrono::duration_cast<seconds>(machine.counts().bookmark_interval).count();
  };
  EXPECT_EQ(bookmark_after(40), 0) << "the first one";
  EXPECT_EQ(bookmark_after(50), 50);
  EXPECT_EQ(bookmark_after(10), 50) << "the longest";
  server.Put(Node("c", 3));
  carrier.RunFor(seconds(20));
  EXPECT_EQ(bookmark_after(40), 60) << "events are none";
  carrier.RunFor(seconds(90));
  carrier.Cut();
  carrier.RunFor(seconds(10));
  EXPECT_EQ(bookmark_after(1), 60) << "of another watch";
}

TEST(JudgeSilenceTest, AFactThenACondition) {
  const control::TimePoint now{std::chrono::hours(10)};
  const struct {
    const char* description;
    int age, interval;  // in seconds; age -1: no answer yet
    bool fact, condition;
  } rows[] = {
      {"no answer yet", -1, 60, false, false},
      {"just now", 0, 60, false, false},
      {"a bookmark is due", 69, 60, false, false},
      {"a bookmark is late", 70, 60, true, false},
      {"two are about to be", 149, 60, true, false},
      {"two are missing", 150, 60, true, true},
      {"the interval is not known", 149, 0, true, false},
      {"the interval is not known, for long", 150, 0, true, true},
      {"a short interval, one is missing", 49, 20, false, false},
      {"a short interval, two are missing", 50, 20, false, true},
      {"no interval is so short", 29, 2, false, false},
      {"a long interval", 150, 100, true, true},
  };
  for (const auto& row : rows) {
    ListWatch::Counts counts;
    if (row.age >= 0) counts.answered_at = now - seconds(row.age);
    counts.bookmark_interval = seconds(row.interval);
    const Silence silence = JudgeSilence(counts, now);
    EXPECT_EQ(silence.age, row.fact ? std::optional(seconds(row.age)) : std::nullopt)
        << row.description;
    EXPECT_EQ(silence.condition.empty(), !row.condition) << row.description;
  }
  ListWatch::Counts counts;
  counts.answered_at = now - seconds(155);
  EXPECT_THAT(JudgeSilence(counts, now).condition,
              HasSubstr("the API server has sent nothing for 155 s: leases stay as they are"));
}

TEST_F(ListWatchRetry, AWatchMayPauseForTwoMinutesAndIsThenReplaced) {
  Synced();
  server.SendBookmarks();
  carrier.Run();
  EXPECT_EQ(Patience(), 120);
  carrier.ToDeadline();
  EXPECT_THAT(Requests(), ElementsAre("watch@2"));
  EXPECT_THAT(Reported(), IsEmpty());
}

TEST_F(ListWatchRetry, AnErrorsTextIsWaitedForTenSecondsInAll) {
  carrier.Start();
  machine.OnHead({503, "text/plain", std::nullopt});
  for (int i = 0; i < 9; ++i) {
    clock.Advance(seconds(1));
    EXPECT_TRUE(std::holds_alternative<Read>(machine.OnBody("x")));
  }
  clock.Advance(seconds(1));
  EXPECT_TRUE(std::holds_alternative<Wait>(machine.OnTime()));
  EXPECT_THAT(std::string(source.condition.message()), HasSubstr("503: \"xxxxxxxxx\""));
}

TEST_F(ListWatchRetry, AnErrorsTextIsReadUpTo64KiB) {
  carrier.Start();
  machine.OnHead({503, "text/plain", std::nullopt});
  const std::string part(1 << 10, 'x');
  for (int i = 0; i < 63; ++i) EXPECT_TRUE(std::holds_alternative<Read>(machine.OnBody(part)));
  EXPECT_TRUE(std::holds_alternative<Wait>(machine.OnBody(std::string(1 << 20, 'x'))));
  EXPECT_LT(source.condition.message().size(), 500u);
}

// ---- callers that are early or late

TEST_F(ListWatchRetry, ATimerThatIsLateDoesNotMakeAWatchFail) {
  Synced();
  carrier.Cut();
  carrier.Step();
  clock.Advance(seconds(6));
  carrier.Cut();
  EXPECT_FALSE(carrier.waits());
  EXPECT_THAT(Reported(), IsEmpty());
}

TEST_F(ListWatchRetry, ALateTimerDoesNotProlongACondition) {
  carrier.Start();
  carrier.Fail();
  carrier.ToDeadline();
  carrier.Run();
  EXPECT_THAT(Reported(), ElementsAre("condition", "begin", "own none", "end"));
  clock.Advance(seconds(6));
  server.Put(Node("a", 1));
  carrier.Run();
  EXPECT_THAT(Reported(), ElementsAre("well again", "upsert a/1 10.244.1.0/24"));
}

TEST_F(ListWatchRetry, ATimerThatIsEarlyChangesNothing) {
  carrier.Start();
  const control::TimePoint deadline = carrier.deadline();
  clock.Advance(seconds(29));
  carrier.Time();
  EXPECT_EQ(carrier.deadline(), deadline);
  EXPECT_TRUE(carrier.live());
  carrier.Fail();
  const control::TimePoint until = carrier.deadline();
  carrier.Time();
  EXPECT_EQ(carrier.deadline(), until);
}

TEST_F(ListWatchRetry, ReportsAfterTheExchangesEndAreIgnored) {
  carrier.Start();
  carrier.Fail();
  Reported();
  for (const Action& action : {machine.OnHead({200, "application/json", std::nullopt}),
                               machine.OnBody("{}"), machine.OnEnd(absl::OkStatus())})
    EXPECT_TRUE(std::holds_alternative<Wait>(action));
  EXPECT_THAT(Reported(), IsEmpty());
}

}  // namespace
}  // namespace weft::kube
