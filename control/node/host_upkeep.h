// SPDX-License-Identifier: Apache-2.0
// What a Windows host needs beside its networks in HNS: static routes that a vSwitch swallowed, the
// firewall's rule for the tunnel, word of routes that an earlier flanneld left.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "control/clock.h"
#include "control/host/carried_routes.h"
#include "control/host/host.h"
#include "control/ledger/node_ledger.h"
#include "control/net_conf.h"
#include "control/node/setup.h"
#include "control/trouble.h"
#include "control/underlay/interface_choice.h"

namespace weft::node {

// Control thread. Nothing that fails here fails a check.
class HostUpkeep {
 public:
  // Both outlive it. `ledger`: of the rules that are made and the static routes that are found;
  // null: no ledger. `keeps_switch`: a base network does, over reboots.
  HostUpkeep(host::Host& host, const control::NetConf& conf,
             std::shared_ptr<ledger::NodeLedger> ledger = nullptr, bool keeps_switch = false)
      : host_(host), conf_(conf), ledger_(std::move(ledger)), keeps_switch_(keeps_switch) {}

  // At each look at the host, before HNS is asked for anything.
  void Look(const underlay::HostFacts& facts, const underlay::InterfaceChoice& underlay);
  // About every second while an overlay network has this port: makes the firewall's rule, soon
  // again where that fails, and every five minutes to see whether it is there still.
  void AllowTunnel(std::uint16_t port, control::TimePoint now = std::chrono::steady_clock::now());

  // A static route that the vSwitch swallowed cannot be put back.
  const control::Trouble& route_trouble() const { return route_trouble_; }
  const control::Trouble& firewall_trouble() const { return firewall_trouble_; }
  const control::Trouble& left_routes() const { return left_routes_; }

 private:
  void CarryRoutes(const underlay::HostFacts& facts, const host::Adapter& adapter);
  bool IsCarried(const host::Route& route) const;
  host::CarriedRoutes::Memory Recall();
  absl::Status Allow(const std::string& rule, std::uint16_t port);

  host::Host& host_;
  const control::NetConf& conf_;
  const std::shared_ptr<ledger::NodeLedger> ledger_;
  const bool keeps_switch_;
  std::optional<host::CarriedRoutes> carried_;  // from the first look on
  std::optional<std::uint16_t> allowed_;
  control::TimePoint allow_again_{};
  control::Duration allow_pause_{};
  control::Trouble route_trouble_, firewall_trouble_, left_routes_;
};

}  // namespace weft::node
