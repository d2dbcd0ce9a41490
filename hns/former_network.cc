// SPDX-License-Identifier: Apache-2.0
#include "hns/former_network.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft::hns {

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

Sequence<absl::StatusOr<FormerInspection>> InspectFormer(FormerNetwork former,
                                                         std::vector<KnownObject> made) {
  const absl::StatusOr<std::vector<Network>> networks = co_await ask::Networks(former.name);
  if (!networks.ok()) co_return networks.status();
  FormerInspection look;
  look.there = std::any_of(networks->begin(), networks->end(),
                           [&](const Network& network) { return network.id == former.id; });
  if (!look.there) co_return look;
  const absl::StatusOr<std::vector<Endpoint>> endpoints = co_await ask::Endpoints(former.id);
  if (!endpoints.ok()) co_return endpoints.status();
  for (const Endpoint& endpoint : *endpoints) {
    if (endpoint.is_remote()) continue;
    const auto own = std::find_if(made.begin(), made.end(), [&](const KnownObject& entry) {
      return entry.made && entry.id == endpoint.id;
    });
    if (own != made.end()) {
      look.own.push_back(*own);
      continue;
    }
    look.inhabitants.push_back(endpoint.name.empty() ? endpoint.id.ToString() : endpoint.name);
  }
  co_return look;
}

Sequence<FormerRemoval> RemoveFormer(ObjectLedger& ledger, FormerNetwork former,
                                     std::vector<KnownObject> made) {
  FormerRemoval removal;
  const absl::StatusOr<FormerInspection> look = co_await InspectFormer(former, std::move(made));
  removal.status = look.status();
  if (look.ok()) {
    removal.there = look->there;
    if (!look->there) co_return removal;
    if (!look->inhabitants.empty()) {
      removal.note = LeftText(former, look->inhabitants);
      co_return removal;
    }
    for (const KnownObject& own : look->own) {
      removal.status = co_await ask::DeleteEndpoint(*own.id, own.name);
      if (!removal.status.ok()) break;
      ledger.Forget(Kind::kEndpoint, own.name);
    }
    if (removal.status.ok()) removal.status = co_await ask::Delete(former.id, former.name);
  }
  if (removal.status.ok()) {
    ledger.Forget(Kind::kNetwork, former.name);
  } else {
    removal.note =
        absl::StrCat("the HNS network ", former.name,
                     ", made for an earlier net-conf, still exists: ", removal.status.message());
  }
  co_return removal;
}

}  // namespace weft::hns
