// SPDX-License-Identifier: Apache-2.0
// A blocking connection to a program on this machine: Unix-domain socket or named pipe.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::admin {

// One thread reads, one writes. Errors have the system's text and one of the codes NotFound (no
// such socket or pipe), Unavailable (no program answers there), PermissionDenied, DeadlineExceeded,
// InvalidArgument (not a possible path).
class LocalConnection {
 public:
  virtual ~LocalConnection() = default;
  virtual absl::Status Write(std::string_view bytes) = 0;
  // Zero: the other side has closed.
  virtual absl::StatusOr<std::size_t> Read(std::span<char> into) = 0;
  // Whether a Read would return at once: with bytes, or because the connection has ended.
  virtual bool HasInput() = 0;
  // Any thread: a Read and a Write in progress return, and so do all later ones.
  virtual void Shutdown() = 0;
};

// `timeout` of each wait; zero: none.
absl::StatusOr<std::unique_ptr<LocalConnection>> ConnectLocal(const std::string& path,
                                                              std::chrono::milliseconds timeout);

}  // namespace weft::admin
