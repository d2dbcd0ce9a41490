// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the API client: a loop, a listener, access to a scripted server.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "control/kube/client/api_client.h"
#include "gtest/gtest.h"
#include "tests/support/scripted_server.h"
#include "tests/support/wait.h"

namespace weft::kube {

inline constexpr const char* kOkAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

// Records what is reported to it, and can react.
class Listener final : public ExchangeHandler {
 public:
  void OnHead(const HttpHead& told) override {
    ++heads;
    head = told;
    if (on_head) on_head();
  }
  void OnBody(std::string_view bytes) override {
    ++pieces;
    body += bytes;
    if (on_body) on_body();
  }
  void OnEnd(const absl::Status& status) override {
    ++ends;
    end = status;
    if (on_end) on_end();
  }
  std::string error() const { return std::string(end.message()); }

  HttpHead head;
  std::string body;
  absl::Status end = absl::UnknownError("no end yet");
  int heads = 0, pieces = 0, ends = 0;
  std::function<void()> on_head, on_body, on_end;
};

class ClientFixture : public ::testing::Test {
 protected:
  using Server = testing::ScriptedServer;

  // Until `done`.
  void RunUntil(const std::function<bool()>& done,
                std::source_location where = std::source_location::current()) {
    io.restart();
    bool idle = false;
    ASSERT_TRUE(testing::Await(
        {std::chrono::minutes(1), where}, [&] { return done() || idle; },
        [&](auto end) { idle = io.run_one_until(end) == 0; }));
    ASSERT_FALSE(idle) << "nothing happens any more";
  }

  // To a server on this machine.
  static ClusterAccess To(std::uint16_t port, bool tls) {
    ClusterAccess access;
    access.host = "127.0.0.1";
    access.port = port;
    access.tls = tls;
    access.origin = "test";
    return access;
  }

  static HttpRequest Get(std::string target = "/api/v1/nodes") {
    HttpRequest request;
    request.target = std::move(target);
    return request;
  }

  // Carries one request out to its end.
  void Send(const ClusterAccess& access, Listener& listener, HttpRequest request = Get(),
            std::chrono::milliseconds dial_limit = ApiClient::kDialLimit) {
    ApiClient client(io, access, "flanneld/test", dial_limit);
    const auto exchange = client.Start(std::move(request), listener);
    RunUntil([&listener] { return listener.ends > 0; });
  }
  Listener Send(const ClusterAccess& access) {
    Listener listener;
    Send(access, listener);
    return listener;
  }

  boost::asio::io_context io;
};

}  // namespace weft::kube
