// SPDX-License-Identifier: Apache-2.0
#include "control/cli/undo.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hns/base_network.h"
#include "hns/journal.h"

namespace weft::cli {
namespace {

using control::LedgerEntry;

bool IsNetwork(const LedgerEntry& entry) { return entry.kind == control::kHnsNetwork; }
bool IsBase(const LedgerEntry& entry) {
  return IsNetwork(entry) && entry.name == hns::kBaseNetworkName;
}

std::string Title(const LedgerEntry& entry) {
  return absl::StrCat(IsNetwork(entry) ? "network " : "endpoint ", entry.name);
}

// The object of the entry, if HNS has it.
struct Object {
  hns::Guid id;
  std::size_t inhabitants = 0;  // a network's endpoints
};
using MaybeObject = absl::StatusOr<std::optional<Object>>;

// By its id; one that has none yet, because its maker died amid the create, by name and looks.
bool IsEntered(const LedgerEntry& entry, const hns::Guid& id, const std::string& name,
               const std::string& shape) {
  if (!entry.id.empty()) return id == hns::Guid::Parse(entry.id);
  return name == entry.name && absl::EqualsIgnoreCase(shape, entry.shape);
}

MaybeObject FindNetwork(hns::Client& client, const LedgerEntry& entry) {
  const auto networks = client.Networks(entry.name);
  if (!networks.ok()) return networks.status();
  for (const hns::Network& network : *networks) {
    if (!IsEntered(entry, network.id, network.name, hns::ShapeOf(network))) continue;
    const auto endpoints = client.Endpoints(network.id);
    if (!endpoints.ok()) return endpoints.status();
    return Object{network.id, endpoints->size()};
  }
  return std::nullopt;
}

MaybeObject FindEndpoint(hns::Client& client, const LedgerEntry& entry) {
  const auto endpoints = client.Endpoints();
  if (!endpoints.ok()) return endpoints.status();
  for (const hns::Endpoint& endpoint : *endpoints) {
    const auto& ips = endpoint.ip_configurations;
    const std::string shape = ips.empty() ? "" : ips.front().address.ToString();
    if (IsEntered(entry, endpoint.id, endpoint.name, shape)) return Object{endpoint.id, 0};
  }
  return std::nullopt;
}

// What is deleted along with a network.
std::string Along(const Object& object) {
  if (object.inhabitants == 0) return "";
  return absl::StrCat(", and with it ", object.inhabitants,
                      object.inhabitants == 1 ? " endpoint" : " endpoints", " in it");
}

std::vector<LedgerEntry> InOrder(std::vector<LedgerEntry> entries) {
  const auto rank = [](const LedgerEntry& entry) {
    return IsBase(entry) ? 2 : IsNetwork(entry) ? 1 : 0;
  };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const LedgerEntry& a, const LedgerEntry& b) { return rank(a) < rank(b); });
  return entries;
}

}  // namespace

Undone Undo(hns::Client& client, control::Ledger& ledger, const UndoOptions& options) {
  Undone undone;
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
    if (options.keep_vswitch && IsBase(entry)) {
      say(absl::StrCat("left ", title, ": it keeps the vSwitch"));
      continue;
    }
    const MaybeObject found =
        IsNetwork(entry) ? FindNetwork(client, entry) : FindEndpoint(client, entry);
    if (!found.ok()) {
      fail(found.status());
      continue;
    }
    if (const std::optional<Object>& object = *found) {
      const std::string what =
          absl::StrCat(title, " (", object->id.ToString(), ")", Along(*object));
      if (options.dry_run) {
        say("would delete " + what);
        continue;
      }
      const absl::Status deleted = IsNetwork(entry) ? client.DeleteNetwork(object->id, entry.name)
                                                    : client.DeleteEndpoint(object->id, entry.name);
      if (!deleted.ok()) {
        fail(deleted);
        continue;
      }
      say("deleted " + what);
    } else {
      say(title + " is gone already");
      if (options.dry_run) continue;
    }
    if (const absl::Status status = ledger.Remove(entry.kind, entry.name); !status.ok())
      fail(status);
  }
  return undone;
}

}  // namespace weft::cli
