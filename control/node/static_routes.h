// SPDX-License-Identifier: Apache-2.0
// Routes on the underlay that lead to no peer: restores static ones that a virtual switch took
// over, and reports those into the pod network that an earlier flanneld left.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/condition.h"
#include "control/host/carried_routes.h"
#include "control/host/host.h"
#include "control/ledger/node_ledger.h"
#include "control/net_conf.h"
#include "control/underlay/interface_choice.h"

namespace weft::node {

// The static routes among `routes` that lead into the pods' `network` by a gateway outside it: an
// overlay network in HNS uses none. Upstream v0.28.9's host-gw creates them on Windows so that they
// survive a reboot, and leaves them when it stops, also those to deleted nodes.
std::vector<host::Route> LeftRoutes(const std::vector<host::Route>& routes,
                                    const IpPrefix& network);
// Empty: there are none.
std::string LeftRoutesSentence(const std::vector<host::Route>& left, const IpPrefix& network);

// Control thread. Its conditions fail no check.
class StaticRoutes {
 public:
  // `host` and `conf` outlive it. `ledger` keeps the routes across restarts; null: they are not
  // kept. `keeps_switch`: a base network keeps the switch across reboots.
  StaticRoutes(host::Host& host, const control::NetConf& conf,
               std::shared_ptr<ledger::NodeLedger> ledger = nullptr, bool keeps_switch = false)
      : host_(host), conf_(conf), ledger_(std::move(ledger)), keeps_switch_(keeps_switch) {}

  // Call at each reading of the host, before HNS is changed.
  void Inspect(const underlay::HostFacts& facts, const underlay::InterfaceChoice& underlay);

  // A static route that the switch took over cannot be restored.
  const control::Condition& lost() const { return lost_; }
  const control::Condition& left() const { return left_; }

 private:
  void Carry(const underlay::HostFacts& facts, const host::Adapter& adapter);
  bool IsCarried(const host::Route& route) const;
  host::CarriedRoutes::Memory Recall();

  host::Host& host_;
  const control::NetConf& conf_;
  const std::shared_ptr<ledger::NodeLedger> ledger_;
  const bool keeps_switch_;
  std::optional<host::CarriedRoutes> carried_;  // from the first Inspect on
  control::Condition lost_, left_;
};

}  // namespace weft::node
