// SPDX-License-Identifier: Apache-2.0
// An emulated HNS with a bridge's keeper, and a clock that the test advances.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hns/api/renewed_api.h"
#include "hns/api/response.h"
#include "hns/bridge_machine.h"
#include "tests/hns/overlay_stage.h"

namespace weft::hns {

struct BridgeStage {
  explicit BridgeStage(emulator::Settings settings = {}) : node(clock, settings) { StartKeeper(); }
  TurnedClock clock;
  testing::EthernetNode node;
  testing::NodeHost host{node};
  emulator::Emulator& hns = node.hns();
  std::unique_ptr<Api> process;
  WatchedApi api{hns};
  Client other_program{hns};
  BridgeSpec spec{.name = "cbr0",
                  .subnet = Cidr("10.244.3.0/24"),
                  .dns_servers = "",
                  .adapter = "Ethernet",
                  .node_address = Ip("192.168.1.10")};
  std::unique_ptr<BridgeKeeper> keeper;

  // In a new process.
  void StartKeeper() {
    keeper.reset();
    auto next = std::make_unique<RenewedApi>([this] { return hns.NewProcess(); });
    api.Use(*next);
    process = std::move(next);
    keeper = std::make_unique<BridgeKeeper>(api, spec);
  }
  TimePoint Now() const { return TimePoint(clock.now); }
  BridgeOutcome Round() { return keeper->Round(Now()); }
  BridgeOutcome Drive(Duration most = std::chrono::minutes(5)) {
    const TimePoint end = Now() + most;
    for (int rounds = 0;; ++rounds) {
      BridgeOutcome outcome = Round();
      // The daemon passes this at each read of the host's adapters.
      const bool there = !outcome.endpoint_id || !host.endpoints().empty();
      keeper->SetAdapterPresent(there);
      if (!there && outcome.state == BridgeState::kInSync) continue;
      if (!outcome.next || *outcome.next > end || rounds == 5000) return outcome;
      clock.now = std::max(clock.now, std::chrono::duration_cast<emulator::Milliseconds>(
                                          outcome.next->time_since_epoch()));
    }
  }
  std::vector<BridgeNetwork> Networks() {
    return ParseBridgeNetworks(Output(hns.Call("GET", "/networks/", ""))).value();
  }
  std::vector<BridgeEndpoint> Endpoints() {
    return ParseBridgeEndpoints(Output(hns.Call("GET", "/endpoints/", ""))).value();
  }
  static std::string Output(const Reply& reply) { return ResponseOf("ask", reply).value().output; }
  bool IsInSync() {
    const auto networks = Networks();
    const auto endpoints = Endpoints();
    return networks.size() == 1 && endpoints.size() == 1 &&
           endpoints[0].network == networks[0].id && endpoints[0].name == "cbr0_ep" &&
           endpoints[0].address == spec.endpoint_address() && endpoints[0].attached;
  }
};

}  // namespace weft::hns
