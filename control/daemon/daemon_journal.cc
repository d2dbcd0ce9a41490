// SPDX-License-Identifier: Apache-2.0
// The journal: what a restart uses until its source of leases answers.
//
// The userspace tunnel ends with its process, so its leases are recalled from the journal at once.
// What outlives the process (HNS, routes on the underlay, subnet.env) stays untouched: the journal
// may lack the last seconds of the process before, and a route must not be removed because of that.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
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
  if (config_.cluster) scope.cluster = kube::ClusterKeys(*config_.cluster);
  return scope;
}

bool Daemon::RecallsLeases() const {
  return config_.options.data_plane == config::DataPlane::kUserspace &&
         !config_.conf.direct_routing && !config_.hns;
}

void Daemon::Recall() {
  const absl::StatusOr<std::optional<journal::Header>> found = journal_.Load();
  journal_condition_.Set(found.status().message());
  const journal::Scope here = JournalScope(node_name_);
  const auto ignore = [this](std::string_view why) {
    control::LogInfo(absl::StrCat("the journal ", journal_.path(), " is not used: ", why));
  };
  if (here.boot.empty()) return ignore("which boot this is cannot be read; none is kept");
  if (!found.ok() || !*found) return;
  const journal::Header& header = **found;
  if (const std::string other = Difference(header.scope, here); !other.empty())
    return ignore(other);
  const auto facts = control::DeriveOwnFacts(header.scope.node, header.own, config_.conf);
  if (!facts.ok()) return ignore(facts.status().message());
  // A file for another lease is newer than the journal, and without a file that lease was
  // withdrawn.
  if (!network_.KeepFileOf(*facts))
    return ignore(absl::StrCat(config_.options.subnet_file, " is not of its lease"));
  recalled_ = header;
  const bool recalls = RecallsLeases() && header.leases;
  control::LogInfo(absl::StrCat("the journal ", journal_.path(), " is of this boot",
                                recalls ? absl::StrCat(": ", *header.leases, " leases") : ""));
  if (!recalls) return;
  // In place of the InternalIP, which only the source knows: the address in use before.
  lease::OwnNode own = header.own;
  for (const lease::OwnNodeFamily* const half : {&own.v4, &own.v6}) {
    if (half->published_public_ip && half->public_ip_overwrite.empty())
      own.internal_ips.push_back(*half->published_public_ip);
  }
  const absl::Status read = reconciler_.Recall(
      own, [this](journal::Visit visit) { return journal_.Load(visit).status(); });
  journal_condition_.Set(read.message());
  if (read.ok()) node_name_ = header.scope.node;
}

void Daemon::CheckRecalled() {
  const std::optional<lease::OwnNode>& node = reconciler_.own_node();
  if (!recalled_ || !node || node->node.uid == recalled_->own.node.uid) return;
  control::LogInfo(absl::StrCat("node ", node->node.name, " was created again (UID ",
                                node->node.uid, ", before ", recalled_->own.node.uid,
                                "): the journal ", journal_.path(), " is dropped"));
  recalled_.reset();
  std::error_code ignored;
  std::filesystem::remove(control::PathOf(journal_.path()), ignored);
}

std::string Daemon::RecalledText() const {
  if (!recalled_ || reconciler_.source_synced()) return "";
  const std::string at = absl::FormatTime(
      "%Y-%m-%d %H:%M:%S UTC", absl::FromUnixSeconds(recalled_->saved), absl::UTCTimeZone());
  if (reconciler_.is_recalled()) {
    return absl::StrCat("; until it answers the leases of the journal of ", at,
                        " are in use, not confirmed");
  }
  return absl::StrCat("; until it answers routes, HNS and subnet.env stay as flanneld left them ",
                      "(journal of ", at, ")");
}

void Daemon::KeepJournal(bool last) {
  const auto& own = reconciler_.own_node();
  const steady_clock::time_point begin = steady_clock::now();
  if (stopped_ || !facts_.ok() || !own || !reconciler_.source_synced() ||
      !network_.has_written_file() || (!last && begin < next_journal_))
    return;
  next_journal_ = begin + kPause;
  const bool with_leases = RecallsLeases();
  std::pair<std::uint64_t, journal::Header> now(
      with_leases ? reconciler_.table().lease_generation() : 0, {});
  journal::Header& header = now.second;
  header.scope = JournalScope(node_name_);
  header.own = OwnOf(*own, *facts_);
  if (journaled_ == now) return;
  const auto each = [this](journal::Visit visit) { reconciler_.table().ForEachInUse(visit); };
  header.saved = absl::ToUnixSeconds(absl::Now());
  const absl::Status saved = with_leases ? journal_.Save(header, each) : journal_.Save(header);
  header.saved = 0;  // it makes no difference
  journal_condition_.Set(saved.message());
  if (saved.ok()) journaled_ = std::move(now);
  const steady_clock::time_point end = steady_clock::now();
  next_journal_ = end + std::max<steady_clock::duration>(kPause, kShare * (end - begin));
}

}  // namespace weft::daemon
