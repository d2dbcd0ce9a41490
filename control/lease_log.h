// SPDX-License-Identifier: Apache-2.0
// What the log is told of leases that are not plainly usable and of nodes that are refused: each
// once, and of many at once the first.
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

// One line, already escaped. May be empty: nobody listens.
using OnNotice = std::function<void(Severity, const std::string&)>;

// One thread. The table outlives it.
class LeaseLog {
 public:
  LeaseLog(const lease::LeaseTable& table, OnNotice on_notice);

  // What the log does not know yet of the whole table, or of one node.
  void TellAll();
  void TellOf(const lease::NodeKey& node);
  // The node went: if it comes back, that is news.
  void Forget(const lease::NodeKey& node);
  // Nothing has changed since TellAll.
  bool has_told_all() const { return table_.generation() == told_generation_; }

  void TellRefused(const lease::RefusedNode& node);
  void TellNotJoined(const lease::NotJoinedNode& node);
  // The same of one of perhaps many; TellGathered says how many were left out.
  void GatherRefused(const lease::RefusedNode& node);
  void GatherNotJoined(const lease::NotJoinedNode& node);
  void TellGathered();

 private:
  // Hash of node and family → hash of the detail: a whole cluster may be wrong. If two are alike, a
  // line is missing in the log.
  using Told = absl::flat_hash_map<std::uint64_t, std::uint64_t>;

  void Notice(Severity severity, const std::string& line) const;
  void Tell(const lease::LeaseRow& row, const Told& before, std::size_t& lines);
  void TellMore(std::size_t lines, std::string_view what) const;

  const lease::LeaseTable& table_;
  OnNotice on_notice_;
  Told told_;
  std::uint64_t told_generation_ = 0;  // of the table, at TellAll
  std::size_t refused_lines_ = 0;      // gathered
  std::size_t not_joined_lines_ = 0;
};

}  // namespace weft::control
