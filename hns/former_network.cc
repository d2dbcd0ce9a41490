// SPDX-License-Identifier: Apache-2.0
#include "hns/former_network.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft::hns {

std::string LeftText(const FormerNetwork& former, const std::vector<std::string>& local_endpoints) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> names = local_endpoints;
  if (names.size() > kNamed) names.resize(kNamed);
  const std::size_t count = local_endpoints.size();
  return absl::StrCat(
      "the HNS network ", former.name, ", made for an earlier net-conf, is kept: ", count,
      count == 1 ? " endpoint is in it (" : " endpoints are in it (", absl::StrJoin(names, ", "),
      count > kNamed ? ", ..." : "", "); drain this node, then flanneld deletes it");
}

Sequence<absl::StatusOr<FormerInspection>> InspectFormer(FormerNetwork former,
                                                         std::vector<KnownObject> made) {
  const absl::StatusOr<std::vector<Network>> networks = co_await call::Networks(former.name);
  if (!networks.ok()) co_return networks.status();
  FormerInspection inspection;
  inspection.exists = std::any_of(networks->begin(), networks->end(),
                                  [&](const Network& network) { return network.id == former.id; });
  if (!inspection.exists) co_return inspection;
  const absl::StatusOr<std::vector<Endpoint>> endpoints = co_await call::Endpoints(former.id);
  if (!endpoints.ok()) co_return endpoints.status();
  for (const Endpoint& endpoint : *endpoints) {
    if (endpoint.is_remote() || endpoint.is_source_vip()) continue;
    const auto own = std::find_if(made.begin(), made.end(), [&](const KnownObject& entry) {
      return entry.made && entry.id == endpoint.id;
    });
    if (own != made.end()) {
      inspection.own.push_back(*own);
      continue;
    }
    inspection.local_endpoints.push_back(endpoint.name.empty() ? endpoint.id.ToString()
                                                               : endpoint.name);
  }
  co_return inspection;
}

Sequence<FormerRemoval> RemoveFormer(ObjectLedger& ledger, FormerNetwork former,
                                     std::vector<KnownObject> made) {
  FormerRemoval removal;
  const absl::StatusOr<FormerInspection> inspection =
      co_await InspectFormer(former, std::move(made));
  removal.status = inspection.status();
  if (inspection.ok()) {
    removal.existed = inspection->exists;
    if (!inspection->exists) co_return removal;
    if (!inspection->local_endpoints.empty()) {
      removal.note = LeftText(former, inspection->local_endpoints);
      co_return removal;
    }
    for (const KnownObject& own : inspection->own) {
      removal.status = co_await call::DeleteEndpoint(*own.id, own.name);
      if (!removal.status.ok()) break;
      ledger.Forget(Kind::kEndpoint, own.name);
    }
    if (removal.status.ok()) removal.status = co_await call::Delete(former.id, former.name);
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
