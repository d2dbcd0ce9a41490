// SPDX-License-Identifier: Apache-2.0
// The entries of keepers, route sinks and host fix-ups in the node's ledger.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/ledger/node_ledger.h"
#include "control/log.h"

namespace weft::ledger {
namespace {

using Written = NodeLedger::Written;

bool IsUnicast(const IpAddress& address) {
  return !address.IsUnspecified() && !address.IsLoopback() && !address.IsMulticast();
}

// A shorter destination would replace a large part of the default route; the widest private range
// is fc00::/7.
bool IsBelievable(const StaticRoute& route) {
  const IpAddress& base = route.destination.base();
  return route.destination.length() >= (base.is_v4() ? 8 : 7) && IsUnicast(base) &&
         (!route.gateway || IsUnicast(*route.gateway));
}

}  // namespace

// ---- HNS objects

void NodeLedger::Intend(const hns::LedgerObject& object) {
  Use([&](Ledger& ledger) -> Written {
    const HnsObject intended{object.kind, object.name, {}, false, object.shape, boot_};
    const HnsObject* const known = ledger.Find(intended);
    before_[KeyOf(intended)] = known == nullptr ? std::nullopt : std::optional(*known);
    return ledger.Intend({intended});
  });
}

void NodeLedger::Forget(const hns::LedgerObject& object) {
  Use([&](Ledger& ledger) -> Written {
    const HnsObject intended{object.kind, object.name};
    const auto before = before_.extract(KeyOf(intended));
    if (!before) return std::nullopt;
    return before.mapped() ? ledger.Confirm(*before.mapped()) : ledger.Forget({intended});
  });
}

void NodeLedger::Confirm(const hns::LedgerObject& object, const hns::Guid& id) {
  Use([&](Ledger& ledger) -> Written {
    HnsObject now{object.kind, object.name, id, /*adopted=*/true, object.shape};
    const auto before = before_.extract(KeyOf(now));
    if (const HnsObject* const entry = ledger.Find(now)) {
      if (entry->id == id) return std::nullopt;
      // A create with an unknown result made nothing: this is the object from before.
      if (before && before.mapped() && before.mapped()->id == id)
        return ledger.Confirm(*before.mapped());
      // With another id than the recorded one, another process has made it again.
      now.adopted = entry->id || entry->adopted || !MayBe(*entry, object.shape, boot_);
      if (!now.adopted) {
        now.shape = entry->shape;  // HNS may show fewer properties
        now.boot = entry->boot;
      }
    }
    return ledger.Confirm(now);
  });
}

void NodeLedger::Forget(hns::Kind kind, const std::string& name) {
  Use([&](Ledger& ledger) { return ledger.Forget({HnsObject{kind, name}}); });
}

std::vector<hns::KnownObject> NodeLedger::Objects(hns::Kind kind) {
  std::vector<hns::KnownObject> found;
  Use([&](Ledger& ledger) -> Written {
    for (const HnsObject& each : ledger.All<HnsObject>()) {
      if (each.kind == kind)
        found.push_back(
            {each.name, each.id, !each.adopted, each.shape, !boot_.empty() && each.boot == boot_});
    }
    return std::nullopt;
  });
  return found;
}

// ---- routes to peers

control::RouteKeys NodeLedger::Owned(const IpPrefix& network) {
  control::RouteKeys owned;
  Use([&](Ledger& ledger) -> Written {
    std::vector<Entry> of_earlier_boots;
    for (const Entry& entry : ledger.entries()) {
      const auto* const made = std::get_if<HostRoute>(&entry);
      if (made && IsOfAnotherBoot(*made, boot_))
        of_earlier_boots.push_back(entry);
      else if (made && made->destination.family() == network.family())
        owned.emplace(made->destination, made->next_hop);
      const auto* const former = std::get_if<FormerRoute>(&entry);
      if (former && former->gateway && network.Contains(former->destination))
        owned.emplace(former->destination, *former->gateway);
    }
    if (of_earlier_boots.empty()) return std::nullopt;
    return ledger.Forget(of_earlier_boots);
  });
  return owned;
}

void NodeLedger::Intend(const control::RouteKeys& routes) {
  Use([&](Ledger& ledger) {
    std::vector<Entry> fresh;
    for (const auto& [destination, next_hop] : routes) {
      const HostRoute entry{destination, next_hop, false, boot_};
      if (ledger.Find(entry) == nullptr) fresh.emplace_back(entry);
    }
    return ledger.Intend(fresh);
  });
}

// The first entry of a route is kept.
void NodeLedger::IntendTakeover(const std::vector<control::FormerRoute>& routes) {
  constexpr std::size_t kMostNamed = 5;
  std::vector<std::string> taken;
  Use([&](Ledger& ledger) {
    std::vector<Entry> fresh;
    for (const auto& [route, adapter] : routes) {
      FormerRoute entry{route.destination, route.gateway, adapter, route.metric, route.onlink};
      if (ledger.Find(entry) != nullptr) continue;
      taken.push_back(absl::StrCat(route.destination.ToString(),
                                   route.gateway ? " via " + route.gateway->ToString() : "",
                                   " dev ", adapter));
      fresh.emplace_back(std::move(entry));
    }
    return ledger.Intend(fresh);
  });
  if (taken.empty()) return;
  const std::size_t more = taken.size() - std::min(taken.size(), kMostNamed);
  taken.resize(taken.size() - more);
  control::LogInfo(absl::StrCat("routes to peers that another program made are replaced by ours: ",
                                absl::StrJoin(taken, ", "),
                                more > 0 ? absl::StrCat(" and ", more, " more") : "",
                                "; \"flannelctl reset\" puts them back"));
}

void NodeLedger::Forget(const control::RouteKeys& routes) {
  Use([&](Ledger& ledger) {
    std::vector<Entry> gone;
    for (const auto& [destination, next_hop] : routes)
      gone.emplace_back(HostRoute{destination, next_hop});
    return ledger.Forget(gone);
  });
}

// ---- static routes

host::CarriedRoutes::Memory NodeLedger::RecallStaticRoutes(bool keeps_switch) {
  host::CarriedRoutes::Memory memory;
  Use([&](Ledger& ledger) -> Written {
    for (const StaticRoute& entry : ledger.All<StaticRoute>()) {
      const bool this_boot = !boot_.empty() && entry.boot == boot_;
      if (!IsBelievable(entry) || (!this_boot && !keeps_switch)) continue;
      host::Route route;
      route.destination = entry.destination;
      route.gateway = entry.gateway;
      route.metric = entry.metric;
      route.marked = true;
      // Zero: the route is to be restored.
      route.adapter_index = this_boot ? entry.adapter_index : 0;
      std::vector<host::Route>& link = memory[entry.mac];
      if (std::find(link.begin(), link.end(), route) == link.end()) link.push_back(route);
    }
    return std::nullopt;
  });
  return memory;
}

void NodeLedger::RememberStaticRoutes(const host::CarriedRoutes::Memory& routes) {
  Use([&](Ledger& ledger) -> Written {
    std::vector<Entry> entries, before;
    for (const auto& [mac, link] : routes) {
      for (const host::Route& route : link)
        entries.emplace_back(StaticRoute{route.destination, route.gateway, mac, route.adapter_index,
                                         route.metric, boot_});
    }
    for (StaticRoute& each : ledger.All<StaticRoute>()) before.emplace_back(std::move(each));
    if (entries == before) return std::nullopt;
    return ledger.Change(before, entries);
  });
}

// ---- static IP settings

std::vector<StaticIp> NodeLedger::RecallStaticIps(bool keeps_switch) {
  std::vector<StaticIp> recalled;
  Use([&](Ledger& ledger) -> Written {
    for (StaticIp& entry : ledger.All<StaticIp>()) {
      const bool this_boot = !boot_.empty() && entry.boot == boot_;
      if (!this_boot && !keeps_switch) continue;
      if (!this_boot) entry.adapter_index = 0;
      recalled.push_back(std::move(entry));
    }
    return std::nullopt;
  });
  return recalled;
}

void NodeLedger::RememberStaticIps(const std::vector<StaticIp>& all) {
  Use([&](Ledger& ledger) -> Written {
    std::vector<Entry> entries, before;
    for (const StaticIp& each : all) {
      entries.emplace_back(each);
      std::get<StaticIp>(entries.back()).boot = boot_;
    }
    for (StaticIp& each : ledger.All<StaticIp>()) before.emplace_back(std::move(each));
    if (entries == before) return std::nullopt;
    return ledger.Change(before, entries);
  });
}

}  // namespace weft::ledger
