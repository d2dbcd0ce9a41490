// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/undo.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/file_io.h"
#include "hns/base_network.h"
#include "hns/journal.h"

namespace weft::ledger {
namespace {

bool IsNetwork(const LedgerEntry& entry) { return entry.kind == kHnsNetwork; }
bool IsEndpoint(const LedgerEntry& entry) { return entry.kind == kHnsEndpoint; }
bool IsRoute(const LedgerEntry& entry) { return entry.kind == kHostRoute; }
bool IsFormer(const LedgerEntry& entry) { return entry.kind == kFormerRoute; }
bool IsStatic(const LedgerEntry& entry) { return entry.kind == kStaticRoute; }
bool IsRule(const LedgerEntry& entry) { return entry.kind == kFirewallRule; }
bool IsFilter(const LedgerEntry& entry) {
  return entry.kind == kFilterTable || entry.kind == kForwardRules;
}
bool IsKnown(const LedgerEntry& entry) {
  return IsNetwork(entry) || IsEndpoint(entry) || IsRule(entry) || IsFilter(entry);
}
bool IsBase(const LedgerEntry& entry) {
  return IsNetwork(entry) && entry.name == hns::kBaseNetworkName;
}

std::string Title(const LedgerEntry& entry) {
  if (IsRule(entry)) return "firewall rule " + entry.name;
  if (entry.kind == kFilterTable) return "table " + entry.name + " of nftables";
  if (IsFilter(entry)) return "accept rules in chain FORWARD of " + entry.name;
  if (!IsKnown(entry)) return absl::StrCat(entry.kind, " ", entry.name);
  return absl::StrCat(IsNetwork(entry) ? "network " : "endpoint ", entry.name);
}

// The thing of the entry, if it is there.
struct Found {
  std::string details;
  std::function<absl::Status()> remove;  // empty: whether it is there is not known
};
using MaybeFound = absl::StatusOr<std::optional<Found>>;

// By its id; one that has none, because how its create ended is not known, by name and looks.
bool IsEntered(const LedgerEntry& entry, const hns::Guid& id, const std::string& name,
               const std::string& shape) {
  if (!entry.id.empty()) return id == hns::Guid::Parse(entry.id);
  return name == entry.name && MayBe(entry, shape, control::BootId());
}

// What is deleted along with a network.
std::string Along(std::size_t endpoints) {
  if (endpoints == 0) return "";
  return absl::StrCat(", and with it ", endpoints, endpoints == 1 ? " endpoint" : " endpoints",
                      " in it");
}

bool Lists(const std::vector<hns::Unread>& unread, const LedgerEntry& entry) {
  return std::any_of(unread.begin(), unread.end(), [&](const hns::Unread& each) {
    return !entry.id.empty() && each.id == hns::Guid::Parse(entry.id);
  });
}

// Not found among what could be read.
std::optional<Found> AmongUnread(const std::vector<hns::Unread>& unread, const LedgerEntry& entry) {
  if (!entry.id.empty() || unread.empty()) return std::nullopt;
  return Found{
      absl::StrCat(": HNS does not show ", unread.size(),
                   " of those that it lists, and it may be one of them: ", unread.front().why),
      nullptr};
}

MaybeFound FindNetwork(hns::Client& client, const LedgerEntry& entry) {
  std::vector<hns::Unread> unread;
  auto networks = client.Networks(entry.name, &unread);
  if (!networks.ok()) return networks.status();
  if (Lists(unread, entry)) {  // its id is enough
    networks->emplace_back();
    networks->back().id = *hns::Guid::Parse(entry.id);
  }
  for (const hns::Network& network : *networks) {
    if (!IsEntered(entry, network.id, network.name, hns::ShapeOf(network))) continue;
    std::vector<hns::Unread> broken;
    const auto endpoints = client.Endpoints(network.id, &broken);
    if (!endpoints.ok()) return endpoints.status();
    return Found{
        absl::StrCat(" (", network.id.ToString(), ")", Along(endpoints->size() + broken.size())),
        [&client, id = network.id, name = entry.name] { return client.DeleteNetwork(id, name); }};
  }
  return AmongUnread(unread, entry);
}

MaybeFound FindEndpoint(hns::Client& client, const LedgerEntry& entry) {
  std::vector<hns::Unread> unread;
  auto endpoints = client.Endpoints(hns::Guid(), &unread);
  if (!endpoints.ok()) return endpoints.status();
  if (Lists(unread, entry)) {
    endpoints->emplace_back();
    endpoints->back().id = *hns::Guid::Parse(entry.id);
  }
  for (const hns::Endpoint& endpoint : *endpoints) {
    const auto& ips = endpoint.ip_configurations;
    const std::string shape = ips.empty() ? "" : ips.front().address.ToString();
    if (!IsEntered(entry, endpoint.id, endpoint.name, shape)) continue;
    return Found{
        absl::StrCat(" (", endpoint.id.ToString(), ")"),
        [&client, id = endpoint.id, name = entry.name] { return client.DeleteEndpoint(id, name); }};
  }
  return AmongUnread(unread, entry);
}

MaybeFound FindRule(host::Host& host, const LedgerEntry& entry) {
  const absl::StatusOr<bool> there = host.HasFirewallRule(entry.name);
  if (!there.ok()) return there.status();
  if (!*there) return std::nullopt;
  return Found{"", [&host, name = entry.name] { return host.RemoveFirewallRule(name); }};
}

// Of the packet filter, where ours bear a mark.
MaybeFound FindFilter(host::PacketFilter* filter, const LedgerEntry& entry) {
  if (filter == nullptr)
    return absl::UnimplementedError("this system has no such thing: is it another node's ledger?");
  const host::FilterPart part = entry.kind == kFilterTable        ? host::FilterPart::kMasquerade
                                : entry.name == "iptables-legacy" ? host::FilterPart::kForwardLegacy
                                                                  : host::FilterPart::kForward;
  const absl::StatusOr<bool> gone = filter->Has(part, {});
  if (!gone.ok()) return gone.status();
  if (*gone) return std::nullopt;
  return Found{"", [filter, part] { return filter->Put(part, {}); }};
}

MaybeFound Find(const UndoPlaces& places, const LedgerEntry& entry) {
  if (IsFilter(entry)) return FindFilter(places.filter, entry);
  if (IsRule(entry)) return FindRule(*places.host, entry);
  return IsNetwork(entry) ? FindNetwork(*places.hns, entry) : FindEndpoint(*places.hns, entry);
}

// Without routes: those to peers, what they took the place of, the administrator's.
std::vector<LedgerEntry> InOrder(std::vector<LedgerEntry> entries) {
  std::erase_if(entries, [](const LedgerEntry& entry) {
    return IsRoute(entry) || IsFormer(entry) || IsStatic(entry);
  });
  const auto rank = [](const LedgerEntry& entry) {
    return IsBase(entry) ? 3 : IsRule(entry) || IsFilter(entry) ? 2 : IsNetwork(entry) ? 1 : 0;
  };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const LedgerEntry& a, const LedgerEntry& b) { return rank(a) < rank(b); });
  return entries;
}

bool IsLeft(const LedgerEntry& entry, const UndoOptions& options) {
  return entry.adopted || (options.keep_vswitch && IsBase(entry));
}

// The pods that would lose their network, or why they are not known: one that cannot be read may
// be a pod's.
absl::StatusOr<std::vector<std::string>> PodsIn(hns::Client& client, const Ledger& ledger,
                                                const UndoOptions& options) {
  std::vector<std::string> pods;
  const auto is_ours = [&](const hns::Guid& id) {
    return std::any_of(ledger.entries().begin(), ledger.entries().end(),
                       [&](const LedgerEntry& entry) {
                         return IsEndpoint(entry) && !entry.adopted && !entry.id.empty() &&
                                hns::Guid::Parse(entry.id) == id;
                       });
  };
  for (const LedgerEntry& entry : ledger.entries()) {
    if (!IsNetwork(entry) || IsLeft(entry, options)) continue;
    std::vector<hns::Unread> unread;
    const auto networks = client.Networks(entry.name, &unread);
    if (!networks.ok()) return networks.status();
    std::vector<hns::Guid> ids;
    for (const hns::Network& network : *networks) {
      if (IsEntered(entry, network.id, network.name, hns::ShapeOf(network)))
        ids.push_back(network.id);
    }
    if (Lists(unread, entry)) ids.push_back(*hns::Guid::Parse(entry.id));
    for (const hns::Guid& id : ids) {
      std::vector<hns::Unread> broken;
      const auto endpoints = client.Endpoints(id, &broken);
      if (!endpoints.ok()) return endpoints.status();
      for (const hns::Endpoint& endpoint : *endpoints) {
        if (endpoint.is_remote() || endpoint.compartment_namespace.is_zero() ||
            is_ours(endpoint.id))
          continue;
        pods.push_back(endpoint.name.empty() ? endpoint.id.ToString() : endpoint.name);
      }
      for (const hns::Unread& each : broken) {
        if (!is_ours(each.id)) pods.push_back(absl::StrCat(each.id.ToString(), ", ", each.why));
      }
    }
  }
  return pods;
}

std::string RefusedByPods(const absl::StatusOr<std::vector<std::string>>& pods) {
  constexpr std::string_view kNext = "; drain this node first, or give --force";
  if (!pods.ok())
    return absl::StrCat("whether pods run here is not known: ", pods.status().message(), kNext);
  if (pods->empty()) return {};
  constexpr std::size_t kNamed = 3;
  const std::size_t count = pods->size(), named = std::min(count, kNamed);
  return absl::StrCat(count, count == 1 ? " pod runs" : " pods run", " in what would be deleted (",
                      absl::StrJoin(pods->begin(), pods->begin() + static_cast<int>(named), "; "),
                      count > kNamed ? "; ..." : "", ")", kNext);
}

bool MadeAny(const Ledger& ledger, bool (*is)(const LedgerEntry&)) {
  return std::any_of(ledger.entries().begin(), ledger.entries().end(),
                     [&](const LedgerEntry& entry) { return is(entry) && !entry.adopted; });
}

}  // namespace

bool ListsNothing(const Ledger& ledger) {
  return std::all_of(ledger.entries().begin(), ledger.entries().end(), IsStatic);
}

bool NeedsHns(const Ledger& ledger) {
  return MadeAny(ledger, IsNetwork) || MadeAny(ledger, IsEndpoint);
}

bool NeedsHost(const Ledger& ledger) {
  return MadeAny(ledger, IsRoute) || MadeAny(ledger, IsRule) ||
         std::any_of(ledger.entries().begin(), ledger.entries().end(), IsFormer);
}

bool NeedsFilter(const Ledger& ledger) { return MadeAny(ledger, IsFilter); }

Undone Undo(const UndoPlaces& places, Ledger& ledger, const UndoOptions& options) {
  Undone undone;
  if (places.hns != nullptr && !options.force) {
    undone.refused = RefusedByPods(PodsIn(*places.hns, ledger, options));
    if (!undone.refused.empty() && !options.dry_run) return undone;
  }
  std::vector<host::Route> going;
  if (places.host != nullptr) going = UndoRoutes(*places.host, ledger, options.dry_run, undone);
  bool network_deleted = false;
  for (const LedgerEntry& entry : InOrder(ledger.entries())) {
    const std::string title = Title(entry);
    const auto say = [&](std::string line) { undone.lines.push_back(std::move(line)); };
    const auto fail = [&](const absl::Status& status) {
      undone.failed.push_back(absl::StrCat(title, ": ", status.message()));
    };
    if (entry.adopted) {
      say(absl::StrCat("left ", title, ": it was there before weft"));
      continue;
    }
    if (IsLeft(entry, options)) {
      say(absl::StrCat("left ", title, ": it keeps the vSwitch"));
      continue;
    }
    if (!IsKnown(entry)) {
      fail(absl::UnimplementedError("not known to this version; use the one that made it"));
      continue;
    }
    const MaybeFound found = Find(places, entry);
    if (!found.ok()) {
      fail(found.status());
      continue;
    }
    if (const std::optional<Found>& thing = *found) {
      const std::string what = title + thing->details;
      if (!thing->remove) {
        say("left " + what);
        continue;
      }
      if (options.dry_run) {
        say("would delete " + what);
        continue;
      }
      if (const absl::Status removed = thing->remove(); !removed.ok()) {
        fail(removed);
        continue;
      }
      say("deleted " + what);
      network_deleted = network_deleted || IsNetwork(entry);
    } else {
      say(title + " is gone already");
      if (options.dry_run) continue;
    }
    if (const absl::Status status = ledger.Remove(entry.kind, entry.name); !status.ok())
      fail(status);
  }
  if (places.host != nullptr)
    GiveBackRoutes(*places.host, ledger, going, network_deleted, options.dry_run, undone);
  return undone;
}

}  // namespace weft::ledger
