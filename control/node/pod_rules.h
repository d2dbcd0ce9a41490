// SPDX-License-Identifier: Apache-2.0
// --ip-masq and --iptables-forward-rules: what the host's packet filter holds for our lease, put
// there, looked at, put back. It stays when the daemon ends, as subnet.env does, which refers
// to it.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "control/host/packet_filter.h"
#include "control/ledger/node_ledger.h"
#include "control/log_limit.h"
#include "control/trouble.h"

namespace weft::node {

// Control thread.
class PodRules {
 public:
  using Clock = std::chrono::steady_clock;
  struct Desired {
    std::vector<host::FilterRule> masquerade, forward;
  };

  // `filter`: null where this system has none. `ledger`: null: nothing is entered. What is in
  // iptables-legacy is looked at every `legacy_period`, for the kernel reports no change there.
  PodRules(std::shared_ptr<host::PacketFilter> filter, std::shared_ptr<ledger::NodeLedger> ledger,
           std::chrono::seconds legacy_period);

  // From now on. Before the first, whatever an earlier process left stays.
  void Want(const Desired& desired, Clock::time_point now);
  // About every second. What another program removed is put back, at once the first time, then
  // after a growing pause, so that two programs do not fight.
  void Look(Clock::time_point now);

  // Whether pods are masqueraded as --ip-masq asks; also where a CNI plugin sees to it.
  bool masquerades() const {
    return !filter_ || (masquerade_.in_place && !masquerade_.rules.empty());
  }
  const control::Trouble& masquerade_trouble() const { return masquerade_trouble_; }
  const control::Trouble& forward_trouble() const { return forward_trouble_; }

 private:
  struct Part {
    host::FilterPart part;
    std::string_view kind, name;  // in the ledger
    std::string_view title;
    std::vector<host::FilterRule> rules{};
    bool in_place = false;
    int losses = 0;    // to other programs, without a quiet while between
    int failures = 0;  // of Put, in a row
    int blind = 0;     // looks in a row that another program's lock or a busy host denied us
    Clock::time_point lost{}, next_look{}, next_put{};
    std::string trouble{};
  };
  void Look(Part& part, Clock::time_point now);
  void Put(Part& part, Clock::time_point now);
  void Enter(const Part& part, bool made);

  const std::shared_ptr<host::PacketFilter> filter_;
  const std::shared_ptr<ledger::NodeLedger> ledger_;
  const std::chrono::seconds legacy_period_;
  control::LogLimit limit_;
  bool wanted_ = false;
  Part masquerade_, forward_, legacy_;
  control::Trouble masquerade_trouble_, forward_trouble_;
};

}  // namespace weft::node
