// SPDX-License-Identifier: Apache-2.0
// The subnets of this node, in a form that is fast to compare.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/address_index.h"
#include "vxlan/ip_prefix.h"

namespace weft::dataplane {

// In host order.
struct V4Subnet {
  std::uint32_t base = 1;  // with this mask it contains no address
  std::uint32_t mask = 0;
  bool Contains(std::uint32_t address) const { return (address & mask) == base; }
};

class OwnSubnets {
 public:
  explicit OwnSubnets(const std::vector<IpPrefix>& subnets);

  bool ContainV4(std::uint32_t address) const;
  bool ContainV6(const AddressKey& address) const;

  // Nearly every node has one IPv4 subnet, or none.
  bool has_more_v4() const { return !more_v4_.empty(); }
  V4Subnet first_v4() const { return first_v4_; }

 private:
  struct V6 {
    AddressKey base;
    int length;
  };
  V4Subnet first_v4_;
  std::vector<V4Subnet> more_v4_;
  std::vector<V6> v6_;
};

}  // namespace weft::dataplane
