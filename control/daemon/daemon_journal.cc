// SPDX-License-Identifier: Apache-2.0
// The journal: what a restart uses until its source of leases answers.
//
// The userspace tunnel ends with its process, so its leases are recalled from the journal at once.
// What outlives the process (HNS, routes on the underlay, subnet.env) stays untouched: the journal
// may lack the last seconds of the process before, and a route must not be removed because of that.
#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "control/daemon/daemon.h"
#include "control/file_io.h"
#include "control/log.h"

namespace weft::daemon {
namespace {

using std::chrono::steady_clock;

// Between two writes: they take at most a fiftieth of the time.
constexpr steady_clock::duration kPause = std::chrono::seconds(5);
constexpr int kShare = 50;

// Calls `visit` with the halves in use of each other node.
void ForEachInUse(const lease::LeaseTable& table,
                  absl::FunctionRef<void(const lease::Lease&)> visit) {
  lease::Lease lease;
  const auto take = [&] {
    if (lease.v4 || lease.v6) visit(lease);
    lease = {};
  };
  table.ForEachRow([&](lease::LeaseRow&& row) {
    if (!IsUsable(row.state)) return;
    if (lease.node != row.node) {
      take();
      lease.node = std::move(row.node);
      lease.backend_type = std::move(row.backend_type);
    }
    (row.family == IpFamily::kV4 ? lease.v4 : lease.v6) = row.lease;
  });
  take();
}

// What a start needs of our Node, with the MAC of our lease.
lease::OwnNode OwnOf(const lease::OwnNode& node, const control::OwnFacts& facts) {
  lease::OwnNode own;
  own.node = node.node;
  own.managed = true;
  own.backend_type = node.backend_type;
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    if (!facts.of(family)) continue;
    lease::OwnNodeFamily& half = family == IpFamily::kV4 ? own.v4 : own.v6;
    half = family == IpFamily::kV4 ? node.v4 : node.v6;
    half.published_vtep_mac = facts.of(family)->vtep_mac;
    half.backend_data.clear();
    half.public_ip.clear();
  }
  return own;
}

}  // namespace

journal::Scope Daemon::JournalScope(const std::string& node) const {
  const config::Options& options = config_.options;
  journal::Scope scope;
  scope.boot = control::BootId();
  scope.node = node;
  if (!options.pod_name.empty())
    scope.pod = absl::StrCat(options.pod_namespace, "/", options.pod_name);
  scope.source = member_ ? "kubernetes" : absl::StrCat("file ", options.lease_file);
  scope.net_conf = journal::NetConfText(config_.conf);
  return scope;
}

void Daemon::Recall() {
  const absl::StatusOr<std::optional<journal::State>> state = journal_.Load();
  journal_condition_.Set(state.status().message());
  if (!state.ok() || !*state) return;
  const auto ignore = [this](std::string_view why) {
    control::LogInfo(absl::StrCat("the journal ", journal_.path(), " is not used: ", why));
  };
  if (const std::string other = Difference((*state)->scope, JournalScope(node_name_));
      !other.empty())
    return ignore(other);
  const std::string& name = (*state)->scope.node;
  const auto facts = control::DeriveOwnFacts(name, (*state)->own, config_.conf);
  if (!facts.ok()) return ignore(facts.status().message());
  // A file for another lease is newer than the journal, and without a file that lease was
  // withdrawn.
  if (!network_.KeepFileOf(*facts))
    return ignore(absl::StrCat(config_.options.subnet_file, " is not of its lease"));
  recalled_at_ = (*state)->saved;
  control::LogInfo(absl::StrCat("the journal ", journal_.path(),
                                " is of this boot: ", (*state)->leases.size(), " leases"));
  const bool ends_with_process = config_.options.data_plane == config::DataPlane::kUserspace &&
                                 !config_.conf.direct_routing && !config_.hns;
  if (!ends_with_process) return;
  node_name_ = name;
  // In place of the InternalIP, which only the source knows: the address in use before.
  lease::OwnNode own = (*state)->own;
  for (const lease::OwnNodeFamily* const half : {&own.v4, &own.v6}) {
    if (half->published_public_ip && half->public_ip_overwrite.empty())
      own.internal_ips.push_back(*half->published_public_ip);
  }
  reconciler_.Recall(own, (*state)->leases);
}

std::string Daemon::RecalledText() const {
  if (recalled_at_ == 0 || reconciler_.source_synced()) return "";
  const std::string at = absl::FormatTime("%Y-%m-%d %H:%M:%S UTC",
                                          absl::FromUnixSeconds(recalled_at_), absl::UTCTimeZone());
  if (reconciler_.is_recalled()) {
    return absl::StrCat("; until it answers the leases of the journal of ", at,
                        " are in use, not confirmed");
  }
  return absl::StrCat("; until it answers routes, HNS and subnet.env stay as flanneld left them ",
                      "(journal of ", at, ")");
}

void Daemon::KeepJournal(bool last) {
  const auto& own = reconciler_.own_node();
  if (stopped_ || !facts_.ok() || !own || !reconciler_.source_synced() ||
      !network_.has_written_file())
    return;
  const std::pair now(generation(), *facts_);
  const steady_clock::time_point begin = steady_clock::now();
  if (journaled_ == now || (!last && begin < next_journal_)) return;
  journal::Header header;
  header.scope = JournalScope(node_name_);
  header.saved = absl::ToUnixSeconds(absl::FromChrono(std::chrono::system_clock::now()));
  header.own = OwnOf(*own, *facts_);
  const absl::Status saved =
      journal_.Save(header, [this](absl::FunctionRef<void(const lease::Lease&)> visit) {
        ForEachInUse(reconciler_.table(), visit);
      });
  journal_condition_.Set(saved.message());
  if (saved.ok()) journaled_ = now;
  release_memory_ = true;  // of the text
  const steady_clock::time_point end = steady_clock::now();
  next_journal_ = end + std::max<steady_clock::duration>(kPause, kShare * (end - begin));
}

}  // namespace weft::daemon
