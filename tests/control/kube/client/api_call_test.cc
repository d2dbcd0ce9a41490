// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/api_call.h"

#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/control/kube/client/client_fixture.h"

namespace weft::kube {
namespace {

using std::chrono::milliseconds;
using testing::Ending;
using ::testing::HasSubstr;

class ApiCallTest : public ClientFixture {
 protected:
  absl::StatusOr<ApiAnswer> Call(milliseconds limit = std::chrono::minutes(1)) {
    std::optional<absl::StatusOr<ApiAnswer>> answer;
    std::unique_ptr<ApiCall> call;
    call = std::make_unique<ApiCall>(client, Get(), limit, [&](absl::StatusOr<ApiAnswer> told) {
      EXPECT_FALSE(answer.has_value());
      answer.emplace(std::move(told));
      call.reset();  // allowed
    });
    RunUntil([&] { return answer.has_value(); });
    return *std::move(answer);
  }

  Server server{io, {}};
  ApiClient client{io, To(server.port(), /*tls=*/false), "x"};
};

TEST_F(ApiCallTest, TheWholeAnswer) {
  server.Answer({.bytes = "HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\n"
                          "Retry-After: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
                 .piece = 9});
  const auto answer = Call();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 409);
  EXPECT_EQ(answer->content_type, "application/json");
  EXPECT_EQ(answer->retry_after, std::chrono::seconds(2));
  EXPECT_EQ(answer->body, "{}");
}

TEST_F(ApiCallTest, ABodyThatIsTooLong) {
  const std::string body(ApiCall::kMaxBody + 1, 'x');
  server.Answer({"HTTP/1.1 200 OK\r\n\r\n" + body});
  const auto answer = Call();
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("is longer than 1 MiB"));
}

TEST_F(ApiCallTest, AProxysPageIsNoAnswer) {
  const auto page = [&](int status, const std::string& type) {
    server.Answer({absl::StrCat("HTTP/1.1 ", status, " x\r\nContent-Type: ", type,
                                "\r\nContent-Length: 2\r\n\r\nok")});
    return Call();
  };
  const auto answer = page(200, "text/html");
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(answer.status().message()),
              HasSubstr("the answer's Content-Type is \"text/html\", not the API's"));
  EXPECT_TRUE(page(200, "application/json").ok());
  EXPECT_TRUE(page(502, "text/html").ok()) << "the status says enough";
}

TEST_F(ApiCallTest, TooLate) {
  server.Answer({.bytes = "HTTP/1.1 200 OK\r\n\r\n", .ending = Ending::kHold});
  EXPECT_EQ(Call(milliseconds(50)).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ApiCallTest, Cut) {
  server.Answer({"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"});
  EXPECT_EQ(Call().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ApiCallTest, OnceDestroyedItReportsNothing) {
  server.Answer({.bytes = "", .ending = Ending::kHold});
  bool told = false;
  {
    const ApiCall call(client, Get(), std::chrono::minutes(1), [&](auto) { told = true; });
    RunUntil([&] { return server.requests().size() == 1; });
  }
  RunUntil([&] { return server.open_connections() == 0; });
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace weft::kube
