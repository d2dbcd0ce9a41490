// SPDX-License-Identifier: Apache-2.0
// Exchanges with the API server over HTTP/1.1 and TLS 1.2 or newer, each on a connection of its
// own: none is ever found dead, and every one sees today's addresses and credentials.
#pragma once

#include <memory>
#include <string>

#include "control/kube/cluster_access.h"
#include "control/kube/http_exchange.h"

namespace boost::asio {
class io_context;
}

namespace weft::kube {

// Destroying it ends the connection; its handler is not called any more.
class Exchange {
 public:
  virtual ~Exchange() = default;
};

// One thread: the io_context's.
class ApiClient {
 public:
  ApiClient(boost::asio::io_context& io, ClusterAccess access, std::string user_agent);
  ~ApiClient();

  // Dials, within 30 s; how long the server may take to answer is the caller's business. The
  // handler is called later, never from within; it outlives the exchange.
  std::unique_ptr<Exchange> Start(HttpRequest request, ExchangeHandler& handler);
  // For people: "https://10.0.0.1:6443 (in-cluster)".
  std::string Describe() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::kube
