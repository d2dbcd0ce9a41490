// SPDX-License-Identifier: Apache-2.0
// An emulated HNS with a keeper, and a clock that the test advances.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/emulator/hns/emulator.h"
#include "hns/api/renewed_api.h"
#include "hns/client.h"
#include "hns/overlay_machine.h"
#include "tests/hns/overlay_makers.h"
#include "tests/hns/watched_api.h"
#include "tests/support/ethernet_node.h"

namespace weft::hns {

// As the daemon has it.
inline OverlaySpec NodesSpec() {
  OverlaySpec spec = Spec();
  spec.by_address = true;
  return spec;
}

class TurnedClock final : public emulator::Clock {
 public:
  emulator::Milliseconds Now() override { return now; }
  void Sleep(emulator::Milliseconds how_long) override { now += how_long; }
  emulator::Milliseconds now{std::chrono::hours(1)};
};

struct OverlayStage {
  // The Api that the keeper calls instead of the emulator, and the one that passes its calls on.
  using Way = Api& (*)(Api& service);
  explicit OverlayStage(emulator::Settings settings = {}, Way by = nullptr)
      : node(clock, settings), way(by), api(by != nullptr ? by(hns) : hns) {
    api.now = other.now = [this] { return clock.now; };
    StartKeeper();
  }

  TurnedClock clock;
  testing::EthernetNode node;
  testing::NodeHost host{node};
  emulator::Emulator& hns = node.hns();
  const Way way;
  std::unique_ptr<Api> process;  // the keeper's, where nothing else is in between
  WatchedApi api;
  WatchedApi other{hns};      // of a keeper next to it
  Client other_program{hns};  // another program on this node
  OverlaySpec spec = NodesSpec();
  RemoteSubnetRoutes routes = RoutesTo({"10.244.1.0/24", "10.244.2.0/24"});
  std::unique_ptr<OverlayKeeper> keeper, successor;

  TimePoint Now() const { return TimePoint(clock.now); }

  // As at the start of the program: it knows only its arguments.
  void StartKeeper() {
    keeper.reset();
    if (way == nullptr) {
      auto next = std::make_unique<RenewedApi>([this] { return hns.NewProcess(); });
      api.Use(*next);
      process = std::move(next);
    }
    keeper = std::make_unique<OverlayKeeper>(api, spec, nullptr, [this] { return Now(); });
    hns::SetRoutes(*keeper, routes, true);
  }
  void SetRoutes(RemoteSubnetRoutes desired) {
    routes = std::move(desired);
    hns::SetRoutes(*keeper, routes, true);
  }

  OverlayOutcome Round() { return keeper->Round(Now()); }
  // Called as by the daemon, until it is in sync; for at most `most` of this clock's time.
  OverlayOutcome Drive(Duration most = std::chrono::minutes(5)) {
    const TimePoint end = Now() + most;
    for (int rounds = 0;; ++rounds) {
      OverlayOutcome outcome = Round();
      if (outcome.state == OverlayState::kInSync || !outcome.next || *outcome.next > end ||
          rounds == 5000) {
        return outcome;
      }
      clock.now = std::max(clock.now, std::chrono::duration_cast<emulator::Milliseconds>(
                                          outcome.next->time_since_epoch()));
    }
  }

  std::optional<Network> Named(const std::string& name) {
    const auto networks = other_program.Networks();
    for (const Network& network : networks.value())
      if (network.name == name) return network;
    return std::nullopt;
  }
  std::optional<Network> Overlay() { return Named(spec.name); }
  // Compared without the planner. The order of keys does not matter.
  std::vector<std::string> RoutesThere() {
    std::vector<std::string> there;
    const auto network = Overlay();
    if (!network) return there;
    for (const Policy& policy : network->policies) {
      if (policy.type != policy_type::kRemoteSubnetRoute) continue;
      const auto route = ReadRemoteSubnetRoute(policy);
      there.push_back(route ? RemoteSubnetRoutePolicy(*route).settings : policy.settings);
    }
    std::sort(there.begin(), there.end());
    return there;
  }
  std::vector<std::string> RoutesDesired() const {
    std::vector<std::string> desired;
    for (const auto& [destination, route] : routes)
      desired.push_back(RemoteSubnetRoutePolicy(route).settings);
    std::sort(desired.begin(), desired.end());
    return desired;
  }
  // A pod's endpoint, as a CNI plugin makes it.
  Guid AddPod(const std::string& name, const std::string& address) {
    Endpoint pod;
    pod.name = name;
    pod.network = Overlay().value().id;
    pod.ip_configurations = {{Ip(address), 24}};
    return other_program.CreateEndpoint(pod).value().id;
  }
  void AddPolicy(const Policy& policy) {
    auto opened = other_program.Open(Overlay().value()).value();
    if (!opened.Add({policy}).ok()) std::abort();
  }
  void RemovePolicy(const Policy& policy) {
    auto opened = other_program.Open(Overlay().value()).value();
    if (!opened.Remove({policy}).ok()) std::abort();
  }
};

}  // namespace weft::hns
