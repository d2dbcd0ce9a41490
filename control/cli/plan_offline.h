// SPDX-License-Identifier: Apache-2.0
// What flanneld would do on this node if it were started now with certain flags; reads only.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "control/admin/schema.h"

namespace weft::cli {

struct OfflinePlan {
  // Sentences on what flanneld would take, write and publish, outside HNS.
  std::vector<std::string> facts;
  // What it would change outside HNS; empty: nothing.
  std::vector<std::string> changes;
  admin::Plan hns;  // without a network: the data plane is another
};

// `words`: flanneld's flags; its variables count too. Reads the Nodes until the list is complete,
// for `timeout` at most. Errors are those that flanneld would have, or wait for.
absl::StatusOr<OfflinePlan> PlanOffline(const std::vector<std::string>& words,
                                        absl::Duration timeout);

}  // namespace weft::cli
