// SPDX-License-Identifier: Apache-2.0
// A process is killed while it makes the network of one net-conf, and the next one has another
// net-conf: the keepers find by the ledger what the first one left in HNS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "control/ledger/node_ledger.h"
#include "hns/bridge_machine.h"
#include "tests/hns/overlay_stage.h"
#include "tests/support/ledger_rows.h"
#include "tests/support/test_path.h"

namespace weft::ledger {
namespace {

using hns::Kind;
using Step = hns::WatchedApi::Step;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct Killed {};

using Spec = std::variant<hns::OverlaySpec, hns::BridgeSpec>;

Spec Vxlan(std::uint32_t vni) {
  hns::OverlaySpec spec = hns::NodesSpec();
  spec.name = "flannel." + std::to_string(vni);
  spec.isolation_id = hns::Vsid(vni);
  return spec;
}
Spec HostGw(const std::string& name) {
  return hns::BridgeSpec{.name = name,
                         .subnet = hns::Cidr("10.244.3.0/24"),
                         .dns_servers = "",
                         .adapter = "Ethernet",
                         .node_address = hns::Ip("192.168.1.10")};
}
std::string NameOf(const Spec& spec) {
  return std::visit([](const auto& each) { return each.name; }, spec);
}

// A node, its HNS and its ledger.
struct Node {
  explicit Node(std::string state_dir) : folder(std::move(state_dir)) {
    std::filesystem::remove_all(folder);
  }
  ~Node() { std::filesystem::remove_all(folder); }

  // A process, until its network is in sync.
  void Run(const Spec& spec) {
    const auto ledger = std::make_shared<NodeLedger>(folder, boot);
    ledger->Open();
    if (const auto* const overlay = std::get_if<hns::OverlaySpec>(&spec)) {
      hns::OverlayKeeper keeper(api, *overlay, ledger, [this] { return Now(); });
      hns::SetRoutes(keeper, {}, true);
      Drive(keeper, [](const hns::OverlayOutcome&) {});
    } else {
      hns::BridgeKeeper keeper(api, std::get<hns::BridgeSpec>(spec), ledger);
      Drive(keeper, [&](const hns::BridgeOutcome& outcome) {
        keeper.SetAdapterPresent(!outcome.endpoint_id || !host.endpoints().empty());
      });
    }
  }
  // The same, killed before or after its call `number`, if it makes as many.
  void RunKilled(const Spec& spec, std::size_t number, bool before) {
    api.calls = 0;
    (before ? api.before : api.after) = [number](const Step& step) -> std::optional<hns::Hresult> {
      // Destructors close, and may not throw: the next call is as good a place.
      if (step.number >= number && step.function != "HcnCloseNetwork") throw Killed();
      return std::nullopt;
    };
    try {
      Run(spec);
    } catch (const Killed&) {
    }
    api.before = api.after = nullptr;
  }

  std::vector<std::string> Networks() {
    std::vector<std::string> names;
    const auto networks = foreign.Networks();
    for (const hns::Network& network : networks.value()) names.push_back(network.name);
    return names;
  }
  std::vector<std::string> Endpoints() {
    std::vector<std::string> names;
    const auto endpoints = foreign.Endpoints();
    for (const hns::Endpoint& endpoint : endpoints.value()) names.push_back(endpoint.name);
    return names;
  }
  // The ledger's networks that weft made.
  std::vector<std::string> Entered() const {
    std::vector<std::string> names;
    for (const Row& row : testing::RowsOnDisk(folder))
      if (row.kind == "hns-network" && !row.adopted) names.push_back(row.name);
    return names;
  }
  hns::TimePoint Now() const { return hns::TimePoint(clock.now); }

  const std::string folder;
  std::string boot = "this boot";
  hns::TurnedClock clock;
  testing::EthernetNode node{clock};
  testing::NodeHost host{node};
  hns::WatchedApi api{node.hns()};
  hns::Client foreign{node.hns()};

 private:
  template <typename Keeper, typename Tell>
  void Drive(Keeper& keeper, const Tell& tell) {
    for (int rounds = 0; rounds < 1000; ++rounds) {
      const auto outcome = keeper.Round(Now());
      tell(outcome);
      if (outcome.state == decltype(outcome.state)::kInSync) return;
      ASSERT_TRUE(outcome.next) << outcome.sentence;
      clock.now = std::max(clock.now, std::chrono::duration_cast<std::chrono::milliseconds>(
                                          outcome.next->time_since_epoch()));
    }
    FAIL() << "rounds without end";
  }
};

struct Change {
  const char* name;
  Spec from, to;
};

class KilledCreationTest : public ::testing::TestWithParam<Change> {
 protected:
  static std::string Folder() { return weft::testing::TestPath().string(); }
  // The numbers of the calls with which a first start of `from` makes its objects.
  struct Calls {
    std::size_t all = 0, network_made = 0, endpoint_made = 0;
  };
  static Calls CallsOf(const Spec& spec) {
    Node node(Folder());
    Calls calls;
    node.api.after = [&](const Step& step) -> std::optional<hns::Hresult> {
      if (step.function == "HcnCreateNetwork" || step.document.starts_with("POST /networks/"))
        calls.network_made = step.number;
      if (step.document.starts_with("POST /endpoints/ ")) calls.endpoint_made = step.number;
      return std::nullopt;
    };
    node.Run(spec);
    calls.all = node.api.calls;
    return calls;
  }
  static void ExpectOnly(Node& node, const Spec& spec) {
    EXPECT_THAT(node.Networks(), ElementsAre(NameOf(spec)));
    // With what was intended and not made.
    EXPECT_THAT(node.Entered(), Contains(NameOf(spec)));
    if (const auto* const bridge = std::get_if<hns::BridgeSpec>(&spec))
      EXPECT_THAT(node.Endpoints(), ElementsAre(bridge->endpoint_name()));
    else
      EXPECT_THAT(node.Endpoints(), IsEmpty());
  }
  // On a new node each time: `run` has a process killed before or after its call of this number,
  // then one with `to` is left alone.
  template <typename Run>
  static void AtEachCall(std::size_t calls, const Spec& to, const Run& run) {
    for (std::size_t number = 1; number <= calls; ++number) {
      for (const bool before : {true, false}) {
        SCOPED_TRACE("call " + std::to_string(number) + (before ? ", before" : ", after"));
        Node node(Folder());
        run(node, number, before);
        node.Run(to);
        ExpectOnly(node, to);
      }
    }
  }
};

TEST_P(KilledCreationTest, AtAnyCallNothingOfItIsLeft) {
  const auto& [name, from, to] = GetParam();
  const std::size_t calls = CallsOf(from).all;
  EXPECT_GE(calls, 4u);
  AtEachCall(calls, to, [from = from](Node& node, std::size_t number, bool before) {
    node.RunKilled(from, number, before);
  });
}

TEST_P(KilledCreationTest, NorIfTheNextProcessIsKilledToo) {
  const auto& [name, from, to] = GetParam();
  const std::size_t made = CallsOf(from).network_made;
  ASSERT_GT(made, 0u);
  const auto prepare = [&, from = from](Node& node) { node.RunKilled(from, made, false); };
  Node whole(Folder());
  prepare(whole);
  whole.api.calls = 0;
  whole.Run(to);
  const std::size_t calls = whole.api.calls;
  AtEachCall(calls, to, [&, to = to](Node& node, std::size_t number, bool before) {
    prepare(node);
    node.RunKilled(to, number, before);
  });
}

// After a reboot another program may have made the same, and one of another shape is not ours.
TEST_P(KilledCreationTest, AForeignNetworkOfItsNameStays) {
  const auto& [name, from, to] = GetParam();
  const std::size_t made = CallsOf(from).network_made;
  {
    SCOPED_TRACE("in another boot");
    Node node(Folder());
    node.RunKilled(from, made, false);
    node.boot = "the next boot";
    node.Run(to);
    EXPECT_THAT(node.Networks(), UnorderedElementsAre(NameOf(from), NameOf(to)));
    EXPECT_THAT(node.Entered(), ElementsAre(NameOf(to)));
  }
  {
    SCOPED_TRACE("of another subnet");
    Node node(Folder());
    node.RunKilled(from, made, true);
    hns::OverlaySpec other = hns::Spec();
    other.name = NameOf(from);
    other.subnet = hns::Cidr("10.9.0.0/24");
    ASSERT_TRUE(node.foreign.Create(hns::OverlayNetwork(other)).ok());
    node.Run(to);
    EXPECT_THAT(node.Networks(), UnorderedElementsAre(NameOf(from), NameOf(to)));
    EXPECT_THAT(node.Entered(), ElementsAre(NameOf(to)));
  }
}

// A pod's, or one with the name of ours, which was intended, and another address.
TEST_P(KilledCreationTest, AForeignEndpointKeepsIt) {
  const auto& [name, from, to] = GetParam();
  const Calls calls = CallsOf(from);
  const bool bridge = calls.endpoint_made != 0;
  Node node(Folder());
  node.RunKilled(from, bridge ? calls.endpoint_made : calls.network_made, bridge);
  hns::Endpoint pod;
  pod.name = bridge ? "cbr0_ep" : "pod1";
  pod.network = node.foreign.Networks().value().at(0).id;
  pod.ip_configurations = {{hns::Ip("10.244.3.9"), 24}};
  ASSERT_TRUE(node.foreign.CreateEndpoint(pod).ok());
  node.Run(to);
  EXPECT_THAT(node.Networks(), UnorderedElementsAre(NameOf(from), NameOf(to)));
}

INSTANTIATE_TEST_SUITE_P(NetConf, KilledCreationTest,
                         ::testing::Values(Change{"HostGwToVxlan", HostGw("cbr0"), Vxlan(4096)},
                                           Change{"VxlanToHostGw", Vxlan(4096), HostGw("cbr0")},
                                           Change{"VxlanToAnotherVni", Vxlan(4096), Vxlan(4097)},
                                           Change{"HostGwToAnotherName", HostGw("cbr0"),
                                                  HostGw("cbr1")}),
                         [](const auto& change) { return change.param.name; });

}  // namespace
}  // namespace weft::ledger
