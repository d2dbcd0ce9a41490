// SPDX-License-Identifier: Apache-2.0
#include "control/node/static_routes.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "control/log.h"

namespace weft::node {
namespace {

std::string Text(const host::Route& route) {
  return absl::StrCat(route.destination.ToString(),
                      route.gateway ? absl::StrCat(" via ", route.gateway->ToString()) : "");
}

}  // namespace

std::vector<host::Route> LeftRoutes(const std::vector<host::Route>& routes,
                                    const IpPrefix& network) {
  std::vector<host::Route> left;
  std::copy_if(routes.begin(), routes.end(), std::back_inserter(left),
               [&](const host::Route& route) {
                 return route.marked && route.gateway && !network.Contains(*route.gateway) &&
                        network.Contains(route.destination);
               });
  return left;
}

std::string LeftRoutesSentence(const std::vector<host::Route>& left, const IpPrefix& network) {
  if (left.empty()) return "";
  constexpr std::size_t kShown = 3;
  std::string text = absl::StrCat("this host has routes into the pod network ", network.ToString(),
                                  " that bypass HNS's overlay: ");
  for (std::size_t i = 0; i < std::min(left.size(), kShown); ++i)
    absl::StrAppend(&text, i == 0 ? "" : ", ", left[i].destination.ToString(), " via ",
                    left[i].gateway->ToString());
  if (left.size() > kShown) absl::StrAppend(&text, " and ", left.size() - kShown, " more");
  absl::StrAppend(
      &text,
      "; upstream's flanneld leaves such routes behind after host-gw, and they survive a reboot: "
      "remove them, in PowerShell: Remove-NetRoute -DestinationPrefix ",
      left.front().destination.ToString(), " -NextHop ", left.front().gateway->ToString());
  return text;
}

void StaticRoutes::Inspect(const underlay::HostFacts& facts,
                           const underlay::InterfaceChoice& underlay) {
  if (const host::Adapter* const adapter = underlay::ByIndex(underlay.index, facts.adapters))
    Carry(facts, *adapter);
  // host-gw takes over those of exactly a peer's subnet, and its sink reports the others.
  if (conf_.type != control::BackendType::kVxlan || !conf_.network) return;
  left_.Set(LeftRoutesSentence(LeftRoutes(facts.routes_v4, *conf_.network), *conf_.network));
}

// Default routes move with the address, and a sink owns the routes to peers.
bool StaticRoutes::IsCarried(const host::Route& route) const {
  const auto& network = conf_.network_of(route.destination.family());
  return route.marked && route.destination.length() != 0 &&
         !(network && network->Contains(route.destination));
}

host::CarriedRoutes::Memory StaticRoutes::Recall() {
  if (!ledger_) return {};
  host::CarriedRoutes::Memory memory = ledger_->RecallStaticRoutes(keeps_switch_);
  for (auto& [mac, routes] : memory)
    std::erase_if(routes, [&](const host::Route& route) { return !IsCarried(route); });
  return memory;
}

void StaticRoutes::Carry(const underlay::HostFacts& facts, const host::Adapter& adapter) {
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
      control::LogInfo(absl::StrCat("restored the static route ", Text(route), " on ", adapter.name,
                                    ": it was lost when the node's address moved there"));
    } else if (refused.empty()) {
      refused = absl::StrCat("the static route ", Text(route),
                             " was lost when the node's address moved to ", adapter.name,
                             " and cannot be restored: ", status.message(), "; add it yourself");
    }
  }
  lost_.Set(refused);
  if (ledger_) ledger_->RememberStaticRoutes(carried_->memory());
}

}  // namespace weft::node
