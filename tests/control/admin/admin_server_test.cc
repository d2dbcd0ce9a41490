// SPDX-License-Identifier: Apache-2.0
// The routes, as a function; and once over the wire with a waiting client.
#include "control/admin/admin_server.h"

#include "control/admin/endpoint.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/control/admin/samples.h"

namespace weft::admin {
namespace {

using namespace std::chrono_literals;

Request Get(std::string path, std::map<std::string, std::string, std::less<>> query = {}) {
  return {.method = "GET", .path = std::move(path), .query = std::move(query)};
}

class AdminHandlerTest : public ::testing::Test {
 protected:
  FakeState state_;
  const Handler handler_ = AdminHandler(state_);
};

TEST_F(AdminHandlerTest, Leases) {
  const Response response = handler_(Get("/v1/leases"));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(ParseLeaseList(response.body).value(), state_.leases);
}

TEST_F(AdminHandlerTest, Status) {
  const Response response = handler_(Get("/v1/status"));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(ParseStatus(response.body).value(), state_.status);
}

TEST_F(AdminHandlerTest, APlanIsWaitedFor) {
  const Request get = Get("/v1/plan", {{"ask", "1"}});
  EXPECT_EQ(ParsePlan(handler_(get).body).value(), SamplePlan());
  state_.plan.reset();
  EXPECT_EQ(handler_(get).hold, 30s);
  Request late = get;
  late.held = true;
  EXPECT_EQ(handler_(late).status, 503);
  state_.plan = absl::FailedPreconditionError("no HNS");
  EXPECT_EQ(handler_(get).status, 409);
  EXPECT_EQ(handler_(Get("/v1/plan")).status, 400);
  EXPECT_EQ(handler_(Get("/v1/plan", {{"ask", ""}})).status, 400);
  state_.plan = absl::UnavailableError("HNS is busy");
  EXPECT_EQ(handler_(get).status, 503);
}

TEST_F(AdminHandlerTest, OnlyAPostRepairs) {
  Request request = Get("/v1/repair", {{"ask", "1"}});
  EXPECT_EQ(handler_(request).status, 405);
  EXPECT_EQ(handler_(request).allow, "POST");
  request.method = "POST";
  EXPECT_TRUE(ParsePlan(handler_(request).body).value().repaired);
  request.path = "/v1/status";
  EXPECT_EQ(handler_(request).status, 405);
}

TEST_F(AdminHandlerTest, AnUnknownPathIsAnErrorDocument) {
  for (const char* path : {"/", "/v1", "/v1/leases/", "/v2/leases", "/v1/../v1/leases"}) {
    const Response response = handler_(Get(path));
    EXPECT_EQ(response.status, 404) << path;
    const auto json = nlohmann::json::parse(response.body);
    EXPECT_EQ(json["apiVersion"], "weft/v2");
    EXPECT_EQ(json["kind"], "Error");
    EXPECT_THAT(json["message"].get<std::string>(), ::testing::HasSubstr(path));
  }
}

TEST_F(AdminHandlerTest, LongPoll) {
  state_.leases.generation = 7;
  struct Row {
    const char* description;
    std::map<std::string, std::string, std::less<>> query;
    bool held;
    std::chrono::milliseconds hold;  // zero: answered
  };
  const Row rows[] = {
      {"the generation is the one known", {{"after", "7"}, {"wait", "30"}}, false, 30s},
      {"another generation", {{"after", "6"}, {"wait", "30"}}, false, 0s},
      {"a greater one, of a daemon before", {{"after", "8"}, {"wait", "30"}}, false, 0s},
      {"the wait is over", {{"after", "7"}, {"wait", "30"}}, true, 0s},
      {"no wait", {{"after", "7"}}, false, 0s},
      {"a wait of zero", {{"after", "7"}, {"wait", "0"}}, false, 0s},
      {"wait without after", {{"wait", "30"}}, false, 0s},
      {"a wait of just the limit", {{"after", "7"}, {"wait", "60"}}, false, 60s},
      {"a long wait is cut", {{"after", "7"}, {"wait", "86400"}}, false, 60s},
      {"one beyond all clocks too", {{"after", "7"}, {"wait", "18446744073709551615"}}, false, 60s},
  };
  for (const Row& row : rows) {
    Request request = Get("/v1/leases", row.query);
    request.held = row.held;
    const Response response = handler_(request);
    EXPECT_EQ(response.hold, row.hold) << row.description;
    if (row.hold == 0s) EXPECT_TRUE(ParseLeaseList(response.body).ok()) << row.description;
  }
  state_.leases.generation = 0;
  EXPECT_EQ(handler_(Get("/v1/leases", {{"wait", "30"}})).hold, 0s) << "after no generation";
}

TEST_F(AdminHandlerTest, ANonNumberIsRefused) {
  for (const char* text : {"", "x", "-1", "1.5", "99999999999999999999999"}) {
    EXPECT_EQ(handler_(Get("/v1/leases", {{"after", text}})).status, 400) << text;
    EXPECT_EQ(handler_(Get("/v1/leases", {{"after", "1"}, {"wait", text}})).status, 400) << text;
  }
}

TEST_F(AdminHandlerTest, RefusalsListWhatExists) {
  EXPECT_THAT(handler_(Get("/nothing")).body,
              ::testing::HasSubstr("no such document: /nothing; there are /v1/leases, /v1/status, "
                                   "/v1/plan and /v1/repair"));
  EXPECT_THAT(handler_(Get("/v1/leases", {{"wait", "x"}})).body,
              ::testing::HasSubstr("/v1/leases?after=GENERATION&wait=SECONDS"));
}

TEST_F(AdminHandlerTest, InvalidUtf8IsReplaced) {
  state_.leases.refused = {{"node\xff", "name \xc3 is cut"}};
  const Response response = handler_(Get("/v1/leases"));
  EXPECT_EQ(ParseLeaseList(response.body).value().refused[0].name, "node\xef\xbf\xbd");
}

}  // namespace
}  // namespace weft::admin
