// SPDX-License-Identifier: Apache-2.0
#include "control/backend/hns_overlay/hns_overlay.h"

#include "absl/strings/str_cat.h"
#include "control/log.h"
#include "control/underlay/adapter_below.h"

namespace weft::backend {
namespace {

constexpr std::string_view kOverlayStates[] = {"hns", "network", "management-ip", "routes",
                                               "in-sync"};
std::string_view OverlayStateName(hns::OverlayState state) {
  return kOverlayStates[static_cast<std::size_t>(state)];
}

}  // namespace

absl::StatusOr<hns::OverlaySpec> OverlayFor(const NodePlan& plan, const config::Options& options,
                                            const control::NetConf& conf,
                                            const std::vector<host::Adapter>& adapters) {
  const std::optional<hns::IsolationId> isolation_id = hns::IsolationId::From(conf.vni.value());
  if (!isolation_id) {
    return absl::FailedPreconditionError(
        absl::StrCat("HNS supports no overlay network with VNI ", conf.vni.value(),
                     "; set another Backend.VNI in net-conf.json"));
  }
  const underlay::AdapterHint nic = underlay::AdapterBelow(plan.underlay, adapters, options.iface);
  return hns::OverlaySpec{conf.name,
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

absl::Status HnsOverlay::Open() {
  if (keeper_ && (!desired_ || desired_->isolation_id != programmed_->isolation_id ||
                  desired_->name != programmed_->name))
    Close();
  programmed_ = desired_;
  if (!desired_) return absl::OkStatus();
  if (!follower_) KeepFirewall(std::chrono::steady_clock::now());
  if (keeper_) {
    keeper_->SetSpec(*desired_);
    return absl::OkStatus();
  }
  keeper_ = std::make_unique<control::HnsSink>(
      context_.hns, *desired_, context_.on_hns_change, control::RoundThread::Limits(),
      context_.ledger, /*awaits_adapter=*/!follower_ && context_.host.is_windows(),
      context_.hns_repairs);
  control::LogInfo(
      absl::StrCat("peers are reached by the ", keeper_->name(), " on ", desired_->adapter));
  if (!follower_ && context_.options.firewall_sources == config::FirewallSources::kPeers) {
    keeper_->SetBeforeRoutes([this] {
      sources_ = SourcesOf(context_.reconciler.table().Snapshot(IpFamily::kV4));
      KeepFirewall(std::chrono::steady_clock::now());
    });
  }
  context_.reconciler.AddSink(*keeper_, control::Families::kV4);
  return absl::OkStatus();
}

void HnsOverlay::Close() {
  if (keeper_) context_.reconciler.RemoveSink(*keeper_);
  keeper_.reset();
  awaited_.reset();
}

std::optional<LeaseFacts> HnsOverlay::lease_facts() const {
  if (!decides()) return std::nullopt;
  const hns::OverlayOutcome outcome = keeper_->State().outcome;
  return LeaseFacts{true, outcome.management_ip ? outcome.dr_mac : std::nullopt,
                    outcome.management_ip, outcome.source_vip_known, outcome.source_vip};
}

// HNS may refuse, so it is requested again.
void HnsOverlay::RequestSourceVip() {
  constexpr auto kPause = std::chrono::seconds(5);
  const auto now = std::chrono::steady_clock::now();
  if (!decides() || !keeper_->State().outcome.network_id ||
      (source_vip_requested_ && now - *source_vip_requested_ < kPause))
    return;
  source_vip_requested_ = now;
  keeper_->Request([](hns::OverlayKeeper& keeper) { keeper.ReadSourceVip(); });
}

// `adapters` were read after `awaited_` was set: an adapter that had the address before the network
// was created does not count.
void HnsOverlay::OnAdapters(const std::vector<host::Adapter>& adapters) {
  if (!keeper_ || !awaited_ || !underlay::OwnerOf(*awaited_, adapters)) return;
  keeper_->SetAdapterPresent();
  const auto created = context_.hns_calls ? context_.hns_calls->network_created() : std::nullopt;
  if (created && created != measured_) blip_ = std::chrono::steady_clock::now() - *created;
  measured_ = created;
}

void HnsOverlay::OnHnsChange() {
  if (!keeper_) return;
  const hns::OverlayOutcome outcome = keeper_->State().outcome;
  awaited_ = outcome.awaits_adapter ? outcome.management_ip : std::nullopt;
  context_.reconciler.OnSinkReport(*keeper_, keeper_->Report());
}

void HnsOverlay::Poll(control::TimePoint now) {
  if (decides()) KeepFirewall(now);
  HnsNetwork::Poll(now);
}

void HnsOverlay::KeepFirewall(control::TimePoint now) {
  if (!context_.options.manage_firewall) return;
  if (context_.options.firewall_sources == config::FirewallSources::kPeers && !sources_) return;
  firewall_.Allow(programmed_->port, sources_.value_or(FirewallSources()), now);
}

std::string HnsOverlay::TunnelsText(bool up) const {
  return follower_ || !up ? "" : "none: HNS has the network";
}

admin::HnsStatus HnsOverlay::ReadStatus() const {
  const control::HnsState state = keeper_->State();
  admin::HnsStatus status = HnsStatusOf(programmed_->name, state);
  status.state = OverlayStateName(state.outcome.state);
  status.port = programmed_->port;
  status.router_mac = state.outcome.dr_mac;
  if (!follower_ && !context_.options.manage_firewall) {
    status.notes.push_back(absl::StrCat(
        "the firewall is left alone (--manage-firewall=false): allow inbound UDP port ",
        programmed_->port, " yourself"));
  }
  if (!follower_ && context_.conf.mtu) {
    status.notes.push_back(absl::StrCat(
        "Backend.MTU ", context_.conf.mtu->bytes(),
        " of net-conf reaches no pod of this node: upstream's flanneld for Windows ignores it, and "
        "flannel's CNI plugin the FLANNEL_MTU of subnet.env; HNS chooses their MTU"));
  }
  return status;
}

void HnsOverlay::FillStatus(admin::Status& status) const {
  HnsNetwork::FillStatus(status);
  if (decides()) AppendPeers(context_, IpFamily::kV4, programmed_->name, status.peers);
}

// Unlike the check of the sinks, this one follows the present state of HNS: a lost network makes
// the node unready.
void HnsOverlay::AppendChecks(std::vector<admin::Check>& checks) const {
  if (!decides()) return;
  const control::HnsState state = keeper_->State();
  const bool up = state.known && state.outcome.state >= hns::OverlayState::kRoutes;
  checks.push_back({"hns", up, ReadStatus().text});
}

void HnsOverlay::AddMetrics(metrics::Exposition& exposition) const {
  if (!blip_) return;
  exposition.AddReal(metrics::Metric::kNetworkBlip, {},
                     std::chrono::duration<double>(*blip_).count());
}

void HnsOverlay::AppendConditions(std::vector<NamedCondition>& out) const {
  HnsNetwork::AppendConditions(out);
  out.push_back({"firewall", firewall_.condition()});
}

}  // namespace weft::backend
