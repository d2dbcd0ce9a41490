// SPDX-License-Identifier: Apache-2.0
// Exchanges with the API server over HTTP/1.1 and TLS 1.2 or newer, each on a connection of its
// own: no connection goes stale, and each uses the current addresses and credentials.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/kube/client/cluster_servers.h"
#include "control/kube/client/http_exchange.h"
#include "control/kube/client/server_choice.h"
#include "vxlan/ip_address.h"

namespace boost::asio {
class io_context;
}

namespace weft::kube {

// Destroying it ends the connection; its handler is not called then.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // Only the receiver of the answer sees that its server fails: `why`, for people.
  virtual void Fail(const std::string& why) = 0;
};

// With several servers, a request goes to the one in use (ServerChoice). A server fails by no
// connection, a TLS error, no answer in time, an answer that does not end in time or is cut soon, a
// 200 that is not an API server's (a proxy's page), 404 for all Nodes, 500, 502, 503 without
// Retry-After, 504 (unless it says that the requested version is too large), and by Exchange::Fail.
//
// One thread: the io_context's.
class ApiClient {
 public:
  // The limit from Start until the request can be sent: name resolution, connection, TLS.
  static constexpr std::chrono::milliseconds kDialLimit = std::chrono::seconds(30);
  // The same where another server could be used instead.
  static constexpr std::chrono::milliseconds kDialLimitOfSeveral = std::chrono::seconds(10);
  // There, the limit from the request until the answer begins, in times of the one before: 30 s.
  static constexpr int kHeadLimitOfSeveral = 3;
  static constexpr std::chrono::milliseconds kNoLimit = std::chrono::milliseconds::max();

  // `io` outlives the client and its exchanges.
  ApiClient(boost::asio::io_context& io, ClusterServers servers, std::string user_agent,
            std::chrono::milliseconds dial_limit = kDialLimit);
  ~ApiClient();

  // `limit`: for the whole exchange, until OnEnd. The handler is never called from within Start; it
  // outlives the exchange, which may outlive the client.
  std::unique_ptr<Exchange> Start(HttpRequest request, ExchangeHandler& handler,
                                  std::chrono::milliseconds limit = kNoLimit);
  // For people: "https://10.0.0.1:6443 (in-cluster)", the server in use.
  std::string Describe() const;
  // All, in order, with why each is used or not.
  std::vector<ServerState> Servers() const;
  // Called with a sentence for the log when another server is used from now on.
  void OnSwitch(std::function<void(const std::string&)> on_switch);
  // The addresses of requests: the servers', if they are given as addresses; and that of the last
  // connection, a server's or the proxy's.
  std::vector<IpAddress> ServerAddresses() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::kube
