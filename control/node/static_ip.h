// SPDX-License-Identifier: Apache-2.0
// The static IPv4 settings of the node's NIC: address, default gateway, DNS servers, metric. When
// HNS puts the NIC on a virtual switch, Windows gives them to the switch's adapter, or loses some
// and lets DHCP set that adapter up (sig-windows-tools#162, Microsoft/SDN#498). What is lost is set
// on the switch's adapter again; it has the MAC of the NIC.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "control/clock.h"
#include "control/condition.h"
#include "control/host/host.h"
#include "control/ledger/node_ledger.h"
#include "control/underlay/interface_choice.h"

namespace weft::node {

// Control thread. Its condition fails no check.
class StaticIpKeeper {
 public:
  // `host` outlives it. `ledger` keeps the settings across restarts; null: they are not kept.
  // `keeps_switch`: a base network keeps the switch across reboots.
  explicit StaticIpKeeper(host::Host& host, std::shared_ptr<ledger::NodeLedger> ledger = nullptr,
                          bool keeps_switch = false)
      : host_(host), ledger_(std::move(ledger)), keeps_switch_(keeps_switch) {}

  // Call at each reading of the host, before HNS is changed. `underlay`: the adapter with the
  // node's address; null: there is none now. Returns when to call again where settings are missing.
  std::optional<control::TimePoint> Inspect(const underlay::HostFacts& facts,
                                            const host::Adapter* underlay, control::TimePoint now);

  // Settings are lost and cannot be set again.
  const control::Condition& lost() const { return lost_; }

 private:
  struct Lack;
  void Note(const underlay::HostFacts& facts, const host::Adapter& underlay);
  std::optional<Lack> LackOf(const underlay::HostFacts& facts, const ledger::StaticIp& known);
  absl::Status Restore(const Lack& lack);

  host::Host& host_;
  const std::shared_ptr<ledger::NodeLedger> ledger_;
  const bool keeps_switch_;
  std::optional<std::vector<ledger::StaticIp>> known_;  // by MAC; from the first Inspect on
  std::optional<control::TimePoint> missing_since_;
  control::Condition lost_;
};

}  // namespace weft::node
