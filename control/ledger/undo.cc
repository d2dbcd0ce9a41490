// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/undo.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/file_io.h"
#include "hns/base_network.h"
#include "hns/object_ledger.h"

namespace weft::ledger {
namespace {

bool IsNetwork(const HnsObject& object) { return object.kind == hns::Kind::kNetwork; }
bool IsBase(const HnsObject& object) {
  return IsNetwork(object) && object.name == hns::kBaseNetworkName;
}
// Whether the entry is the administrator's: a static route, or static IP settings.
bool IsStatic(const Entry& entry) {
  const auto* const unknown = std::get_if<Unknown>(&entry);
  return std::holds_alternative<StaticRoute>(entry) || std::holds_alternative<StaticIp>(entry) ||
         (unknown && (unknown->row.kind == kStaticRoute || unknown->row.kind == kStaticIp));
}

template <typename T>
bool MadeAny(const Ledger& ledger) {
  const std::vector<T> all = ledger.All<T>();
  return std::any_of(all.begin(), all.end(), [](const T& each) { return !each.adopted; });
}

// The text about endpoints that are deleted with their network.
std::string Along(std::size_t endpoints) {
  if (endpoints == 0) return "";
  return absl::StrCat(", and with it ", endpoints, endpoints == 1 ? " endpoint" : " endpoints",
                      " in it");
}

// Whether an object is the entry's: compared by id; if the entry has none, because the result of
// its create is unknown, by name and shape.
bool IsEntered(const HnsObject& entry, const hns::Guid& id, const std::string& name,
               const std::string& shape) {
  if (entry.id) return id == entry.id;
  return name == entry.name && MayBe(entry, shape, control::BootId());
}

bool Lists(const std::vector<hns::Unread>& unread, const HnsObject& entry) {
  return std::any_of(unread.begin(), unread.end(),
                     [&](const hns::Unread& each) { return each.id == entry.id; });
}

// The ids of the entry's networks. One that cannot be read is identified by its id.
absl::StatusOr<std::vector<hns::Guid>> NetworksOf(hns::Client& client, const HnsObject& entry,
                                                  std::vector<hns::Unread>* unread) {
  const auto networks = client.Networks(entry.name, unread);
  if (!networks.ok()) return networks.status();
  std::vector<hns::Guid> ids;
  for (const hns::Network& network : *networks)
    if (IsEntered(entry, network.id, network.name, hns::ShapeOf(network)))
      ids.push_back(network.id);
  if (Lists(*unread, entry)) ids.push_back(*entry.id);
  return ids;
}

// The pods that would lose their network, or why they are unknown. An endpoint that cannot be read
// counts as a pod's.
absl::StatusOr<std::vector<std::string>> PodsIn(hns::Client& client, const Ledger& ledger,
                                                const UndoOptions& options) {
  std::vector<std::string> pods;
  const std::vector<HnsObject> objects = ledger.All<HnsObject>();
  const auto is_ours = [&](const hns::Guid& id) {
    return std::any_of(objects.begin(), objects.end(), [&](const HnsObject& each) {
      return !IsNetwork(each) && !each.adopted && each.id == id;
    });
  };
  for (const HnsObject& entry : objects) {
    if (!IsNetwork(entry) || entry.adopted || (options.keep_vswitch && IsBase(entry))) continue;
    std::vector<hns::Unread> unread;
    const auto ids = NetworksOf(client, entry, &unread);
    if (!ids.ok()) return ids.status();
    for (const hns::Guid& id : *ids) {
      std::vector<hns::Unread> broken;
      const auto endpoints = client.Endpoints(id, &broken);
      if (!endpoints.ok()) return endpoints.status();
      for (const hns::Endpoint& endpoint : *endpoints) {
        if (endpoint.is_remote() || endpoint.compartment_namespace.is_zero() ||
            is_ours(endpoint.id))
          continue;
        pods.push_back(endpoint.name.empty() ? endpoint.id.ToString() : endpoint.name);
      }
      for (const hns::Unread& each : broken)
        if (!is_ours(each.id)) pods.push_back(absl::StrCat(each.id.ToString(), ", ", each.why));
    }
  }
  return pods;
}

std::string RefusedByPods(const absl::StatusOr<std::vector<std::string>>& pods) {
  constexpr std::string_view kNext = "; drain this node first, or give --force";
  if (!pods.ok())
    return absl::StrCat("it is unknown whether pods run here: ", pods.status().message(), kNext);
  if (pods->empty()) return {};
  constexpr std::size_t kNamed = 3;
  const std::size_t count = pods->size(), named = std::min(count, kNamed);
  return absl::StrCat(count, count == 1 ? " pod runs" : " pods run", " in what would be deleted (",
                      absl::StrJoin(pods->begin(), pods->begin() + static_cast<int>(named), "; "),
                      count > kNamed ? "; ..." : "", ")", kNext);
}

// The order of the work; entries of one turn are processed in the order of the ledger.
enum class Turn : std::uint8_t { kRoutes, kEndpoints, kNetworks, kRules, kBase, kFormerRoutes };

bool IsRoutes(Turn turn) { return turn == Turn::kRoutes || turn == Turn::kFormerRoutes; }

Turn TurnOf(const Entry& entry) {
  if (std::holds_alternative<HostRoute>(entry)) return Turn::kRoutes;
  if (std::holds_alternative<FormerRoute>(entry)) return Turn::kFormerRoutes;
  if (const auto* const object = std::get_if<HnsObject>(&entry); object && IsNetwork(*object))
    return IsBase(*object) ? Turn::kBase : Turn::kNetworks;
  const bool is_rule =
      std::holds_alternative<FirewallRule>(entry) || std::holds_alternative<FilterRules>(entry);
  return is_rule ? Turn::kRules : Turn::kEndpoints;
}

std::string Title(const Entry& entry) {
  const Row row = RowOf(entry);
  if (const auto* const object = std::get_if<HnsObject>(&entry))
    return absl::StrCat(IsNetwork(*object) ? "network " : "endpoint ", row.name);
  if (std::holds_alternative<HostRoute>(entry) || std::holds_alternative<FormerRoute>(entry))
    return absl::StrCat("route ", row.name, row.id.empty() ? "" : " via ", row.id);
  if (std::holds_alternative<FirewallRule>(entry)) return "firewall rule " + row.name;
  if (const auto* const rules = std::get_if<FilterRules>(&entry)) {
    return rules->part == host::FilterPart::kMasquerade
               ? absl::StrCat("table ", row.name, " of nftables")
               : absl::StrCat("accept rules in chain FORWARD of ", row.name);
  }
  return absl::StrCat(row.kind, " ", row.name);
}

class Undoing {
 public:
  Undoing(const UndoPlaces& places, Ledger& ledger, const UndoOptions& options)
      : places_(places), ledger_(ledger), options_(options) {}

  Undone Run() {
    if (places_.hns != nullptr && !options_.force) {
      undone_.refused = RefusedByPods(PodsIn(*places_.hns, ledger_, options_));
      if (!undone_.refused.empty() && !options_.dry_run) return std::move(undone_);
    }
    if (places_.host != nullptr) RemoveRoutes();
    Turn turn{};
    for (const Entry& entry : InOrder()) {
      if (TurnOf(entry) != turn) Forget();
      turn = TurnOf(entry);
      Result done = std::visit([this](const auto& each) { return Undo(each); }, entry);
      if (!done.ok()) {
        undone_.failed.push_back(absl::StrCat(Title(entry), ": ", done.status().message()));
        continue;
      }
      undone_.lines.push_back(std::move(done->line));
      if (done->gone && !options_.dry_run) gone_.push_back(entry);
      if (!IsRoutes(turn)) Forget();  // routes by the thousand in one write
    }
    Forget();
    if (!options_.dry_run)
      static_cast<void>(ledger_.Fold());  // if it fails, the next process does it
    return std::move(undone_);
  }

 private:
  // What was done with an entry's object, as a line of output; an error: why nothing was done.
  struct Done {
    std::string line;
    bool gone = false;  // the object does not exist any more: remove its entry
  };
  using Result = absl::StatusOr<Done>;
  // The object of an entry, if it exists.
  struct Found {
    std::string details;
    std::function<absl::Status()> remove;  // empty: it is unknown whether the object exists
  };
  using MaybeFound = absl::StatusOr<std::optional<Found>>;
  using Routes = std::vector<host::Route>;

  std::vector<Entry> InOrder() const {
    std::vector<Entry> entries;
    for (const Entry& entry : ledger_.entries()) {
      if (!IsStatic(entry) && (places_.host != nullptr || !IsRoutes(TurnOf(entry))))
        entries.push_back(entry);
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return TurnOf(a) < TurnOf(b); });
    return entries;
  }

  void Forget() {
    if (const absl::Status status = ledger_.Forget(std::exchange(gone_, {})); !status.ok())
      undone_.failed.emplace_back(status.message());
  }

  Result Delete(const Entry& entry, bool adopted, absl::FunctionRef<MaybeFound()> find) {
    const std::string title = Title(entry);
    if (adopted) return Done{absl::StrCat("left ", title, ": it existed before weft")};
    const MaybeFound found = find();
    if (!found.ok()) return found.status();
    if (!*found) return Done{title + " is gone already", true};
    const std::string what = title + (*found)->details;
    if (!(*found)->remove) return Done{"left " + what};
    if (options_.dry_run) return Done{"would delete " + what};
    if (absl::Status removed = (*found)->remove(); !removed.ok()) return removed;
    return Done{"deleted " + what, true};
  }

  // ---- HNS

  Result Undo(const HnsObject& entry) {
    if (options_.keep_vswitch && IsBase(entry) && !entry.adopted)
      return Done{absl::StrCat("left ", Title(entry), ": it keeps the vSwitch")};
    Result done = Delete(entry, entry.adopted, [&] {
      return IsNetwork(entry) ? FindNetwork(entry) : FindEndpoint(entry);
    });
    if (done.ok() && IsNetwork(entry)) network_deleted_ |= done->line.starts_with("deleted ");
    return done;
  }

  // Called if no readable object matches: the entry may be one of the unreadable ones.
  static std::optional<Found> AmongUnread(const std::vector<hns::Unread>& unread,
                                          const HnsObject& entry) {
    if (entry.id || unread.empty()) return std::nullopt;
    return Found{
        absl::StrCat(": HNS does not show ", unread.size(),
                     " of those that it lists, and it may be one of them: ", unread.front().why),
        nullptr};
  }

  MaybeFound FindNetwork(const HnsObject& entry) {
    hns::Client& client = *places_.hns;
    std::vector<hns::Unread> unread, broken;
    const auto ids = NetworksOf(client, entry, &unread);
    if (!ids.ok()) return ids.status();
    if (ids->empty()) return AmongUnread(unread, entry);
    const hns::Guid id = ids->front();
    const auto endpoints = client.Endpoints(id, &broken);
    if (!endpoints.ok()) return endpoints.status();
    return Found{absl::StrCat(" (", id.ToString(), ")", Along(endpoints->size() + broken.size())),
                 [&client, id, name = entry.name] { return client.DeleteNetwork(id, name); }};
  }

  MaybeFound FindEndpoint(const HnsObject& entry) {
    hns::Client& client = *places_.hns;
    std::vector<hns::Unread> unread;
    const auto endpoints = client.Endpoints(hns::Guid(), &unread);
    if (!endpoints.ok()) return endpoints.status();
    std::optional<hns::Guid> id = Lists(unread, entry) ? entry.id : std::nullopt;
    for (const hns::Endpoint& endpoint : *endpoints) {
      const auto& ips = endpoint.ip_configurations;
      const std::string shape = ips.empty() ? "" : ips.front().address.ToString();
      if (!id && IsEntered(entry, endpoint.id, endpoint.name, shape)) id = endpoint.id;
    }
    if (!id) return AmongUnread(unread, entry);
    return Found{absl::StrCat(" (", id->ToString(), ")"), [&client, id = *id, name = entry.name] {
                   return client.DeleteEndpoint(id, name);
                 }};
  }

  // ---- rules

  Result Undo(const FirewallRule& entry) {
    return Delete(entry, entry.adopted, [&]() -> MaybeFound {
      const absl::StatusOr<host::RuleOwner> owner = places_.host->FindFirewallRule(entry.name);
      if (!owner.ok()) return owner.status();
      if (*owner != host::RuleOwner::kOurs) {  // gone, or made by another since
        // A removal that was cut short is completed.
        if (options_.dry_run) return std::nullopt;
        if (absl::Status status = places_.host->RemoveFirewallRule(entry.name); !status.ok())
          return status;
        return std::nullopt;
      }
      return Found{"", [&] { return places_.host->RemoveFirewallRule(entry.name); }};
    });
  }

  // Rules of the packet filter, where ours bear a mark.
  Result Undo(const FilterRules& entry) {
    return Delete(entry, entry.adopted, [&]() -> MaybeFound {
      if (places_.filter == nullptr)
        return absl::UnimplementedError(
            "this system has no packet filter; is it another node's ledger?");
      const absl::StatusOr<bool> gone = places_.filter->Has(entry.part, {});
      if (!gone.ok()) return gone.status();
      if (*gone) return std::nullopt;
      return Found{"", [&] { return places_.filter->Put(entry.part, {}); }};
    });
  }

  // Never called: InOrder leaves them out.
  Result Undo(const StaticRoute&) { return Done(); }
  Result Undo(const StaticIp&) { return Done(); }
  Result Undo(const Unknown&) {
    return absl::UnimplementedError(absl::StrCat(
        "not known to this version; use the one that made it, or correct the entry in ",
        ledger_.path()));
  }

  // ---- routes

  // A route is found by destination and next hop, on any adapter; a route without the mark is
  // foreign.
  void RemoveRoutes() {
    std::multimap<std::pair<IpPrefix, IpAddress>, host::Route> marked;
    for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
      const absl::StatusOr<Routes> routes = places_.host->Routes(family);
      routes_read_ = routes.status();
      if (!routes.ok()) return;
      for (const host::Route& route : *routes) {
        if (route.marked && route.gateway)
          marked.emplace(std::pair(route.destination, *route.gateway), route);
      }
    }
    for (const HostRoute& entry : ledger_.All<HostRoute>()) {
      const auto [first, last] = marked.equal_range({entry.destination, entry.next_hop});
      if (entry.adopted || IsOfAnotherBoot(entry, control::BootId())) continue;
      for (auto at = first; at != last; ++at) going_.push_back(at->second);
    }
    std::vector<absl::Status> results(going_.size());
    if (!going_.empty() && !options_.dry_run) results = places_.host->RemoveRoutes(going_);
    for (std::size_t i = 0; i < going_.size(); ++i)
      removed_[{going_[i].destination, *going_[i].gateway}].Update(results[i]);
  }

  Result Undo(const HostRoute& entry) {
    return Delete(entry, entry.adopted, [&]() -> MaybeFound {
      if (!routes_read_.ok()) return routes_read_;
      const auto found = removed_.find({entry.destination, entry.next_hop});
      if (found == removed_.end()) return std::nullopt;
      return Found{"", [status = found->second] { return status; }};
    });
  }

  // The adapter with the former name; if it does not exist any more, as after a vSwitch was
  // created, the one on whose link the gateway is.
  std::uint32_t AdapterFor(const FormerRoute& former) const {
    std::uint32_t on_link = 0;
    for (const host::Adapter& adapter : *adapters_) {
      if (adapter.name == former.adapter) return adapter.index;
      for (const host::AssignedAddress& each : adapter.addresses) {
        const auto prefix = IpPrefix::From(each.address, each.prefix_length);
        if (former.gateway && prefix && prefix->Contains(*former.gateway)) on_link = adapter.index;
      }
    }
    return on_link;
  }

  // Restores the route unless another route to its destination exists.
  Result Undo(const FormerRoute& entry) {
    host::Host& host = *places_.host;
    if (!std::exchange(host_read_, true)) {
      adapters_ = host.Adapters();
      for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6})
        routes_.emplace(family, host.Routes(family));
    }
    const std::string title = Title(entry);
    const auto left = [&](std::string_view why) {
      return Done{absl::StrCat("left ", title, " as it is: ", why), true};
    };
    constexpr std::string_view kOther = "another route to that destination exists";
    if (!adapters_.ok()) return adapters_.status();
    const absl::StatusOr<Routes>& existing = routes_.at(entry.destination.family());
    if (!existing.ok()) return existing.status();
    host::Route route;
    route.destination = entry.destination;
    route.gateway = entry.gateway;
    route.metric = entry.metric;
    route.onlink = entry.onlink;
    route.adapter_index = AdapterFor(entry);
    if (route.adapter_index == 0 && network_deleted_) {  // the adapter may come back
      return absl::UnavailableError(absl::StrCat(
          entry.adapter,
          " does not exist, perhaps until HNS has removed the network's switch; run reset again"));
    }
    if (route.adapter_index == 0) return left(absl::StrCat(entry.adapter, " is gone"));
    bool ours = false;
    for (const host::Route& each : *existing) {
      if (each.destination != route.destination) continue;
      const auto same_as_each = [&](const host::Route& other) {
        return other.destination == each.destination && other.gateway == each.gateway &&
               other.adapter_index == each.adapter_index;
      };
      if (std::any_of(going_.begin(), going_.end(), same_as_each)) {
        if (options_.dry_run) continue;
        return absl::UnavailableError("our route to that destination still exists");
      }
      const bool same = same_as_each(route);
      ours = each.marked && !host.is_windows();
      if (same && !ours) return left("it exists, as before weft");
      if (!ours) return left(kOther);
    }
    if (options_.dry_run) return Done{absl::StrCat("would give back ", title)};
    // Do not replace another restored route.
    for (const host::Route& each : given_back_)
      ours = ours && each.destination != route.destination;
    absl::Status status = ours ? host.ReplaceRoutes({route})[0] : host.PutRoutes({route})[0];
    if (absl::IsAlreadyExists(status)) return left(kOther);
    if (!status.ok()) return status;
    given_back_.push_back(route);
    return Done{absl::StrCat("gave back ", title), true};
  }

  const UndoPlaces& places_;
  Ledger& ledger_;
  const UndoOptions& options_;
  Undone undone_;
  std::vector<Entry> gone_;  // entries to remove from the ledger
  bool network_deleted_ = false;
  // The routes of our entries: all are removed in one call (in a dry run, none).
  absl::Status routes_read_;
  Routes going_;
  std::map<std::pair<IpPrefix, IpAddress>, absl::Status> removed_;
  // The host after our routes were removed, and the former routes that were restored since.
  bool host_read_ = false;
  absl::StatusOr<std::vector<host::Adapter>> adapters_;
  std::map<IpFamily, absl::StatusOr<Routes>> routes_;
  Routes given_back_;
};

}  // namespace

bool ListsNothing(const Ledger& ledger) {
  return std::all_of(ledger.entries().begin(), ledger.entries().end(), IsStatic);
}

bool NeedsHns(const Ledger& ledger) { return MadeAny<HnsObject>(ledger); }

bool NeedsHost(const Ledger& ledger) {
  return MadeAny<HostRoute>(ledger) || MadeAny<FirewallRule>(ledger) ||
         !ledger.All<FormerRoute>().empty();
}

bool NeedsFilter(const Ledger& ledger) { return MadeAny<FilterRules>(ledger); }

Undone Undo(const UndoPlaces& places, Ledger& ledger, const UndoOptions& options) {
  return Undoing(places, ledger, options).Run();
}

}  // namespace weft::ledger
