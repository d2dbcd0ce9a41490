// SPDX-License-Identifier: Apache-2.0
// The client against the emulated HNS.
#include "hns/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "control/emulator/hns/emulator.h"
#include "tests/support/counting_api.h"
#include "tests/support/emulator_clock.h"
#include "tests/support/ethernet_node.h"

namespace weft::hns {
namespace {

using ::testing::HasSubstr;

Network Overlay() {
  Network network;
  network.name = "flannel.4096";
  network.type = "Overlay";
  network.policies = {NetAdapterNamePolicy("Ethernet")};
  network.subnets = {{*IpPrefix::Parse("10.244.1.0/24"),
                      4096,
                      {{*IpAddress::Parse("10.244.1.1"), *IpPrefix::Parse("0.0.0.0/0")}}}};
  network.flags = kEnableNonPersistent;
  return network;
}

Policy RouteTo(int peer) {
  return RemoteSubnetRoutePolicy(
      {*IpPrefix::From(IpAddress::V4(0x0AF4'0000u + static_cast<std::uint32_t>(peer) * 256), 24),
       *IsolationId::From(4096), IpAddress::V4(0x0A63'0000u + static_cast<std::uint32_t>(peer)),
       *MacAddress::Parse("0e:2a:0a:f4:01:00")});
}

class ClientOnEmulatorTest : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(emulator_.open_handles(), 0u);
    EXPECT_EQ(emulator_.handle_misuses(), 0u);
  }
  // Calls made since the last time.
  std::uint64_t Calls() {
    const std::uint64_t now = counting_.counts().total;
    return now - std::exchange(seen_, now);
  }
  Network Only() {
    const auto networks = client_.Networks("flannel.4096");
    EXPECT_TRUE(networks.ok() && networks->size() == 1) << networks.status();
    return networks.ok() && !networks->empty() ? networks->front() : Network();
  }
  void Refuse(const char* function, Hresult code) {
    emulator::Fault fault;
    fault.function = function;
    fault.code = code;
    emulator_.Add(fault);
  }

  weft::testing::EmulatorClock clock_;
  weft::testing::EthernetNode node_{clock_};
  emulator::Emulator& emulator_ = node_.hns();
  CountingApi counting_{emulator_};
  Client client_{counting_};
  std::uint64_t seen_ = 0;
};

TEST_F(ClientOnEmulatorTest, TheVersionIsOneCall) {
  const auto version = client_.ReadVersion();
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_TRUE(SupportsRemoteSubnet(*version));
  EXPECT_EQ(Calls(), 1u);
}

TEST_F(ClientOnEmulatorTest, ANetworkIsMadeFoundReadAndDeleted) {
  const auto none = client_.Networks("flannel.4096");
  ASSERT_TRUE(none.ok() && none->empty());
  EXPECT_EQ(Calls(), 1u);
  {
    auto created = client_.Create(Overlay());
    ASSERT_TRUE(created.ok()) << created.status();
    const auto filled = created->Read();
    ASSERT_TRUE(filled.ok()) << filled.status();
    EXPECT_FALSE(filled->id.is_zero());
    EXPECT_EQ(filled->provider_address(), IpAddress::Parse("192.168.1.10"));
    EXPECT_TRUE(filled->dr_mac());
    EXPECT_EQ(filled->subnets, Overlay().subnets);
    EXPECT_TRUE(filled->IsOfType("Overlay"));
  }
  EXPECT_EQ(Calls(), 3u);  // Create, Query, Close
  const Network found = Only();
  EXPECT_EQ(Calls(), 4u);
  EXPECT_TRUE(client_.DeleteNetwork(found.id, found.name).ok());
  EXPECT_TRUE(client_.DeleteNetwork(found.id, found.name).ok());
  const absl::Status gone = client_.Open(found).status();
  EXPECT_TRUE(absl::IsNotFound(gone)) << gone;
}

TEST_F(ClientOnEmulatorTest, AThousandRoutesAreOneCallEachWay) {
  auto network = client_.Create(Overlay());
  ASSERT_TRUE(network.ok()) << network.status();
  std::vector<Policy> routes;
  for (int peer = 2; peer < 1002; ++peer) routes.push_back(RouteTo(peer));
  Calls();
  ASSERT_TRUE(network->Add(routes).ok());
  const auto with = network->Read();
  ASSERT_TRUE(with.ok());
  std::vector<Policy> read;
  for (const Policy& policy : with->policies) {
    if (ReadRemoteSubnetRoute(policy)) read.push_back(policy);
  }
  ASSERT_EQ(read.size(), routes.size());
  for (std::size_t at = 0; at < read.size(); ++at)
    ASSERT_EQ(ReadRemoteSubnetRoute(read[at]), ReadRemoteSubnetRoute(routes[at])) << at;
  ASSERT_TRUE(network->Remove(read).ok());
  EXPECT_EQ(Calls(), 3u);
  EXPECT_FALSE(network->Read()->Has(policy_type::kRemoteSubnetRoute));
}

TEST_F(ClientOnEmulatorTest, RefusalsComeByNumberInAnyLanguage) {
  emulator::Settings settings;
  settings.language = "zh";
  emulator_.Set(settings);
  auto network = client_.Create(Overlay());
  ASSERT_TRUE(network.ok());
  const absl::Status twice = client_.Create(Overlay()).status();
  EXPECT_EQ(HresultOf(twice), hresult::kNetworkAlreadyExists);
  EXPECT_THAT(std::string(twice.message()),
              HasSubstr("create the network flannel.4096: HCN_E_NETWORK_ALREADY_EXISTS"));
  EXPECT_EQ(HresultOf(network->Remove({RouteTo(2)})), hresult::kPolicyNotFound);
}

TEST_F(ClientOnEmulatorTest, AFailureAtAnyCallLeavesNoHandleOpen) {
  ASSERT_TRUE(client_.Create(Overlay()).ok());
  Endpoint spec;
  spec.name = "pod";
  spec.network = Only().id;
  spec.ip_configurations = {{*IpAddress::Parse("10.244.1.9"), 24}};
  for (const char* function :
       {"HcnEnumerateNetworks", "HcnOpenNetwork", "HcnQueryNetworkProperties"}) {
    Refuse(function, hresult::kRpcCallFailed);
    EXPECT_TRUE(absl::IsUnavailable(client_.Networks().status())) << function;
  }
  for (const char* function :
       {"HcnOpenNetwork", "HcnCreateEndpoint", "HcnQueryEndpointProperties"}) {
    Refuse(function, hresult::kRpcCallFailed);
    EXPECT_TRUE(absl::IsUnavailable(client_.CreateEndpoint(spec).status())) << function;
  }
}

TEST_F(ClientOnEmulatorTest, ObjectsDeletedDuringAListAreSkipped) {
  ASSERT_TRUE(client_.Create(Overlay()).ok());
  Refuse("HcnOpenNetwork", hresult::kNetworkNotFound);
  const auto networks = client_.Networks();
  ASSERT_TRUE(networks.ok()) << networks.status();
  EXPECT_TRUE(networks->empty());
}

TEST_F(ClientOnEmulatorTest, AfterARestartEveryCallReportsTheDisconnect) {
  auto network = client_.Create(Overlay());
  ASSERT_TRUE(network.ok());
  emulator_.Stop();
  EXPECT_TRUE(absl::IsUnavailable(network->Read().status()));
  EXPECT_TRUE(absl::IsUnavailable(client_.ReadVersion().status()));
  emulator_.Start();
  const absl::Status dead = network->Add({HostRoutePolicy()});
  EXPECT_TRUE(IsServiceGone(HresultOf(dead).value_or(0))) << dead;
  auto again = client_.Open(Only());
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->Add({HostRoutePolicy()}).ok());
}

TEST_F(ClientOnEmulatorTest, AProcessMayDieWithTheService) {
  emulator::Settings settings;
  settings.processes_die = true;
  emulator_.Set(settings);
  const std::unique_ptr<Api> old_process = emulator_.NewProcess();
  Client before(*old_process);
  auto network = before.Create(Overlay());
  ASSERT_TRUE(network.ok()) << network.status();
  const Handle handle = old_process->Open(Kind::kNetwork, Only().id).handle;
  emulator_.RestartService();
  EXPECT_EQ(HresultOf(before.ReadVersion().status()), hresult::kRpcCallFailedDne);
  EXPECT_EQ(HresultOf(before.Networks().status()), hresult::kRpcCallFailedDne);
  EXPECT_EQ(HresultOf(network->Read().status()), hresult::kRpcCallFailedDne);
  EXPECT_EQ(old_process->Close(Kind::kNetwork, handle), hresult::kOk);
  const std::unique_ptr<Api> new_process = emulator_.NewProcess();
  EXPECT_EQ(Client(*new_process).Networks()->size(), 1u);
  settings.processes_die = false;
  emulator_.Set(settings);
  EXPECT_EQ(before.Networks()->size(), 1u);
}

TEST_F(ClientOnEmulatorTest, EndpointsAreMadeListedAndDeleted) {
  ASSERT_TRUE(client_.Create(Overlay()).ok());
  Endpoint spec;
  spec.name = "remote";
  spec.network = Only().id;
  spec.policies = {{"ProviderAddress", R"({"ProviderAddress":"192.168.1.11"})"}};
  spec.ip_configurations = {{*IpAddress::Parse("10.244.2.5"), 24}};
  spec.mac = "0E-2A-0a-f4-02-05";
  spec.flags = kRemoteEndpoint;
  Calls();
  const auto made = client_.CreateEndpoint(spec);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(Calls(), 5u);
  EXPECT_TRUE(made->is_remote());
  EXPECT_EQ(made->ip_configurations, spec.ip_configurations);

  for (const Guid& network : {spec.network, Guid()}) {
    const auto endpoints = client_.Endpoints(network);
    ASSERT_TRUE(endpoints.ok() && endpoints->size() == 1) << endpoints.status();
    EXPECT_EQ(endpoints->front().id, made->id);
    EXPECT_EQ(endpoints->front().network, spec.network);
  }
  const auto elsewhere = client_.Endpoints(made->id);
  ASSERT_TRUE(elsewhere.ok());
  EXPECT_TRUE(elsewhere->empty());
  EXPECT_TRUE(client_.DeleteEndpoint(made->id, made->name).ok());
  EXPECT_TRUE(client_.DeleteEndpoint(made->id, made->name).ok());
  EXPECT_TRUE(client_.Endpoints()->empty());
}

}  // namespace
}  // namespace weft::hns
