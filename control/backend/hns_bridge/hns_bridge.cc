// SPDX-License-Identifier: Apache-2.0
#include "control/backend/hns_bridge/hns_bridge.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/log.h"
#include "control/underlay/adapter_below.h"

namespace weft::backend {
namespace {

constexpr std::string_view kBridgeStates[] = {"hns", "network", "management-ip", "endpoint",
                                              "in-sync"};
std::string_view BridgeStateName(hns::BridgeState state) {
  return kBridgeStates[static_cast<std::size_t>(state)];
}

bool InSync(const control::KeeperState<hns::BridgeOutcome>& state) {
  return state.settled && state.outcome.state == hns::BridgeState::kInSync;
}

}  // namespace

absl::StatusOr<hns::BridgeSpec> BridgeFor(const NodePlan& plan, const config::Options& options,
                                          const control::NetConf& conf,
                                          const std::vector<host::Adapter>& adapters) {
  const underlay::AdapterHint nic = underlay::AdapterBelow(plan.underlay, adapters, options.iface);
  const IpPrefix& subnet = plan.v4->subnet;
  hns::BridgeSpec spec{conf.name,
                       subnet,
                       conf.dns_servers,
                       nic.name,
                       plan.underlay.v4->address,
                       nic.by_mac,
                       /*any_adapter=*/true,
                       nic.ambiguous};
  if (subnet.Contains(spec.endpoint_address())) return spec;
  return absl::FailedPreconditionError(
      absl::StrCat("our PodCIDR ", subnet.ToString(), " has no room for the host's own endpoint, ",
                   spec.endpoint_address().ToString(),
                   "; give nodes larger PodCIDRs (kube-controller-manager --node-cidr-mask-size)"));
}

// HNS may give it the gateway of its subnet. It is left: whoever made routes may depend on it.
std::string SecondDefaultRoute(const IpAddress& endpoint, const underlay::HostFacts& host) {
  const host::Adapter* const bridge = underlay::OwnerOf(endpoint, host.adapters);
  const host::Route *second = nullptr, *own = nullptr;
  for (const host::Route& route : host.routes_v4) {
    if (bridge == nullptr || route.destination.length() != 0 || !route.gateway) continue;
    const host::Route*& best = route.adapter_index == bridge->index ? second : own;
    if (best == nullptr || host::PrecedenceOf(route) < host::PrecedenceOf(*best)) best = &route;
  }
  if (!second || !own || host::PrecedenceOf(*own) < host::PrecedenceOf(*second)) return "";
  return absl::StrCat("this host has two default routes: via ", second->gateway->ToString(), " on ",
                      bridge->name, " of flanneld's bridge (metric ", host::PrecedenceOf(*second),
                      ") and via ", own->gateway->ToString(), " (metric ", host::PrecedenceOf(*own),
                      "); the first one is used, and other networks may not be reached: remove it "
                      "(Remove-NetRoute -InterfaceAlias '",
                      bridge->name, "' -DestinationPrefix 0.0.0.0/0)");
}

absl::Status HnsBridge::Open() {
  const bool same = programmed_ == desired_;
  programmed_ = desired_;
  if (!desired_) Close();
  if (!desired_ || (keeper_ && same)) return absl::OkStatus();
  forwarded_.reset();
  if (keeper_) {
    keeper_->Post([spec = *desired_](hns::BridgeKeeper& keeper) { keeper.SetSpec(spec); });
    return absl::OkStatus();
  }
  keeper_ = std::make_unique<control::KeeperThread<hns::BridgeKeeper, hns::BridgeOutcome>>(
      context_.hns, context_.ledger,
      [this](hns::Api& api, const std::shared_ptr<hns::ObjectLedger>& ledger) {
        auto keeper = std::make_unique<hns::BridgeKeeper>(api, *programmed_, ledger);
        keeper->SetAdapterPresent(adapter_present_);
        if (context_.hns_repairs) keeper->SetRepairs(context_.hns_repairs);
        return keeper;
      },
      context_.on_hns_change, control::RoundThread::Limits());
  control::LogInfo(absl::StrCat("pods are reached through the HNS network ", desired_->name));
  return absl::OkStatus();
}

bool HnsBridge::IsUp() const {
  if (!decides() || !IsComplete()) return IsComplete();
  const State state = keeper_->State();
  return InSync(state) && Unforwarded(state).empty();
}

std::optional<LeaseFacts> HnsBridge::lease_facts() const {
  if (!decides()) return std::nullopt;
  return LeaseFacts{false, std::nullopt, keeper_->State().outcome.management_ip};
}

void HnsBridge::OnHnsChange() {
  if (!decides()) return;
  const State state = keeper_->State();
  const bool inspected = forwarded_ == state.outcome.endpoint_id;
  if (state.known && state.outcome.state < hns::BridgeState::kInSync)
    network_condition_.Set(state.outcome.sentence);
  else
    network_condition_.Set(inspected ? forwarding_ : "");
}

std::string HnsBridge::Unforwarded(const State& state) const {
  return forwarded_ == state.outcome.endpoint_id ? forwarding_ : "forwarding has not been read yet";
}

std::string HnsBridge::ForwardingOn(const IpAddress& address,
                                    const std::vector<host::Adapter>& adapters) {
  const host::Adapter* adapter = underlay::OwnerOf(address, adapters);
  if (!adapter) return absl::StrCat("no adapter has ", address.ToString(), " yet: HNS creates it");
  const absl::StatusOr<bool> on = context_.host.Forwarding(adapter->index, IpFamily::kV4);
  if (!on.ok()) return std::string(on.status().message());
  if (*on) return {};
  const absl::Status status = context_.host.SetForwarding(adapter->index, IpFamily::kV4, true);
  if (status.ok()) {
    switched_on_.insert(adapter->index);
    control::LogInfo(absl::StrCat("switched IPv4 forwarding on for ", adapter->name));
  }
  return std::string(status.message());
}

void HnsBridge::ForwardingOff(const std::set<IpAddress>& addresses,
                              const std::vector<host::Adapter>& adapters) {
  std::erase_if(switched_on_, [&](std::uint32_t index) {
    const host::Adapter* const adapter = underlay::ByIndex(index, adapters);
    if (adapter == nullptr) return true;
    for (const IpAddress& address : addresses) {
      const host::Adapter* const owner = underlay::OwnerOf(address, adapters);
      if (owner && owner->index == index) return false;
    }
    if (!context_.host.SetForwarding(index, IpFamily::kV4, false).ok()) return false;
    control::LogInfo(absl::StrCat("switched IPv4 forwarding off again for ", adapter->name));
    return true;
  });
}

void HnsBridge::Inspect(const underlay::HostFacts& host) {
  if (!decides()) return;
  const std::vector<host::Adapter>& adapters = host.adapters;
  const State state = keeper_->State();
  const bool present = underlay::OwnerOf(programmed_->endpoint_address(), adapters) != nullptr;
  if (state.outcome.endpoint_id && present != std::exchange(adapter_present_, present))
    keeper_->Request([present](hns::BridgeKeeper& keeper) { keeper.SetAdapterPresent(present); });
  second_default_.Set(SecondDefaultRoute(programmed_->endpoint_address(), host));
  forwarded_.reset();
  forwarding_.clear();
  if (InSync(state)) {
    forwarded_ = state.outcome.endpoint_id;
    std::set<IpAddress> addresses = {programmed_->node_address, programmed_->endpoint_address()};
    // Differs from the node's address where HNS chose another adapter; or it is the node's former
    // address.
    const auto& management_ip = state.outcome.management_ip;
    if (management_ip && underlay::OwnerOf(*management_ip, adapters))
      addresses.insert(*management_ip);
    for (const IpAddress& address : addresses) {
      std::string failure = ForwardingOn(address, adapters);
      if (forwarding_.empty()) forwarding_ = std::move(failure);
    }
    if (forwarding_.empty()) ForwardingOff(addresses, adapters);
  }
  OnHnsChange();
}

admin::HnsStatus HnsBridge::ReadStatus() const {
  const State state = keeper_->State();
  admin::HnsStatus status = HnsStatusOf(programmed_->name, state);
  status.state = BridgeStateName(state.outcome.state);
  if (state.outcome.state != hns::BridgeState::kInSync) return status;
  if (const std::string missing = Unforwarded(state); !state.settled) {
    status.state = BridgeStateName(hns::BridgeState::kNetwork);
    status.text = absl::StrCat("the HNS network ", programmed_->name, " is about to change");
  } else if (!missing.empty()) {
    status.state = "forwarding";
    status.text = missing;
  }
  return status;
}

void HnsBridge::AppendConditions(std::vector<NamedCondition>& out) const {
  HnsNetwork::AppendConditions(out);
  out.push_back({"hns", second_default_});
}

void HnsBridge::AppendChecks(std::vector<admin::Check>& checks) const {
  if (decides()) checks.push_back({"hns", IsUp(), ReadStatus().text});
}

}  // namespace weft::backend
