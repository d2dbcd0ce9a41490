// SPDX-License-Identifier: Apache-2.0
// The rule of Windows' firewall that lets in the packets of an overlay network in HNS, or of our
// own tunnel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "control/backend/hns_overlay/firewall_sources.h"
#include "control/clock.h"
#include "control/condition.h"
#include "control/host/host.h"
#include "control/ledger/node_ledger.h"

namespace weft::backend {

// Of the rule for this port.
std::string FirewallRuleName(std::uint16_t port);

// Control thread.
class TunnelFirewall {
 public:
  // `host` outlives it. `ledger` records the rules that are created; null: nothing is recorded.
  explicit TunnelFirewall(host::Host& host, std::shared_ptr<ledger::NodeLedger> ledger = nullptr)
      : host_(host), ledger_(std::move(ledger)) {}

  // Call about every second while an overlay network or tunnel has this UDP port, and when its
  // peers change: creates the rule, retries soon where that fails, and checks it every five minutes
  // in case another program removed or altered it: a rule of ours is corrected, any other stays.
  // Rules of ours for former ports are removed, and for no peer each.
  void Allow(std::uint16_t port, const FirewallSources& sources = {},
             control::TimePoint now = std::chrono::steady_clock::now());

  // The rule cannot be created, or not narrowed as asked. While the firewall's service does not run
  // only the latter. Fails no check.
  const control::Condition& condition() const { return condition_; }

 private:
  absl::Status Create(const host::FirewallRule& rule, bool is_check);
  // Removes our rules with other names.
  absl::Status RemoveFormer(const std::string& rule);

  host::Host& host_;
  const std::shared_ptr<ledger::NodeLedger> ledger_;
  std::optional<host::FirewallRule> desired_;
  std::string refusal_;                     // with desired_
  std::optional<host::FirewallRule> made_;  // at the last success
  control::TimePoint again_{};
  control::Duration pause_{};
  control::Condition condition_;
  control::Condition down_;  // only logged: nothing depends on it
};

}  // namespace weft::backend
