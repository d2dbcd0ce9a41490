// SPDX-License-Identifier: Apache-2.0
// Servers that refuse a request: other modes lead to the same snapshot.
#include "control/kube/list_watch.h"

#include <algorithm>

#include "tests/control/kube/list_watch_fixture.h"

namespace weft::kube {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using Protobuf = testing::FakeApiServer::Protobuf;
using StreamedList = testing::FakeApiServer::StreamedList;

class ListWatchRefusal : public ListWatchTest {
 protected:
  ListWatchRefusal() {
    server.Put(Node("a", 1));
    server.Put(Node("b", 2));
  }
  // The watch requires a new snapshot.
  void Relist() {
    server.refusals.push_front(Http(410, "Expired"));
    carrier.Cut();
    carrier.Run();
  }
  // For so long, with a bookmark each minute.
  void KeepWatching(minutes time) {
    for (minutes i(0); i < time; ++i) {
      server.SendBookmarks();
      carrier.RunFor(minutes(1));
    }
  }
};

// ---- no streamed list

TEST_F(ListWatchRefusal, TheFeatureIsOff) {
  server.streamed_list = StreamedList::kRefused;
  carrier.Start();
  carrier.Run();
  EXPECT_THAT(Requests(), ElementsAre("stream", "list", "watch@2"));
  EXPECT_THAT(Reported(), Not(Contains("condition")));
}

TEST_F(ListWatchRefusal, EtcdIsTooOld) {
  server.streamed_list = StreamedList::kRefusedByEvent;
  carrier.Start();
  carrier.Run();
  EXPECT_THAT(Requests(), ElementsAre("stream", "list", "watch@2"));
  EXPECT_THAT(Reported(), Not(Contains("condition")));
}

TEST_F(ListWatchRefusal, AServerThatDoesNotKnowTheParametersIsWaitedForHalfAMinute) {
  server.streamed_list = StreamedList::kIgnored;
  carrier.Start();
  carrier.RunFor(seconds(29));
  EXPECT_THAT(Requests(), ElementsAre("stream"));
  EXPECT_THAT(Reported(),
              ElementsAre("begin", "upsert a/1 10.244.1.0/24", "upsert b/1 10.244.2.0/24"));
  carrier.RunFor(seconds(1));
  EXPECT_THAT(Requests(), ElementsAre("list", "watch@2"));
  EXPECT_THAT(Reported(), ElementsAre("begin", "upsert a/1 10.244.1.0/24",
                                      "upsert b/1 10.244.2.0/24", "own none", "end"));
}

TEST_F(ListWatchRefusal, NeitherHeartbeatsNorBookmarksExtendTheWaitForTheMark) {
  server.streamed_list = StreamedList::kIgnored;
  carrier.Start();
  for (int i = 0; i < 6; ++i) {
    carrier.RunFor(seconds(5));
    server.Put(Node("a", 1));
    server.SendBookmarks();
  }
  EXPECT_THAT(Requests(), ElementsAre("stream", "list", "watch@7"));
}

TEST_F(ListWatchRefusal, NodesThatComeSlowlyAreWaitedFor) {
  server.Put(Node("c", 3));
  server.lag = 3;
  carrier.Start();
  for (const int lag : {2, 1}) {
    carrier.RunFor(seconds(29));
    server.lag = lag;
  }
  carrier.RunFor(seconds(29));
  EXPECT_THAT(Requests(), ElementsAre("stream"));
  carrier.RunFor(seconds(1));
  EXPECT_THAT(Requests(), ElementsAre("list", "watch@3"));
}

TEST_F(ListWatchRefusal, AnErrorDuringAStreamedListIsNoRefusal) {
  carrier.Start();
  carrier.Step();
  EXPECT_FALSE(carrier.waits());
  const testing::Answers answers(Encoding::kProtobuf);
  const Action action = machine.OnBody(answers.Event("ADDED", Node("a", 1)) +
                                       answers.ErrorEvent(Event(500, "InternalError").status));
  EXPECT_TRUE(std::holds_alternative<Wait>(action));
  const Action again = [&] {
    clock.AdvanceTo(std::get<Wait>(action).until);
    return machine.OnTime();
  }();
  EXPECT_NE(std::get<Send>(again).request.target.find("sendInitialEvents"), std::string::npos);
}

TEST_F(ListWatchRefusal, TheRefusalIsRememberedForAnHour) {
  server.streamed_list = StreamedList::kRefused;
  carrier.Start();
  carrier.RunFor(seconds(20));
  server.streamed_list = StreamedList::kServed;
  Requests();
  Relist();
  EXPECT_THAT(Requests(), ElementsAre("watch@2", "list@2", "watch@2"));
  KeepWatching(minutes(60));
  Requests();
  Relist();
  EXPECT_THAT(Requests(), ElementsAre("watch@2", "stream@2"));
}

// ---- no protobuf

TEST_F(ListWatchRefusal, AServerWithoutProtobufAnswersInJson) {
  server.protobuf = Protobuf::kAbsent;
  carrier.Start();
  carrier.Run();
  EXPECT_THAT(Requests(), ElementsAre("stream"));
  EXPECT_EQ(Reported().back(), "end");
}

TEST_F(ListWatchRefusal, JsonIsRequestedWhereProtobufIsRefused) {
  server.protobuf = Protobuf::kRefused;
  carrier.Start();
  carrier.Run();
  EXPECT_THAT(Requests(), ElementsAre("stream", "stream json"));
  EXPECT_THAT(Reported(), ElementsAre("begin", "upsert a/1 10.244.1.0/24",
                                      "upsert b/1 10.244.2.0/24", "own none", "end"));
}

TEST_F(ListWatchRefusal, JsonIsRequestedWhereProtobufIsInvalid) {
  server.protobuf = Protobuf::kFeigned;
  carrier.Start();
  carrier.Run();
  EXPECT_THAT(Requests(), ElementsAre("stream", "stream json"));
  EXPECT_THAT(Reported(), ElementsAre("begin", "upsert a/1 10.244.1.0/24",
                                      "upsert b/1 10.244.2.0/24", "own none", "end"));
}

TEST_F(ListWatchRefusal, ListsAndWatchesAreRequestedInJsonToo) {
  for (const Protobuf manner : {Protobuf::kRefused, Protobuf::kFeigned}) {
    server.protobuf = manner;
    server.streamed_list = StreamedList::kRefused;
    testing::WrittenSource written;
    ListWatch fresh(
        clock, [] { return 0.0; }, AnnotationKeys(), "", written);
    testing::ListWatchCarrier restarted(clock, server, fresh);
    restarted.Start();
    restarted.Run();
    const Lines asked = Requests();
    if (manner == Protobuf::kRefused) {
      EXPECT_THAT(asked, ElementsAre("stream", "stream json", "page json", "watch@2 json"));
    } else {
      EXPECT_THAT(asked, ElementsAre("stream", "list", "page json", "watch@2 json"));
    }
    EXPECT_EQ(written.Take().back(), "end");
  }
}

TEST_F(ListWatchRefusal, ProtobufIsRequestedAgainAfterAnHour) {
  server.protobuf = Protobuf::kRefused;
  carrier.Start();
  carrier.RunFor(seconds(20));
  server.protobuf = Protobuf::kServed;
  KeepWatching(minutes(60));
  Requests();
  carrier.Cut();
  EXPECT_THAT(Requests(), ElementsAre("watch@2"));
}

TEST_F(ListWatchRefusal, AServerThatRefusesBothIsRetriedWithBackOff) {
  for (int i = 0; i < 4; ++i) server.refusals.push_back(Http(406, "NotAcceptable"));
  carrier.Start();
  carrier.Run();
  EXPECT_TRUE(carrier.waits());
  EXPECT_THAT(Requests(), ElementsAre("stream", "stream json"));
  EXPECT_THAT(Reported(), ElementsAre("condition"));
  carrier.RunFor(seconds(10));
  EXPECT_THAT(Requests(), ElementsAre("stream", "stream json", "stream"));
  EXPECT_THAT(Reported(), Contains("end"));
}

TEST_F(ListWatchRefusal, ProtobufAfterARequestForJsonDoesNotSwitchToProtobuf) {
  carrier.Start();
  machine.OnHead({406, "text/plain", std::nullopt});
  const Action json = machine.OnEnd(absl::OkStatus());
  EXPECT_EQ(std::get<Send>(json).request.accept, "application/json;stream=watch");
  machine.OnHead({200, "application/vnd.kubernetes.protobuf;stream=watch", std::nullopt});
  clock.AdvanceTo(std::get<Wait>(machine.OnBody(std::string(8, '\1'))).until);
  EXPECT_EQ(std::get<Send>(machine.OnTime()).request.accept, "application/json;stream=watch");
}

TEST_F(ListWatchRefusal, InvalidJsonDoesNotDisableProtobuf) {
  carrier.Start();
  machine.OnHead({200, "application/json", std::nullopt});
  clock.AdvanceTo(std::get<Wait>(machine.OnBody("rubbish")).until);
  EXPECT_NE(std::get<Send>(machine.OnTime()).request.accept, "application/json;stream=watch");
}

// One wrong frame among good ones may be an accident.
TEST_F(ListWatchRefusal, WrongLengthsInAWatchAreReadAgainAndThenInJson) {
  carrier.Start();
  carrier.RunFor(seconds(20));
  Requests();
  Reported();
  server.wrong_lengths = true;
  server.Put(Node("c", 3));
  server.Put(Node("d", 4));
  carrier.Run();
  EXPECT_THAT(Reported(), ElementsAre("condition"));
  carrier.ToDeadline();
  carrier.Run();
  EXPECT_THAT(Requests(), ElementsAre("watch@2", "watch@2 json")) << "this one began with it";
  server.wrong_lengths = false;
  carrier.RunFor(seconds(10));
  EXPECT_THAT(Requests(), ElementsAre("watch@3 json"));
  EXPECT_THAT(Reported(), ElementsAre("upsert c/1 10.244.3.0/24", "condition",
                                      "upsert d/1 10.244.4.0/24", "well again"));
}

TEST_F(ListWatchRefusal, ThreeWrongLengthsInAWatchSwitchToJson) {
  carrier.Start();
  carrier.RunFor(seconds(20));
  server.refusals = {Http(503)};
  carrier.Cut();
  carrier.Run();
  const std::string body =
      testing::Answers(Encoding::kProtobuf).Event("ADDED", Node("c", 3)) + std::string(8, '\1');
  for (int i = 0; i < 3; ++i) {
    clock.Advance(seconds(10));
    machine.OnTime();
    machine.OnHead({200, "application/vnd.kubernetes.protobuf;stream=watch", std::nullopt});
    const Action action = machine.OnBody(body);
    if (i < 2) {
      EXPECT_TRUE(std::holds_alternative<Wait>(action)) << i;
    } else {
      EXPECT_EQ(std::get<Send>(action).request.accept, "application/json;stream=watch");
    }
  }
}

TEST_F(ListWatchRefusal, AForeignAnswerIsACondition) {
  carrier.Start();
  const Action action = machine.OnHead({200, "text/html", std::nullopt});
  EXPECT_TRUE(std::holds_alternative<Wait>(action));
  EXPECT_EQ(source.condition.message(),
            "cannot list nodes: the answer's Content-Type is \"text/html\", not the API's; trying "
            "again");
}

// ---- pages last

TEST_F(ListWatchRefusal, ThreeFailuresSwitchToTheNextMode) {
  struct Row {
    const char* description;
    Refusal refusal;
  };
  for (const Row& row : {Row{"too slow", Http(504)}, Row{"too large", Http(413)},
                         Row{"a fault", Http(500, "InternalError")}}) {
    for (int i = 0; i < 9; ++i) server.refusals.push_back(row.refusal);
    testing::WrittenSource written;
    ListWatch fresh(
        clock, [] { return 0.0; }, AnnotationKeys(), "", written);
    testing::ListWatchCarrier restarted(clock, server, fresh);
    restarted.Start();
    restarted.RunFor(seconds(150));
    EXPECT_THAT(Requests(), ElementsAre("stream", "stream", "stream", "list", "list", "list",
                                        "page", "page", "page", "stream"))
        << row.description;
    EXPECT_EQ(written.Take().back(), "well again") << row.description;
  }
}

TEST_F(ListWatchRefusal, CutListsSwitchToPagesToo) {
  server.streamed_list = StreamedList::kRefused;
  carrier.Start();
  for (int i = 0; i < 3; ++i) {
    for (int step = 0; step < (i == 0 ? 4 : 2); ++step) carrier.Step(300);
    carrier.Cut();
    carrier.ToDeadline();
  }
  carrier.Run();
  EXPECT_THAT(Requests(), ElementsAre("stream", "list", "list", "list", "page", "watch@2"));
  EXPECT_EQ(Reported().back(), "end");
}

// A load balancer answers this while its servers start: whole lists would work.
TEST_F(ListWatchRefusal, AnUnreachableServerDoesNotSwitchToPages) {
  for (const int code : {502, 503, 429, 401, 403, 404})
    for (int i = 0; i < 4; ++i) server.refusals.push_back(Http(code));
  carrier.Start();
  carrier.RunFor(minutes(5));
  EXPECT_THAT(Requests(), ::testing::Each("stream"));
  EXPECT_THAT(Reported(), Contains("end"));
}

TEST_F(ListWatchRefusal, EndlessPagesAreGivenUp) {
  server.streamed_list = StreamedList::kRefused;
  carrier.Start();
  for (int i = 0; i < 3; ++i) carrier.Step();
  ASSERT_EQ(Requests().back(), "list");
  const testing::Answers answers(Encoding::kProtobuf);
  const auto give = [&](const std::string& token) {
    machine.OnHead({200, std::string(answers.content_type()), std::nullopt});
    Action action = machine.OnBody(answers.List({Node("a", 1)}, "7", token));
    return std::holds_alternative<Read>(action) ? machine.OnEnd(absl::OkStatus()) : action;
  };
  EXPECT_TRUE(std::holds_alternative<Send>(give("next")));
  const Action same = give("next");
  ASSERT_TRUE(std::holds_alternative<Wait>(same));
  EXPECT_EQ(source.condition.message(),
            "cannot list nodes: the list's pages have no end; trying again");
  clock.AdvanceTo(std::get<Wait>(same).until);
  machine.OnTime();
  EXPECT_TRUE(std::holds_alternative<Wait>(give(std::string((16 << 10) + 1, 't'))));
}

// A change after the first page may be in no page.
TEST_F(ListWatchRefusal, AWatchStartsFromTheFirstPagesVersion) {
  server.streamed_list = StreamedList::kRefused;
  carrier.Start();
  for (int i = 0; i < 3; ++i) carrier.Step();
  const testing::Answers answers(Encoding::kProtobuf);
  const auto give = [&](const std::string& body) {
    machine.OnHead({200, std::string(answers.content_type()), std::nullopt});
    Action action = machine.OnBody(body);
    if (std::holds_alternative<Read>(action)) action = machine.OnEnd(absl::OkStatus());
    return std::get<Send>(action).request.target;
  };
  EXPECT_EQ(give(answers.List({Node("a", 1)}, "5", "next")),
            "/api/v1/nodes?limit=500&continue=next");
  EXPECT_THAT(give(answers.List({Node("b", 2)}, "7", "")),
              ::testing::EndsWith("&resourceVersion=5"));
  EXPECT_EQ(source.lines.back(), "end");
}

TEST_F(ListWatchRefusal, FailedPagesSwitchToTheFirstMode) {
  server.most_in_page = 1;
  for (int i = 0; i < 6; ++i) server.refusals.push_back(Http(504));
  for (int i = 0; i < 3; ++i) {
    server.refusals.push_back(Http(504));
    server.refusals.back().only = "page+";
  }
  carrier.Start();
  carrier.RunFor(seconds(150));
  EXPECT_THAT(Requests(), ElementsAre("stream", "stream", "stream", "list", "list", "list", "page",
                                      "page+", "page+", "page+", "stream"));
  EXPECT_THAT(Reported(), Contains("end"));
}

TEST_F(ListWatchRefusal, ATokenThatTheServerCannotReadIsDropped) {
  server.most_in_page = 1;
  for (int i = 0; i < 6; ++i) server.refusals.push_back(Http(504));
  server.refusals.push_back(Http(400, "BadRequest", "continue key is not valid"));
  server.refusals.back().only = "page+";
  carrier.Start();
  carrier.RunFor(seconds(120));
  const Lines asked = Requests();
  EXPECT_THAT(Lines(asked.begin() + 6, asked.end()),
              ElementsAre("page", "page+", "page", "page+", "watch@2"));
}

TEST_F(ListWatchRefusal, ExpiredLaterPagesAreRestartedWithoutAVersion) {
  server.most_in_page = 1;
  carrier.Start();
  carrier.RunFor(seconds(20));
  Requests();
  for (const int code : {410, 504, 504, 504, 504, 504, 504}) server.refusals.push_back(Http(code));
  server.refusals.push_back(Http(410, "Expired"));
  server.refusals.back().only = "page+";
  carrier.Cut();
  carrier.RunFor(seconds(120));
  const Lines asked = Requests();
  EXPECT_THAT(Lines(asked.begin() + 7, asked.end()),
              ElementsAre("page@2", "page+", "page", "page+", "watch@2"));
}

TEST_F(ListWatchRefusal, AListWithoutAnAnswerSwitchesToPagesToo) {
  server.streamed_list = StreamedList::kRefused;
  carrier.Start();
  for (int i = 0; i < 3; ++i) carrier.Step();
  for (int i = 0; i < 3; ++i) {
    carrier.ToDeadline();
    carrier.ToDeadline();
  }
  carrier.Run();
  EXPECT_THAT(Requests(), ElementsAre("stream", "list", "list", "list", "page", "watch@2"));
}

// As the client ends it where another server could answer sooner.
TEST_F(ListWatchRefusal, AListThatIsEndedBeforeItsAnswerSwitchesToPagesToo) {
  const absl::Status late = absl::DeadlineExceededError("no answer within 30 s");
  const auto fail_thrice = [this](const absl::Status& why) {
    for (int i = 0; i < 3; ++i) {
      carrier.Fail(why);
      carrier.ToDeadline();
    }
  };
  server.streamed_list = StreamedList::kRefused;
  carrier.Start();
  fail_thrice(late);
  EXPECT_THAT(Requests(), ElementsAre("stream", "stream", "stream", "stream")) << "it is no list";
  for (int i = 0; i < 3; ++i) carrier.Step();
  fail_thrice(absl::UnavailableError("connection refused"));
  EXPECT_THAT(Requests(), ElementsAre("list", "list", "list", "list")) << "it was not read";
  fail_thrice(late);
  carrier.Run();
  EXPECT_THAT(Requests(), ElementsAre("list", "list", "page", "watch@2"));
}

// ---- streams that break

TEST_F(ListWatchRefusal, AWatchRefusedThreeTimesIsReplacedByASnapshot) {
  carrier.Start();
  carrier.RunFor(seconds(20));
  Requests();
  for (int i = 0; i < 3; ++i) server.refusals.push_back(Event(500, "InternalError"));
  carrier.Cut();
  carrier.RunFor(seconds(20));
  EXPECT_THAT(Requests(), ElementsAre("watch@2", "watch@2", "watch@2", "stream@2"));
}

TEST_F(ListWatchRefusal, NotWhenAWatchSucceededInBetween) {
  carrier.Start();
  for (int i = 0; i < 5; ++i) {
    carrier.RunFor(seconds(20));
    server.refusals = {Event(500, "InternalError")};
    carrier.Cut();
    carrier.Run();
  }
  EXPECT_THAT(Requests(), Not(Contains("stream@2")));
}

TEST_F(ListWatchRefusal, EventsAfterAnErrorEventAreIgnored) {
  carrier.Start();
  carrier.RunFor(seconds(20));
  Reported();
  const testing::Answers answers(Encoding::kProtobuf);
  machine.OnBody(answers.ErrorEvent(Event(500, "InternalError").status) +
                 answers.Event("ADDED", Node("c", 3)) + answers.Bookmark("9"));
  EXPECT_THAT(Reported(), ElementsAre("condition"));
  clock.Advance(seconds(1));
  EXPECT_THAT(std::get<Send>(machine.OnTime()).request.target,
              Not(::testing::EndsWith("resourceVersion=9")));
}

// ---- versions that the server does not know

TEST_F(ListWatchRefusal, AVersionAheadOfTheServersCacheIsWaitedFor) {
  carrier.Start();
  carrier.RunFor(seconds(20));
  server.lag = 1;
  server.waits = false;
  Requests();
  Reported();
  Relist();
  EXPECT_THAT(Requests(), ElementsAre("watch@2", "stream@2"));
  EXPECT_THAT(Reported(), ElementsAre("condition"));
  server.lag = 0;
  carrier.RunFor(seconds(20));
  EXPECT_THAT(Requests(), ElementsAre("stream@2"));
  EXPECT_THAT(Reported(), Contains("end"));
}

// etcd was restored from a backup: what was seen since is not true any more.
TEST_F(ListWatchRefusal, AVersionThatIsNotKnownForAMinuteIsDropped) {
  for (const StreamedList manner : {StreamedList::kServed, StreamedList::kRefused}) {
    server.streamed_list = manner;
    testing::WrittenSource written;
    ListWatch fresh(
        clock, [] { return 0.0; }, AnnotationKeys(), "", written);
    testing::ListWatchCarrier restarted(clock, server, fresh);
    restarted.Start();
    restarted.RunFor(seconds(20));
    const int before = server.revision();
    server.Put(Node("c", 3));
    restarted.Run();
    server.Restore(before);
    written.Take();
    Requests();
    server.refusals = {Http(410)};
    restarted.Cut();
    restarted.RunFor(seconds(59));
    EXPECT_THAT(written.Take(), ElementsAre("condition"));
    restarted.RunFor(seconds(60));
    const Lines asked = Requests();
    EXPECT_EQ(asked.at(asked.size() - 2), "list");
    EXPECT_EQ(asked.back(), "watch@2");
    EXPECT_THAT(written.Take(), ElementsAre("begin", "upsert a/1 10.244.1.0/24",
                                            "upsert b/1 10.244.2.0/24", "end", "well again"));
  }
}

// A watch from a future version is silent, and omits every event before that version.
TEST_F(ListWatchRefusal, TwoSilentWatchesLeadToANewList) {
  carrier.Start();
  server.Put(Node("c", 3));
  carrier.RunFor(seconds(20));
  server.Restore(2);
  Requests();
  Reported();
  carrier.Cut();
  carrier.RunFor(minutes(2));
  EXPECT_THAT(Requests(), ElementsAre("watch@3", "watch@3"));
  EXPECT_THAT(Reported(), IsEmpty());
  carrier.RunFor(minutes(4));
  const Lines asked = Requests();
  EXPECT_EQ(asked.front(), "stream@3");
  EXPECT_EQ(asked.at(asked.size() - 2), "list");
  EXPECT_EQ(asked.back(), "watch@2");
}

TEST_F(ListWatchRefusal, OnlyReceivedEventsEndTheSilence) {
  carrier.Start();
  carrier.Run();
  Requests();
  carrier.RunFor(minutes(2));  // the streamed list's own watch
  EXPECT_THAT(Requests(), ElementsAre("watch@2"));
  carrier.RunFor(minutes(2));
  EXPECT_THAT(Requests(), ElementsAre("stream@2")) << "two have been silent";
  server.Put(Node("c", 3));
  carrier.Run();
  carrier.RunFor(minutes(2));
  EXPECT_THAT(Requests(), ElementsAre("watch@3"));
  carrier.RunFor(minutes(2));
  EXPECT_THAT(Requests(), ElementsAre("watch@3")) << "one has been silent";
  carrier.RunFor(minutes(2));
  EXPECT_THAT(Requests(), ElementsAre("stream@3"));
}

TEST_F(ListWatchRefusal, SilentWatchesAreCountedInARow) {
  carrier.Start();
  carrier.RunFor(seconds(20));
  Requests();
  for (int i = 0; i < 3; ++i) {
    carrier.RunFor(seconds(120));  // one
    server.Put(Node("a", 3 + i));
    carrier.Run();
    carrier.Cut();
    carrier.RunFor(seconds(10));
  }
  EXPECT_THAT(Requests(), Not(Contains(::testing::StartsWith("stream"))));
  carrier.RunFor(minutes(30));
  // A snapshot each four minutes, not more.
  const Lines asked = Requests();
  EXPECT_LE(std::count_if(asked.begin(), asked.end(),
                          [](const auto& text) { return text.starts_with("stream"); }),
            8);
}

TEST_F(ListWatchRefusal, TheWaitForAVersionRestartsEachTime) {
  carrier.Start();
  for (int i = 0; i < 2; ++i) {
    carrier.RunFor(seconds(100));
    server.refusals = {Http(410), TooLarge(true)};
    Requests();
    carrier.Cut();
    carrier.RunFor(seconds(20));
    EXPECT_THAT(Requests(), ElementsAre("watch@2", "stream@2", "stream@2")) << i;
  }
}

TEST_F(ListWatchRefusal, WithoutAVersionThereIsNoneToDrop) {
  server.refusals = {Http(410)};
  carrier.Start();
  carrier.Run();
  EXPECT_TRUE(carrier.waits());
  Requests();
  server.refusals.assign(500, TooLarge(true));
  carrier.RunFor(minutes(5));
  EXPECT_LE(Requests().size(), 35u);
}

TEST_F(ListWatchRefusal, AVersionIsDroppedOnceThenRetriesBackOff) {
  for (const int code : {410, 400}) {
    server.streamed_list = StreamedList::kServed;
    testing::WrittenSource written;
    ListWatch fresh(
        clock, [] { return 0.0; }, AnnotationKeys(), "", written);
    testing::ListWatchCarrier own_carrier(clock, server, fresh);
    own_carrier.Start();
    own_carrier.RunFor(seconds(20));
    Requests();
    server.streamed_list = StreamedList::kRefused;
    server.refusals = {Http(410), Http(code), Http(code)};
    server.refusals[1].only = server.refusals[2].only = "list";
    own_carrier.Cut();
    own_carrier.Run();
    EXPECT_TRUE(own_carrier.waits()) << code;
    EXPECT_THAT(Requests(), ElementsAre("watch@2", "stream@2", "list@2", "list")) << code;
  }
}

TEST_F(ListWatchRefusal, AVersionThatTheServerCannotReadIsDropped) {
  carrier.Start();
  carrier.RunFor(seconds(20));
  Requests();
  server.refusals = {Http(400), Http(400), Http(400)};
  carrier.Cut();
  carrier.RunFor(seconds(20));
  EXPECT_THAT(Requests(), ElementsAre("watch@2", "stream@2", "list@2", "list", "watch@2"));
}

}  // namespace
}  // namespace weft::kube
