// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/on_link.h"

#include <algorithm>

namespace weft::control {

absl::StatusOr<OnLink> OnLink::Of(std::uint32_t adapter_index,
                                  const std::vector<host::Adapter>& adapters,
                                  const std::vector<host::Route>& routes) {
  const auto adapter =
      std::find_if(adapters.begin(), adapters.end(),
                   [&](const host::Adapter& each) { return each.index == adapter_index; });
  if (adapter == adapters.end()) return absl::NotFoundError("the adapter is gone");
  if (!adapter->up) return absl::NotFoundError("the adapter is down; set it up");
  OnLink on_link;
  for (const host::AssignedAddress& assigned : adapter->addresses) {
    if (const auto prefix = IpPrefix::Of(assigned.address, assigned.prefix_length))
      on_link.prefixes_.push_back(*prefix);
  }
  for (const host::Route& route : routes) {
    if (route.adapter_index == adapter_index && !route.gateway)
      on_link.prefixes_.push_back(route.destination);
  }
  return on_link;
}

bool OnLink::Reaches(const IpAddress& address) const {
  return std::any_of(prefixes_.begin(), prefixes_.end(),
                     [&](const IpPrefix& prefix) { return prefix.Contains(address); });
}

}  // namespace weft::control
