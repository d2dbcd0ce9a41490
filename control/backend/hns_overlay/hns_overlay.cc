// SPDX-License-Identifier: Apache-2.0
#include "control/backend/hns_overlay/hns_overlay.h"

#include "absl/strings/str_cat.h"
#include "control/backend/hns_network.h"
#include "control/log.h"
#include "control/underlay/adapter_below.h"

namespace weft::backend {
namespace {

std::string_view OverlayStateName(hns::OverlayState state) {
  switch (state) {
    case hns::OverlayState::kHns:
      return "hns";
    case hns::OverlayState::kNetwork:
      return "network";
    case hns::OverlayState::kManagementIp:
      return "management-ip";
    case hns::OverlayState::kRoutes:
      return "routes";
    case hns::OverlayState::kHolds:
      return "holds";
  }
  return "hns";
}

// Why what is left is left: each with HNS's own code.
std::vector<std::string> OverlayCauses(const hns::OverlayOutcome& outcome) {
  std::vector<std::string> causes = outcome.pending;
  if (causes.empty() && outcome.state < hns::OverlayState::kHolds)
    causes.push_back(outcome.sentence);
  causes.insert(causes.end(), outcome.notes.begin(), outcome.notes.end());
  return causes;
}

}  // namespace

absl::StatusOr<hns::OverlayWish> OverlayFor(const NodePlan& plan, const config::Options& options,
                                            const control::NetConf& conf,
                                            const std::vector<host::Adapter>& adapters) {
  const std::optional<hns::IsolationId> isolation_id = hns::IsolationId::Of(conf.vni.value());
  if (!isolation_id) {
    return absl::FailedPreconditionError(absl::StrCat("HNS has no overlay network of VNI ",
                                                      conf.vni.value(),
                                                      ": write another in net-conf.json"));
  }
  const underlay::AdapterHint nic = underlay::AdapterBelow(plan.underlay, adapters, options.iface);
  return hns::OverlayWish{conf.name,
                          plan.v4->subnet,
                          *isolation_id,
                          conf.port,
                          nic.name,
                          plan.underlay.v4->address,
                          options.hns_base_network,
                          nic.by_mac,
                          /*by_address=*/true,
                          nic.ambiguous};
}

absl::Status HnsOverlay::Configure(const NodePlan& plan, const underlay::HostFacts& host) {
  desired_.reset();
  if (!plan.v4) return absl::OkStatus();
  absl::StatusOr<hns::OverlayWish> overlay =
      OverlayFor(plan, context_.options, context_.conf, host.adapters);
  if (!overlay.ok()) return overlay.status();
  desired_ = *std::move(overlay);
  return absl::OkStatus();
}

absl::Status HnsOverlay::Open() {
  if (sink_ && (!desired_ || desired_->isolation_id != sink_->wish().isolation_id ||
                desired_->name != sink_->wish().name))
    Close();
  if (!desired_) return absl::OkStatus();
  if (!follower_) firewall_.Allow(desired_->port);
  if (sink_) {
    sink_->SetWish(*desired_);
    return absl::OkStatus();
  }
  sink_ = std::make_unique<control::HnsSink>(
      context_.hns, *desired_, context_.on_hns_change, control::RoundThread::Limits(),
      context_.hns_journal, /*awaits_adapter=*/!follower_ && context_.host.is_windows());
  control::LogInfo(
      absl::StrCat("peers are reached by the ", sink_->name(), " on ", desired_->adapter));
  context_.reconciler.AddSink(*sink_, control::Families::kV4);
  return absl::OkStatus();
}

void HnsOverlay::Close() {
  if (!sink_) return;
  context_.reconciler.RemoveSink(*sink_);
  sink_.reset();
  awaited_.reset();
}

std::optional<LeaseFacts> HnsOverlay::lease_facts() const {
  if (!sink_ || follower_) return std::nullopt;
  const hns::OverlayOutcome outcome = sink_->State().outcome;
  return LeaseFacts{true, outcome.management_ip ? outcome.dr_mac : std::nullopt,
                    outcome.management_ip};
}

// `awaited_` is older than these adapters: what had the address before the network was created is
// not its adapter.
void HnsOverlay::OnAdapters(const std::vector<host::Adapter>& adapters) {
  if (sink_ && awaited_ && underlay::OwnerOf(*awaited_, adapters)) sink_->SetAdapterThere();
}

void HnsOverlay::OnHnsChange() {
  if (!sink_) return;
  const hns::OverlayOutcome outcome = sink_->State().outcome;
  awaited_ = outcome.awaits_adapter ? outcome.management_ip : std::nullopt;
  context_.reconciler.OnSinkReport(*sink_, sink_->Report());
}

void HnsOverlay::Poll(control::TimePoint now) {
  if (!sink_) return;
  if (!follower_) firewall_.Allow(sink_->wish().port, now);
  condition_.Set(sink_->Look(now));
}

bool HnsOverlay::RequestPlan(bool repair, const PlanReply& reply) {
  if (!sink_) return false;
  sink_->Ask([repair, reply, name = sink_->wish().name](hns::OverlayKeeper& keeper) {
    reply(ReadPlan(keeper, name, repair, OverlayCauses));
  });
  return true;
}

std::string HnsOverlay::TunnelsText() const { return follower_ ? "" : "none: HNS has the network"; }

admin::HnsStatus HnsOverlay::ReadStatus() const {
  const control::HnsState state = sink_->State();
  admin::HnsStatus status = HnsStatusOf(sink_->wish().name, state);
  status.state = OverlayStateName(state.outcome.state);
  status.router_mac = state.outcome.dr_mac;
  return status;
}

// HNS's own state is the present one, unlike the sinks': a network that is lost makes the node
// unready.
void HnsOverlay::AppendChecks(std::vector<admin::Check>& checks) const {
  if (!sink_ || follower_) return;
  const control::HnsState state = sink_->State();
  const bool up = state.known && state.outcome.state >= hns::OverlayState::kRoutes;
  checks.push_back({"hns", up, ReadStatus().text});
}

void HnsOverlay::AppendConditions(std::vector<NamedCondition>& out) const {
  out.push_back({"hns", condition_});
  out.push_back({"firewall", firewall_.condition()});
}

void HnsOverlay::FillStatus(admin::Status& status) const {
  if (sink_) status.hns = ReadStatus();
}

}  // namespace weft::backend
