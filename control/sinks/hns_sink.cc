// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/hns_sink.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::control {

HnsSink::HnsSink(std::shared_ptr<hns::Api> api, const hns::OverlaySpec& spec,
                 std::function<void()> on_change, RoundThread::Limits limits,
                 std::shared_ptr<hns::ObjectLedger> ledger, bool awaits_adapter,
                 std::shared_ptr<hns::Repairs> repairs)
    : spec_(spec),
      awaits_adapter_(awaits_adapter),
      repairs_(std::move(repairs)),
      thread_(
          std::move(api), std::move(ledger),
          [this](hns::Api& session_api, const std::shared_ptr<hns::ObjectLedger>& session_ledger) {
            return MakeKeeper(session_api, session_ledger);
          },
          std::move(on_change), limits) {}

std::unique_ptr<hns::OverlayKeeper> HnsSink::MakeKeeper(
    hns::Api& api, const std::shared_ptr<hns::ObjectLedger>& ledger) const {
  auto keeper = std::make_unique<hns::OverlayKeeper>(api, spec_, ledger,
                                                     std::chrono::steady_clock::now, routes_);
  if (repairs_) keeper->SetRepairs(repairs_);
  if (awaits_adapter_) keeper->SetAdapterPresent(false);
  return keeper;
}

void HnsSink::SetSpec(const hns::OverlaySpec& spec) {
  if (spec == spec_) return;
  spec_ = spec;
  thread_.Post([spec](hns::OverlayKeeper& keeper) { keeper.SetSpec(spec); });
}

void HnsSink::SetAdapterPresent() {
  thread_.Request([](hns::OverlayKeeper& keeper) { keeper.SetAdapterPresent(true); });
}

lease::SinkReport HnsSink::Report() const {
  const HnsState state = State();
  lease::SinkReport report;
  report.desired = routes_->size();
  report.applied = std::min(state.outcome.applied, report.desired);
  report.settled = state.settled;
  report.pending = state.outcome.pending;
  report.failed = state.outcome.refused;
  report.stuck = state.outcome.refused_removals;
  if (state.known && state.outcome.state < hns::OverlayState::kRoutes)
    report.pending.insert(report.pending.begin(), state.outcome.sentence);
  return report;
}

std::string HnsSink::name() const { return absl::StrCat("HNS network ", spec_.name); }

hns::RemoteSubnetRoute RouteTo(const lease::Peer& peer, const hns::OverlaySpec& spec) {
  return {peer.subnet, spec.isolation_id, peer.public_ip, peer.vtep_mac};
}

lease::SinkReport HnsSink::Resync(std::span<const lease::Peer> all) {
  if (before_routes_) before_routes_();
  hns::RemoteSubnetRoutes routes;
  for (const lease::Peer& peer : all)
    if (peer.subnet.family() == IpFamily::kV4) routes.emplace(peer.subnet, RouteTo(peer, spec_));
  routes_->Set(std::move(routes), /*may_remove=*/true);
  thread_.Post([](hns::OverlayKeeper& keeper) {
    keeper.RoutesChanged();
    keeper.Recheck();
  });
  return Report();
}

lease::SinkReport HnsSink::Update(const lease::PeerChanges& changes) {
  if (before_routes_) before_routes_();
  for (const lease::Peer& peer : changes.upserts)
    if (peer.subnet.family() == IpFamily::kV4) routes_->Put(RouteTo(peer, spec_));
  for (const IpPrefix& subnet : changes.removals) routes_->Erase(subnet);
  thread_.Post([](hns::OverlayKeeper& keeper) { keeper.RoutesChanged(); });
  return Report();
}

lease::SinkReport HnsSink::Retry() {
  thread_.Wake();
  return Report();
}

}  // namespace weft::control
