// SPDX-License-Identifier: Apache-2.0
// A FakeApiServer behind a loopback port, for HTTP clients. One thread: the io_context's.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>

#include "tests/support/fake_api_server.h"

namespace weft::testing {

class FakeApiListener {
 public:
  // Both outlive the listener.
  FakeApiListener(boost::asio::io_context& io, FakeApiServer& server);
  ~FakeApiListener();

  std::uint16_t port() const;
  // Cuts every connection, and each new one until Resume.
  void GoAway();
  void Resume();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::testing
