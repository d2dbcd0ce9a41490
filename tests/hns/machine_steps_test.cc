// SPDX-License-Identifier: Apache-2.0
// The order of HNS calls, call by call: the test gives the answers; there is no HNS.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hns/bridge_machine.h"
#include "hns/overlay_machine.h"
#include "tests/hns/overlay_makers.h"

namespace weft::hns {
namespace {

using ::testing::ElementsAreArray;
using namespace std::chrono_literals;

// A call as a line: "create flannel.4096", "add 2".
struct CallText {
  std::string operator()(const ReadVersion&) { return "version"; }
  std::string operator()(const CheckService&) { return "check service"; }
  std::string operator()(const ListNetworks& call) {
    return absl::StrCat("list ", call.name.empty() ? "all" : call.name);
  }
  std::string operator()(const ReadSchema1& call) { return "schema 1 of " + call.network.name; }
  std::string operator()(const ListEndpoints&) { return "endpoints"; }
  std::string operator()(const OpenNetwork& call) { return "open " + call.network.name; }
  std::string operator()(const CreateNetwork& call) {
    return absl::StrCat("create ", call.document.name, " on ", call.document.adapter_name());
  }
  std::string operator()(const CloseNetwork&) { return "close"; }
  std::string operator()(const ReadNetwork&) { return "read"; }
  std::string operator()(const ModifyNetwork& call) {
    return absl::StrCat(call.add ? "add " : "remove ", call.policies.size(), " ",
                        call.policies.front().type);
  }
  std::string operator()(const DeleteNetwork& call) { return "delete " + call.name; }
  std::string operator()(const DeleteEndpoint& call) { return "delete endpoint " + call.name; }
  std::string operator()(const CallSchema1& call) {
    return absl::StrCat(call.method, " ", call.path);
  }
};

struct AnsweredCall {
  std::string call;
  Answer answer;
};

// Gives the answers as long as the calls are those of `steps`; the calls that were made.
template <typename T>
std::vector<std::string> CallsMade(Sequence<T>& sequence, const std::vector<AnsweredCall>& steps) {
  std::vector<std::string> calls;
  PendingCall pending;
  sequence.Start(pending);
  for (std::size_t i = 0; pending.waiting; ++i) {
    // Calls without cost are in no list: these answers are the same in all of them.
    while (pending.waiting && (std::holds_alternative<CloseNetwork>(pending.call) ||
                               std::holds_alternative<CheckService>(pending.call))) {
      if (const auto* check = std::get_if<CheckService>(&pending.call))
        pending.answer = absl::IsUnavailable(check->status);
      else
        pending.answer = absl::OkStatus();
      std::exchange(pending.waiting, nullptr).resume();
    }
    if (!pending.waiting) break;
    calls.push_back(std::visit(CallText(), pending.call));
    if (i == steps.size() || calls.back() != steps[i].call) break;
    pending.answer = steps[i].answer;
    std::exchange(pending.waiting, nullptr).resume();
  }
  return calls;
}

std::vector<std::string> CallsOf(const std::vector<AnsweredCall>& steps) {
  std::vector<std::string> calls;
  for (const AnsweredCall& step : steps) calls.push_back(step.call);
  return calls;
}

AnsweredCall Version13() { return {"version", absl::StatusOr<Version>(Version{13, 3})}; }
AnsweredCall List(const std::string& name, std::vector<Network> networks) {
  return {"list " + name, absl::StatusOr<std::vector<Network>>(std::move(networks))};
}
AnsweredCall Read(Network network) { return {"read", absl::StatusOr<Network>(std::move(network))}; }
AnsweredCall Done(const std::string& call) { return {call, absl::OkStatus()}; }
AnsweredCall Refused(const std::string& call, Hresult code) {
  return {call, StatusOf(call, code, "")};
}

// As HNS shows it once it is bound to the adapter.
Network Shown(std::vector<Policy> more = {}) {
  Network network = OverlayNetwork(Spec());
  network.id = Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804").value();
  network.policies.push_back(ProviderAddressPolicy(Ip("192.168.1.10")));
  network.policies.push_back(
      {std::string(policy_type::kDrMacAddress), R"({"Address":"00-15-5D-5E-5B-90"})"});
  network.policies.push_back(VxlanPortPolicy(4789));
  network.policies.insert(network.policies.end(), more.begin(), more.end());
  return network;
}

Network ShownWithRoute() {
  return Shown({HostRoutePolicy(), RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24"))});
}

Network OfAnotherSubnet() {
  OverlaySpec spec = Spec();
  spec.subnet = Cidr("10.244.9.0/24");
  Network network = Shown(OverlayNetwork(spec).policies);
  network.subnets = OverlayNetwork(spec).subnets;
  return network;
}

TEST(OverlayMachineTest, TheOrderOfCalls) {
  const auto policies = [](std::vector<Policy> added) { return Shown(std::move(added)); };
  const std::string create = "create flannel.4096 on Ethernet";
  const auto none = [](const std::string& name) { return List(name, {}); };
  Endpoint pod;
  pod.name = "pod";
  pod.network = Shown().id;
  pod.ip_configurations = {{Ip("10.244.3.7"), 24}};
  Endpoint source_vip = pod;
  source_vip.name.clear();
  const struct {
    const char* given;
    std::vector<AnsweredCall> steps;
    OverlayState state;
  } rows[] = {
      {"no network: created, HostRoute, route, read back",
       {Version13(), none("flannel.4096"), Done(create), Read(policies({})),
        Done("add 1 HostRoute"), Done("add 1 RemoteSubnetRoute"), Read(ShownWithRoute())},
       OverlayState::kInSync},
      {"all is there: nothing is changed",
       {Version13(), List("flannel.4096", {ShownWithRoute()}), Done("open flannel.4096")},
       OverlayState::kInSync},
      {"a route is missing",
       {Version13(), List("flannel.4096", {policies({HostRoutePolicy()})}),
        Done("open flannel.4096"), Done("add 1 RemoteSubnetRoute"), Read(ShownWithRoute())},
       OverlayState::kInSync},
      {"a route of no peer: removed",
       {Version13(),
        List("flannel.4096",
             {policies({HostRoutePolicy(), RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24")),
                        RemoteSubnetRoutePolicy(RouteTo("10.244.7.0/24"))})}),
        Done("open flannel.4096"), Done("remove 1 RemoteSubnetRoute"), Read(ShownWithRoute())},
       OverlayState::kInSync},
      {"the network differs: its pods are read before it is deleted",
       {Version13(),
        List("flannel.4096", {OfAnotherSubnet()}),
        {"endpoints", absl::StatusOr<std::vector<Endpoint>>(std::vector<Endpoint>())},
        Done("delete flannel.4096"),
        Done(create),
        Read(ShownWithRoute())},
       OverlayState::kInSync},
      {"the network differs and a pod of ours lives in it: left",
       {Version13(),
        List("flannel.4096", {OfAnotherSubnet()}),
        {"endpoints", absl::StatusOr<std::vector<Endpoint>>(std::vector<Endpoint>{pod})}},
       OverlayState::kNetwork},
      {"the network differs and its endpoints cannot be read: left",
       {Version13(),
        List("flannel.4096", {OfAnotherSubnet()}),
        {"endpoints",
         absl::StatusOr<std::vector<Endpoint>>(StatusOf("list", hresult::kUnspecified, ""))}},
       OverlayState::kNetwork},
      {"the network differs and only kube-proxy's endpoint is on it",
       {Version13(),
        List("flannel.4096", {OfAnotherSubnet()}),
        {"endpoints", absl::StatusOr<std::vector<Endpoint>>(std::vector<Endpoint>{source_vip})},
        Done("delete flannel.4096"),
        Done(create),
        Read(ShownWithRoute())},
       OverlayState::kInSync},
      {"the adapter is refused: the node's address in its place",
       {Version13(), none("flannel.4096"), Refused(create, hresult::kAdapterNotFound),
        Done("create flannel.4096 on "), Read(ShownWithRoute())},
       OverlayState::kInSync},
      {"the name is taken and not listed",
       {Version13(), none("flannel.4096"), Refused(create, hresult::kNetworkAlreadyExists)},
       OverlayState::kNetwork},
      {"no management IP yet: nothing is written",
       {Version13(), none("flannel.4096"), Done(create), Read(OverlayNetwork(Spec()))},
       OverlayState::kManagementIp},
      {"HNS stops before the list",
       {Version13(),
        {"list flannel.4096", absl::StatusOr<std::vector<Network>>(
                                  StatusOf("list", hresult::kRpcServerUnavailable, ""))}},
       OverlayState::kHns},
      {"it cannot be opened",
       {Version13(), List("flannel.4096", {ShownWithRoute()}),
        Refused("open flannel.4096", hresult::kUnspecified)},
       OverlayState::kNetwork},
      {"HostRoute is not even tried",
       {Version13(),
        List("flannel.4096", {policies({})}),
        Done("open flannel.4096"),
        {"add 1 HostRoute", absl::AbortedError("")}},
       OverlayState::kNetwork},
      {"a route is not even tried",
       {Version13(),
        List("flannel.4096", {policies({HostRoutePolicy()})}),
        Done("open flannel.4096"),
        {"add 1 RemoteSubnetRoute", absl::AbortedError("")}},
       OverlayState::kRoutes},
      {"the network is gone when a route is written",
       {Version13(), List("flannel.4096", {policies({HostRoutePolicy()})}),
        Done("open flannel.4096"), Refused("add 1 RemoteSubnetRoute", hresult::kNetworkNotFound)},
       OverlayState::kRoutes},
      {"HNS stops while a route is written",
       {Version13(), List("flannel.4096", {policies({HostRoutePolicy()})}),
        Done("open flannel.4096"),
        Refused("add 1 RemoteSubnetRoute", hresult::kRpcServerUnavailable)},
       OverlayState::kHns},
      {"a route is refused: read before the next change, and nothing more",
       {Version13(), List("flannel.4096", {policies({HostRoutePolicy()})}),
        Done("open flannel.4096"), Refused("add 1 RemoteSubnetRoute", hresult::kInvalidPolicy),
        Read(policies({HostRoutePolicy()}))},
       OverlayState::kRoutes},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.given);
    OverlaySpec spec = Spec();
    spec.by_address = true;
    OverlayMachine machine(spec);
    SetRoutes(machine, RoutesTo({"10.244.1.0/24"}), /*may_remove=*/true);
    Sequence<OverlayOutcome> round = machine.Round(TimePoint(1h));
    const std::vector<std::string> calls = CallsMade(round, row.steps);
    ASSERT_THAT(calls, ElementsAreArray(CallsOf(row.steps)));
    EXPECT_EQ(round.result().state, row.state);
  }
}

// A process that is killed, or whose call never returns, leaves its sequence where it is.
TEST(OverlayMachineTest, ASequenceMayBeDroppedAtEveryCall) {
  const std::vector<AnsweredCall> steps = {
      Version13(),           List("flannel.4096", {}), Done("create flannel.4096 on Ethernet"),
      Read(Shown()),         Done("add 1 HostRoute"),  Done("add 1 RemoteSubnetRoute"),
      Read(ShownWithRoute())};
  for (std::size_t made = 0; made < steps.size(); ++made) {
    OverlayMachine machine(Spec());
    SetRoutes(machine, RoutesTo({"10.244.1.0/24"}), /*may_remove=*/true);
    Sequence<OverlayOutcome> round = machine.Round(TimePoint(1h));
    const std::vector<AnsweredCall> some(steps.begin(),
                                         steps.begin() + static_cast<std::ptrdiff_t>(made));
    EXPECT_EQ(CallsMade(round, some).size(), made + 1);
  }
}

TEST(BridgeMachineTest, TheOrderOfCalls) {
  const auto answer = [](const std::string& call, const std::string& output) {
    return AnsweredCall{call, absl::StatusOr<std::string>(output)};
  };
  const auto refused = [](const std::string& call, Hresult code) {
    return AnsweredCall{call, absl::StatusOr<std::string>(StatusOf(call, code, ""))};
  };
  const std::string network =
      R"({"ID":"55FEDB88-4B11-4DA4-8CD1-59970718A804","Name":"cbr0","Type":"L2Bridge",
          "ManagementIP":"192.168.1.10",
          "Subnets":[{"AddressPrefix":"10.244.3.0/24","GatewayAddress":"10.244.3.1"}]})";
  const std::string endpoint =
      R"({"ID":"66FEDB88-4B11-4DA4-8CD1-59970718A804","Name":"cbr0_ep","State":2,
          "IPAddress":"10.244.3.2","VirtualNetwork":"55FEDB88-4B11-4DA4-8CD1-59970718A804"})";
  const std::string attach = "POST /endpoints/66FEDB88-4B11-4DA4-8CD1-59970718A804/attach";
  const std::string without_ip = absl::StrReplaceAll(network, {{"192.168.1.10", ""}});
  const struct {
    const char* given;
    std::vector<AnsweredCall> steps;
    BridgeState state;
  } rows[] = {
      {"nothing is there",
       {answer("GET /networks/", "[]"), answer("GET /endpoints/", "[]"),
        answer("POST /networks/", network), answer("POST /endpoints/", endpoint),
        answer(attach, "")},
       BridgeState::kInSync},
      {"all is there: attached once, as upstream does",
       {answer("GET /networks/", network), answer("GET /endpoints/", endpoint), answer(attach, "")},
       BridgeState::kInSync},
      {"it is attached already",
       {answer("GET /networks/", network), answer("GET /endpoints/", endpoint),
        refused(attach, hresult::kEndpointAlreadyAttached)},
       BridgeState::kInSync},
      {"the adapter is refused: the next name",
       {answer("GET /networks/", "[]"), answer("GET /endpoints/", "[]"),
        refused("POST /networks/", hresult::kAdapterNotFound), answer("POST /networks/", network),
        answer("POST /endpoints/", endpoint), answer(attach, "")},
       BridgeState::kInSync},
      {"no list of networks", {answer("GET /networks/", "{")}, BridgeState::kHns},
      {"no list of endpoints",
       {answer("GET /networks/", "[]"), answer("GET /endpoints/", "{")},
       BridgeState::kHns},
      {"no network is returned",
       {answer("GET /networks/", "[]"), answer("GET /endpoints/", "[]"),
        answer("POST /networks/", "{")},
       BridgeState::kNetwork},
      {"no network with its management IP",
       {answer("GET /networks/", without_ip), answer("GET /endpoints/", endpoint),
        answer("GET /networks/55FEDB88-4B11-4DA4-8CD1-59970718A804", "{")},
       BridgeState::kNetwork},
      {"no endpoint is returned",
       {answer("GET /networks/", network), answer("GET /endpoints/", "[]"),
        answer("POST /endpoints/", "{")},
       BridgeState::kEndpoint},
      {"HNS stops",
       {answer("GET /networks/", "[]"), refused("GET /endpoints/", hresult::kRpcServerUnavailable)},
       BridgeState::kHns},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.given);
    BridgeMachine machine({.name = "cbr0",
                           .subnet = Cidr("10.244.3.0/24"),
                           .dns_servers = "",
                           .adapter = "Ethernet",
                           .node_address = Ip("192.168.1.10"),
                           .adapter_by_mac = "Ethernet 2"});
    Sequence<BridgeOutcome> round = machine.Round(TimePoint(1h));
    const std::vector<std::string> calls = CallsMade(round, row.steps);
    ASSERT_THAT(calls, ElementsAreArray(CallsOf(row.steps)));
    EXPECT_EQ(round.result().state, row.state);
  }
}

}  // namespace
}  // namespace weft::hns
