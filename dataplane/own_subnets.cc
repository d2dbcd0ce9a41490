// SPDX-License-Identifier: Apache-2.0
#include "dataplane/own_subnets.h"

#include <algorithm>

namespace weft::dataplane {

OwnSubnets::OwnSubnets(const std::vector<IpPrefix>& subnets) {
  for (const IpPrefix& subnet : subnets) {
    if (subnet.family() == IpFamily::kV6) {
      v6_.push_back({AddressKey::From(subnet.base()), subnet.length()});
      continue;
    }
    const V4Subnet v4{subnet.base().v4(), Netmask(IpFamily::kV4, subnet.length()).v4()};
    if (first_v4_.Contains(first_v4_.base)) {
      more_v4_.push_back(v4);
    } else {
      first_v4_ = v4;
    }
  }
}

bool OwnSubnets::ContainV4(std::uint32_t address) const {
  return first_v4_.Contains(address) ||
         std::any_of(more_v4_.begin(), more_v4_.end(),
                     [&](const V4Subnet& subnet) { return subnet.Contains(address); });
}

bool OwnSubnets::ContainV6(const AddressKey& address) const {
  return std::any_of(v6_.begin(), v6_.end(),
                     [&](const V6& subnet) { return address.First(subnet.length) == subnet.base; });
}

}  // namespace weft::dataplane
