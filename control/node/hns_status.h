// SPDX-License-Identifier: Apache-2.0
// What status tells alike of every network in HNS.
#pragma once

#include <string>
#include <string_view>

#include "control/admin/schema.h"
#include "control/sinks/keeper_thread.h"

namespace weft::node {

inline constexpr std::string_view kHnsSilent = "HNS has not answered yet";

template <typename Outcome>
admin::HnsStatus HnsStatusOf(const std::string& network,
                             const control::KeeperState<Outcome>& state) {
  const Outcome& outcome = state.outcome;
  admin::HnsStatus status;
  status.network = network;
  status.text = state.known ? outcome.sentence : std::string(kHnsSilent);
  if (outcome.network_id) status.id = outcome.network_id->ToString();
  status.management_ip = outcome.management_ip;
  status.calls = state.calls;
  status.modifying_calls = state.modifying_calls;
  status.notes = outcome.notes;
  if (state.known && !state.notified)
    status.notes.push_back("HNS does not tell of its restarts: looking every minute finds them");
  return status;
}

}  // namespace weft::node
