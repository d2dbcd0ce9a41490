// SPDX-License-Identifier: Apache-2.0
// The static routes that Windows leaves behind when the node's address moves to another adapter of
// the same link: to the vSwitch's with the first external network of HNS, and back with the last.
// By MAC: the host's adapter on a switch has its NIC's.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "control/host/host.h"

namespace weft::host {

class CarriedRoutes {
 public:
  // By MAC, each with the adapter where it was seen last; zero: left behind, and not back yet.
  using Memory = std::map<MacAddress, std::vector<Route>>;
  struct PutBack {
    Route route;  // on the new adapter
    absl::Status status;
  };

  // `memory`: of an earlier process.
  explicit CarriedRoutes(Memory memory = {}) : links_(std::move(memory)) {}

  // At each look: `adapter`, which has the node's address now, and the `routes` that somebody set
  // on it. Puts back what an earlier look found on the adapter before it and this one lacks; what
  // is refused is put again at each later look. One that is gone from the same adapter was taken
  // away by somebody.
  std::vector<PutBack> Follow(Host& host, const Adapter& adapter, const std::vector<Route>& routes);

  const Memory& memory() const { return links_; }

 private:
  Memory links_;
};

}  // namespace weft::host
