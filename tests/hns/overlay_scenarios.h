// SPDX-License-Identifier: Apache-2.0
// The initial states of the overlay's keeper, the kinds of HNS, and the foreign objects.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hns/overlay_stage.h"

namespace weft::hns {

// The state when the keeper starts, and the expected actions.
struct Scenario {
  const char* name;
  void (*prepare)(OverlayStage&);
};

inline void BringInSync(OverlayStage& stage) {
  EXPECT_EQ(stage.Drive().state, OverlayState::kInSync);
}

inline const Scenario kScenarios[] = {
    {"empty HNS", [](OverlayStage&) {}},
    {"empty HNS, base network desired",
     [](OverlayStage& stage) { stage.spec.base_network = true; }},
    {"all is right", BringInSync},
    {"peers changed while it was away",
     [](OverlayStage& stage) {
       BringInSync(stage);
       const RemoteSubnetRoute changed = RouteTo("10.244.1.0/24", "0e:2a:00:00:00:99");
       stage.routes.insert_or_assign(changed.destination, changed);
       stage.routes.erase(Cidr("10.244.2.0/24"));
       stage.routes.emplace(Cidr("10.244.5.0/24"), RouteTo("10.244.5.0/24"));
       stage.RemovePolicy(HostRoutePolicy());
     }},
    {"another VSID",
     [](OverlayStage& stage) {
       BringInSync(stage);
       stage.spec.isolation_id = Vsid(4100);
       stage.routes.clear();
       for (const char* text : {"10.244.1.0/24", "10.244.2.0/24"}) {
         RemoteSubnetRoute route = RouteTo(text);
         route.isolation_id = Vsid(4100);
         stage.routes.emplace(route.destination, route);
       }
     }},
};

struct KindOfHns {
  const char* name;
  emulator::Settings settings;
  std::uint16_t port = kUsualVxlanPort;
  std::size_t peers = 0;  // next to the scenario's own
  std::size_t every = 1;  // case is run: a sample where each is dear, or all fail alike; prime to
                          // the lengths of the lists of events
};
inline const KindOfHns kHns[] = {
    {"the usual HNS", {}},
    {"a slow one, whose first network cuts the node off for 45 s",
     {.management_ip = std::chrono::seconds(45),
      .new_interface = std::chrono::seconds(45),
      .gap = std::chrono::seconds(45),
      .settle = std::chrono::seconds(6),
      .name_release = std::chrono::seconds(2)}},
    {"batches of one, applied in part",
     {.duplicates = emulator::Duplicates::kRefusedByPrefix,
      .missing_policy_refused = false,
      .batch_limit = 1,
      .batch_applied = 1,
      .dead_handle_code = hresult::kInvalidHandle}},
    {"one that shows no VSID", {.vsid_shown = false}, kUsualVxlanPort, 0, 31},
    {"one that shows no VXLAN port", {.vxlan_port_shown = false}, 8472, 0, 31},
    {"one that applies a policy of a batch and returns S_OK",
     {.batch_applied = 1, .batch_code = hresult::kOk},
     kUsualVxlanPort,
     40,
     7},
    {"one that shows what it accepted after half a minute",
     {.policies_shown = std::chrono::seconds(30)}},
    {"one whose calls take longer the more there is",
     {.latency = std::chrono::milliseconds(20), .object_cost = std::chrono::microseconds(400)},
     kUsualVxlanPort,
     100,
     11},
    {"one that takes 0.7 s for a policy",
     {.policy_cost = std::chrono::milliseconds(700)},
     kUsualVxlanPort,
     250,
     31},
    {"one whose restart ends what a process may call", {.processes_die = true}},
    {"one with a link-local address first", {.link_local = std::chrono::seconds(60)}},
};
// The kind of HNS on which all cases of all tests are run.
inline constexpr std::size_t kUsualHns = 0;

// Foreign networks, endpoints and policies.
class ForeignObjects {
 public:
  explicit ForeignObjects(OverlayStage& stage) : stage_(stage) {
    OverlaySpec theirs = Spec();
    theirs.name = "vxlan0";
    theirs.subnet = Cidr("10.9.0.0/24");
    theirs.isolation_id = Vsid(5000);
    theirs.adapter = "Ethernet 2";
    stage.host.Add({theirs.adapter, {Ip("192.168.2.10")}});
    Network network = OverlayNetwork(theirs);
    network.flags = 0;  // persistent: also there after a reboot
    auto opened = stage.other_program.Create(network);
    EXPECT_TRUE(opened.ok()) << opened.status();
    RemoteSubnetRoute route = RouteTo("10.244.1.0/24");
    route.isolation_id = Vsid(5000);
    EXPECT_TRUE(opened->Add({RemoteSubnetRoutePolicy(route)}).ok());
    EXPECT_TRUE(opened->Add({HostRoutePolicy()}).ok());
    Endpoint pod;
    pod.name = "their pod";
    pod.network = opened->Read().value().id;
    pod.ip_configurations = {{Ip("10.9.0.5"), 24}};
    EXPECT_TRUE(stage.other_program.CreateEndpoint(pod).ok());
    stage.clock.now += std::chrono::minutes(2);  // until it is done
    before_ = Inspect();
  }
  // `routes`: routes were kept; `endpoints`: endpoints were kept, too.
  void ExpectUntouched(bool routes, bool endpoints) {
    const Seen now = Inspect();
    if (routes) EXPECT_EQ(now.networks, before_.networks);
    if (endpoints) EXPECT_EQ(now.endpoints, before_.endpoints);
  }

 private:
  struct Seen {
    std::vector<std::string> networks, endpoints;
  };
  Seen Inspect() {
    // The complete state, whatever this HNS shows.
    const emulator::Settings settings = stage_.hns.settings();
    emulator::Settings open = settings;
    open.vsid_shown = open.vxlan_port_shown = true;
    stage_.hns.Set(open);
    Seen seen;
    const auto networks = stage_.other_program.Networks();
    for (const Network& network : networks.value())
      if (network.name == "vxlan0") seen.networks.push_back(NetworkJson(network));
    const auto endpoints = stage_.other_program.Endpoints();
    for (const Endpoint& endpoint : endpoints.value())
      if (endpoint.name == "their pod") seen.endpoints.push_back(EndpointJson(endpoint));
    stage_.hns.Set(settings);
    return seen;
  }
  OverlayStage& stage_;
  Seen before_;
};

}  // namespace weft::hns
