// SPDX-License-Identifier: Apache-2.0
// The admin endpoint: leases, status and plans as JSON on the local socket.
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
  // How HNS differs from the desired state; `repair`: and corrects it. The first call with a name
  // `ask` starts the request. Empty: HNS has not answered yet; the implementer calls
  // AdminServer::PlanReady once it has. A plan is returned once.
  virtual std::optional<absl::StatusOr<Plan>> RequestPlan(const std::string& ask, bool repair) = 0;
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
  // Why it listens at ReservedEndpoint(); empty: it does not.
  const std::string& note() const { return note_; }
  // The generation grew: requests that are on hold for that are answered.
  void LeasesChanged() { http_.Wake(); }
  // An earlier RequestPlan has its plan.
  void PlanReady() { http_.Wake(); }
  void Close() { http_.Close(); }

 private:
  HttpServer http_;
  std::string note_;
};

}  // namespace weft::admin
