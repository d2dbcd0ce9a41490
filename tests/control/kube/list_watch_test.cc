// SPDX-License-Identifier: Apache-2.0
// The usual mode: a streamed list that continues as the watch, and what ends it.
#include "control/kube/list_watch.h"

#include "tests/control/kube/list_watch_fixture.h"

namespace weft::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ListWatchBothEncodings : public ListWatchTest, public ::testing::WithParamInterface<bool> {
 protected:
  ListWatchBothEncodings() {
    server.protobuf = GetParam() ? testing::FakeApiServer::Protobuf::kServed
                                 : testing::FakeApiServer::Protobuf::kAbsent;
  }
};
INSTANTIATE_TEST_SUITE_P(Encodings, ListWatchBothEncodings, ::testing::Bool(),
                         [](const auto& of) { return of.param ? "protobuf" : "json"; });

TEST_P(ListWatchBothEncodings, AStreamedListContinuesAsTheWatch) {
  server.Put(Node("a", 1));
  server.Put(Bare("c"));
  server.Put(Node("us", 7));
  carrier.Start();
  carrier.Run();
  EXPECT_THAT(Reported(), ElementsAre("begin", "upsert a/1 10.244.1.0/24", "own us/1",
                                      "upsert us/1 10.244.7.0/24", "end"));
  server.Put(Node("b", 2));
  server.Put(Bare("a"));
  server.Delete("us");
  carrier.Run();
  EXPECT_THAT(Reported(),
              ElementsAre("upsert b/1 10.244.2.0/24", "delete a/1", "own none", "delete us/1"));
  EXPECT_THAT(Requests(), ElementsAre("stream"));
}

TEST_P(ListWatchBothEncodings, AListThenAWatch) {
  server.streamed_list = testing::FakeApiServer::StreamedList::kRefused;
  server.Put(Node("a", 1));
  server.Put(Bare("c"));
  carrier.Start();
  carrier.Run();
  EXPECT_THAT(Reported(), ElementsAre("begin", "upsert a/1 10.244.1.0/24", "own none", "end"));
  server.Put(Node("b", 2));
  server.Delete("a");
  carrier.Run();
  EXPECT_THAT(Reported(), ElementsAre("upsert b/1 10.244.2.0/24", "delete a/1"));
  EXPECT_THAT(Requests(), ElementsAre("stream", "list", "watch@2"));
}

TEST_P(ListWatchBothEncodings, PagesThenAWatch) {
  server.streamed_list = testing::FakeApiServer::StreamedList::kRefused;
  server.most_in_page = 2;
  for (int i = 1; i <= 5; ++i) server.Put(Node(std::string(1, static_cast<char>('a' + i)), i));
  carrier.Start();
  carrier.RunFor(seconds(20));
  ASSERT_THAT(Requests(), ElementsAre("stream", "list", "watch@5"));
  Reported();
  for (const int code : {410, 504, 504, 504}) server.refusals.push_back(Http(code));
  carrier.Cut();
  carrier.RunFor(seconds(20));
  EXPECT_THAT(Reported(), ElementsAre("condition", "begin", "upsert b/1 10.244.1.0/24",
                                      "upsert c/1 10.244.2.0/24", "upsert d/1 10.244.3.0/24",
                                      "upsert e/1 10.244.4.0/24", "upsert f/1 10.244.5.0/24", "end",
                                      "well again"));
  EXPECT_THAT(Requests(), ElementsAre("watch@5", "list@5", "list@5", "list@5", "page@5", "page+",
                                      "page+", "watch@5"));
  EXPECT_EQ(machine.counts().lists, 6u) << "with all its pages";
  EXPECT_EQ(machine.counts().watch_restarts, 2u);
}

// ---- from which version a watch resumes

TEST_P(ListWatchBothEncodings, ACutWatchResumesAfterTheLastEvent) {
  Synced();
  server.Put(Node("c", 3));
  carrier.Run();
  carrier.Cut();
  EXPECT_FALSE(carrier.waits()) << "it had lived";
  server.Put(Node("d", 4));
  carrier.Run();
  EXPECT_THAT(Requests(), ElementsAre("watch@3"));
  EXPECT_THAT(Reported(), ElementsAre("upsert c/1 10.244.3.0/24", "upsert d/1 10.244.4.0/24"));
}

TEST_P(ListWatchBothEncodings, HeartbeatsOfNodesWithoutALeaseCountToo) {
  Synced();
  server.Put(Bare("x"));
  carrier.Run();
  carrier.Cut();
  EXPECT_THAT(Requests(), ElementsAre("watch@3"));
}

TEST_P(ListWatchBothEncodings, ABookmarkUpdatesTheVersion) {
  Synced();
  // Other changes in the cluster create versions too; here a node that is created and deleted.
  server.Put(Node("c", 3));
  server.Delete("c");
  carrier.Run();
  server.SendBookmarks();
  carrier.Run();
  server.Compact();
  carrier.Cut();
  carrier.Run();
  EXPECT_THAT(Requests(), ElementsAre("watch@4"));
  EXPECT_TRUE(carrier.live());
}

TEST_P(ListWatchBothEncodings, TheOrdinaryEndOfAWatchIsNoCondition) {
  Synced();
  for (int i = 0; i < 5; ++i) {
    carrier.RunFor(minutes(1));
    server.SendBookmarks();
  }
  carrier.answer()->End();
  carrier.Run();
  EXPECT_THAT(Requests(), ElementsAre("watch@2"));
  EXPECT_THAT(Reported(), IsEmpty());
}

TEST_P(ListWatchBothEncodings, ARecreatedNodeIsANewNode) {
  Synced();
  server.Delete("a");
  server.Put(Node("a", 1, "2"));
  carrier.Run();
  EXPECT_THAT(Reported(), ElementsAre("delete a/1", "upsert a/2 10.244.1.0/24"));
}

// ---- 410 (flannel's watch recovery after a compaction)

TEST_P(ListWatchBothEncodings, AfterAGapRemovedAndNewNodesAreReported) {
  Synced();
  carrier.Cut();
  carrier.Fail();
  server.Delete("a");
  server.Put(Node("c", 3));
  server.Compact();
  carrier.RunFor(seconds(10));
  EXPECT_THAT(Requests(), ElementsAre("watch@2", "watch@2", "stream@2"));
  // A Node that is not reported after "begin" is removed at "end".
  EXPECT_THAT(Reported(), ElementsAre("condition", "begin", "upsert b/1 10.244.2.0/24",
                                      "upsert c/1 10.244.3.0/24", "end", "well again"));
}

TEST_P(ListWatchBothEncodings, ExpiredIsNoConditionAndCostsNoTime) {
  Synced();
  server.refusals = {Http(410, "Expired")};
  carrier.Cut();
  carrier.Run();
  EXPECT_THAT(Requests(), ElementsAre("watch@2", "stream@2"));
  EXPECT_THAT(Reported(),
              ElementsAre("begin", "upsert a/1 10.244.1.0/24", "upsert b/1 10.244.2.0/24", "end"));
}

TEST_P(ListWatchBothEncodings, AnExpiredSnapshotIsRequestedWithoutAVersion) {
  Synced();
  server.refusals = {Event(410, "Expired"), Event(410, "Expired")};
  carrier.Cut();
  carrier.Run();
  EXPECT_THAT(Requests(), ElementsAre("watch@2", "stream@2", "list", "watch@2"));
}

TEST_P(ListWatchBothEncodings, ExpiredPagesAreRestarted) {
  server.streamed_list = testing::FakeApiServer::StreamedList::kRefused;
  server.most_in_page = 1;
  server.Put(Node("a", 1));
  server.Put(Node("b", 2));
  for (int i = 0; i < 3; ++i) server.refusals.push_back(Http(500));
  server.refusals.push_front(Http(422, "Invalid"));
  carrier.Start();
  for (int i = 0; i < 4; ++i) {
    carrier.Run();
    if (i < 3) carrier.ToDeadline();
    if (i == 2) {
      carrier.Step();  // the first page
      server.Put(Node("c", 3));
      server.Compact();
    }
  }
  EXPECT_THAT(Requests(), ElementsAre("stream", "list", "list", "list", "page", "page+"));
  Reported();
  carrier.RunFor(seconds(20));
  EXPECT_THAT(Requests(), ElementsAre("page", "page+", "page+", "watch@3"));
  EXPECT_THAT(Reported(),
              ElementsAre("begin", "upsert a/1 10.244.1.0/24", "upsert b/1 10.244.2.0/24",
                          "upsert c/1 10.244.3.0/24", "own none", "end", "well again"));
}

// ---- an initial stream that is cut

TEST_P(ListWatchBothEncodings, ACutFirstSnapshotIsRestarted) {
  server.Put(Node("a", 1));
  server.Put(Node("b", 2));
  server.lag = 1;  // the mark is one change away
  carrier.Start();
  carrier.Run();
  EXPECT_THAT(Reported(), ElementsAre("begin", "upsert a/1 10.244.1.0/24"));
  carrier.Cut();
  server.lag = 0;
  carrier.RunFor(seconds(1));
  EXPECT_THAT(Requests(), ElementsAre("stream", "stream"));
  EXPECT_THAT(Reported(), ElementsAre("condition", "begin", "upsert a/1 10.244.1.0/24",
                                      "upsert b/1 10.244.2.0/24", "own none", "end"));
}

// Half a snapshot may be newer than the version before it; a server that lags behind could then
// revert it. A list without a version cannot.
TEST_P(ListWatchBothEncodings, ACutLaterSnapshotIsFollowedByAListWithoutAVersion) {
  Synced();
  server.refusals = {Http(410)};
  carrier.Cut();
  while (source.lines.size() < 2) carrier.Step(50);
  ASSERT_THAT(Reported(), ElementsAre("begin", "upsert a/1 10.244.1.0/24"));
  carrier.Cut();
  carrier.RunFor(seconds(10));
  EXPECT_THAT(Requests(), ElementsAre("watch@2", "stream@2", "list", "watch@2"));
  EXPECT_THAT(Reported(), ElementsAre("condition", "begin", "upsert a/1 10.244.1.0/24",
                                      "upsert b/1 10.244.2.0/24", "end", "well again"));
}

TEST_P(ListWatchBothEncodings, AStreamCutRightAfterItsMarkContinuesAsAWatch) {
  server.Put(Node("a", 1));
  carrier.Start();
  carrier.Run();
  carrier.Cut();
  carrier.RunFor(seconds(1));
  EXPECT_THAT(Requests(), ElementsAre("stream", "watch@1"));
}

TEST_P(ListWatchBothEncodings, ChangesBeforeTheMark) {
  server.Put(Node("a", 1));
  server.Put(Node("b", 2));
  server.Delete("a");
  server.Put(Node("b", 3));
  server.lag = 2;
  carrier.Start();
  carrier.Run();
  EXPECT_THAT(Reported(),
              ElementsAre("begin", "upsert a/1 10.244.1.0/24", "upsert b/1 10.244.2.0/24"));
  server.lag = 1;
  carrier.Run();
  EXPECT_THAT(Reported(), ElementsAre("delete a/1"));
  server.lag = 0;
  carrier.Run();
  EXPECT_THAT(Reported(), ElementsAre("upsert b/1 10.244.3.0/24", "own none", "end"));
}

}  // namespace
}  // namespace weft::kube
