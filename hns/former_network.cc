// SPDX-License-Identifier: Apache-2.0
#include "hns/former_network.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft::hns {
namespace {

// One that was intended, and whose id is not known, is ours by name, address and boot.
bool IsEntered(const KnownObject& entry, const Endpoint& endpoint) {
  if (entry.id) return entry.id == endpoint.id;
  const auto& ips = endpoint.ip_configurations;
  return entry.this_boot && entry.name == endpoint.name && !ips.empty() &&
         entry.shape == ips.front().address.ToString();
}

}  // namespace

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

Sequence<Nothing> ConfirmIntended(ObjectLedger& ledger, std::string desired) {
  for (const KnownObject& entry : ledger.Objects(Kind::kNetwork)) {
    if (entry.id || entry.name == desired) continue;
    const absl::StatusOr<std::vector<Network>> networks = co_await call::Networks(entry.name);
    if (!networks.ok()) continue;  // again after the next Recheck
    const Network* found = nullptr;
    for (const Network& network : *networks)
      if (found == nullptr || ShapeOf(network) == entry.shape) found = &network;
    if (found != nullptr) ledger.Confirm({Kind::kNetwork, entry.name, ShapeOf(*found)}, found->id);
  }
  co_return Nothing();
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
      return entry.made && IsEntered(entry, endpoint);
    });
    if (own != made.end()) {
      inspection.own.push_back(*own);
      inspection.own.back().id = endpoint.id;
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
