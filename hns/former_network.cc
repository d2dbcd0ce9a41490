// SPDX-License-Identifier: Apache-2.0
#include "hns/former_network.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft::hns {

absl::StatusOr<FormerLook> LookAtFormer(Client& client, const FormerNetwork& former,
                                        std::span<const JournalEntry> made) {
  const absl::StatusOr<std::vector<Network>> networks = client.Networks(former.name);
  if (!networks.ok()) return networks.status();
  FormerLook look;
  look.there = std::any_of(networks->begin(), networks->end(),
                           [&](const Network& network) { return network.id == former.id; });
  if (!look.there) return look;
  const absl::StatusOr<std::vector<Endpoint>> endpoints = client.Endpoints(former.id);
  if (!endpoints.ok()) return endpoints.status();
  for (const Endpoint& endpoint : *endpoints) {
    if (endpoint.is_remote()) continue;
    const auto own = std::find_if(made.begin(), made.end(), [&](const JournalEntry& entry) {
      return entry.made && entry.id == endpoint.id;
    });
    if (own != made.end()) {
      look.own.push_back(*own);
      continue;
    }
    look.inhabitants.push_back(endpoint.name.empty() ? endpoint.id.ToString() : endpoint.name);
  }
  return look;
}

std::string LeftText(const FormerNetwork& former, const std::vector<std::string>& inhabitants) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> names = inhabitants;
  if (names.size() > kNamed) names.resize(kNamed);
  const std::size_t count = inhabitants.size();
  return absl::StrCat(
      "the HNS network ", former.name, ", made for an earlier net-conf, is left: ", count,
      count == 1 ? " endpoint lives" : " endpoints live", " in it (", absl::StrJoin(names, ", "),
      count > kNamed ? ", ..." : "", "); drain this node, and it goes by itself");
}

}  // namespace weft::hns
