// SPDX-License-Identifier: Apache-2.0
// The body of /metrics.
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "control/daemon/daemon.h"
#include "control/lease/peer_state.h"

namespace weft::daemon {
namespace {

using metrics::Exposition;
using metrics::Metric;

void AddLeases(Exposition& exposition, const lease::LeaseTable& table) {
  for (const auto& [word, family] :
       {std::pair("ipv4", IpFamily::kV4), std::pair("ipv6", IpFamily::kV6)}) {
    const lease::StateCounts counts = table.Counts(family);
    for (std::size_t i = 0; i < counts.size(); ++i)
      exposition.Add(Metric::kLeases, {word, Name(static_cast<lease::PeerState>(i))}, counts[i]);
  }
}

// Sinks of one kind are added up: their names contain what net-conf says.
void AddRoutes(Exposition& exposition, const control::ReconcilerReport& report) {
  struct Routes {
    std::uint64_t desired = 0, applied = 0, failed = 0;
  };
  std::map<std::string_view, Routes> kinds;
  for (const control::SinkStatus& sink : report.sinks) {
    Routes& routes = kinds[sink.kind];
    routes.desired += sink.report.desired;
    routes.applied += sink.report.applied;
    routes.failed += sink.report.failed + sink.report.refused.size();
  }
  for (const auto& [kind, routes] : kinds) {
    exposition.Add(Metric::kRoutes, {kind, "desired"}, routes.desired);
    exposition.Add(Metric::kRoutes, {kind, "applied"}, routes.applied);
    exposition.Add(Metric::kRoutes, {kind, "failed"}, routes.failed);
  }
}

}  // namespace

std::string Daemon::ReadMetrics() const {
  const control::ReconcilerReport report = reconciler_.report();
  Exposition exposition;
  exposition.Add(Metric::kBuildInfo,
                 {kVersion, control::Name(config_.conf.type), Name(config_.options.data_plane)}, 1);
  exposition.Add(Metric::kProcessStart, {}, static_cast<std::uint64_t>(started_));
  const std::vector<admin::Check> checks = Checks(report);
  exposition.Add(Metric::kReady, {}, AllOk(checks) ? 1 : 0);
  for (const admin::Check& check : checks)
    exposition.Add(Metric::kCheckOk, {check.name}, check.ok ? 1 : 0);
  std::map<std::string_view, bool> active;
  for (const auto& [subject, condition] : NamedConditions())
    active[subject] = active[subject] || !condition.text().empty();
  for (const auto& [subject, is_active] : active)
    exposition.Add(Metric::kConditionActive, {subject}, is_active ? 1 : 0);

  AddLeases(exposition, reconciler_.table());
  exposition.Add(Metric::kNodesWithoutLease, {"refused"}, report.refused);
  exposition.Add(Metric::kNodesWithoutLease, {"not-joined"}, report.not_joined);
  AddRoutes(exposition, report);
  const std::optional<control::TimePoint> synced_at =
      member_ ? member_->synced_at() : file_read_at_;
  if (synced_at && report.source_synced) {
    exposition.AddReal(Metric::kSyncAge, {},
                       std::chrono::duration<double>(clock_.Now() - *synced_at).count());
  }
  exposition.AddHistogram(Metric::kReconcileDuration, {}, rounds_took_);
  if (member_) member_->AddMetrics(exposition);
  if (hns_calls_) {
    hns_calls_->AddTo(exposition);
    using Kind = hns::Repairs::Kind;
    for (const auto& [name, kind] :
         {std::pair("network", Kind::kNetwork), std::pair("host-route", Kind::kHostRoute),
          std::pair("route", Kind::kRoute), std::pair("endpoint", Kind::kEndpoint)})
      exposition.Add(Metric::kHnsDriftRepairs, {name}, hns_repairs_->Count(kind));
  }
  network_.AddMetrics(exposition);
  return exposition.Text();
}

}  // namespace weft::daemon
