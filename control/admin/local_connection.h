// SPDX-License-Identifier: Apache-2.0
// The client's end of the local endpoint: blocking, with a limit on each wait.
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

// One thread. Errors are the system's text under a code that says which case it is: NotFound (no
// such socket or pipe), Unavailable (nobody answers there), PermissionDenied, DeadlineExceeded,
// InvalidArgument (not a possible path).
class LocalConnection {
 public:
  virtual ~LocalConnection() = default;
  virtual absl::Status Write(std::string_view octets) = 0;
  // Zero: the other side has closed.
  virtual absl::StatusOr<std::size_t> Read(std::span<char> into) = 0;
};

absl::StatusOr<std::unique_ptr<LocalConnection>> ConnectLocal(const std::string& path,
                                                              std::chrono::milliseconds timeout);

}  // namespace weft::admin
