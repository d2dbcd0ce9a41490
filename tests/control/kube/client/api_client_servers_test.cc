// SPDX-License-Identifier: Apache-2.0
// Several API servers over real sockets: which one gets the next request.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/control/kube/client/client_fixture.h"

namespace weft::kube {
namespace {

using ::testing::AllOf;
using testing::Authority;
using testing::Ending;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ApiClientServersTest : public ClientFixture {
 protected:
  static std::string Answer(int status, const std::string& fields = "",
                            const std::string& type = "application/json") {
    return absl::StrCat("HTTP/1.1 ", status, " x\r\nContent-Length: 2\r\nContent-Type: ", type,
                        "\r\n", fields, "\r\nok");
  }
  ClusterServers Both() const {
    ClusterServers both;
    both.servers = {To(first.port(), false), To(second.port(), false)};
    return both;
  }
  Listener Request(ApiClient& client, const std::string& target = "/api/v1/nodes?watch=1") {
    Listener listener;
    const auto exchange = client.Start(Get(target), listener);
    RunUntil([&] { return listener.ends > 0; });
    return listener;
  }
  // A port on which no server listens.
  std::uint16_t ClosedPort() { return Server(io, {}).port(); }

  Server first{io, {}}, second{io, {}};
};

TEST_F(ApiClientServersTest, TheAnswerDecidesWhetherAnotherServerIsUsed) {
  for (const int status : {200, 304, 400, 401, 403, 409, 410, 422, 429, 501}) {
    ApiClient client(io, Both(), "x");
    first.Answer({Answer(status)});
    Request(client);
    EXPECT_TRUE(client.Servers()[0].in_use) << status;
  }
  for (const int status : {500, 502, 503, 504}) {
    ApiClient client(io, Both(), "x");
    first.Answer({Answer(status)});
    EXPECT_EQ(Request(client).head.status, status);
    EXPECT_EQ(client.Servers()[0].text, absl::StrCat("failed: it answers ", status));
    EXPECT_TRUE(client.Servers()[1].in_use) << status;
  }
}

TEST_F(ApiClientServersTest, WhatIsNoApiServersAnswerIsAFailure) {
  const struct {
    const char* description;
    std::string answer;
    const char* target;
    const char* text;
  } rows[] = {
      {"a proxy's page", Answer(200, "", "text/html; charset=utf-8"), "/api/v1/nodes?watch=1",
       "failed: it answers 200 with the Content-Type \"text/html; charset=utf-8\", not the API's"},
      {"a proxy's page instead of a Pod", Answer(200, "", "text/plain"),
       "/api/v1/namespaces/a/pods/b",
       "failed: it answers 200 with the Content-Type \"text/plain\", not the API's"},
      {"another path", Answer(404), "/api/v1/nodes", "failed: it answers 404 for /api/v1/nodes"},
      {"a Node that does not exist", Answer(404), "/api/v1/nodes/a", "in use"},
      {"protobuf", Answer(200, "", "application/vnd.kubernetes.protobuf;stream=watch"),
       "/api/v1/nodes?watch=1", "in use"},
      {"busy", Answer(503, "Retry-After: 1\r\n"), "/api/v1/nodes?watch=1", "in use"},
  };
  for (const auto& row : rows) {
    ApiClient client(io, Both(), "x");
    first.Answer({row.answer});
    Request(client, row.target);
    EXPECT_EQ(client.Servers()[0].text, row.text) << row.description;
  }
}

// Only the list-and-watch knows when a piece of its answer is due.
TEST_F(ApiClientServersTest, TheReceiverOfAnAnswerMayReportAFailure) {
  ApiClient client(io, Both(), "x");
  first.Answer({.bytes = Answer(200).substr(0, 70), .ending = Ending::kHold});
  Listener listener;
  auto exchange = client.Start(Get(), listener);
  RunUntil([&] { return listener.heads > 0; });
  exchange->Fail("no byte for 30 s within its answer");
  exchange.reset();
  EXPECT_EQ(client.Servers()[0].text, "failed: no byte for 30 s within its answer");
  EXPECT_TRUE(client.Servers()[1].in_use);
}

// As of a call, which has a limit for the whole answer.
TEST_F(ApiClientServersTest, AnAnswerThatDoesNotEndInTimeIsAFailure) {
  ApiClient client(io, Both(), "x");
  first.Answer({.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{",
                .ending = Ending::kHold});
  Listener listener;
  const auto exchange = client.Start(Get(), listener, std::chrono::milliseconds(300));
  RunUntil([&] { return listener.ends > 0; });
  EXPECT_THAT(client.Servers()[0].text, HasSubstr("no complete answer within 0.3 s"));
  EXPECT_TRUE(client.Servers()[1].in_use);
}

// 10 s for the connection, 30 s for the begin of the answer.
TEST_F(ApiClientServersTest, OfSeveralNoneHasMoreTimeForTheBeginOfItsAnswer) {
  EXPECT_EQ(ApiClient::kDialLimitOfSeveral, std::chrono::seconds(10));
  EXPECT_EQ(ApiClient::kHeadLimitOfSeveral, 3);
  ApiClient client(io, Both(), "x", std::chrono::milliseconds(100));
  first.Answer({.bytes = "", .ending = Ending::kHold});
  const Listener listener = Request(client);
  EXPECT_EQ(listener.end.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(client.Servers()[0].text, "failed: no answer within 0.3 s");
  EXPECT_TRUE(client.Servers()[1].in_use);

  second.Answer({.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
                 .ending = Ending::kHold});
  Listener begun;
  auto watch = client.Start(Get(), begun);
  RunUntil([&] { return begun.heads > 0; });
  io.run_for(std::chrono::milliseconds(400));
  EXPECT_EQ(begun.ends, 0) << "a watch lasts longer";
  watch.reset();
  EXPECT_TRUE(client.Servers()[1].in_use);

  ApiClient single(io, To(second.port(), false), "x", std::chrono::milliseconds(100));
  second.Answer({.bytes = "", .ending = Ending::kHold});
  Listener patient;
  const auto exchange = single.Start(Get(), patient);
  RunUntil([&] { return !second.requests().empty(); });
  io.run_for(std::chrono::milliseconds(400));
  EXPECT_EQ(patient.ends, 0) << "there is no other to ask";
}

// After a restore of etcd another server may still have the former, higher versions in its cache.
TEST_F(ApiClientServersTest, AServerThatIsBehindTheRequestedVersionStaysInUse) {
  const std::string text =
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","code":504,)"
      R"("details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}})";
  const std::string answer = absl::StrCat(
      "HTTP/1.1 504 x\r\nContent-Type: application/json\r\nContent-Length: ", text.size(),
      "\r\nRetry-After: 1\r\n\r\n", text);
  ApiClient client(io, Both(), "x");
  first.Answer({answer});
  const Listener listener = Request(client);
  EXPECT_EQ(listener.body, text);
  EXPECT_EQ(listener.head.retry_after, std::chrono::seconds(1));
  EXPECT_EQ(client.Servers()[0].text, "in use");

  // A request that is given up during such an answer, as the list-and-watch does.
  first.Answer({.bytes = answer.substr(0, answer.size() - 40), .ending = Ending::kHold});
  Listener cut;
  auto exchange = client.Start(Get(), cut);
  RunUntil([&] { return !cut.body.empty(); });
  exchange.reset();
  EXPECT_EQ(client.Servers()[0].text, "failed: it answers 504");
  EXPECT_TRUE(client.Servers()[1].in_use);
}

// The list-and-watch would wait for the time that a broken server names.
TEST_F(ApiClientServersTest, RetryAfterOfAServerThatIsNotUsedAnyMoreIsNotReported) {
  const std::string fields = "Retry-After: 240\r\n";
  ApiClient client(io, Both(), "x");
  first.Answer({Answer(502, fields)});
  EXPECT_FALSE(Request(client).head.retry_after);
  ApiClient single(io, To(first.port(), false), "x");
  first.Answer({Answer(502, fields)});
  EXPECT_EQ(Request(single).head.retry_after, std::chrono::seconds(240));
}

TEST_F(ApiClientServersTest, AServerThatCannotBeReachedIsReplacedAndThatIsLoggedOnce) {
  ClusterServers both = Both();
  both.servers[0].port = ClosedPort();
  ApiClient client(io, both, "x");
  std::vector<std::string> log;
  client.OnSwitch([&](const std::string& sentence) { log.push_back(sentence); });
  Listener listener;
  const auto exchange = client.Start(Get(), listener);
  EXPECT_EQ(Request(client).end.code(), absl::StatusCode::kUnavailable);
  RunUntil([&] { return listener.ends > 0; });
  for (int i = 0; i < 3; ++i) {
    second.Answer({Answer(200)});
    EXPECT_EQ(Request(client).body, "ok");
  }
  EXPECT_THAT(second.requests(), SizeIs(3));
  ASSERT_THAT(log, SizeIs(1));
  EXPECT_THAT(log[0], AllOf(HasSubstr(absl::StrCat("http://127.0.0.1:", both.servers[0].port,
                                                   " (test) failed: connection refused")),
                            HasSubstr(absl::StrCat("http://127.0.0.1:", second.port(),
                                                   " (test) is used from now on"))));
}

TEST_F(ApiClientServersTest, BackToTheFirstWhenTheSecondFails) {
  ApiClient client(io, Both(), "x");
  first.Answer({Answer(503)});
  Request(client);
  second.Answer({Answer(503)});
  Request(client);
  first.Answer({Answer(200)});
  EXPECT_EQ(Request(client).body, "ok");
  EXPECT_THAT(first.requests(), SizeIs(2));
}

TEST_F(ApiClientServersTest, AnAnswerThatIsCutSoonIsAFailure) {
  ApiClient client(io, Both(), "x");
  first.Answer({"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nok"});
  EXPECT_FALSE(Request(client).end.ok());
  EXPECT_TRUE(client.Servers()[1].in_use);
}

TEST_F(ApiClientServersTest, NoAnswerInTimeIsAFailure) {
  ApiClient client(io, Both(), "x", std::chrono::milliseconds(300));
  first.Answer({.bytes = "", .ending = Ending::kHold});
  Listener listener;
  auto exchange = client.Start(Get(), listener);
  RunUntil([&] { return !first.requests().empty(); });
  io.run_for(std::chrono::milliseconds(650));
  exchange.reset();  // as the list-and-watch does
  EXPECT_THAT(client.Servers()[0].text, HasSubstr("no answer within"));
  EXPECT_TRUE(client.Servers()[1].in_use);
}

TEST_F(ApiClientServersTest, ARequestThatIsNotNeededAnyMoreIsNoFailure) {
  ApiClient client(io, Both(), "x");
  first.Answer({.bytes = "", .ending = Ending::kHold});
  Listener listener;
  auto exchange = client.Start(Get(), listener);
  RunUntil([&] { return !first.requests().empty(); });
  exchange.reset();
  EXPECT_TRUE(client.Servers()[0].in_use);
  ApiClient hurried(io, Both(), "x", std::chrono::milliseconds(0));
  exchange = hurried.Start(Get(), listener);
  exchange.reset();
  EXPECT_TRUE(hurried.Servers()[0].in_use) << "it was not even begun";
}

TEST_F(ApiClientServersTest, CredentialsThatCannotBeReadAreNotTheServersFailure) {
  ClusterServers both = Both();
  for (ClusterAccess& each : both.servers) each.token.file = "/nowhere/token";
  ApiClient client(io, both, "x");
  EXPECT_EQ(Request(client).end.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_TRUE(client.Servers()[0].in_use);
}

TEST_F(ApiClientServersTest, TheAddressesOfAllAreKnown) {
  ClusterServers both;
  both.servers = {To(1, false), To(2, false), To(3, false)};
  both.servers[0].host = both.servers[2].host = "192.0.2.1";
  both.servers[1].host = "192.0.2.2";
  EXPECT_EQ(ApiClient(io, both, "x").ServerAddresses(),
            (std::vector{*IpAddress::Parse("192.0.2.1"), *IpAddress::Parse("192.0.2.2")}));
}

// ---- the address in the kubelet's kubeconfig

class FallbackTest : public ApiClientServersTest {
 protected:
  ClusterAccess Own(std::uint16_t port) const {
    ClusterAccess access = To(port, true);
    access.certificate_authority.text = authority.certificate();
    access.token.text = "our-token";
    return access;
  }
  // The service does not answer; `port` is what the kubelet's kubeconfig names.
  ClusterServers InCluster(std::uint16_t port) {
    ClusterServers servers(Own(ClosedPort()));
    servers.fallback_name = "the file's";
    servers.fallback = [this, port]() -> absl::StatusOr<ClusterAccess> {
      if (!error.ok()) return error;
      return Own(port);
    };
    return servers;
  }

  Authority authority, other{"other"};
  absl::Status error;
};

TEST_F(FallbackTest, TheAddressIsUsedWhenTheServiceDoesNotAnswer) {
  Server server(io, {.identity = authority.IssueServer({"127.0.0.1"})});
  server.Answer({Answer(200)});
  ApiClient client(io, InCluster(server.port()), "x");
  EXPECT_EQ(client.Servers()[1].server, "the file's");
  EXPECT_FALSE(Request(client).end.ok());
  EXPECT_EQ(Request(client).body, "ok");
  EXPECT_THAT(server.requests()[0], HasSubstr("Authorization: Bearer our-token\r\n"));
  EXPECT_THAT(client.Describe(), HasSubstr(absl::StrCat("https://127.0.0.1:", server.port())));
}

TEST_F(FallbackTest, AServerThatAnotherCaProvesGetsNothing) {
  Server server(io, {.identity = other.IssueServer({"127.0.0.1"})});
  server.Answer({Answer(200)});
  ApiClient client(io, InCluster(server.port()), "x");
  Request(client);
  const Listener refused = Request(client);
  EXPECT_THAT(refused.error(), HasSubstr("cannot be verified with"));
  EXPECT_THAT(server.requests(), IsEmpty());
  EXPECT_TRUE(client.Servers()[0].in_use) << "the service is tried again";
  EXPECT_THAT(client.Servers()[1].text, HasSubstr("cannot be verified with"));
}

TEST_F(FallbackTest, AServerWhoseCertificateHasAnotherNameGetsNothing) {
  Server server(io, {.identity = authority.IssueServer({"192.0.2.9"})});
  server.Answer({Answer(200)});
  ApiClient client(io, InCluster(server.port()), "x");
  Request(client);
  EXPECT_THAT(Request(client).error(),
              HasSubstr("certificate is for 192.0.2.9, not for 127.0.0.1"));
  EXPECT_THAT(server.requests(), IsEmpty());
}

TEST_F(FallbackTest, WithoutAUsableFileTheServiceIsTriedAgain) {
  Server server(io, {.identity = authority.IssueServer({"127.0.0.1"})});
  error = absl::NotFoundError("the kubelet's kubeconfig /k cannot be opened");
  ApiClient client(io, InCluster(server.port()), "x");
  Request(client);
  EXPECT_TRUE(client.Servers()[0].in_use);
  EXPECT_EQ(client.Servers()[1].text, "failed: the kubelet's kubeconfig /k cannot be opened");
  error = absl::OkStatus();
  server.Answer({Answer(200)});
  Request(client);
  EXPECT_EQ(Request(client).body, "ok");
}

// The kubelet depends on that address too, and a probe of the service would be another load.
TEST_F(FallbackTest, TheAddressIsKeptWhileItWorks) {
  Server service(io, {.identity = authority.IssueServer({"127.0.0.1"})});
  Server server(io, {.identity = authority.IssueServer({"127.0.0.1"})});
  ClusterServers servers = InCluster(server.port());
  servers.servers[0].port = service.port();
  ApiClient client(io, servers, "x");
  service.Answer({Answer(503)});
  Request(client);
  for (int i = 0; i < 3; ++i) {
    server.Answer({Answer(200)});
    EXPECT_EQ(Request(client).body, "ok");
  }
  EXPECT_THAT(service.requests(), SizeIs(1));
  server.Answer({Answer(503)});
  Request(client);
  service.Answer({Answer(200)});
  EXPECT_EQ(Request(client).body, "ok") << "the service, when the address fails";
}

}  // namespace
}  // namespace weft::kube
