// SPDX-License-Identifier: Apache-2.0
#include "control/cli/capture/node_names.h"

#include "absl/strings/str_cat.h"

namespace weft::cli {

NodeNames::NodeNames(const admin::LeaseList& leases) {
  for (const admin::LeaseRow& row : leases.leases) {
    for (const auto* half : {row.v4 ? &*row.v4 : nullptr, row.v6 ? &*row.v6 : nullptr}) {
      if (!half) continue;
      if (half->public_ip) nodes_.emplace(*half->public_ip, row.node);
      subnets_.emplace(half->subnet, row.node);
      (half->subnet.family() == IpFamily::kV4 ? v4_lengths_ : v6_lengths_)
          .insert(half->subnet.length());
    }
  }
}

std::string_view NodeNames::OfNode(const IpAddress& address) const {
  const auto found = nodes_.find(address);
  return found == nodes_.end() ? std::string_view() : found->second;
}

std::string_view NodeNames::OfPod(const IpAddress& address) const {
  for (const int length : address.is_v4() ? v4_lengths_ : v6_lengths_) {
    const auto found = subnets_.find(*IpPrefix::From(address, length));
    if (found != subnets_.end()) return found->second;
  }
  return {};
}

std::string NodeNames::Text(const IpAddress& source, const IpAddress& destination,
                            bool pods) const {
  const std::string_view from = pods ? OfPod(source) : OfNode(source);
  const std::string_view to = pods ? OfPod(destination) : OfNode(destination);
  if (from.empty() && to.empty()) return {};
  return absl::StrCat(from.empty() ? source.ToString() : from, " to ",
                      to.empty() ? destination.ToString() : to);
}

std::vector<std::pair<IpAddress, std::string>> NodeNames::Nodes() const {
  return {nodes_.begin(), nodes_.end()};
}

}  // namespace weft::cli
