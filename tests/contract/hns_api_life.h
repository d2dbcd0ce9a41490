// SPDX-License-Identifier: Apache-2.0
// Part of hns_api_contract.h: delays, the service's and the machine's life, notifications.
#pragma once

namespace weft::testing {

using hns::emulator::Milliseconds;
using hns::emulator::Restart;

// --- delays

TEST_P(HnsApiContract, ManagementIpComesLater) {
  Switch([](auto& s) { s.management_ip = Milliseconds(3000); });
  const Handle network = MustCreate(Overlay());
  EXPECT_THAT(Standing(network, "ProviderAddress"), IsEmpty());
  EXPECT_THAT(Standing(network, "DrMacAddress"), SizeIs(1));
  rig->clock.Advance(Milliseconds(3000));
  EXPECT_THAT(Standing(network, "ProviderAddress"), SizeIs(1));
}

TEST_P(HnsApiContract, SwitchDrMacComesLater) {
  Switch([](auto& s) { s.dr_mac = Milliseconds(3000); });
  const Handle network = MustCreate(Overlay());
  EXPECT_THAT(Standing(network, "ProviderAddress"), SizeIs(1));
  EXPECT_THAT(Standing(network, "DrMacAddress"), IsEmpty());
  rig->clock.Advance(Milliseconds(3000));
  EXPECT_THAT(Standing(network, "DrMacAddress"), SizeIs(1));
}

TEST_P(HnsApiContract, SwitchManagementIpFollows) {
  const Handle network = MustCreate(Overlay());
  rig->host.SetAddresses("Ethernet", {*IpAddress::Parse("192.168.1.77")});
  EXPECT_EQ(Standing(network, "ProviderAddress")[0]["ProviderAddress"], "192.168.1.77");
  Switch([](auto& s) { s.management_ip_follows = false; });
  EXPECT_EQ(Standing(network, "ProviderAddress")[0]["ProviderAddress"], "192.168.1.10");
}

TEST_P(HnsApiContract, SwitchAdapterShown) {
  const Handle network = MustCreate(Overlay());
  EXPECT_THAT(Standing(network, "NetAdapterName"), SizeIs(1));
  Switch([](auto& s) { s.adapter_shown = false; });
  EXPECT_THAT(Standing(network, "NetAdapterName"), IsEmpty());
}

TEST_P(HnsApiContract, SwitchChosenAdapterShown) {
  Json document = Overlay();
  document.erase("Policies");
  const Handle network = MustCreate(document);
  EXPECT_THAT(Standing(network, "NetAdapterName"), IsEmpty());
  Switch([](auto& s) { s.chosen_adapter_shown = true; });
  EXPECT_THAT(Standing(network, "NetAdapterName"), SizeIs(1));
}

TEST_P(HnsApiContract, CallsTakeTheirTime) {
  Switch([](auto& s) { s.latency = Milliseconds(20); });
  const auto before = rig->clock.Now();
  api().Enumerate(Kind::kNetwork, kV2);
  api().Call("GET", "/globals/version", "");
  EXPECT_EQ(rig->clock.Now() - before, Milliseconds(40));
}

// --- the switch

TEST_P(HnsApiContract, FirstNetworkMakesTheSwitchAndTheLastOneTakesIt) {
  const Guid a = *Guid::Parse(IdOf(Kind::kNetwork, MustCreate(Overlay("a"))));
  EXPECT_TRUE(rig->host.HasSwitch("Ethernet"));
  const Guid b = *Guid::Parse(IdOf(Kind::kNetwork, MustCreate(Bridge("b"))));
  EXPECT_EQ(rig->host.switches_made(), 1);
  api().Delete(Kind::kNetwork, a);
  EXPECT_TRUE(rig->host.HasSwitch("Ethernet"));
  api().Delete(Kind::kNetwork, b);
  EXPECT_FALSE(rig->host.HasSwitch("Ethernet"));
}

TEST_P(HnsApiContract, NetworksOfTheMachineAloneNeedNoSwitch) {
  MustCreate({{"Name", "nat"}, {"Type", "NAT"}});
  MustCreate({{"Name", "in"}, {"Type", "Internal"}});
  EXPECT_EQ(rig->host.switches_made(), 0);
}

// --- the service

TEST_P(HnsApiContract, StoppedServiceAnswersNothing) {
  const Handle network = MustCreate(Overlay());
  emulator.StopService();
  EXPECT_EQ(api().Enumerate(Kind::kNetwork, kV2).code, hns::hresult::kNoMoreEndpoints);
  EXPECT_EQ(api().Call("GET", "/globals/version", "").code, hns::hresult::kNoMoreEndpoints);
  EXPECT_EQ(api().Close(Kind::kNetwork, network), 0u);
  emulator.StartService();
  EXPECT_THAT(Enumerate(Kind::kNetwork), SizeIs(1));
}

TEST_P(HnsApiContract, RestartKillsHandlesAndEndpoints) {
  const Handle network = MustCreate(Overlay());
  const Guid id = *Guid::Parse(IdOf(Kind::kNetwork, network));
  MustCreateEndpoint(network, Pod("10.244.3.5"));
  Modify(network, "Add", {Route(1)});
  emulator.RestartService();
  EXPECT_EQ(api().Query(Kind::kNetwork, network, kV2).code, hns::hresult::kObjectUsedAfterUnload);
  Switch([](auto& s) { s.dead_handle_code = hns::hresult::kRpcCallFailed; });
  EXPECT_EQ(api().Query(Kind::kNetwork, network, kV2).code, hns::hresult::kRpcCallFailed);
  EXPECT_EQ(api().Close(Kind::kNetwork, network), 0u);
  EXPECT_THAT(Enumerate(Kind::kEndpoint), IsEmpty());
  EXPECT_THAT(Standing(api().Open(Kind::kNetwork, id).handle, "RemoteSubnetRoute"), SizeIs(1));
}

TEST_P(HnsApiContract, RestartMayLoseRoutesOrKeepEndpoints) {
  const Handle network = MustCreate(Overlay());
  const Guid id = *Guid::Parse(IdOf(Kind::kNetwork, network));
  MustCreateEndpoint(network, Pod("10.244.3.5"));
  Modify(network, "Add", {Route(1), {{"Type", "HostRoute"}, {"Settings", Json::object()}}});
  Restart restart;
  restart.routes_kept = false;
  restart.endpoints_kept = true;
  emulator.RestartService(restart);
  const Handle again = api().Open(Kind::kNetwork, id).handle;
  EXPECT_THAT(Standing(again, "RemoteSubnetRoute"), IsEmpty());
  EXPECT_THAT(Standing(again, "HostRoute"), IsEmpty());
  EXPECT_THAT(Enumerate(Kind::kEndpoint), SizeIs(1));
}

TEST_P(HnsApiContract, RestartMayLoseNetworks) {
  Json persistent = Overlay("kept");
  persistent["Flags"] = 0;
  MustCreate(persistent);
  MustCreate(Overlay("lost"));
  Restart restart;
  restart.networks = Restart::Networks::kPersistentKept;
  emulator.RestartService(restart);
  EXPECT_THAT(Enumerate(Kind::kNetwork, Filter({{"Name", "kept"}})), SizeIs(1));
  EXPECT_THAT(Enumerate(Kind::kNetwork), SizeIs(1));
  EXPECT_TRUE(rig->host.HasSwitch("Ethernet"));
  restart.networks = Restart::Networks::kLost;
  emulator.RestartService(restart);
  EXPECT_THAT(Enumerate(Kind::kNetwork), IsEmpty());
  EXPECT_FALSE(rig->host.HasSwitch("Ethernet"));
}

TEST_P(HnsApiContract, RebootKeepsPersistentNetworksAlone) {
  Json persistent = Overlay("kept");
  persistent["Flags"] = 0;
  const Handle kept = MustCreate(persistent);
  MustCreate(Overlay("lost"));
  MustCreateEndpoint(kept, Pod("10.244.3.5"));
  api().Create(Kind::kNamespace, Handle::kNone, Guid(), "{}");
  emulator.Reboot();
  EXPECT_THAT(Enumerate(Kind::kNetwork), SizeIs(1));
  EXPECT_THAT(Enumerate(Kind::kNetwork, Filter({{"Name", "kept"}})), SizeIs(1));
  EXPECT_THAT(Enumerate(Kind::kEndpoint), IsEmpty());
  EXPECT_THAT(Enumerate(Kind::kNamespace), IsEmpty());
}

// --- faults

TEST_P(HnsApiContract, FaultHitsTheNthCallAndTheNextFew) {
  emulator.Add({.function = "HcnEnumerateNetworks",
                .first = 2,
                .count = 2,
                .code = hns::hresult::kRpcServerUnavailable});
  std::vector<hns::Hresult> codes;
  for (int n = 0; n < 4; ++n) {
    api().Enumerate(Kind::kEndpoint, kV2);
    codes.push_back(api().Enumerate(Kind::kNetwork, kV2).code);
  }
  EXPECT_THAT(codes, ElementsAre(0u, hns::hresult::kRpcServerUnavailable,
                                 hns::hresult::kRpcServerUnavailable, 0u));
}

TEST_P(HnsApiContract, FaultMayLastAndFitEverything) {
  emulator.Add({.function = "*",
                .count = hns::emulator::Fault::kAlways,
                .code = hns::hresult::kUnspecified,
                .error_record = R"({"Error":"Fehler"})"});
  const Reply reply = api().Call("GET", "/networks/", "");
  EXPECT_EQ(reply.code, hns::hresult::kUnspecified);
  // HNSCall has none.
  EXPECT_EQ(api().Enumerate(Kind::kNetwork, "").error_record, R"({"Error":"Fehler"})");
  EXPECT_EQ(Creating(Overlay()), hns::hresult::kUnspecified);
  emulator.ClearFaults();
  EXPECT_EQ(Creating(Overlay()), 0u);
}

TEST_P(HnsApiContract, FaultFitsHnsCallByItsPath) {
  emulator.Add({.function = "HNSCall POST /networks/", .code = hns::hresult::kUnspecified});
  EXPECT_EQ(api().Call("GET", "/networks/", "").code, 0u);
  EXPECT_EQ(api().Call("POST", "/networks/", "{}").code, hns::hresult::kUnspecified);
}

TEST_P(HnsApiContract, FaultMayComeAfterTheWorkIsDone) {
  emulator.Add(
      {.function = "HcnCreateNetwork", .code = hns::hresult::kRpcCallFailed, .done = true});
  const std::size_t open = emulator.open_handles();
  EXPECT_EQ(Creating(Overlay()), hns::hresult::kRpcCallFailed);
  EXPECT_THAT(Enumerate(Kind::kNetwork), SizeIs(1));
  EXPECT_EQ(emulator.open_handles(), open);
  EXPECT_EQ(Creating(Overlay()), hns::hresult::kNetworkAlreadyExists);
}

TEST_P(HnsApiContract, FaultMayBeADelay) {
  emulator.Add({.function = "HcnCreateNetwork", .delay = Milliseconds(60000)});
  const auto before = rig->clock.Now();
  EXPECT_EQ(Creating(Overlay()), 0u);
  EXPECT_EQ(rig->clock.Now() - before, Milliseconds(60000));
}

TEST_P(HnsApiContract, HooksSeeEachCallBeforeAndAfter) {
  std::vector<std::string> seen;
  emulator.OnEachCall(
      [&](const hns::emulator::CallInfo& call) { seen.push_back("> " + call.function); },
      [&](const hns::emulator::CallInfo& call, const Reply& reply) {
        seen.push_back("< " + call.function + (reply.ok() ? "" : " !"));
      });
  api().Enumerate(Kind::kNetwork, kV2);
  api().Open(Kind::kNetwork, Guid());
  emulator.OnEachCall({}, {});
  EXPECT_THAT(seen, ElementsAre("> HcnEnumerateNetworks", "< HcnEnumerateNetworks",
                                "> HcnOpenNetwork", "< HcnOpenNetwork !"));
  EXPECT_EQ(emulator.total_calls(), 2u);
  EXPECT_EQ(emulator.calls().at("HcnOpenNetwork"), 1u);
}

TEST_P(HnsApiContract, HookMayRestartTheServiceInTheMiddleOfACall) {
  const Handle network = MustCreate(Overlay());
  emulator.OnEachCall([&](const auto&) { emulator.RestartService(); }, {});
  EXPECT_EQ(Modify(network, "Add", {Route(1)}), hns::hresult::kObjectUsedAfterUnload);
  emulator.OnEachCall({}, {});
}

// --- notifications

TEST_P(HnsApiContract, ServiceTellsOfNetworksAndOfItsEnd) {
  std::mutex mutex;
  std::vector<std::pair<hns::Notification, std::string>> told;
  const auto take = [&](std::size_t wanted) {
    WaitUntil([&] {
      const std::lock_guard lock(mutex);
      return told.size() >= wanted;
    });
    const std::lock_guard lock(mutex);
    return std::exchange(told, {});
  };
  const Reply subscribed = api().Subscribe([&](hns::Notification type, std::string_view data) {
    const std::lock_guard lock(mutex);
    told.emplace_back(type, data);
  });
  ASSERT_EQ(subscribed.code, 0u);
  const std::string id = IdOf(Kind::kNetwork, MustCreate(Overlay()));
  const std::string data = Json{{"ID", id}, {"Flags", 8}}.dump();
  using hns::Notification;
  EXPECT_THAT(take(2), ElementsAre(std::pair(Notification::kNetworkPreCreate, data),
                                   std::pair(Notification::kNetworkCreate, data)));
  api().Delete(Kind::kNetwork, *Guid::Parse(id));
  EXPECT_THAT(take(2), ElementsAre(std::pair(Notification::kNetworkPreDelete, data),
                                   std::pair(Notification::kNetworkDelete, data)));
  emulator.RestartService();
  EXPECT_THAT(take(1), ElementsAre(::testing::Key(Notification::kServiceDisconnect)));
  MustCreate(Overlay());
  EXPECT_THAT(take(0), IsEmpty());  // the subscription died with the service
  EXPECT_EQ(api().Unsubscribe(subscribed.handle), hns::hresult::kInvalidHandle);
}

TEST_P(HnsApiContract, SwitchDisconnectTold) {
  Switch([](auto& s) { s.disconnect_told = false; });
  std::atomic<int> told = 0, told_anew = 0;
  const Reply subscribed = api().Subscribe([&](hns::Notification, std::string_view) { ++told; });
  emulator.RestartService();
  const Reply anew = api().Subscribe([&](hns::Notification, std::string_view) { ++told_anew; });
  MustCreate(Overlay());
  WaitUntil([&] { return told_anew == 2; });
  EXPECT_EQ(api().Unsubscribe(subscribed.handle), hns::hresult::kInvalidHandle);
  EXPECT_EQ(api().Unsubscribe(anew.handle), 0u);
  EXPECT_EQ(told, 0);
}

TEST_P(HnsApiContract, NothingIsToldAfterUnsubscribing) {
  int told = 0;
  const Reply subscribed = api().Subscribe([&](hns::Notification, std::string_view) { ++told; });
  EXPECT_EQ(api().Unsubscribe(subscribed.handle), 0u);
  MustCreate(Overlay());
  EXPECT_EQ(told, 0);
}

}  // namespace weft::testing
