// SPDX-License-Identifier: Apache-2.0
// What the daemon reports of itself: checks, status, leases.
#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/admin/lease_list.h"
#include "control/daemon/daemon.h"
#include "control/daemon/health.h"
#include "control/daemon/process.h"

namespace weft::daemon {
namespace {

// Nodes to reach, and nodes that every sink has programmed. A sink counts halves, not nodes, so the
// second count may be too low, never too high.
std::optional<admin::Reach> ReachOf(const lease::LeaseTable& table,
                                    const control::ReconcilerReport& report) {
  if (report.sinks.empty()) return std::nullopt;  // there are no nodes to reach, or no sinks yet
  const lease::PeerCounts peers = table.Peers();
  std::size_t missing = 0;
  for (const control::SinkStatus& sink : report.sinks) {
    const lease::SinkReport& is = sink.report;
    missing += is.desired - std::min(is.applied, is.desired) + is.refused.size();
  }
  return admin::Reach{peers.all, peers.usable - std::min(missing, peers.usable)};
}

// Nodes from which packets came in the last minute; empty: no data plane reports it.
std::optional<std::uint64_t> HeardOf(const std::vector<admin::PeerStatus>& peers) {
  std::optional<std::set<std::string_view>> heard;
  for (const admin::PeerStatus& peer : peers) {
    if (!peer.heard) continue;
    if (!heard) heard.emplace();
    if (*peer.heard && !peer.node.empty()) heard->insert(peer.node);
  }
  return heard ? std::optional(heard->size()) : std::nullopt;
}

// The conditions that last; those with the same subject become one: its text is all of theirs, its
// count the sum.
std::vector<admin::ConditionStatus> Aggregate(
    const std::vector<backend::NamedCondition>& conditions) {
  std::vector<admin::ConditionStatus> out;
  for (const auto& [subject, condition] : conditions) {
    if (condition.text().empty()) continue;
    auto same = std::ranges::find(out, subject, &admin::ConditionStatus::subject);
    if (same == out.end()) same = out.insert(out.end(), {std::string(subject), std::string()});
    absl::StrAppend(&same->condition, same->condition.empty() ? "" : "; ", condition.text());
    same->times += condition.times();
  }
  return out;
}

}  // namespace

std::vector<admin::Check> Daemon::Checks(const control::ReconcilerReport& report) const {
  std::vector<admin::Check> checks;
  const std::string condition = report.condition.value_or("");
  // After the first snapshot a condition of the source is reported but fails no check: the data
  // plane keeps its state.
  checks.push_back(
      {"source", report.source_synced,
       absl::StrCat(!condition.empty() ? condition
                                       : absl::StrCat(DescribeSource(),
                                                      report.source_synced ? "" : " not read yet"),
                    RecalledText())});
  if (member_ && member_->Servers().size() > 1) {
    const auto line = [](std::string* text, const kube::ServerState& each) {
      absl::StrAppend(text, each.server, ": ", each.text);
    };
    checks.push_back({"api-server", true, absl::StrJoin(member_->Servers(), "; ", line)});
  }
  const std::string name_condition = member_ ? member_->name_condition().text() : "";
  const bool applied = facts_.ok() && applied_ == std::pair(*facts_, reconciler_.is_recalled());
  checks.push_back({"own-node", applied,
                    applied                   ? ""
                    : facts_.ok()             ? "the new lease is not applied yet"
                    : !name_condition.empty() ? name_condition
                                              : std::string(facts_.status().message())});
  network_.AppendChecks(report, checks);
  if (member_) {
    const std::string& why = member_->publish_condition().text();
    const bool published = member_->published();
    checks.push_back({"published", published, published || !why.empty() ? why : "not yet"});
  }
  // Without the admin endpoint only /readyz shows this condition; the network works without the
  // endpoint.
  if (!admin_condition_.text().empty()) checks.push_back({"admin", true, admin_condition_.text()});
  return checks;
}

std::vector<backend::NamedCondition> Daemon::NamedConditions() const {
  std::vector<backend::NamedCondition> conditions = {{"net-conf", net_conf_.condition()},
                                                     {"health", health_condition_},
                                                     {"admin", admin_condition_},
                                                     {"journal", journal_condition_},
                                                     {"cni", cni_condition_},
                                                     {"vni", vni_condition_},
                                                     {"vtep-mac", mac_condition_},
                                                     {"own-lease", lease_condition_},
                                                     {"log", log_condition_},
                                                     {"credentials", credentials_condition_},
                                                     {"options", options_condition_}};
  network_.AppendConditions(conditions);
  if (member_) {
    conditions.push_back({"node-name", member_->name_condition()});
    conditions.push_back({"publish", member_->publish_condition()});
    conditions.push_back({"api-server", member_->silence_condition()});
  }
  return conditions;
}

std::vector<admin::ConditionStatus> Daemon::Conditions(
    const control::ReconcilerReport& report) const {
  std::vector<admin::ConditionStatus> out = Aggregate(NamedConditions());
  for (const control::SinkStatus& sink : report.sinks) {
    if (!sink.report.refused.empty())
      out.push_back({sink.name, absl::StrJoin(sink.report.refused, "; "), sink.refusal_changes});
    if (!sink.report.notes.empty())
      out.push_back({sink.name, absl::StrJoin(sink.report.notes, "; "), sink.note_changes});
  }
  return out;
}

void Daemon::ReportHealth() {
  if (!config_.on_health || stopped_) return;
  const control::ReconcilerReport report = reconciler_.report();
  const std::vector<admin::Check> checks = Checks(report);
  service::Health health;
  health.ready = AllOk(checks);
  const auto failing = std::ranges::find(checks, false, &admin::Check::ok);
  if (failing != checks.end())
    health.reason = absl::StrCat(failing->name, failing->text.empty() ? "" : ": ", failing->text);
  for (admin::ConditionStatus& each : Conditions(report))
    health.conditions.emplace_back(std::move(each.subject), std::move(each.condition));
  const hns::Repairs::Last restored = hns_repairs_->ReadLast(clock_.Now());
  health.restored = restored.all;
  health.last_restored = restored.Text();
  LogRestored();  // what is reported is in the log
  config_.on_health(health);
}

admin::Status Daemon::ReadStatus() {
  const control::ReconcilerReport report = reconciler_.report();
  admin::Status status;
  status.version = kVersion;
  status.node = node_name_;
  status.pid = ProcessId();
  status.started = started_;
  status.backend = control::Name(config_.conf.type);
  status.dataplane = Name(config_.options.data_plane);
  status.checks = Checks(report);
  status.ready = AllOk(status.checks);
  network_.FillStatus(status);
  const hns::Repairs::Last restored = hns_repairs_->ReadLast(clock_.Now());
  if (status.hns && restored.recent > 0)
    status.hns->restored = {restored.recent, control::UnixSecondsAt(restored.at), restored.what};
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    if (!config_.conf.enabled(family)) continue;
    admin::OwnFacts own;
    if (facts_.ok() && facts_->of(family)) {
      own.subnet = facts_->of(family)->subnet;
      own.vtep_mac = facts_->of(family)->vtep_mac;
      if (config_.options.data_plane == config::DataPlane::kHns) own.vtep_mac = network_.vtep_mac();
    }
    own.public_ip = network_.public_ip(family);
    (family == IpFamily::kV4 ? status.v4 : status.v6) = own;
  }
  status.source = {DescribeSource(), report.source_synced, report.condition.value_or("")};
  if (member_) {
    if (const auto age = member_->silence().age)
      status.source.last_answer_age = static_cast<std::uint64_t>(age->count());
  }
  if (member_ && member_->Servers().size() > 1) {
    for (const kube::ServerState& each : member_->Servers())
      status.source.servers.push_back({each.server, each.in_use, each.text});
  }
  status.notes = config_.notes;
  status.conditions = Conditions(report);
  status.leases = admin::CountLeases(reconciler_.table());
  status.refused_nodes = report.refused;
  if (report.not_joined > 0) status.not_joined_nodes = report.not_joined;
  status.reach = ReachOf(reconciler_.table(), report);
  // Packets of direct routes come past the tunnel.
  if (status.reach && !config_.conf.direct_routing) status.reach->heard = HeardOf(status.peers);
  for (const control::SinkStatus& sink : report.sinks) {
    status.sinks.push_back(
        {sink.name, sink.report.desired, sink.report.applied, sink.report.pending});
  }
  return status;
}

admin::LeaseList Daemon::ReadLeases() {
  admin::LeaseList list =
      admin::ListLeases(reconciler_.table(), absl::StrCat(DescribeSource(), RecalledText()));
  list.generation = generation();
  return list;
}

std::uint64_t Daemon::generation() const { return reconciler_.generation(); }

}  // namespace weft::daemon
