// SPDX-License-Identifier: Apache-2.0
// Nodes by the addresses of their leases.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/admin/schema.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_prefix.h"

namespace weft::cli {

class NodeNames {
 public:
  NodeNames() = default;
  explicit NodeNames(const admin::LeaseList& leases);

  // Of the node that publishes this address, or in whose pod subnet it lies; empty: none.
  std::string_view OfNode(const IpAddress& address) const;
  std::string_view OfPod(const IpAddress& address) const;

  // "win-1 to lin-2": an address stands for a node without a lease. Empty: neither has one.
  std::string Text(const IpAddress& source, const IpAddress& destination, bool pods) const;

  // All nodes' public addresses.
  std::vector<std::pair<IpAddress, std::string>> Nodes() const;

 private:
  std::map<IpAddress, std::string> nodes_;
  std::map<IpPrefix, std::string> subnets_;
  std::set<int> v4_lengths_, v6_lengths_;  // of subnets_
};

}  // namespace weft::cli
