// SPDX-License-Identifier: Apache-2.0
// Client and server in one process: requests arrive, answers return, and an end on one side ends
// the other.
#include "control/emulator/remote/remote_api.h"

#include <array>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "control/admin/byte_stream.h"
#include "control/emulator/remote/remote_server.h"
#include "gmock/gmock.h"
#include "tests/control/emulator/remote/service_double.h"
#include "tests/support/test_path.h"

namespace weft::hns::emulator {
namespace {

namespace asio = boost::asio;

const Guid kId = *Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804");

std::unique_ptr<Stream> Connect(const std::string& path) {
  return admin::ConnectLocal(path, std::chrono::seconds(30)).value();
}

class RemoteApiTest : public ::testing::Test {
 protected:
  void SetUp() override { StartAt(weft::testing::TestSocket()); }
  void StartAt(const std::string& address) {
    auto server = RemoteServer::Start(address, service_, [](const std::string& command) {
      Reply reply;
      reply.text = "did " + command;
      return reply;
    });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = std::make_unique<RemoteApi>(server_->path());
  }

  ServiceDouble service_;
  std::unique_ptr<RemoteServer> server_;
  std::unique_ptr<RemoteApi> client_;
};

TEST_F(RemoteApiTest, EveryCallArrives) {
  client_->Enumerate(Kind::kNetwork, "{q}");
  EXPECT_EQ(service_.last(), "enumerate network {q}");
  const Handle network = client_->Open(Kind::kNetwork, kId).handle;
  EXPECT_EQ(service_.last(), "open network " + kId.ToString());
  const Handle endpoint = client_->Create(Kind::kEndpoint, network, Guid(), "{s}").handle;
  EXPECT_EQ(service_.last(), "create endpoint in 1 " + Guid().ToString() + " {s}");
  client_->Modify(Kind::kEndpoint, endpoint, "{m}");
  EXPECT_EQ(service_.last(), "modify endpoint 2 {m}");
  client_->Query(Kind::kEndpoint, endpoint, "");
  EXPECT_EQ(service_.last(), "query endpoint 2 ");
  client_->Delete(Kind::kLoadBalancer, kId);
  EXPECT_EQ(service_.last(), "delete load-balancer " + kId.ToString());
  EXPECT_EQ(client_->Close(Kind::kEndpoint, endpoint), hresult::kOk);
  EXPECT_EQ(service_.last(), "close endpoint 2");
  client_->Call("GET", "/globals/version", "");
  EXPECT_EQ(service_.last(), "call GET /globals/version ");
  client_->Create(Kind::kNetwork, Handle::kNone, kId, "{n}");
  EXPECT_EQ(service_.last(), "create network in 0 " + kId.ToString() + " {n}");
  EXPECT_EQ(client_->Control("{c}").text, "did {c}");
}

TEST_F(RemoteApiTest, TheAnswerComesBackWhole) {
  service_.answer.code = hresult::kInvalidPolicy;
  service_.answer.text = std::string(3 << 20, 'x');
  service_.answer.error_record = R"({"Success":false,"Error":"Der Parameter ist ungültig. "})";
  const Reply reply = client_->Enumerate(Kind::kNamespace, "");
  EXPECT_EQ(reply.code, service_.answer.code);
  EXPECT_EQ(reply.text, service_.answer.text);
  EXPECT_EQ(reply.error_record, service_.answer.error_record);
}

TEST_F(RemoteApiTest, ASlowCallDelaysNoOther) {
  std::promise<void> arrived, go;
  service_.before_enumerate = [&](const std::string& query) {
    if (query != "slow") return;
    arrived.set_value();
    go.get_future().wait();
  };
  std::thread slow([this] { EXPECT_TRUE(client_->Enumerate(Kind::kNetwork, "slow").ok()); });
  arrived.get_future().wait();
  EXPECT_TRUE(client_->Enumerate(Kind::kNetwork, "of the same client").ok());
  EXPECT_TRUE(RemoteApi(server_->path()).Enumerate(Kind::kNetwork, "of another").ok());
  go.set_value();
  slow.join();
}

TEST_F(RemoteApiTest, HandlesBelongToOneClient) {
  const Handle handle = client_->Open(Kind::kNetwork, kId).handle;
  RemoteApi other(server_->path());
  EXPECT_EQ(other.Query(Kind::kNetwork, handle, "").code, hresult::kInvalidHandle);
  EXPECT_EQ(other.Close(Kind::kNetwork, handle), hresult::kInvalidHandle);
  EXPECT_EQ(other.Create(Kind::kEndpoint, handle, Guid(), "").code, hresult::kInvalidHandle);
  EXPECT_TRUE(client_->Query(Kind::kNetwork, handle, "").ok());
  EXPECT_EQ(client_->Close(Kind::kNetwork, handle), hresult::kOk);
  EXPECT_EQ(client_->Close(Kind::kNetwork, handle), hresult::kInvalidHandle);
}

TEST_F(RemoteApiTest, AClientsHandlesEndWithIt) {
  client_->Open(Kind::kNetwork, kId);
  client_->Subscribe([](Notification, std::string_view) {});
  EXPECT_EQ(service_.open(), 2u);
  client_.reset();
  server_.reset();  // waits for the connections' ends
  EXPECT_EQ(service_.open(), 0u);
}

TEST_F(RemoteApiTest, NotificationsArriveInOrderUntilUnsubscribed) {
  std::vector<std::string> told;
  const Reply reply =
      client_->Subscribe([&](Notification, std::string_view data) { told.emplace_back(data); });
  ASSERT_TRUE(reply.ok());
  for (int number = 0; number < 100; ++number) {
    service_.Notify(Notification::kNetworkCreate, std::to_string(number));
  }
  EXPECT_EQ(client_->Unsubscribe(reply.handle), hresult::kOk);
  service_.Notify(Notification::kNetworkCreate, "too late");
  ASSERT_EQ(told.size(), 100u);
  for (std::size_t number = 0; number < told.size(); ++number) {
    EXPECT_EQ(told[number], std::to_string(number));
  }
  EXPECT_EQ(client_->Unsubscribe(reply.handle), hresult::kInvalidHandle);
}

TEST_F(RemoteApiTest, ALostServerIsAStoppedService) {
  std::promise<Notification> told;
  ASSERT_TRUE(
      client_->Subscribe([&](Notification type, std::string_view) { told.set_value(type); }).ok());
  ASSERT_TRUE(client_->Enumerate(Kind::kNetwork, "").ok());
  server_.reset();
  EXPECT_EQ(told.get_future().get(), Notification::kServiceDisconnect);
  EXPECT_TRUE(client_->Enumerate(Kind::kNetwork, "").code == hresult::kNoMoreEndpoints);
  EXPECT_EQ(client_->Subscribe([](Notification, std::string_view) {}).code,
            hresult::kNoMoreEndpoints);
  EXPECT_EQ(client_->Close(Kind::kNetwork, static_cast<Handle>(1)), hresult::kNoMoreEndpoints);
}

TEST_F(RemoteApiTest, TheServicesStopIsReportedOnce) {
  std::atomic<int> ends = 0;
  std::promise<void> arrived;
  const auto notify = [&](Notification type, std::string_view) {
    if (type == Notification::kServiceDisconnect)
      ++ends;
    else
      arrived.set_value();
  };
  ASSERT_TRUE(client_->Subscribe(notify).ok());
  service_.Notify(Notification::kServiceDisconnect, "");
  service_.Notify(Notification::kNetworkCreate, "");
  arrived.get_future().wait();
  server_.reset();
  client_.reset();
  EXPECT_EQ(ends, 1);
}

TEST_F(RemoteApiTest, ATooLongFrameEndsTheConnection) {
  const std::string long_text(kMostBytes, 'x');
  EXPECT_EQ(client_->Enumerate(Kind::kNetwork, long_text).code, hresult::kRpcCallFailed);
  service_.answer.text = long_text;
  EXPECT_EQ(client_->Enumerate(Kind::kNetwork, "").code, hresult::kRpcCallFailed);
}

TEST_F(RemoteApiTest, ARestartedServerIsUsed) {
  ASSERT_TRUE(client_->Enumerate(Kind::kNetwork, "").ok());
  const std::string address = server_->path();
  server_.reset();
  auto again = RemoteServer::Start(address, service_, nullptr);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(client_->Enumerate(Kind::kNetwork, "").ok());
}

TEST_F(RemoteApiTest, ACallInProgressFailsWhenTheServerStops) {
  std::promise<void> arrived, go;
  service_.before_enumerate = [&](const std::string&) {
    arrived.set_value();
    go.get_future().wait();
  };
  Reply reply;
  std::thread caller([&] { reply = client_->Enumerate(Kind::kNetwork, ""); });
  arrived.get_future().wait();
  std::thread ender([&] { server_.reset(); });
  caller.join();  // before the call's end: the connection ends at once
  EXPECT_EQ(reply.code, hresult::kRpcCallFailed);
  go.set_value();
  ender.join();
}

TEST_F(RemoteApiTest, AnotherProtocolIsRefused) {
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), Frame("{}"), Frame(R"({"op":"enumerate"})")}) {
    auto stream = Connect(server_->path());
    ASSERT_TRUE(stream->Write(bytes).ok());
    EXPECT_FALSE(ReadDocument(*stream).ok());
  }
  EXPECT_TRUE(client_->Enumerate(Kind::kNetwork, "").ok());
}

// A raw client, to send what RemoteApi never sends.
class Caller {
 public:
  explicit Caller(const std::string& path) : stream_(Connect(path)) {
    Exchange(RequestKind::kHello);
  }
  // The reply's code; nothing: the server has ended the connection.
  std::optional<Hresult> Exchange(Operation operation) {
    return Exchange(RequestKind::kApi, operation);
  }
  std::optional<Hresult> Exchange(RequestKind kind, Operation operation = Operation::kCall) {
    const Request request{kind, {.operation = operation}};
    if (!WriteDocument(*stream_, Encode(request))) return std::nullopt;
    const absl::StatusOr<std::string> document = ReadDocument(*stream_);
    if (!document.ok()) return std::nullopt;
    return std::get<Reply>(ParseAnswer(*document).value()).code;
  }

 private:
  const std::unique_ptr<Stream> stream_;
};

TEST_F(RemoteApiTest, ASubscriberMayOnlyUnsubscribe) {
  Caller caller(server_->path());
  EXPECT_EQ(caller.Exchange(Operation::kUnsubscribe), hresult::kInvalidHandle);
  EXPECT_EQ(caller.Exchange(Operation::kSubscribe), hresult::kOk);
  EXPECT_EQ(caller.Exchange(Operation::kUnsubscribe), hresult::kOk);
  EXPECT_EQ(caller.Exchange(Operation::kSubscribe), hresult::kOk);
  EXPECT_EQ(caller.Exchange(Operation::kEnumerate), std::nullopt);
}

class QuietHost final : public HostFace {
 public:
  Reply Answer(const std::string&) override { return Reply(); }
  std::shared_ptr<void> Watch(std::function<void()>) override { return watch; }

  std::shared_ptr<int> watch = std::make_shared<int>();
};

TEST(RemoteServerTest, AHostIsWatchedUntilTheConnectionEnds) {
  ServiceDouble service;
  QuietHost host;
  auto server = RemoteServer::Start(weft::testing::TestSocket(), service, nullptr, &host);
  ASSERT_TRUE(server.ok()) << server.status();
  {
    Caller caller((*server)->path());
    EXPECT_EQ(caller.Exchange(RequestKind::kWatchHost), hresult::kOk);
    EXPECT_EQ(caller.Exchange(Operation::kUnsubscribe), hresult::kInvalidHandle);
    EXPECT_EQ(host.watch.use_count(), 2);
    EXPECT_EQ(caller.Exchange(Operation::kEnumerate), std::nullopt);
  }
  server->reset();  // waits for the connections' ends
  EXPECT_EQ(host.watch.use_count(), 1);
}

TEST_F(RemoteApiTest, WithoutAHostNothingIsWatched) {
  Caller caller(server_->path());
  EXPECT_EQ(caller.Exchange(RequestKind::kHost), hresult::kRequestUnsupported);
  EXPECT_EQ(caller.Exchange(RequestKind::kWatchHost), hresult::kRequestUnsupported);
  EXPECT_EQ(caller.Exchange(Operation::kEnumerate), hresult::kOk);
}

// What a server of another version, or a foreign server, sends.
class NonsenseServer {
 public:
  explicit NonsenseServer(const std::string& path)
      : listener_(admin::OpenLocalListener(io_, path).value()) {
    asio::co_spawn(io_, Serve(), asio::detached);
    thread_ = std::thread([this] { io_.run(); });
  }
  ~NonsenseServer() { thread_.join(); }

 private:
  asio::awaitable<void> Serve() {
    std::shared_ptr<admin::ByteStream> stream = co_await listener_->Accept();
    stream->Close();
    for (const std::string_view answer :
         {"[]", R"({"notification":1})", R"({"notification":"x"})"}) {
      stream = co_await listener_->Accept();
      std::array<char, 4096> request;
      co_await stream->Read(request);
      co_await stream->Write(Frame(R"({"code":0})"));
      co_await stream->Read(request);
      if (answer.find('x') != std::string_view::npos)
        co_await stream->Write(Frame(R"({"code":0,"handle":1})"));
      co_await stream->Write(Frame(answer));
      while (co_await stream->Read(request) != 0) {
      }
      stream->Close();
    }
    listener_->Close();
  }

  asio::io_context io_;
  const std::shared_ptr<admin::Listener> listener_;
  std::thread thread_;
};

TEST(RemoteClientTest, NonsenseFromTheServerIsALostConnection) {
  const std::string path = weft::testing::TestSocket();
  NonsenseServer server(path);
  std::promise<Notification> seen;
  {
    RemoteApi client(path);
    EXPECT_EQ(client.Enumerate(Kind::kNetwork, "").code, hresult::kNoMoreEndpoints);
    EXPECT_EQ(client.Enumerate(Kind::kNetwork, "").code, hresult::kRpcCallFailed);
    EXPECT_EQ(client.Enumerate(Kind::kNetwork, "").code, hresult::kRpcCallFailed);
    const Reply subscribed =
        client.Subscribe([&](Notification type, std::string_view) { seen.set_value(type); });
    EXPECT_EQ(subscribed.code, hresult::kOk);
    EXPECT_EQ(seen.get_future().get(), Notification::kServiceDisconnect);
  }
  EXPECT_EQ(RemoteApi("nowhere").Enumerate(Kind::kNetwork, "").code, hresult::kNoMoreEndpoints);
}

TEST(RemoteServerTest, APathThatCannotBeUsedIsNamed) {
  ServiceDouble service;
  EXPECT_FALSE(RemoteServer::Start("/no/such/folder/socket", service, nullptr).ok());
  const auto first = RemoteServer::Start(weft::testing::TestSocket(), service, nullptr);
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(
      std::string(RemoteServer::Start((*first)->path(), service, nullptr).status().message()),
      ::testing::HasSubstr((*first)->path()));
}

}  // namespace
}  // namespace weft::hns::emulator
