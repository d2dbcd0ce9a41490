// SPDX-License-Identifier: Apache-2.0
#include "control/lease/subnet_index.h"

#include <algorithm>

namespace weft::lease {

bool Precedes(const Lease& a, const Lease& b) {
  if (a.created != b.created) return a.created > b.created;
  return a.node < b.node;
}

SubnetIndex::Change SubnetIndex::Add(const IpPrefix& subnet, const Lease& lease) {
  auto [at, is_new] = claims_.try_emplace(subnet);
  std::vector<const Lease*>& claimants = at->second;
  Change change;
  if (is_new) {
    ++subnets_of_length_[static_cast<std::size_t>(subnet.length())];
  } else {
    change.before = claimants.front();
  }
  const auto place =
      std::upper_bound(claimants.begin(), claimants.end(), &lease,
                       [](const Lease* a, const Lease* b) { return Precedes(*a, *b); });
  claimants.insert(place, &lease);
  change.after = claimants.front();
  return change;
}

SubnetIndex::Change SubnetIndex::Remove(const IpPrefix& subnet, const Lease& lease) {
  const auto at = claims_.find(subnet);
  if (at == claims_.end()) return {};
  std::vector<const Lease*>& claimants = at->second;
  Change change{claimants.front(), nullptr};
  std::erase(claimants, &lease);
  if (claimants.empty()) {
    claims_.erase(at);
    --subnets_of_length_[static_cast<std::size_t>(subnet.length())];
  } else {
    change.after = claimants.front();
  }
  return change;
}

const Lease* SubnetIndex::Holder(const IpPrefix& subnet) const {
  const auto at = claims_.find(subnet);
  return at == claims_.end() ? nullptr : at->second.front();
}

const Lease* SubnetIndex::Nested(const IpPrefix& subnet) const {
  for (int length = subnet.length() - 1; length >= 0; --length) {
    if (subnets_of_length_[static_cast<std::size_t>(length)] == 0) continue;
    if (const Lease* around = Holder(*IpPrefix::Of(subnet.base(), length))) return around;
  }
  // A base inside `subnet` cannot carry a shorter length: the next entry lies inside, or none does.
  const auto next = claims_.upper_bound(subnet);
  if (next != claims_.end() && subnet.Contains(next->first)) return next->second.front();
  return nullptr;
}

}  // namespace weft::lease
