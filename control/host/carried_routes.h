// SPDX-License-Identifier: Apache-2.0
// Restores the static routes that Windows does not move along when the node's address moves to
// another adapter of the same link: to the vSwitch's adapter when HNS creates the first external
// network, and back when it deletes the last. A link is identified by MAC: the host's adapter on a
// switch has the MAC of the NIC.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "control/host/host.h"

namespace weft::host {

class CarriedRoutes {
 public:
  // Routes by MAC, each with the adapter that had it last; zero: lost, and not restored yet.
  using Memory = std::map<MacAddress, std::vector<Route>>;
  struct PutBack {
    Route route;  // on the new adapter
    absl::Status status;
  };

  // `memory`: saved by an earlier process.
  explicit CarriedRoutes(Memory memory = {}) : links_(std::move(memory)) {}

  // Called after each reading of the host, with the adapter that has the node's address and its
  // static `routes`. Puts back the routes that an earlier call found on the former adapter and this
  // one lacks; a refused route is tried again at each later call. A route that disappeared from the
  // same adapter was removed on purpose.
  std::vector<PutBack> Follow(Host& host, const Adapter& adapter, const std::vector<Route>& routes);

  const Memory& memory() const { return links_; }

 private:
  Memory links_;
};

}  // namespace weft::host
