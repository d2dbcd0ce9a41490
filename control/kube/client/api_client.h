// SPDX-License-Identifier: Apache-2.0
// Exchanges with the API server over HTTP/1.1 and TLS 1.2 or newer, each on a connection of its
// own: no connection goes stale, and each uses the current addresses and credentials.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "control/kube/client/cluster_access.h"
#include "control/kube/client/http_exchange.h"
#include "vxlan/ip_address.h"

namespace boost::asio {
class io_context;
}

namespace weft::kube {

// Destroying it ends the connection; its handler is not called then.
class Exchange {
 public:
  virtual ~Exchange() = default;
};

// One thread: the io_context's.
class ApiClient {
 public:
  // The limit from Start until the request can be sent: name resolution, connection, TLS.
  static constexpr std::chrono::milliseconds kDialLimit = std::chrono::seconds(30);
  static constexpr std::chrono::milliseconds kNoLimit = std::chrono::milliseconds::max();

  // `io` outlives the client and its exchanges.
  ApiClient(boost::asio::io_context& io, ClusterAccess access, std::string user_agent,
            std::chrono::milliseconds dial_limit = kDialLimit);
  ~ApiClient();

  // `limit`: for the whole exchange, until OnEnd. The handler is never called from within Start; it
  // outlives the exchange, which may outlive the client.
  std::unique_ptr<Exchange> Start(HttpRequest request, ExchangeHandler& handler,
                                  std::chrono::milliseconds limit = kNoLimit);
  // For people: "https://10.0.0.1:6443 (in-cluster)".
  std::string Describe() const;
  // The addresses of requests: the server's, if it is given as an address; and that of the last
  // connection, the server's or the proxy's.
  std::vector<IpAddress> ServerAddresses() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::kube
