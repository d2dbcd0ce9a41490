// SPDX-License-Identifier: Apache-2.0
// The static routes that Windows leaves behind when the node's address moves to another adapter of
// the same link: to the vSwitch's with the first external network of HNS, and back with the last.
// By MAC: the host's adapter on a switch has its NIC's.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "control/host/host.h"

namespace weft::host {

class CarriedRoutes {
 public:
  struct PutBack {
    Route route;  // on the new adapter
    absl::Status status;
  };
  // At each look: `adapter`, which has the node's address now, and the `routes` that somebody set
  // on it. Puts back what an earlier look found on the adapter before it and this one lacks; what
  // is refused is put again at each later look.
  std::vector<PutBack> Follow(Host& host, const Adapter& adapter, const std::vector<Route>& routes);

 private:
  struct Link {
    std::uint32_t adapter_index = 0;  // where its address was; zero: not seen yet
    std::vector<Route> routes;        // there
    std::vector<Route> missing;       // left behind, and not back yet
  };
  std::map<MacAddress, Link> links_;
};

}  // namespace weft::host
