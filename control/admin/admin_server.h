// SPDX-License-Identifier: Apache-2.0
// The admin endpoint: who asks on the local socket is told leases and status as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/admin/http_server.h"
#include "control/admin/schema.h"

namespace weft::admin {

// All calls come on the control thread and must not block: they read what is in memory.
class StateProvider {
 public:
  virtual ~StateProvider() = default;
  virtual Status ReadStatus() = 0;
  virtual LeaseList ReadLeases() = 0;
  // What HNS lacks, and, where `repair`, that put right. The first call with a name `ask` asks HNS;
  // empty: not answered yet, and the implementer calls AdminServer::Answered once it is. An answer
  // is given once.
  virtual std::optional<absl::StatusOr<Plan>> AskPlan(const std::string& ask, bool repair) = 0;
  // Of the lease list: differs whenever ReadLeases().leases or .refused would. The first snapshot
  // makes it 1 or more. After it grew, the implementer calls AdminServer::LeasesChanged.
  virtual std::uint64_t generation() const = 0;
};

// Answers GET /v1/leases, GET /v1/leases?after=GENERATION&wait=SECONDS (on hold until the
// generation differs from `after` or the wait is over), GET /v1/status, GET /v1/plan?ask=NAME and
// POST /v1/repair?ask=NAME (on hold until HNS has answered). Errors are {"apiVersion", "kind":
// "Error", "message"}. `state` outlives the handler.
Handler AdminHandler(StateProvider& state);

// Same thread rules as HttpServer; `state` outlives it.
class AdminServer {
 public:
  AdminServer(boost::asio::io_context& io, StateProvider& state, HttpLimits limits = {});

  // At ReservedEndpoint() where another user holds the default one.
  absl::Status Listen(const std::string& path);
  // Why it listens elsewhere; empty: it does not.
  const std::string& note() const { return note_; }
  // The generation grew: answers those who wait for that.
  void LeasesChanged() { http_.Wake(); }
  // There is an answer for AskPlan.
  void Answered() { http_.Wake(); }
  void Close() { http_.Close(); }

 private:
  HttpServer http_;
  std::string note_;
};

}  // namespace weft::admin
