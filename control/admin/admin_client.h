// SPDX-License-Identifier: Apache-2.0
// Client of a running daemon's admin endpoint. Blocking; for the CLI.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "control/admin/schema.h"

namespace weft::admin {

// One thread; each call is a connection of its own. Errors name the endpoint, the cause and the
// next step: Unavailable when no daemon answers, PermissionDenied, DeadlineExceeded,
// FailedPrecondition when the daemon has another version of the schema.
class AdminClient {
 public:
  explicit AdminClient(std::string endpoint,
                       std::chrono::milliseconds timeout = std::chrono::seconds(10))
      : endpoint_(std::move(endpoint)), timeout_(timeout) {}

  // The body of a 200. `target`: percent-encoded path and query; `patience` is added to the
  // timeout.
  absl::StatusOr<std::string> Get(std::string_view target, std::chrono::milliseconds patience = {},
                                  std::string_view method = "GET") const;

  absl::StatusOr<Status> ReadStatus() const;
  absl::StatusOr<LeaseList> ReadLeases() const;
  // How HNS differs from the desired state; `repair`: and has flanneld correct it.
  absl::StatusOr<Plan> ReadPlan(bool repair) const;
  // Waits until the list's generation differs from `after`, at most `wait`; then the list may still
  // have that generation.
  absl::StatusOr<LeaseList> ReadLeasesAfter(std::uint64_t after, std::chrono::seconds wait) const;

 private:
  std::string endpoint_;
  std::chrono::milliseconds timeout_;
};

}  // namespace weft::admin
