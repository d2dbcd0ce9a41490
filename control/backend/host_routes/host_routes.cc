// SPDX-License-Identifier: Apache-2.0
#include "control/backend/host_routes/host_routes.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/backend/userspace/userspace.h"
#include "control/log.h"

namespace weft::backend {

std::vector<control::HostRouteConfig> HostRouteConfigs(const NodePlan& plan,
                                                       const control::NetConf& conf,
                                                       bool into_tunnels) {
  std::vector<control::HostRouteConfig> all;
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    if (!plan.of(family)) continue;
    control::HostRouteConfig& routes = all.emplace_back();
    routes.family = family;
    routes.network = plan.of(family)->network;
    routes.direct = !into_tunnels || conf.direct_routing;
    if (routes.direct) {
      routes.underlay = {plan.underlay.index, plan.underlay.name};
      routes.upstream_device = TunnelDevice(family, conf.vni);
    } else {
      routes.node_address = plan.underlay.of(family)->address;
    }
  }
  return all;
}

control::HostRouteConfig HostRoutes::WithTunnel(const control::HostRouteConfig& config) const {
  control::HostRouteConfig routes = config;
  if (tunnels_) routes.tunnel = tunnels_->DeviceOf(config.family);
  return routes;
}

template <typename Stale>
void HostRoutes::CloseIf(const Stale& stale) {
  std::erase_if(sinks_, [&](const Opened& opened) {
    if (!stale(opened.config)) return false;
    context_.reconciler.RemoveSink(*opened.sink);
    return true;
  });
}

absl::Status HostRoutes::Configure(const NodePlan& plan, const underlay::HostFacts&) {
  underlay_ = plan.underlay.index;
  configs_ = HostRouteConfigs(plan, context_.conf, /*into_tunnels=*/tunnels_ != nullptr);
  return absl::OkStatus();
}

// The prefixes on link decide how a peer is reached: when the addresses change, all sinks are
// resynced.
void HostRoutes::Inspect(const underlay::HostFacts& host) {
  CloseIf([&](const control::HostRouteConfig& opened) {
    return std::none_of(configs_.begin(), configs_.end(),
                        [&](const auto& config) { return WithTunnel(config) == opened; });
  });
  const host::Adapter* const adapter = underlay::ByIndex(underlay_, host.adapters);
  if (!adapter || adapter->addresses == underlay_addresses_) return;
  const bool first = std::exchange(underlay_addresses_, adapter->addresses).empty();
  const bool direct = std::any_of(sinks_.begin(), sinks_.end(),
                                  [](const Opened& opened) { return opened.config.direct; });
  if (direct && !first) context_.reconciler.ResyncAll();
}

absl::Status HostRoutes::Open() {
  for (const control::HostRouteConfig& config : configs_) {
    const control::HostRouteConfig desired = WithTunnel(config);
    if (std::any_of(sinks_.begin(), sinks_.end(),
                    [&](const Opened& opened) { return opened.config == desired; }))
      continue;
    sinks_.push_back({desired, std::make_unique<control::HostRouteSink>(
                                   context_.host, desired, context_.ledger.get(),
                                   &std::chrono::steady_clock::now, [this](const IpPrefix& subnet) {
                                     return context_.reconciler.table().PeerAt(subnet);
                                   })});
    control::HostRouteSink& sink = *sinks_.back().sink;
    if (!tunnels_) control::LogInfo(absl::StrCat("peers are reached by ", sink.name()));
    context_.reconciler.AddSink(sink, FamiliesOf(config.family));
  }
  return absl::OkStatus();
}

// The routes stay, and a later process recognizes them.
void HostRoutes::Close() {
  CloseIf([](const control::HostRouteConfig&) { return true; });
}

void HostRoutes::CloseDevice(const std::string& device) {
  CloseIf([&](const control::HostRouteConfig& opened) {
    return opened.tunnel && opened.tunnel->name == device;
  });
}

bool HostRoutes::IsConcernedBy(const host::RouteChanges& changes) const {
  return std::any_of(sinks_.begin(), sinks_.end(),
                     [&](const Opened& opened) { return opened.sink->IsConcernedBy(changes); });
}

void HostRoutes::RecheckRoutes(bool all) {
  for (const Opened& opened : sinks_)
    if (all || opened.sink->unverified()) context_.reconciler.Recheck(*opened.sink);
}

std::string HostRoutes::TunnelsText(bool up) const {
  if (tunnels_ || (!up && configs_.empty())) return "";
  return up ? "none: peers are reached by host routes" : "the host routes wait for HNS";
}

void HostRoutes::FillStatus(admin::Status& status) const {
  if (tunnels_) return;  // which count
  for (const control::HostRouteConfig& config : configs_)
    AppendPeers(context_, config.family, config.underlay.name, status.peers);
}

}  // namespace weft::backend
