// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/host_upkeep.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "control/daemon/left_routes.h"
#include "control/daemon/log.h"
#include "control/daemon/static_route_ledger.h"
#include "vxlan/vni.h"

namespace weft::daemon {
namespace {

std::string Text(const host::Route& route) {
  return absl::StrCat(route.destination.ToString(),
                      route.gateway ? absl::StrCat(" via ", route.gateway->ToString()) : "");
}

}  // namespace

void HostUpkeep::Look(const HostFacts& facts, const InterfaceChoice& underlay) {
  for (const host::Adapter& adapter : facts.adapters) {
    if (adapter.index == underlay.index) CarryRoutes(facts, adapter);
  }
  // host-gw takes such routes over, or away.
  if (conf_.type != control::BackendType::kVxlan || !conf_.network) return;
  left_routes_.Set(LeftRoutesSentence(LeftRoutes(facts.routes_v4, *conf_.network), *conf_.network));
}

void HostUpkeep::CarryRoutes(const HostFacts& facts, const host::Adapter& adapter) {
  std::vector<host::Route> routes;
  for (const std::vector<host::Route>* of : {&facts.routes_v4, &facts.routes_v6}) {
    std::copy_if(of->begin(), of->end(), std::back_inserter(routes), [&](const host::Route& route) {
      // Default routes move with the address, peers' routes are a sink's.
      const auto& network = conf_.network_of(route.destination.family());
      return route.adapter_index == adapter.index && route.marked &&
             route.destination.length() != 0 && !(network && network->Contains(route.destination));
    });
  }
  if (!carried_)
    carried_.emplace(ledger_ ? RecallStaticRoutes(*ledger_) : host::CarriedRoutes::Memory());
  std::string refused;
  for (const auto& [route, status] : carried_->Follow(host_, adapter, routes)) {
    if (status.ok()) {
      LogInfo(absl::StrCat("put back the static route ", Text(route), " on ", adapter.name,
                           ": it was lost when the node's address moved there"));
    } else if (refused.empty()) {
      refused = absl::StrCat("the static route ", Text(route),
                             " was lost when the node's address moved to ", adapter.name,
                             " and cannot be put back: ", status.message(), "; put it yourself");
    }
  }
  route_trouble_.Set(refused);
  if (ledger_) RememberStaticRoutes(*ledger_, carried_->memory());
}

// Entered before it is made; one that was there before, or may have been, is not ours.
absl::Status HostUpkeep::Allow(const std::string& rule, std::uint16_t port) {
  const absl::StatusOr<bool> there = host_.HasFirewallRule(rule);
  const bool enter = ledger_ && there.ok() && !*there;
  if (enter) {
    ledger_->Use([&](control::Ledger& ledger) {
      return ledger.Put(
          {std::string(control::kFirewallRule), rule, absl::StrCat(port), /*adopted=*/false});
    });
  }
  absl::Status status = host_.AllowUdpIn(rule, port);
  if (enter && !status.ok()) {
    ledger_->Use(
        [&](control::Ledger& ledger) { return ledger.Remove(control::kFirewallRule, rule); });
  }
  return status;
}

void HostUpkeep::AllowTunnel(std::uint16_t port) {
  if (allowed_ == port) return;
  allowed_ = port;
  const std::string rule =
      port == kVxlanPort ? host::kOverlayFirewallRule : absl::StrCat("OverlayTraffic", port, "UDP");
  const absl::Status status = Allow(rule, port);
  firewall_trouble_.Set(status.ok() || absl::IsUnimplemented(status)
                            ? ""
                            : absl::StrCat("the firewall's rule ", rule,
                                           " cannot be made: ", status.message(),
                                           "; if peers do not reach this node, allow UDP to port ",
                                           port, " yourself"));
}

}  // namespace weft::daemon
