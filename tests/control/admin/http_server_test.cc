// SPDX-License-Identifier: Apache-2.0
// The server against clients that behave and clients that do not, over the local endpoint and TCP.
#include "control/admin/http_server.h"

#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "control/admin/byte_stream.h"
#include "control/admin/http_codec.h"
#include "control/admin/local_connection.h"
#include "gmock/gmock.h"
#include "tests/control/admin/running_server.h"
#include "tests/support/wait.h"

namespace weft::admin {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

Response Echo(const Request& request) { return {.body = request.path + "\n"}; }

std::unique_ptr<LocalConnection> Connect(const RunningServer& server) {
  auto connection = ConnectLocal(server.endpoint(), 30s);
  EXPECT_TRUE(connection.ok()) << connection.status();
  return *std::move(connection);
}

// Bytes until the end or an error; a close by the server is either, depending on the system.
std::size_t ReadToEnd(LocalConnection& connection) {
  std::array<char, 4096> buffer;
  std::size_t all = 0;
  for (;;) {
    const absl::StatusOr<std::size_t> size = connection.Read(buffer);
    if (!size.ok() || *size == 0) return all;
    all += *size;
  }
}

TEST(HttpServerTest, AnswersOverTheLocalEndpoint) {
  RunningServer server(Echo);
  EXPECT_EQ(RawExchange(server.endpoint(), WriteRequest("/hello")),
            WriteResponse({.body = "/hello\n"}, false));
}

TEST(HttpServerTest, AnswersOverTcp) {
  RunningServer server(Echo);
  EXPECT_EQ(RawTcpExchange(server.tcp_port(), WriteRequest("/healthz")),
            WriteResponse({.body = "/healthz\n"}, false));
}

TEST(HttpServerTest, AnswersHeadWithoutBody) {
  RunningServer server(Echo);
  EXPECT_EQ(RawExchange(server.endpoint(), "HEAD /x HTTP/1.1\r\nHost: x\r\n\r\n"),
            WriteResponse({.body = "/x\n"}, true));
}

TEST(HttpServerTest, RefusesWhatItDoesNotServe) {
  RunningServer server(Echo, {.header_bytes = 512});
  const std::pair<std::string, const char*> rows[] = {
      {"\x16\x03\x01\r\n\r\n", "HTTP/1.1 400 "},
      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 405 "},
      {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 413 "},
      {"GET /" + std::string(4096, 'x') + " HTTP/1.1\r\n\r\n", "HTTP/1.1 431 "},
      {"GET / HTTP/3.0\r\nHost: x\r\n\r\n", "HTTP/1.1 505 "},
  };
  for (const auto& [bytes, answer] : rows) {
    EXPECT_THAT(RawExchange(server.endpoint(), bytes), StartsWith(answer));
    EXPECT_THAT(RawTcpExchange(server.tcp_port(), bytes), StartsWith(answer));
  }
  EXPECT_THAT(RawExchange(server.endpoint(), WriteRequest("/still-there")), HasSubstr(" 200 "));
}

TEST(HttpServerTest, AnExceptionOfAHandlerIsAnInternalError) {
  RunningServer server([](const Request&) -> Response { throw std::runtime_error("secret"); });
  const std::string answer = RawExchange(server.endpoint(), WriteRequest("/"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(answer, ::testing::Not(HasSubstr("secret")));
}

TEST(HttpServerTest, CutsAClientThatSendsTooSlowly) {
  RunningServer server(Echo, {.deadline = 30ms});
  const auto silent = Connect(server);
  const auto slow = Connect(server);
  ASSERT_TRUE(slow->Write("GET / HT").ok());
  EXPECT_EQ(ReadToEnd(*slow), 0u);
  EXPECT_EQ(ReadToEnd(*silent), 0u);
}

TEST(HttpServerTest, CutsAClientThatDoesNotTakeItsAnswer) {
  constexpr std::size_t kMuch = 64 << 20;
  RunningServer server([](const Request&) { return Response{.body = std::string(kMuch, 'x')}; },
                       {.deadline = 30ms});
  const auto client = Connect(server);
  ASSERT_TRUE(client->Write(WriteRequest("/")).ok());
  // The first bytes show that the answer has begun; a second client that the deadline has passed
  // twice by the time it is served and cut.
  std::array<char, 1> first;
  ASSERT_TRUE(client->Read(first).ok());
  for (int i = 0; i < 2; ++i) {
    const auto other = Connect(server);
    EXPECT_EQ(ReadToEnd(*other), 0u);
  }
  EXPECT_LT(ReadToEnd(*client), kMuch);
}

// A pod that opens connections and sends nothing does not block other clients.
TEST(HttpServerTest, AboveTheLimitTheOldestThatWaitsForItsClientIsCut) {
  RunningServer server(Echo, {.connections = 4, .deadline = 60s});
  std::vector<std::unique_ptr<LocalConnection>> idle;
  for (int i = 0; i < 40; ++i) {
    idle.push_back(Connect(server));
    if (i % 3 == 1) ASSERT_TRUE(idle.back()->Write("GET / HT").ok());             // half a request
    if (i % 3 == 2) ASSERT_TRUE(idle.back()->Write(WriteRequest("/done")).ok());  // and stays
  }
  EXPECT_THAT(RawExchange(server.endpoint(), WriteRequest("/")), StartsWith("HTTP/1.1 200 "));
  // The first was cut long ago, and not by the deadline.
  const testing::Wait wait(10s);
  EXPECT_EQ(ReadToEnd(*idle.front()), 0u);
  EXPECT_TRUE(wait.Ended());
}

TEST(HttpServerTest, ThousandsOfIdleConnectionsDoNotBlockNewOnes) {
  RunningServer server(Echo, {.connections = 128, .deadline = 60s});
  std::vector<std::unique_ptr<LocalConnection>> idle;
  for (int i = 0; i < 600; ++i) {
    idle.push_back(Connect(server));
    if (i % 50 != 0) continue;
    EXPECT_THAT(RawTcpExchange(server.tcp_port(), WriteRequest("/healthz")),
                StartsWith("HTTP/1.1 200 "));
  }
}

TEST(HttpServerTest, AConnectionIsRefusedWhileAllAreOnHold) {
  std::atomic<int> asked = 0;
  RunningServer server(
      [&](const Request& request) {
        ++asked;
        Response response{.body = "late\n"};
        if (request.path == "/hold") response.hold = 60s;
        return response;
      },
      {.connections = 2});
  const auto first = Connect(server), second = Connect(server);
  ASSERT_TRUE(first->Write(WriteRequest("/hold")).ok());
  ASSERT_TRUE(second->Write(WriteRequest("/hold")).ok());
  while (asked < 2) std::this_thread::yield();
  EXPECT_THAT(RawExchange(server.endpoint(), WriteRequest("/")), StartsWith("HTTP/1.1 503 "));
  server.Do([](HttpServer& s) { s.Close(); });
}

// flannelctl as root may request all leases at any rate; a client that does not read is cut.
TEST(HttpServerTest, UnreadResponsesAreBounded) {
  constexpr std::size_t kEach = 4 << 20;
  RunningServer server([](const Request&) { return Response{.body = std::string(kEach, 'x')}; },
                       {.connections = 64, .response_bytes = 3 * kEach, .deadline = 60s});
  std::vector<std::unique_ptr<LocalConnection>> readers;
  std::array<char, 1> first;
  for (int i = 0; i < 8; ++i) {
    readers.push_back(Connect(server));
    ASSERT_TRUE(readers.back()->Write(WriteRequest("/")).ok());
    ASSERT_TRUE(readers.back()->Read(first).ok());
  }
  EXPECT_LT(ReadToEnd(*readers.front()), kEach) << "cut";
  EXPECT_GE(ReadToEnd(*readers.back()), kEach) << "the last one is served";
}

TEST(HttpServerTest, AnyMethodReachesTheHandlerWhereEnabled) {
  RunningServer server([](const Request& request) { return Response{.body = request.method}; },
                       {.any_method = true});
  for (const char* request :
       {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        "OPTIONS /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "PUT / HTTP/1.1\r\nHost: x\r\n\r\n"})
    EXPECT_THAT(RawTcpExchange(server.tcp_port(), request), StartsWith("HTTP/1.1 200 ")) << request;
}

// Does something before each Accept.
class Meddling final : public Listener {
 public:
  Meddling(std::shared_ptr<Listener> behind, std::function<Listener*()> before)
      : behind_(std::move(behind)), before_(std::move(before)) {}
  boost::asio::awaitable<std::shared_ptr<ByteStream>> Accept() override {
    Listener* const other = before_();
    return (other ? other : behind_.get())->Accept();
  }
  void Close() override { behind_->Close(); }
  std::uint16_t port() const override { return behind_->port(); }

 private:
  const std::shared_ptr<Listener> behind_;
  const std::function<Listener*()> before_;  // whose Accept it is; null: that of `behind`
};

// No memory or no descriptors, for a moment.
TEST(HttpServerTest, AnAcceptThatFailsDoesNotEndTheServer) {
  boost::asio::io_context io;
  HttpServer server(io, Echo);
  const auto listener = OpenTcpListener(io, "127.0.0.1", 0);
  const auto closed = OpenTcpListener(io, "127.0.0.1", 0);
  ASSERT_TRUE(listener.ok() && closed.ok()) << listener.status() << closed.status();
  (*closed)->Close();
  int accepted = 0;
  const auto port = server.ListenOn(std::make_shared<Meddling>(*listener, [&]() -> Listener* {
    if (++accepted % 3 == 1) throw std::bad_alloc();
    return accepted % 3 == 2 ? closed->get() : nullptr;
  }));
  ASSERT_TRUE(port.ok());
  std::thread thread([&] { io.run(); });
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(RawTcpExchange(*port, WriteRequest("/")), StartsWith("HTTP/1.1 200 "));
  boost::asio::post(io, [&] { server.Close(); });
  thread.join();
}

TEST(HttpServerTest, AConnectionThatArrivesDuringCloseIsCut) {
  boost::asio::io_context io;
  HttpServer server(io, Echo, {.deadline = 60s});
  const auto listener = OpenTcpListener(io, "127.0.0.1", 0);
  const auto late = OpenTcpListener(io, "127.0.0.1", 0);
  ASSERT_TRUE(listener.ok() && late.ok()) << listener.status() << late.status();
  const auto port = server.ListenOn(std::make_shared<Meddling>(*listener, [&] {
    server.Close();
    return late->get();
  }));
  ASSERT_TRUE(port.ok());
  const testing::Wait wait(10s);
  std::thread thread([&] { io.run(); });
  EXPECT_EQ(RawTcpExchange((*late)->port(), ""), "");
  EXPECT_TRUE(wait.Ended());
  thread.join();
}

TEST(HttpServerTest, AClosedListenerAcceptsNothing) {
  boost::asio::io_context io;
  const auto listener = OpenTcpListener(io, "127.0.0.1", 0);
  ASSERT_TRUE(listener.ok()) << listener.status();
  (*listener)->Close();
  auto stream = boost::asio::co_spawn(io, (*listener)->Accept(), boost::asio::use_future);
  io.run();
  EXPECT_EQ(stream.get(), nullptr);
}

TEST(HttpServerTest, ServesManyAtATime) {
  RunningServer server(Echo);
  std::atomic<int> right = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < 16; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 25; ++i) {
        const std::string path = "/" + std::to_string(c) + "/" + std::to_string(i);
        const std::string desired = WriteResponse({.body = path + "\n"}, false);
        if (RawExchange(server.endpoint(), WriteRequest(path)) == desired) ++right;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 16 * 25);
}

TEST(HttpServerTest, AHeldRequestIsHandledAgainAtEachWake) {
  std::promise<void> asked;
  int calls = 0;
  bool ready = false;
  RunningServer server([&](const Request& request) {
    EXPECT_FALSE(request.held);
    if (++calls == 1) asked.set_value();
    Response response{.body = "now\n"};
    if (!ready) response.hold = 30s;
    return response;
  });
  auto answer = std::async(std::launch::async,
                           [&] { return RawExchange(server.endpoint(), WriteRequest("/")); });
  asked.get_future().wait();
  server.Do([](HttpServer& s) { s.Wake(); });
  server.Do([&](HttpServer& s) {
    ready = true;
    s.Wake();
  });
  EXPECT_THAT(answer.get(), HasSubstr("now\n"));
  EXPECT_GE(calls, 2);
}

TEST(HttpServerTest, AHeldRequestIsHandledOnceMoreAtItsTimeout) {
  RunningServer server([](const Request& request) {
    Response response{.body = request.held ? "late\n" : "early\n"};
    response.hold = 20ms;
    return response;
  });
  EXPECT_THAT(RawExchange(server.endpoint(), WriteRequest("/")), HasSubstr("late\n"));
}

TEST(HttpServerTest, AHoldDoesNotCountAgainstTheDeadline) {
  RunningServer server(
      [](const Request&) {
        Response response{.body = "patient\n"};
        response.hold = 60ms;
        return response;
      },
      {.deadline = 20ms});
  EXPECT_THAT(RawExchange(server.endpoint(), WriteRequest("/")), HasSubstr("patient\n"));
}

TEST(HttpServerTest, CloseCutsHeldAndSilentClientsAndStopsListening) {
  std::promise<void> asked;
  RunningServer server([&](const Request&) {
    asked.set_value();
    Response response;
    response.hold = 60s;
    return response;
  });
  const auto held = Connect(server);
  const auto silent = Connect(server);
  ASSERT_TRUE(held->Write(WriteRequest("/")).ok());
  asked.get_future().wait();
  server.Do([](HttpServer& s) { s.Close(); });
  EXPECT_EQ(ReadToEnd(*held), 0u);
  EXPECT_EQ(ReadToEnd(*silent), 0u);
  EXPECT_FALSE(ConnectLocal(server.endpoint(), 1s).ok());
  EXPECT_THAT(RawTcpExchange(server.tcp_port(), WriteRequest("/")),
              ::testing::Not(HasSubstr("HTTP/1.1")));
}

TEST(HttpServerTest, AnInvalidAddressIsRefusedByName) {
  RunningServer server(Echo);
  server.Do([](HttpServer& s) {
    const absl::Status status = s.ListenTcp("localhost", 0).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("\"localhost\""));
  });
}

TEST(HttpServerTest, APortInUseIsNamed) {
  RunningServer server(Echo);
  const std::uint16_t port = server.tcp_port();
  server.Do([port](HttpServer& s) {
    const absl::Status status = s.ListenTcp("127.0.0.1", port).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("port " + std::to_string(port)));
  });
}

TEST(HttpServerTest, AnAddressThatIsNotOursIsNamed) {
  RunningServer server(Echo);
  server.Do([](HttpServer& s) {
    const absl::Status status = s.ListenTcp("192.0.2.1", 0).status();  // RFC 5737: no host's
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()),
                ::testing::AllOf(HasSubstr("cannot bind on TCP 192.0.2.1 port 0: "),
                                 HasSubstr("choose another address or port")));
  });
}

TEST(HttpServerTest, AnEndpointInUseIsNotReplaced) {
  RunningServer server(Echo);
  const std::string endpoint = server.endpoint();
  server.Do([&endpoint](HttpServer& s) {
    const absl::Status status = s.ListenLocal(endpoint);
    EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(endpoint));
  });
  EXPECT_THAT(RawExchange(server.endpoint(), WriteRequest("/")), HasSubstr(" 200 "));
}

}  // namespace
}  // namespace weft::admin
