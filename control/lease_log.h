// SPDX-License-Identifier: Apache-2.0
// Logs leases that are not plainly usable, leases that go, and nodes that are refused: each once,
// and only the first of many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "control/lease/lease_table.h"
#include "control/log.h"

namespace weft::control {

// Receives one line, already escaped. May be empty.
using OnNotice = std::function<void(Severity, const std::string&)>;

// One thread. The table outlives it.
class LeaseLog {
 public:
  LeaseLog(const lease::LeaseTable& table, OnNotice on_notice);

  // Logs what is not in the log yet, of the whole table or of one node.
  void LogAll();
  void LogNode(const lease::NodeKey& node);
  // The table's leases have not changed since LogAll.
  bool logged_all() const { return table_.lease_generation() == logged_generation_; }

  void LogRefused(const lease::RefusedNode& node);
  void LogNotJoined(const lease::NotJoinedNode& node);
  // For one of perhaps many: logs the first ones. LogGathered logs how many were left out.
  // Of a lease that the table is about to lose: if it comes back, it is judged again.
  void GatherGone(const lease::NodeKey& node);
  void GatherRefused(const lease::RefusedNode& node);
  void GatherNotJoined(const lease::NotJoinedNode& node);
  void LogGathered();

 private:
  // Hash of node and family → hash of the detail. Hashes, because the whole cluster may be in it; a
  // collision costs one line of the log.
  using Logged = absl::flat_hash_map<std::uint64_t, std::uint64_t>;

  void Notice(Severity severity, const std::string& line) const;
  void LogRow(const lease::LeaseRow& row, const Logged& before, std::size_t& lines);
  void LogRest(std::size_t lines, std::string_view what) const;

  const lease::LeaseTable& table_;
  OnNotice on_notice_;
  Logged logged_;
  std::uint64_t logged_generation_ = 0;  // of the table, at the last LogAll
  std::size_t gone_lines_ = 0;           // since the last LogGathered
  std::size_t refused_lines_ = 0;
  std::size_t not_joined_lines_ = 0;
};

}  // namespace weft::control
