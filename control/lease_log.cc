// SPDX-License-Identifier: Apache-2.0
#include "control/lease_log.h"

#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "vxlan/text/printable.h"

namespace weft::control {
namespace {

// Lines of one kind at a time: a whole cluster may be wrong. Status shows the rest.
constexpr std::size_t kMaxLines = 20;

std::uint64_t KeyOf(const lease::NodeKey& node, IpFamily family) {
  return absl::HashOf(node, family);
}

}  // namespace

LeaseLog::LeaseLog(const lease::LeaseTable& table, OnNotice on_notice)
    : table_(table), on_notice_(std::move(on_notice)) {}

void LeaseLog::LogAll() {
  logged_generation_ = table_.lease_generation();
  const Logged before = std::exchange(logged_, {});
  std::size_t lines = 0;
  table_.ForEachRemarkable([&](const lease::LeaseRow& row) { LogRow(row, before, lines); });
  LogRest(lines, "leases that are not plainly usable");
}

void LeaseLog::LogNode(const lease::NodeKey& node) {
  std::size_t lines = 0;
  for (const lease::LeaseRow& row : table_.RowsOf(node)) {
    if (!lease::IsRemarkable(row.state)) {
      logged_.erase(KeyOf(node, row.family));
    } else {
      LogRow(row, logged_, lines);
    }
  }
}

void LeaseLog::GatherGone(const lease::NodeKey& node) {
  for (const lease::LeaseRow& row : table_.RowsOf(node, /*explained=*/false)) {
    logged_.erase(KeyOf(node, row.family));
    if (++gone_lines_ > kMaxLines) continue;
    Notice(Severity::kInfo,
           absl::StrCat("the lease of node ", Quoted(node.name), " (", row.lease.subnet.ToString(),
                        ") is gone: the node was deleted or withdrew it"));
  }
}

void LeaseLog::LogRefused(const lease::RefusedNode& node) {
  Notice(Severity::kWarning,
         absl::StrCat("node ", Quoted(node.name), " is refused: ", node.reason));
}

void LeaseLog::GatherRefused(const lease::RefusedNode& node) {
  if (++refused_lines_ <= kMaxLines) LogRefused(node);
}

void LeaseLog::GatherNotJoined(const lease::NotJoinedNode& node) {
  if (++not_joined_lines_ <= kMaxLines) LogNotJoined(node);
}

void LeaseLog::LogNotJoined(const lease::NotJoinedNode& node) {
  Notice(Severity::kInfo,
         absl::StrCat("node ", Quoted(node.node.name), " has not joined: ", node.reason));
}

void LeaseLog::LogGathered() {
  LogRest(std::exchange(gone_lines_, 0), "leases are gone");
  LogRest(std::exchange(refused_lines_, 0), "nodes are refused");
  LogRest(std::exchange(not_joined_lines_, 0), "nodes have not joined");
}

void LeaseLog::Notice(Severity severity, const std::string& line) const {
  if (on_notice_) on_notice_(severity, line);
}

void LeaseLog::LogRow(const lease::LeaseRow& row, const Logged& before, std::size_t& lines) {
  const std::uint64_t key = KeyOf(row.node, row.family);
  const std::uint64_t detail = absl::HashOf(row.detail);
  const auto known = before.find(key);
  const bool is_new = known == before.end() || known->second != detail;
  logged_[key] = detail;
  if (!is_new || ++lines > kMaxLines) return;
  const bool in_use = lease::IsUsable(row.state) && row.state != lease::PeerState::kHostChanged;
  Notice(in_use ? Severity::kInfo : Severity::kWarning,
         absl::StrCat("lease of node ", Quoted(row.node.name), " (", row.lease.subnet.ToString(),
                      "): ", lease::Name(row.state), ": ", row.detail));
}

void LeaseLog::LogRest(std::size_t lines, std::string_view what) const {
  if (lines <= kMaxLines) return;
  Notice(Severity::kWarning,
         absl::StrCat("and ", lines - kMaxLines, " more ", what, "; see: flannelctl leases"));
}

}  // namespace weft::control
