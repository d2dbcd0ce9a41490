// SPDX-License-Identifier: Apache-2.0
// Blocking sockets, for both ends of the emulator's connections.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace weft::hns::emulator {

// One thread reads, one writes. False: the connection has ended, for whatever reason.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual bool Write(std::string_view bytes) = 0;
  // All of `size` bytes.
  virtual bool Read(char* into, std::size_t size) = 0;
  // Whether a Read would return at once. Between a reply and the next request, this means the end.
  virtual bool HasInput() = 0;
  // Any thread. Current and later reads and writes return false.
  virtual void Shutdown() = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  // Null: it failed; the next call may succeed.
  virtual std::unique_ptr<Stream> Accept() = 0;
  // The address it listens on, for Connect: with the chosen port if 0 was given.
  virtual const std::string& address() const = 0;
};

// `address`: "tcp:127.0.0.1:4000"; on Linux also "unix:/run/hns.sock".
absl::StatusOr<std::unique_ptr<Stream>> Connect(const std::string& address);
absl::StatusOr<std::unique_ptr<Listener>> Listen(const std::string& address);

}  // namespace weft::hns::emulator
