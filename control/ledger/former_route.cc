// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/former_route.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace weft::ledger {

// Its shape: metric, "onlink" or "-", and the adapter's name, which may contain spaces.
LedgerEntry LedgerEntryOf(const FormerRouteEntry& route) {
  return {std::string(kFormerRoute), route.destination.ToString(),
          route.gateway ? route.gateway->ToString() : "", /*adopted=*/true,
          absl::StrCat(route.metric, route.onlink ? " onlink " : " - ", route.adapter)};
}

std::optional<FormerRouteEntry> FormerRouteOf(const LedgerEntry& entry) {
  if (entry.kind != kFormerRoute) return std::nullopt;
  const std::vector<std::string> words = absl::StrSplit(entry.shape, absl::MaxSplits(' ', 2));
  const auto destination = IpPrefix::Parse(entry.name);
  FormerRouteEntry route;
  if (!destination || words.size() != 3 || !absl::SimpleAtoi(words[0], &route.metric))
    return std::nullopt;
  if (!entry.id.empty()) {
    route.gateway = IpAddress::Parse(entry.id);
    if (!route.gateway || route.gateway->family() != destination->family()) return std::nullopt;
  }
  route.destination = *destination;
  route.onlink = words[1] == "onlink";
  route.adapter = words[2];
  return route;
}

}  // namespace weft::ledger
