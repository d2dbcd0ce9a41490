// SPDX-License-Identifier: Apache-2.0
// Connections as the server sees them, over any transport. Internal: needs Asio's coroutines.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weft::admin {

// The io_context's thread only. Close ends pending reads and writes; the object stays alive until
// they have returned.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Zero: the other side has closed, or the connection failed or was closed here.
  virtual boost::asio::awaitable<std::size_t> Read(std::span<char> into) = 0;
  // All of `bytes`, or false.
  virtual boost::asio::awaitable<bool> Write(std::string_view bytes) = 0;
  // Signals the end of the stream to the other side, where the transport can.
  virtual void FinishWriting() = 0;
  virtual void Close() = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  // Empty after Close, and when the system refuses a connection (no more descriptors): the caller
  // waits and tries again.
  virtual boost::asio::awaitable<std::shared_ptr<ByteStream>> Accept() = 0;
  virtual void Close() = 0;
  virtual std::uint16_t port() const { return 0; }  // TCP only
};

absl::StatusOr<std::shared_ptr<Listener>> OpenTcpListener(boost::asio::io_context& io,
                                                          const std::string& address,
                                                          std::uint16_t port);
absl::StatusOr<std::shared_ptr<Listener>> OpenLocalListener(boost::asio::io_context& io,
                                                            const std::string& path);

// Whether SO_REUSEADDR only shortens the wait after a restart. On Windows it would let another
// program take our port.
bool ReuseAddressIsSafe();

}  // namespace weft::admin
