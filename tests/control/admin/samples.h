// SPDX-License-Identifier: Apache-2.0
// Documents with something in every field, for round trips, servers and goldens.
#pragma once

#include <string>

#include "control/admin/admin_server.h"
#include "control/admin/schema.h"

namespace weft::admin {

// Five nodes: this one, usable ones (one with two families), one without a MAC; one refused.
LeaseList SampleLeases();
// A ready daemon on "win-1" that has dropped a little.
Status SampleStatus();
// One that is not ready: a failing check, a condition of the source, pending items.
Status DegradedStatus();

// One of each: a create and a delete.
Plan SamplePlan();

// Values that a test sets. Once a server uses it, only the server's thread accesses it.
struct FakeState : StateProvider {
  Status status = SampleStatus();
  LeaseList leases = SampleLeases();
  Status ReadStatus() override { return status; }
  LeaseList ReadLeases() override { return leases; }
  std::uint64_t generation() const override { return leases.generation; }
  std::optional<absl::StatusOr<Plan>> RequestPlan(const std::string&, bool repair) override {
    if (plan && plan->ok()) (*plan)->repaired = repair;
    return plan;
  }
  std::optional<absl::StatusOr<Plan>> plan = SamplePlan();  // empty: HNS has not answered
};

}  // namespace weft::admin
