// SPDX-License-Identifier: Apache-2.0
#include "control/lease_log.h"

#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "vxlan/text/printable.h"

namespace weft::control {
namespace {

// Lines of one kind at once; a cluster of thousands may be wrong. The rest is in status.
constexpr std::size_t kMaxLines = 20;

std::uint64_t KeyOf(const lease::NodeKey& node, IpFamily family) {
  return absl::HashOf(node, family);
}

}  // namespace

LeaseLog::LeaseLog(const lease::LeaseTable& table, OnNotice on_notice)
    : table_(table), on_notice_(std::move(on_notice)) {}

void LeaseLog::TellAll() {
  told_generation_ = table_.generation();
  const Told before = std::exchange(told_, {});
  std::size_t lines = 0;
  table_.ForEachRemarkable([&](const lease::LeaseRow& row) { Tell(row, before, lines); });
  TellMore(lines, "leases that are not plainly usable");
}

void LeaseLog::TellOf(const lease::NodeKey& node) {
  std::size_t lines = 0;
  for (const lease::LeaseRow& row : table_.RowsOf(node)) {
    if (!lease::IsRemarkable(row.state)) {
      told_.erase(KeyOf(node, row.family));
    } else {
      Tell(row, told_, lines);
    }
  }
}

void LeaseLog::Forget(const lease::NodeKey& node) {
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) told_.erase(KeyOf(node, family));
}

void LeaseLog::TellRefused(const lease::RefusedNode& node) {
  Notice(Severity::kWarning,
         absl::StrCat("node ", Quoted(node.name), " is refused: ", node.reason));
}

void LeaseLog::GatherRefused(const lease::RefusedNode& node) {
  if (++refused_lines_ <= kMaxLines) TellRefused(node);
}

void LeaseLog::GatherNotJoined(const lease::NotJoinedNode& node) {
  if (++not_joined_lines_ <= kMaxLines) TellNotJoined(node);
}

void LeaseLog::TellNotJoined(const lease::NotJoinedNode& node) {
  Notice(Severity::kInfo,
         absl::StrCat("node ", Quoted(node.node.name), " has not joined: ", node.reason));
}

void LeaseLog::TellGathered() {
  TellMore(std::exchange(refused_lines_, 0), "nodes are refused");
  TellMore(std::exchange(not_joined_lines_, 0), "nodes have not joined");
}

void LeaseLog::Notice(Severity severity, const std::string& line) const {
  if (on_notice_) on_notice_(severity, line);
}

void LeaseLog::Tell(const lease::LeaseRow& row, const Told& before, std::size_t& lines) {
  const std::uint64_t key = KeyOf(row.node, row.family);
  const std::uint64_t detail = absl::HashOf(row.detail);
  const auto known = before.find(key);
  const bool news = known == before.end() || known->second != detail;
  told_[key] = detail;
  if (!news || ++lines > kMaxLines) return;
  const bool well = lease::IsUsable(row.state) && row.state != lease::PeerState::kHostChanged;
  Notice(well ? Severity::kInfo : Severity::kWarning,
         absl::StrCat("lease of node ", Quoted(row.node.name), " (", row.lease.subnet.ToString(),
                      "): ", lease::Name(row.state), ": ", row.detail));
}

void LeaseLog::TellMore(std::size_t lines, std::string_view what) const {
  if (lines <= kMaxLines) return;
  Notice(Severity::kWarning,
         absl::StrCat("and ", lines - kMaxLines, " more ", what, "; see: flannelctl leases"));
}

}  // namespace weft::control
