// SPDX-License-Identifier: Apache-2.0
// The errors for a daemon that does not run, is old, does not answer or refuses access.
#include "control/admin/admin_client.h"

#include <filesystem>
#include <fstream>
#include <future>

#include "control/admin/admin_server.h"
#include "gmock/gmock.h"
#include "tests/control/admin/running_server.h"
#include "tests/control/admin/samples.h"

namespace weft::admin {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST(AdminClientTest, ReadsBothDocuments) {
  FakeState state;
  RunningServer server(AdminHandler(state));
  const AdminClient client(server.endpoint());
  EXPECT_EQ(client.ReadLeases().value(), SampleLeases());
  EXPECT_EQ(client.ReadStatus().value(), SampleStatus());
}

TEST(AdminClientTest, ReadsAPlan) {
  FakeState state;
  RunningServer server(AdminHandler(state), {.post = true});
  const AdminClient client(server.endpoint());
  EXPECT_EQ(client.ReadPlan(/*repair=*/false).value(), SamplePlan());
  EXPECT_TRUE(client.ReadPlan(/*repair=*/true).value().repaired);
  server.Do([&](HttpServer&) { state.plan = absl::FailedPreconditionError("no HNS here"); });
  EXPECT_EQ(client.ReadPlan(/*repair=*/false).status(),
            absl::FailedPreconditionError("no HNS here"));
}

TEST(AdminClientTest, ReadsALargeList) {
  FakeState state;
  const LeaseRow row = state.leases.leases[0];
  state.leases.leases.assign(20'000, row);
  RunningServer server(AdminHandler(state));
  const AdminClient client(server.endpoint(), std::chrono::minutes(1));  // for TSan
  EXPECT_EQ(client.ReadLeases().value().leases.size(), 20'000u);
}

TEST(AdminClientTest, WaitsForAChange) {
  FakeState state;
  std::promise<void> asked;
  bool first = true;
  const Handler inner = AdminHandler(state);
  RunningServer server([&](const Request& request) {
    const Response response = inner(request);
    if (std::exchange(first, false)) asked.set_value();
    return response;
  });
  auto change = std::async(std::launch::async, [&] {
    return AdminClient(server.endpoint()).ReadLeasesAfter(state.leases.generation, 60s);
  });
  asked.get_future().wait();
  server.Do([&](HttpServer& s) {
    ++state.leases.generation;
    state.leases.leases.pop_back();
    s.Wake();
  });
  const absl::StatusOr<LeaseList> list = change.get();
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->generation, SampleLeases().generation + 1);
  EXPECT_EQ(list->leases.size(), SampleLeases().leases.size() - 1);
}

TEST(AdminClientTest, NoDaemon) {
  const TemporaryFolder folder;
  const std::string endpoint = folder.Endpoint();
  const absl::Status status = AdminClient(endpoint).ReadStatus().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Text(status), AllOf(HasSubstr("flanneld does not answer"), HasSubstr(endpoint),
                                  HasSubstr("start it on this node"), HasSubstr("--admin")));
  EXPECT_EQ(AdminClient(endpoint).ReadLeases().status(), status);
  EXPECT_EQ(AdminClient(endpoint).ReadLeasesAfter(1, 1s).status(), status);
  EXPECT_EQ(AdminClient(endpoint).ReadPlan(/*repair=*/false).status(), status);
}

TEST(AdminClientTest, ADaemonThatStopsDuringARequest) {
  std::promise<void> asked;
  RunningServer server([&](const Request&) {
    asked.set_value();
    Response response;
    response.hold = 60s;
    return response;
  });
  auto answer = std::async(std::launch::async,
                           [&] { return AdminClient(server.endpoint()).ReadStatus().status(); });
  asked.get_future().wait();
  server.Do([](HttpServer& s) { s.Close(); });
  const absl::Status status = answer.get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Text(status), HasSubstr(server.endpoint()));
}

TEST(AdminClientTest, ADaemonThatDoesNotAnswerInTime) {
  RunningServer server([](const Request&) {
    Response response;
    response.hold = 5s;
    return response;
  });
  const absl::Status status = AdminClient(server.endpoint(), 20ms).ReadStatus().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(Text(status), AllOf(HasSubstr(server.endpoint()), HasSubstr("check its log")));
}

TEST(AdminClientTest, AnotherVersion) {
  RunningServer server([](const Request&) {
    return Response{.body = R"({"apiVersion": "weft/v9", "kind": "Status"})"};
  });
  const absl::Status status = AdminClient(server.endpoint()).ReadStatus().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(status), AllOf(HasSubstr("weft/v9"), HasSubstr("weft/v2"),
                                  HasSubstr("flannelctl is the older one; upgrade it, or use the "
                                            "flannelctl of flanneld's version")));
}

TEST(AdminClientTest, ADocumentThatTheDaemonDoesNotHave) {
  FakeState state;
  RunningServer server(AdminHandler(state));
  const absl::Status status = AdminClient(server.endpoint()).Get("/v1/nothing").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(status), AllOf(HasSubstr("404"), HasSubstr("no such document: /v1/nothing")));
}

TEST(AdminClientTest, AnInternalErrorOfTheDaemon) {
  RunningServer server([](const Request&) -> Response { throw 1; });
  const absl::Status status = AdminClient(server.endpoint()).ReadStatus().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Text(status), AllOf(HasSubstr("500: internal error;"), HasSubstr("its log")));
}

struct Answer {
  const char* description;
  std::string bytes;
  absl::StatusCode code;
  const char* text;
};

// Something listens where flanneld should, or flanneld died while it answered.
TEST(AdminClientTest, InvalidAnswers) {
  const Answer rows[] = {
      {"nothing", "", absl::StatusCode::kUnavailable, "the answer is truncated or is not HTTP"},
      {"another protocol", "SSH-2.0-OpenSSH_9.2\r\n", absl::StatusCode::kUnavailable,
       "is not HTTP"},
      {"half a header", "HTTP/1.1 200 OK\r\nContent-Le", absl::StatusCode::kUnavailable,
       "the answer is truncated"},
      {"half a document", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"apiVersion\"",
       absl::StatusCode::kUnavailable, "start it on this node"},
      {"no JSON", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
       absl::StatusCode::kFailedPrecondition, "the document is not JSON; use the flannelctl of"},
      {"not an object", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
       absl::StatusCode::kFailedPrecondition, "the document is not an object"},
      {"another document",
       "HTTP/1.1 200 OK\r\n\r\n{\"apiVersion\": \"weft/v2\", \"kind\": \"LeaseList\"}",
       absl::StatusCode::kFailedPrecondition, "kind is \"LeaseList\""},
      {"full", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 10\r\n\r\ntry later\n",
       absl::StatusCode::kUnavailable, "refuses /v1/status: 503: try later; check its log"},
      {"an error document", "HTTP/1.1 400 Bad Request\r\n\r\n{\"message\": \"no such number\"}",
       absl::StatusCode::kUnavailable, "400: no such number; check its log"},
      {"an error document of another form", "HTTP/1.1 400 Bad Request\r\n\r\n{\"message\": 7}",
       absl::StatusCode::kUnavailable, "400: {\"message\": 7}; check its log"},
  };
  for (const Answer& row : rows) {
    SCOPED_TRACE(row.description);
    const RawServer server(row.bytes);
    const absl::Status status = AdminClient(server.endpoint()).ReadStatus().status();
    EXPECT_EQ(status.code(), row.code);
    EXPECT_THAT(Text(status), AllOf(HasSubstr(row.text), HasSubstr(server.endpoint())));
  }
}

TEST(AdminClientTest, EveryFormOfALengthIsAccepted) {
  for (const char* bytes : {
           "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody",
           "HTTP/1.0 200 OK\r\n\r\nbody",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n",
       }) {
    const RawServer server(bytes);
    EXPECT_EQ(AdminClient(server.endpoint()).Get("/x").value_or("?"), "body") << bytes;
  }
}

}  // namespace
}  // namespace weft::admin
