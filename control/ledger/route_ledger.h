// SPDX-License-Identifier: Apache-2.0
// The route sinks' journal, kept in the node's ledger: one write for a batch.
#pragma once

#include <memory>
#include <vector>

#include "control/ledger/node_ledger.h"
#include "control/sinks/route_journal.h"

namespace weft::ledger {

class RouteLedger final : public control::RouteJournal {
 public:
  explicit RouteLedger(std::shared_ptr<NodeLedger> ledger) : ledger_(std::move(ledger)) {}

  control::RouteKeys Owned(IpFamily family) override;
  void KeepOnly(IpFamily family, const control::RouteKeys& routes) override;
  void BeforePut(const control::RouteKeys& routes) override;
  void Removed(const control::RouteKeys& routes) override;
  void BeforeTakeover(const std::vector<control::FormerRoute>& routes) override;

 private:
  const std::shared_ptr<NodeLedger> ledger_;
};

}  // namespace weft::ledger
