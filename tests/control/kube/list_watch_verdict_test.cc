// SPDX-License-Identifier: Apache-2.0
#include "control/kube/list_watch_verdict.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ApiStatus Status(int code, std::string reason = "", std::string message = "") {
  ApiStatus status;
  status.code = code;
  status.reason = std::move(reason);
  status.message = std::move(message);
  return status;
}

ApiStatus TooLarge() {
  ApiStatus status = Status(504, "Timeout");
  status.resource_version_too_large = true;
  return status;
}

constexpr RequestKind kAll[] = {RequestKind::kStream, RequestKind::kList, RequestKind::kPage,
                                RequestKind::kWatch};

TEST(ListWatchVerdict, EveryStatusHasItsVerdict) {
  struct Row {
    const char* description;
    ApiStatus status;
    Verdict verdict;
  };
  const Row rows[] = {
      {"the token is not known", Status(401, "Unauthorized"), Verdict::kTryAgain},
      {"a rule is missing", Status(403, "Forbidden"), Verdict::kTryAgain},
      {"another path", Status(404), Verdict::kTryAgain},
      {"busy", Status(429), Verdict::kTryAgain},
      {"a balancer without a server", Status(502), Verdict::kTryAgain},
      {"a server that starts", Status(503), Verdict::kTryAgain},
      {"moved", Status(302), Verdict::kTryAgain},
      {"too large an answer", Status(413), Verdict::kCount},
      {"too slow an answer", Status(504), Verdict::kCount},
      {"no protobuf", Status(406), Verdict::kNoProtobuf},
      {"no protobuf", Status(415), Verdict::kNoProtobuf},
      {"gone", Status(410), Verdict::kExpired},
      {"gone by its reason alone", Status(0, "Expired"), Verdict::kExpired},
      {"gone by its older reason", Status(0, "Gone"), Verdict::kExpired},
      {"a version from the future", TooLarge(), Verdict::kNotKnownYet},
  };
  for (const Row& row : rows) {
    for (const RequestKind kind : kAll) {
      EXPECT_EQ(Judge(kind, false, row.status), row.verdict)
          << row.description << ", kind " << static_cast<int>(kind);
    }
  }
}

TEST(ListWatchVerdict, A401SaysWhatWasNotAccepted) {
  ApiStatus status = Status(401, "Unauthorized");
  status.credentials = "the token in the file /t, which expired on 2026-11-27 10:00:00 UTC";
  EXPECT_EQ(Condition(RequestKind::kWatch, status).message(),
            "cannot watch nodes: the API server answers 401 (\"Unauthorized\"); it does not accept "
            "the token in the file /t, which expired on 2026-11-27 10:00:00 UTC; credentials are "
            "read again for every try");
}

TEST(ListWatchVerdict, WaysToRefuseAStreamedList) {
  struct Row {
    const char* description;
    bool event;
    int code;
    Verdict streamed, others;
  };
  const Row rows[] = {
      {"the feature is off", false, 422, Verdict::kNoStreamedList, Verdict::kBadRequest},
      {"a parameter is not known", false, 400, Verdict::kNoStreamedList, Verdict::kBadRequest},
      {"no such method", false, 405, Verdict::kNoStreamedList, Verdict::kTryAgain},
      {"not implemented", false, 501, Verdict::kNoStreamedList, Verdict::kTryAgain},
      {"etcd is too old", true, 500, Verdict::kNoStreamedList, Verdict::kCount},
      {"any fault", false, 500, Verdict::kCount, Verdict::kCount},
      {"any event", true, 0, Verdict::kCount, Verdict::kCount},
  };
  for (const Row& row : rows) {
    for (const RequestKind kind : kAll) {
      EXPECT_EQ(Judge(kind, row.event, Status(row.code)),
                kind == RequestKind::kStream ? row.streamed : row.others)
          << row.description << ", kind " << static_cast<int>(kind);
    }
  }
}

TEST(ListWatchVerdict, ConditionNamesAnswerAndNextStep) {
  struct Row {
    ApiStatus status;
    absl::StatusCode code;
    const char* text;
  };
  const Row rows[] = {
      {Status(401, "Unauthorized", "Unauthorized"), absl::StatusCode::kUnauthenticated,
       "cannot list nodes: the API server answers 401 (\"Unauthorized\"): \"Unauthorized\"; it "
       "does "
       "not accept our token or certificate; they are read again for every try"},
      {Status(403, "Forbidden", "nodes is forbidden"), absl::StatusCode::kPermissionDenied,
       "cannot list nodes: the API server answers 403 (\"Forbidden\"): \"nodes is forbidden\"; "
       "give "
       "this account the verbs get, list and watch on nodes (deploy/rbac.yaml)"},
      {Status(404), absl::StatusCode::kNotFound,
       "cannot list nodes: the API server answers 404; check the server's address and path; trying "
       "again"},
      {Status(429), absl::StatusCode::kUnavailable,
       "cannot list nodes: the API server answers 429; it is busy; trying again"},
      {Status(503, "", "not ready"), absl::StatusCode::kUnavailable,
       "cannot list nodes: the API server answers 503: \"not ready\"; trying again"},
  };
  for (const Row& row : rows) {
    const absl::Status condition = Condition(RequestKind::kStream, row.status);
    EXPECT_EQ(condition.code(), row.code);
    EXPECT_EQ(condition.message(), row.text);
  }
  EXPECT_EQ(
      Condition(RequestKind::kWatch, absl::StatusCode::kUnavailable, "no answer in time").message(),
      "cannot watch nodes: no answer in time; trying again");
}

TEST(ListWatchVerdict, AServersTextIsOneShortLine) {
  const absl::Status condition =
      Condition(RequestKind::kList,
                Status(500, std::string(5000, 'r'), "a\nb\x1b[31m" + std::string(5000, 'm')));
  EXPECT_LT(condition.message().size(), 600u);
  EXPECT_THAT(std::string(condition.message()), HasSubstr("a\\nb\\x1b[31m"));
  EXPECT_THAT(std::string(condition.message()), Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace weft::kube
