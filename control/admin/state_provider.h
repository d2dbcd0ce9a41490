// SPDX-License-Identifier: Apache-2.0
// What the admin endpoint asks of the program behind it. Implemented by the daemon's composition
// root.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

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

}  // namespace weft::admin
