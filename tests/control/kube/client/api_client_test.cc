// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/api_client.h"

#include <boost/asio/ip/tcp.hpp>
#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/control/kube/client/client_fixture.h"
#include "tests/support/test_path.h"

namespace weft::kube {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::Ending;
using ::testing::HasSubstr;
using ::testing::Not;

class ApiClientTest : public ClientFixture {
 protected:
  Server server{io, {}};
  ClusterAccess access = To(server.port(), /*tls=*/false);
};

TEST_F(ApiClientTest, ARequestAndItsAnswer) {
  server.Answer(
      {"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nRetry-After: 3\r\n"
       "Content-Length: 7\r\n\r\n{\"a\":1}"});
  access.path = "/prefix";
  HttpRequest request = Get("/api/v1/nodes/a/status");
  request.method = "PATCH";
  request.accept = "application/vnd.kubernetes.protobuf";
  request.content_type = "application/strategic-merge-patch+json";
  request.body = "{\"x\":2}";
  Listener listener;
  Send(access, listener, request);
  EXPECT_TRUE(listener.end.ok()) << listener.end;
  EXPECT_EQ(listener.head.status, 201);
  EXPECT_EQ(listener.head.content_type, "application/json");
  EXPECT_EQ(listener.head.retry_after, std::chrono::seconds(3));
  EXPECT_EQ(listener.body, "{\"a\":1}");
  const std::string host = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_THAT(server.requests(),
              ElementsAre("PATCH /prefix/api/v1/nodes/a/status HTTP/1.1\r\nHost: " + host +
                          "\r\nUser-Agent: flanneld/test\r\n"
                          "Accept: application/vnd.kubernetes.protobuf\r\n"
                          "Content-Type: application/strategic-merge-patch+json\r\n"
                          "Content-Length: 7\r\nConnection: close\r\n\r\n{\"x\":2}"));
}

TEST_F(ApiClientTest, A401NamesWhatWasSentAndNoSecret) {
  const std::string token = testing::TestPath().string() + ".token";
  const auto jwt = [](const char* claims) {
    return "e30." + absl::WebSafeBase64Escape(claims) + ".secret";
  };
  const struct {
    const char* description;
    std::string in_file, in_text;
    const char* text;
  } rows[] = {
      {"an old token in a file", jwt(R"({"exp":1000000000})"), "",
       ", which expired on 2001-09-09 01:46:40 UTC"},
      {"a token in a file", jwt(R"({"exp":32503680000})"), "",
       ", which expires on 3000-01-01 00:00:00 UTC"},
      {"another token", "secret", "", ", which names no expiry"},
      {"in the kubeconfig", "", "secret", "the token of test, which names no expiry"},
      {"none", "", "", "a request without credentials, as test has none"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    std::ofstream(token) << row.in_file;
    access.token.file = row.in_file.empty() ? "" : token;
    access.token.text = row.in_text;
    server.Answer({"HTTP/1.1 401 x\r\nContent-Length: 2\r\n\r\nno"});
    const Listener listener = Send(access);
    EXPECT_EQ(listener.head.status, 401);
    EXPECT_THAT(listener.head.credentials, HasSubstr(row.text));
    EXPECT_THAT(listener.head.credentials, Not(HasSubstr("secret")));
    if (!row.in_file.empty())
      EXPECT_THAT(listener.head.credentials,
                  ::testing::StartsWith("the token in the file " + token));
  }
  server.Answer({kOkAnswer});
  EXPECT_EQ(Send(access).head.credentials, "") << "of no other answer";
  std::filesystem::remove(token);
}

TEST_F(ApiClientTest, ChunksInSingleBytes) {
  server.Answer({.bytes = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
                          "Transfer-Encoding: chunked\r\n\r\n"
                          "5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n",
                 .piece = 1});
  const Listener listener = Send(access);
  EXPECT_TRUE(listener.end.ok()) << listener.end;
  EXPECT_EQ(listener.heads, 1);
  EXPECT_EQ(listener.body, "hello, world");
}

TEST_F(ApiClientTest, UntilTheConnectionEnds) {
  server.Answer({"HTTP/1.1 200 OK\r\n\r\nabc"});
  const Listener listener = Send(access);
  EXPECT_TRUE(listener.end.ok()) << listener.end;
  EXPECT_EQ(listener.body, "abc");
}

TEST_F(ApiClientTest, ALongAnswer) {
  const std::string body(5'000'000, 'x');
  server.Answer({"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n" + body});
  const Listener listener = Send(access);
  EXPECT_TRUE(listener.end.ok()) << listener.end;
  EXPECT_EQ(listener.body, body);
}

TEST_F(ApiClientTest, ALongRequest) {
  HttpRequest request = Get();
  request.body = std::string(3'000'000, 'x');
  server.Answer({kOkAnswer});
  Listener listener;
  Send(access, listener, request);
  EXPECT_TRUE(listener.end.ok()) << listener.end;
  EXPECT_TRUE(server.requests()[0].ends_with(request.body));
}

TEST_F(ApiClientTest, WithoutBody) {
  for (const bool typed : {false, true}) {
    HttpRequest request = Get();
    if (typed) request.content_type = "text/x";
    server.Answer({kOkAnswer});
    Listener listener;
    Send(access, listener, request);
    EXPECT_TRUE(listener.end.ok()) << listener.end;
    EXPECT_THAT(server.requests().back(),
                HasSubstr(typed ? "\r\nContent-Type: text/x\r\nContent-Length: 0\r\n"
                                : "\r\nAccept: application/json\r\nConnection: close\r\n\r\n"));
  }
}

TEST_F(ApiClientTest, Broken) {
  struct Row {
    const char* description;
    testing::ScriptedAnswer answer;
    const char* reason;
  };
  for (const Row& row : {
           Row{"cut",
               {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"},
               "before the end of its answer"},
           // "the connection broke: connection reset"; Wine's sockets may forget why they ended.
           Row{"reset",
               {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
               .ending = Ending::kReset},
               "the connection"},
           Row{"no answer", {.bytes = ""}, "closed the connection without an answer"},
           Row{"garbage",
               {.bytes = "220 smtp.example ESMTP\r\n", .ending = Ending::kHold},
               "the answer is not HTTP/1.1"},
           Row{"a head without end",
               {.bytes = "HTTP/1.1 200 OK\r\nA: " + std::string(100'000, 'x'),
               .ending = Ending::kHold},
               "its head is longer than 64 KiB"},
       }) {
    SCOPED_TRACE(row.description);
    server.Answer(row.answer);
    const Listener listener = Send(access);
    EXPECT_EQ(listener.end.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(listener.error(),
                AllOf(HasSubstr("http://127.0.0.1:" + std::to_string(server.port()) + " (test): "),
                      HasSubstr(row.reason)));
    EXPECT_EQ(listener.ends, 1);
  }
}

// It closes while it is sent more than any system buffers for it.
TEST_F(ApiClientTest, CutBeforeTheRequestIsSent) {
  std::optional<Server> leaving(std::in_place, io, Server::Options{.silent = true});
  ApiClient client(io, To(leaving->port(), /*tls=*/false), "x");
  HttpRequest request = Get();
  request.body = std::string(32 << 20, 'x');
  Listener listener;
  const auto exchange = client.Start(request, listener);
  RunUntil([&] { return leaving->connections() == 1; });
  leaving.reset();
  RunUntil([&] { return listener.ends > 0; });
  EXPECT_EQ(listener.end.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(listener.error(), HasSubstr("the connection broke: "));
}

// A vSwitch that comes up cuts open connections: the next exchange has a new one.
TEST_F(ApiClientTest, AfterADeadConnectionTheNextSucceeds) {
  ApiClient client(io, access, "x");
  for (const bool dead : {true, false}) {
    server.Answer(
        {.bytes = dead ? "" : kOkAnswer, .ending = dead ? Ending::kReset : Ending::kClose});
    Listener listener;
    const auto exchange = client.Start(Get(), listener);
    RunUntil([&] { return listener.ends > 0; });
    EXPECT_EQ(listener.end.ok(), !dead) << listener.end;
  }
}

TEST_F(ApiClientTest, NoServerListens) {
  boost::asio::ip::tcp::acceptor closed(io, {boost::asio::ip::address_v4::loopback(), 0});
  access.port = closed.local_endpoint().port();
  closed.close();
  const Listener listener = Send(access);
  EXPECT_EQ(listener.end.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(listener.error(),
              AllOf(HasSubstr("(test): connection refused; check that the API server runs"),
                    HasSubstr("the Service kubernetes, that kube-proxy runs on this node")));
  access.proxy = Proxy{"127.0.0.1", access.port, "", ""};
  EXPECT_THAT(Send(access).error(),
              HasSubstr("(test): proxy 127.0.0.1:" + std::to_string(access.port) +
                        ": connection refused; check that it runs and that no firewall"));
}

// RFC 6761: "invalid" never has an address.
TEST_F(ApiClientTest, ANameWithoutAddress) {
  access.host = "weft.invalid";
  const Listener listener = Send(access);
  EXPECT_EQ(listener.end.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(listener.error(), HasSubstr("no address of weft.invalid can be found: "));
}

// "localhost" may be ::1 too, which has no listener: then the next address is tried.
TEST_F(ApiClientTest, EveryAddressIsTried) {
  access.host = "localhost";
  server.Answer({kOkAnswer});
  const Listener listener = Send(access);
  EXPECT_TRUE(listener.end.ok()) << listener.end;
  EXPECT_EQ(listener.body, "ok");
}

TEST_F(ApiClientTest, TheAddressUsedIsKnownAfterwardsALiteralAtOnce) {
  server.Answer({kOkAnswer});
  access.host = "localhost";
  ApiClient client(io, access, "flanneld/test");
  EXPECT_TRUE(client.ServerAddresses().empty());
  Listener listener;
  const auto exchange = client.Start(Get(), listener);
  RunUntil([&listener] { return listener.ends > 0; });
  EXPECT_EQ(client.ServerAddresses(), std::vector{*IpAddress::Parse("127.0.0.1")});

  server.Answer({kOkAnswer});
  access.host = "192.0.2.1";
  access.proxy = Proxy{"127.0.0.1", server.port(), "", ""};
  ApiClient literal(io, access, "flanneld/test");
  EXPECT_EQ(literal.ServerAddresses(), std::vector{*IpAddress::Parse("192.0.2.1")});
  Listener second;
  const auto other = literal.Start(Get(), second);
  RunUntil([&second] { return second.ends > 0; });
  EXPECT_EQ(literal.ServerAddresses(),
            (std::vector{*IpAddress::Parse("192.0.2.1"), *IpAddress::Parse("127.0.0.1")}));
}

TEST_F(ApiClientTest, AnIpv6Literal) {
  Server six(io, {.address = "::1"});
  access.host = "::1";
  access.port = six.port();
  six.Answer({kOkAnswer});
  const Listener listener = Send(access);
  EXPECT_TRUE(listener.end.ok()) << listener.end;
  EXPECT_THAT(six.requests()[0],
              HasSubstr("\r\nHost: [::1]:" + std::to_string(six.port()) + "\r\n"));
}

TEST_F(ApiClientTest, EachExchangeHasItsOwnConnection) {
  for (int i = 1; i <= 3; ++i) {
    server.Answer({kOkAnswer});
    EXPECT_TRUE(Send(access).end.ok());
    EXPECT_EQ(server.connections(), i);
  }
}

TEST_F(ApiClientTest, NothingIsReportedBeforeStartReturns) {
  Listener listener;
  access.token.file = "/nowhere/token";  // fails at once
  ApiClient client(io, access, "x");
  const auto exchange = client.Start(Get(), listener);
  EXPECT_EQ(listener.ends, 0);
  RunUntil([&] { return listener.ends > 0; });
}

TEST_F(ApiClientTest, ADestroyedExchangeReportsNothing) {
  Listener listener;
  server.Answer({.bytes = kOkAnswer, .ending = Ending::kHold});
  ApiClient client(io, access, "x");
  auto exchange = client.Start(Get(), listener);
  exchange.reset();
  exchange = client.Start(Get(), listener);
  RunUntil([&] { return server.connections() == 1; });
  exchange.reset();
  RunUntil([&] { return server.open_connections() == 0; });
  EXPECT_EQ(listener.heads + listener.pieces + listener.ends, 0);
}

TEST_F(ApiClientTest, DestroyedWithinEachCall) {
  ApiClient client(io, access, "x");
  for (int when = 0; when < 3; ++when) {
    SCOPED_TRACE(when);
    Listener listener;
    server.Answer(
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
         "1\r\na\r\n1\r\nb\r\n0\r\n\r\n"});
    auto exchange = client.Start(Get(), listener);
    bool destroyed = false;
    auto destroy = [&] {
      exchange.reset();
      destroyed = true;
    };
    (when == 0 ? listener.on_head : when == 1 ? listener.on_body : listener.on_end) = destroy;
    RunUntil([&] { return destroyed; });
    RunUntil([&] { return server.open_connections() == 0; });
    EXPECT_EQ(listener.heads, 1);
    EXPECT_EQ(listener.pieces, when == 0 ? 0 : when == 1 ? 1 : 2);
    EXPECT_EQ(listener.ends, when == 2 ? 1 : 0);
  }
}

// The process ends while a connection is being made.
TEST_F(ApiClientTest, TheLoopEndsInTheMiddle) {
  Listener listener;
  auto own_io = std::make_unique<boost::asio::io_context>();
  Server held(*own_io, {.silent = true});
  ApiClient client(*own_io, To(held.port(), /*tls=*/true), "x");
  const auto exchange = client.Start(Get(), listener);
  while (held.connections() == 0) own_io->run_one();
  EXPECT_EQ(listener.ends, 0);
}

TEST_F(ApiClientTest, AnAnswerThatDoesNotCome) {
  Listener listener;
  server.Answer({.bytes = "HTTP/1.1 200 OK\r\n", .ending = Ending::kHold});
  ApiClient client(io, access, "x");
  const auto exchange = client.Start(Get(), listener, std::chrono::milliseconds(50));
  RunUntil([&] { return listener.ends > 0; });
  EXPECT_EQ(listener.end.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(listener.error(), HasSubstr("no complete answer within 0.05 s"));
}

// The dial limit is over once the request is sent.
TEST_F(ApiClientTest, AWatchIsNotLimited) {
  Listener listener;
  server.Answer({.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
                 .ending = Ending::kHold});
  ApiClient client(io, access, "x", std::chrono::milliseconds(200));
  const auto exchange = client.Start(Get(), listener);
  RunUntil([&] { return listener.pieces > 0; });
  io.run_for(std::chrono::milliseconds(250));
  EXPECT_EQ(listener.ends, 0);
}

// What follows `name` in the line of a request's head, or "none".
std::string FieldOf(const std::string& request, const std::string& name) {
  const std::size_t at = request.find(name);
  if (at == std::string::npos) return "none";
  const std::size_t begin = at + name.size();
  return request.substr(begin, request.find('\r', begin) - begin);
}

TEST_F(ApiClientTest, BasicAuthentication) {
  struct Row {
    const char* username;
    const char* password;
    const char* sent;
  };
  for (const Row& row : {
           Row{"admin", "s3cret", "Basic YWRtaW46czNjcmV0"},
           Row{"admin", "", "Basic YWRtaW46"},
           Row{"", "s3cret", "Basic OnMzY3JldA=="},
           Row{"", "", "none"},
       }) {
    SCOPED_TRACE(row.sent);
    ClusterAccess direct = access;
    direct.username = row.username;
    direct.password = row.password;
    server.Answer({kOkAnswer});
    EXPECT_TRUE(Send(direct).end.ok());
    EXPECT_EQ(FieldOf(server.requests().back(), "\r\nAuthorization: "), row.sent);
    ClusterAccess by_proxy = access;
    by_proxy.proxy = Proxy{"127.0.0.1", server.port(), row.username, row.password};
    server.Answer({kOkAnswer});
    EXPECT_TRUE(Send(by_proxy).end.ok());
    EXPECT_EQ(FieldOf(server.requests().back(), "\r\nProxy-Authorization: "), row.sent);
  }
}

TEST_F(ApiClientTest, APlainResourceIsRequestedFromTheProxy) {
  access.proxy = Proxy{"127.0.0.1", server.port(), "u", "p"};
  access.host = "api.invalid";
  access.port = 8080;
  server.Answer({kOkAnswer});
  EXPECT_TRUE(Send(access).end.ok());
  EXPECT_THAT(server.requests()[0],
              AllOf(HasSubstr("GET http://api.invalid:8080/api/v1/nodes HTTP/1.1\r\n"),
                    HasSubstr("\r\nHost: api.invalid:8080\r\n"),
                    HasSubstr("\r\nProxy-Authorization: Basic dTpw\r\n")));
}

TEST_F(ApiClientTest, Describes) {
  access.host = "fd00::1";
  access.port = 6443;
  access.tls = true;
  access.token.text = access.password = "s3cret";
  EXPECT_EQ(ApiClient(io, access, "x").Describe(), "https://[fd00::1]:6443 (test)");
}

}  // namespace
}  // namespace weft::kube
