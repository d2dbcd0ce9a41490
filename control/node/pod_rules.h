// SPDX-License-Identifier: Apache-2.0
// --ip-masq and --iptables-forward-rules: installs, inspects and restores the rules for our lease
// in the host's packet filter. They stay when the daemon ends, as subnet.env does, which refers to
// them.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "control/condition.h"
#include "control/host/packet_filter.h"
#include "control/ledger/node_ledger.h"
#include "control/log_limit.h"

namespace weft::node {

// Control thread.
class PodRules {
 public:
  using Clock = std::chrono::steady_clock;
  struct Desired {
    std::vector<host::FilterRule> masquerade, forward;
  };

  // `filter`: null where this system has none. `ledger`: null: nothing is recorded. iptables-legacy
  // is inspected every `legacy_period`, because the kernel reports no changes there.
  PodRules(std::shared_ptr<host::PacketFilter> filter, std::shared_ptr<ledger::NodeLedger> ledger,
           std::chrono::seconds legacy_period);

  // Applies from now on. Before the first call, the rules of an earlier process stay.
  void SetDesired(const Desired& desired, Clock::time_point now);
  // Call about every second. Restores what another program removed, at once the first time, then
  // after a growing pause, so that two programs do not fight.
  void Poll(Clock::time_point now);

  // Whether pods are masqueraded as --ip-masq requires; also where a CNI plugin does it.
  bool masquerades() const {
    return !filter_ || (masquerade_.in_place && !masquerade_.rules.empty());
  }
  const control::Condition& masquerade_condition() const { return masquerade_condition_; }
  const control::Condition& forward_condition() const { return forward_condition_; }

 private:
  struct Part {
    host::FilterPart part;
    std::string_view title;
    std::vector<host::FilterRule> rules{};
    bool in_place = false;
    int losses = 0;    // by other programs, without a quiet period between
    int failures = 0;  // of Put, in a row
    int blind = 0;     // readings in a row that another program's lock or a busy host prevented
    Clock::time_point lost{}, next_poll{}, next_put{};
    std::string condition{};
  };
  void Inspect(Part& part, Clock::time_point now);
  void Put(Part& part, Clock::time_point now);
  void Record(const Part& part, bool made);

  const std::shared_ptr<host::PacketFilter> filter_;
  const std::shared_ptr<ledger::NodeLedger> ledger_;
  const std::chrono::seconds legacy_period_;
  control::LogLimit limit_;
  bool has_desired_ = false;
  bool said_unknown_ = false;  // of the legacy tables
  Part masquerade_, forward_, legacy_;
  control::Condition masquerade_condition_, forward_condition_;
};

}  // namespace weft::node
