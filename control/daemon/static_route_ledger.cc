// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/static_route_ledger.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/file_io.h"

namespace weft::daemon {
namespace {

using control::Ledger;
using control::LedgerEntry;
using Memory = host::CarriedRoutes::Memory;

// Asked for once: it stays the same while this process runs.
const std::string& ThisBoot() {
  static const std::string boot = control::BootId();
  return boot;
}

// Its shape: MAC, adapter's index, metric.
LedgerEntry EntryOf(const MacAddress& mac, const host::Route& route) {
  return {std::string(control::kStaticRoute),
          route.destination.ToString(),
          route.gateway ? route.gateway->ToString() : "",
          /*adopted=*/true,
          absl::StrCat(mac.ToString(), " ", route.adapter_index, " ", route.metric),
          ThisBoot()};
}

// Empty: somebody wrote it by hand, and it cannot be read.
std::optional<std::pair<MacAddress, host::Route>> RouteOf(const LedgerEntry& entry) {
  const std::vector<std::string> words = absl::StrSplit(entry.shape, ' ');
  const auto destination = IpPrefix::Parse(entry.name);
  const auto mac = MacAddress::Parse(words[0]);
  host::Route route;
  if (!destination || !mac || words.size() != 3 ||
      !absl::SimpleAtoi(words[1], &route.adapter_index) ||
      !absl::SimpleAtoi(words[2], &route.metric))
    return std::nullopt;
  route.destination = *destination;
  route.marked = true;
  if (!entry.id.empty()) {
    route.gateway = IpAddress::Parse(entry.id);
    if (!route.gateway || route.gateway->family() != destination->family()) return std::nullopt;
  }
  return std::pair(*mac, route);
}

std::vector<LedgerEntry> Remembered(const Ledger& ledger) {
  std::vector<LedgerEntry> entries;
  for (const LedgerEntry& entry : ledger.entries()) {
    if (entry.kind == control::kStaticRoute) entries.push_back(entry);
  }
  return entries;
}

}  // namespace

Memory RecallStaticRoutes(NodeLedger& node) {
  Memory memory;
  node.Use([&](Ledger& ledger) -> NodeLedger::Written {
    for (const LedgerEntry& entry : Remembered(ledger)) {
      if (entry.boot.empty() || entry.boot != ThisBoot()) continue;
      if (auto route = RouteOf(entry)) memory[route->first].push_back(route->second);
    }
    return std::nullopt;
  });
  return memory;
}

void RememberStaticRoutes(NodeLedger& node, const Memory& routes) {
  node.Use([&](Ledger& ledger) -> NodeLedger::Written {
    std::vector<LedgerEntry> entries;
    for (const auto& [mac, link] : routes) {
      for (const host::Route& route : link) entries.push_back(EntryOf(mac, route));
    }
    if (entries == Remembered(ledger)) return std::nullopt;
    return ledger.Replace(control::kStaticRoute, std::move(entries));
  });
}

}  // namespace weft::daemon
