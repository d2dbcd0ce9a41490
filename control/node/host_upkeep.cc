// SPDX-License-Identifier: Apache-2.0
#include "control/node/host_upkeep.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "control/ledger/static_route_ledger.h"
#include "control/log.h"
#include "control/node/left_routes.h"
#include "vxlan/vni.h"

namespace weft::node {
namespace {

// Between tries to make the firewall's rule, and between looks at one that stands.
constexpr control::Duration kFirstPause = std::chrono::seconds(1);
constexpr control::Duration kLongestPause = std::chrono::seconds(30);
constexpr control::Duration kRuleLook = std::chrono::minutes(5);

std::string Text(const host::Route& route) {
  return absl::StrCat(route.destination.ToString(),
                      route.gateway ? absl::StrCat(" via ", route.gateway->ToString()) : "");
}

}  // namespace

void HostUpkeep::Look(const underlay::HostFacts& facts, const underlay::InterfaceChoice& underlay) {
  if (const host::Adapter* const adapter = underlay::ByIndex(underlay.index, facts.adapters))
    CarryRoutes(facts, *adapter);
  // host-gw takes over those of exactly a peer's subnet, and its sink names those that it cannot.
  if (conf_.type != control::BackendType::kVxlan || !conf_.network) return;
  left_routes_.Set(LeftRoutesSentence(LeftRoutes(facts.routes_v4, *conf_.network), *conf_.network));
}

// Default routes move with the address, peers' routes are a sink's.
bool HostUpkeep::IsCarried(const host::Route& route) const {
  const auto& network = conf_.network_of(route.destination.family());
  return route.marked && route.destination.length() != 0 &&
         !(network && network->Contains(route.destination));
}

host::CarriedRoutes::Memory HostUpkeep::Recall() {
  if (!ledger_) return {};
  host::CarriedRoutes::Memory memory = ledger::RecallStaticRoutes(*ledger_, keeps_switch_);
  for (auto& [mac, routes] : memory)
    std::erase_if(routes, [&](const host::Route& route) { return !IsCarried(route); });
  return memory;
}

void HostUpkeep::CarryRoutes(const underlay::HostFacts& facts, const host::Adapter& adapter) {
  std::vector<host::Route> routes;
  for (const std::vector<host::Route>* of : {&facts.routes_v4, &facts.routes_v6}) {
    std::copy_if(of->begin(), of->end(), std::back_inserter(routes), [&](const host::Route& route) {
      return route.adapter_index == adapter.index && IsCarried(route);
    });
  }
  if (!carried_) carried_.emplace(Recall());
  std::string refused;
  for (const auto& [route, status] : carried_->Follow(host_, adapter, routes)) {
    if (status.ok()) {
      control::LogInfo(absl::StrCat("put back the static route ", Text(route), " on ", adapter.name,
                                    ": it was lost when the node's address moved there"));
    } else if (refused.empty()) {
      refused = absl::StrCat("the static route ", Text(route),
                             " was lost when the node's address moved to ", adapter.name,
                             " and cannot be put back: ", status.message(), "; put it yourself");
    }
  }
  route_trouble_.Set(refused);
  if (ledger_) ledger::RememberStaticRoutes(*ledger_, carried_->memory());
}

// Entered before it is made. One that was there before is used as it is, and entered so.
absl::Status HostUpkeep::Allow(const std::string& rule, std::uint16_t port) {
  const absl::StatusOr<bool> there = host_.HasFirewallRule(rule);
  if (!there.ok()) return there.status();
  const auto enter = [&](bool adopted) {
    if (!ledger_) return;
    ledger_->Use([&](ledger::Ledger& ledger) -> ledger::NodeLedger::Written {
      if (adopted && ledger.Find(ledger::kFirewallRule, rule)) return std::nullopt;
      return ledger.Put({std::string(ledger::kFirewallRule), rule, absl::StrCat(port), adopted});
    });
  };
  enter(/*adopted=*/*there);
  absl::Status status = host_.AllowUdpIn(rule, port);
  if (status.ok() || *there || !ledger_) return status;
  // A call that failed may have made it all the same.
  if (const absl::StatusOr<bool> made = host_.HasFirewallRule(rule); made.ok() && !*made) {
    ledger_->Use(
        [&](ledger::Ledger& ledger) { return ledger.Remove(ledger::kFirewallRule, rule); });
  }
  return status;
}

void HostUpkeep::AllowTunnel(std::uint16_t port, control::TimePoint now) {
  if (allowed_ == port && now < allow_again_) return;
  if (allowed_ != port) allow_pause_ = kFirstPause;
  allowed_ = port;
  const std::string rule =
      port == kVxlanPort ? host::kOverlayFirewallRule : absl::StrCat("OverlayTraffic", port, "UDP");
  const absl::Status status = Allow(rule, port);
  const bool done = status.ok() || absl::IsUnimplemented(status);
  // Also a rule that stood: a group policy or another program may take it away.
  allow_again_ = now + (done ? kRuleLook : allow_pause_);
  allow_pause_ = done ? kFirstPause : std::min(2 * allow_pause_, kLongestPause);
  firewall_trouble_.Set(
      done ? ""
           : absl::StrCat("peers may not reach this node: ", status.message(),
                          "; tried again; else let UDP to port ", port, " in yourself"),
      now);
}

}  // namespace weft::node
