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
  EXPECT_THAT(SettingsOf(network, "ProviderAddress"), IsEmpty());
  EXPECT_THAT(SettingsOf(network, "DrMacAddress"), SizeIs(1));
  rig->clock.Advance(Milliseconds(3000));
  EXPECT_THAT(SettingsOf(network, "ProviderAddress"), SizeIs(1));
}

TEST_P(HnsApiContract, SwitchDrMacComesLater) {
  Switch([](auto& s) { s.dr_mac = Milliseconds(3000); });
  const Handle network = MustCreate(Overlay());
  EXPECT_THAT(SettingsOf(network, "ProviderAddress"), SizeIs(1));
  EXPECT_THAT(SettingsOf(network, "DrMacAddress"), IsEmpty());
  rig->clock.Advance(Milliseconds(3000));
  EXPECT_THAT(SettingsOf(network, "DrMacAddress"), SizeIs(1));
}

TEST_P(HnsApiContract, SwitchManagementIpFollows) {
  const Handle network = MustCreate(Overlay());
  rig->host.SetAddresses("Ethernet", {*IpAddress::Parse("192.168.1.77")});
  EXPECT_EQ(SettingsOf(network, "ProviderAddress")[0]["ProviderAddress"], "192.168.1.77");
  Switch([](auto& s) { s.management_ip_follows = false; });
  EXPECT_EQ(SettingsOf(network, "ProviderAddress")[0]["ProviderAddress"], "192.168.1.10");
  rig->host.SetAddresses("Ethernet", {});
  const Handle later = MustCreate(Overlay("later"));
  rig->host.SetAddresses("Ethernet", {*IpAddress::Parse("192.168.1.77")});
  EXPECT_EQ(SettingsOf(later, "ProviderAddress")[0]["ProviderAddress"], "192.168.1.77")
      << "it had none at first";
}

TEST_P(HnsApiContract, SwitchManagementIpEarly) {
  const Handle network = MustCreate(Overlay());
  rig->host.SetAddresses("Ethernet", {});
  Switch([](auto& s) { s.management_ip_early = false; });
  EXPECT_THAT(SettingsOf(network, "ProviderAddress"), IsEmpty());
  Switch([](auto& s) { s.management_ip_early = true; });
  EXPECT_THAT(SettingsOf(network, "ProviderAddress"), SizeIs(1));
  rig->host.Remove("Ethernet");
  EXPECT_THAT(SettingsOf(network, "ProviderAddress"), IsEmpty());
}

TEST_P(HnsApiContract, SwitchAdapterShown) {
  const Handle network = MustCreate(Overlay());
  EXPECT_THAT(SettingsOf(network, "NetAdapterName"), SizeIs(1));
  Switch([](auto& s) { s.adapter_shown = false; });
  EXPECT_THAT(SettingsOf(network, "NetAdapterName"), IsEmpty());
}

TEST_P(HnsApiContract, SwitchChosenAdapterShown) {
  Json document = Overlay();
  document.erase("Policies");
  const Handle network = MustCreate(document);
  EXPECT_THAT(SettingsOf(network, "NetAdapterName"), IsEmpty());
  Switch([](auto& s) { s.chosen_adapter_shown = true; });
  EXPECT_THAT(SettingsOf(network, "NetAdapterName"), SizeIs(1));
  EXPECT_THAT(SettingsOf(MustCreate({{"Name", "nat"}, {"Type", "NAT"}}), "NetAdapterName"),
              IsEmpty());
}

TEST_P(HnsApiContract, SwitchVsidShown) {
  Switch([](auto& s) { s.vsid_shown = false; });
  const Handle network = MustCreate(Overlay());
  const Json subnet = Network(network)["Ipams"][0]["Subnets"][0];
  EXPECT_FALSE(subnet.contains("Policies")) << subnet;
  EXPECT_EQ(subnet["IpAddressPrefix"], "10.244.3.0/24");
  const Json v1 = V1("GET", "/networks/" + IdOf(Kind::kNetwork, network));
  EXPECT_EQ(v1["Subnets"][0]["Policies"][0]["VSID"], 4096);
  const Json dhcp = Json::parse(R"({"Name":"in","Type":"Internal","Ipams":[{"Type":"Dhcp"}]})");
  EXPECT_EQ(Network(MustCreate(dhcp))["Ipams"], dhcp["Ipams"]) << "no subnets";
}

TEST_P(HnsApiContract, SwitchVxlanPortShown) {
  Json document = Overlay();
  document["Policies"].push_back({{"Type", "VxlanPort"}, {"Settings", {{"Port", 8472}}}});
  document["Policies"].push_back(Route(1));
  document["Policies"].push_back({{"Type", "DrMacAddress"}, {"Settings", Json::object()}});
  const Handle network = MustCreate(document);
  EXPECT_THAT(SettingsOf(network, "VxlanPort"), SizeIs(1));
  Switch([](auto& s) { s.vxlan_port_shown = false; });
  EXPECT_THAT(SettingsOf(network, "VxlanPort"), IsEmpty());
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), SizeIs(1));
  EXPECT_THAT(SettingsOf(network, "DrMacAddress"), SizeIs(1));
}

TEST_P(HnsApiContract, SwitchLinkLocal) {
  Switch([](auto& s) { s.link_local = Milliseconds(5000); });
  const Handle network = MustCreate(Overlay());
  EXPECT_EQ(SettingsOf(network, "ProviderAddress")[0]["ProviderAddress"], "169.254.149.216");
  const Handle second = MustCreate(Overlay("b"));
  EXPECT_EQ(SettingsOf(second, "ProviderAddress")[0]["ProviderAddress"], "169.254.149.216")
      << "the host has one address";
  rig->clock.Advance(Milliseconds(5000));
  EXPECT_EQ(SettingsOf(network, "ProviderAddress")[0]["ProviderAddress"], "192.168.1.10");
  const Handle third = MustCreate(Overlay("c"));
  EXPECT_EQ(SettingsOf(third, "ProviderAddress")[0]["ProviderAddress"], "192.168.1.10");
}

TEST_P(HnsApiContract, SwitchAdapterChoice) {
  rig->host.Add({"Storage", {*IpAddress::Parse("10.9.9.9")}});
  Json document = Overlay();
  document.erase("Policies");
  std::set<std::string> chosen;
  const auto choose = [&] {
    const Handle network = MustCreate(document);
    chosen.insert(SettingsOf(network, "ProviderAddress")[0]["ProviderAddress"]);
    api().Delete(Kind::kNetwork, *Guid::Parse(IdOf(Kind::kNetwork, network)));
  };
  for (int n = 0; n < 8; ++n) choose();
  EXPECT_THAT(chosen, ElementsAre("192.168.1.10"));
  Switch([](auto& s) { s.adapter_choice = hns::emulator::AdapterChoice::kRandom; });
  for (int n = 0; n < 8; ++n) choose();
  EXPECT_THAT(chosen, ElementsAre("10.9.9.9", "192.168.1.10"));
  rig->host.Remove("Ethernet");
  rig->host.Remove("Storage");
  rig->host.Add({"Wi-Fi", {*IpAddress::Parse("10.8.8.8")}, /*usable=*/false});
  rig->host.Add({"vEthernet (nat)", {*IpAddress::Parse("10.7.7.7")}, true, /*is_virtual=*/true});
  for (const auto choice :
       {hns::emulator::AdapterChoice::kRandom, hns::emulator::AdapterChoice::kDefaultRoute}) {
    Switch([&](auto& s) { s.adapter_choice = choice; });
    EXPECT_EQ(Creating(document), hns::hresult::kAdapterNotFound);
  }
  rig->host.Add({"Ethernet 2", {*IpAddress::Parse("10.6.6.6")}});
  EXPECT_EQ(Creating(document), 0u);
}

TEST_P(HnsApiContract, SwitchAllEndpointStates) {
  const Handle network = MustCreate(Bridge());
  const std::string path =
      "/endpoints/" + IdOf(Kind::kEndpoint, MustCreateEndpoint(network, Pod("10.244.3.5")));
  const auto state = [&] { return V1("GET", path)["State"]; };
  std::vector<Json> plain, all;
  for (std::vector<Json>* states : {&plain, &all}) {
    Switch([&](auto& s) { s.all_endpoint_states = states == &all; });
    api().Call("POST", path + "/attach", "{}");
    states->push_back(state());
    api().Call("POST", path + "/detach", "{}");
    states->push_back(state());
  }
  rig->host.Remove("Ethernet");
  all.push_back(state());
  EXPECT_THAT(plain, ElementsAre(2, 1));
  EXPECT_THAT(all, ElementsAre(3, 4, 5));
}

TEST_P(HnsApiContract, CallsCostByThePolicyAndByWhatExists) {
  Switch([](auto& s) { s.policy_cost = hns::emulator::Microseconds(1500); });
  const Handle network = MustCreate(Overlay());
  const auto took = [&](const std::function<void()>& call) {
    const auto before = rig->clock.Now();
    call();
    return rig->clock.Now() - before;
  };
  const auto add = [&] { Modify(network, "Add", {Route(1), Route(2), Route(3)}); };
  EXPECT_EQ(took(add), Milliseconds(5)) << "4.5 ms";
  Switch([](auto& s) {
    s.policy_cost = {};
    s.object_cost = Milliseconds(1);
  });
  EXPECT_EQ(took(add), Milliseconds(7)) << "six policies and the adapter's";
  MustCreateEndpoint(network, Pod("10.244.3.5"));
  EXPECT_EQ(took(add), Milliseconds(11));
  EXPECT_EQ(took([&] { Enumerate(Kind::kNetwork); }), Milliseconds(0));
}

TEST_P(HnsApiContract, CallsTakeTheirTime) {
  Switch([](auto& s) { s.latency = Milliseconds(20); });
  const auto before = rig->clock.Now();
  api().Enumerate(Kind::kNetwork, kV2);
  api().Call("GET", "/globals/version", "");
  EXPECT_EQ(rig->clock.Now() - before, Milliseconds(40));
}

// --- the switch

TEST_P(HnsApiContract, FirstNetworkCreatesTheSwitchAndTheLastOneDeletesIt) {
  const Guid a = *Guid::Parse(IdOf(Kind::kNetwork, MustCreate(Overlay("a"))));
  EXPECT_TRUE(rig->host.HasSwitch("Ethernet"));
  const Guid b = *Guid::Parse(IdOf(Kind::kNetwork, MustCreate(Bridge("b"))));
  EXPECT_EQ(rig->host.switches_made(), 1);
  api().Delete(Kind::kNetwork, a);
  EXPECT_TRUE(rig->host.HasSwitch("Ethernet"));
  api().Delete(Kind::kNetwork, b);
  EXPECT_FALSE(rig->host.HasSwitch("Ethernet"));
  Json tunnel = Bridge("c");
  tunnel["Type"] = "L2Tunnel";
  MustCreate(tunnel);
  EXPECT_TRUE(rig->host.HasSwitch("Ethernet"));
}

TEST_P(HnsApiContract, NetworksOfTheMachineAloneNeedNoSwitch) {
  MustCreate({{"Name", "nat"}, {"Type", "NAT"}});
  MustCreate({{"Name", "in"}, {"Type", "Internal"}});
  EXPECT_EQ(rig->host.switches_made(), 0);
}

// --- the service

TEST_P(HnsApiContract, StoppedServiceAnswersNothing) {
  const Handle network = MustCreate(Overlay());
  emulator.Stop();
  EXPECT_EQ(api().Enumerate(Kind::kNetwork, kV2).code, hns::hresult::kNoMoreEndpoints);
  EXPECT_EQ(api().Call("GET", "/globals/version", "").code, hns::hresult::kNoMoreEndpoints);
  EXPECT_EQ(api().Close(Kind::kNetwork, network), 0u);
  emulator.Start();
  EXPECT_THAT(Enumerate(Kind::kNetwork), SizeIs(1));
}

TEST_P(HnsApiContract, RestartInvalidatesHandlesOnly) {
  const Handle network = MustCreate(Overlay());
  const Guid id = *Guid::Parse(IdOf(Kind::kNetwork, network));
  MustCreateEndpoint(network, Pod("10.244.3.5"));
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, Balancer()), 0u);
  Modify(network, "Add", {Route(1)});
  emulator.RestartService();
  EXPECT_EQ(api().Query(Kind::kNetwork, network, kV2).code, hns::hresult::kRpcCallFailedDne);
  Switch([](auto& s) { s.dead_handle_code = hns::hresult::kObjectUsedAfterUnload; });
  EXPECT_EQ(api().Query(Kind::kNetwork, network, kV2).code, hns::hresult::kObjectUsedAfterUnload);
  EXPECT_EQ(api().Close(Kind::kNetwork, network), 0u);
  EXPECT_THAT(Enumerate(Kind::kEndpoint), SizeIs(1));
  EXPECT_THAT(Enumerate(Kind::kLoadBalancer), SizeIs(1));
  EXPECT_THAT(SettingsOf(api().Open(Kind::kNetwork, id).handle, "RemoteSubnetRoute"), SizeIs(1));
}

TEST_P(HnsApiContract, ObjectsThatSurviveARestartCannotBeCreatedAgain) {
  const Handle network = MustCreate(Bridge());
  const Handle pod = MustCreateEndpoint(network, Pod("10.244.3.5"));
  const std::string attach = "/endpoints/" + IdOf(Kind::kEndpoint, pod) + "/attach";
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, Balancer()), 0u);
  EXPECT_EQ(api().Call("POST", attach, "{}").code, 0u);
  emulator.RestartService();
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, Balancer()), 0x800700B7u);
  EXPECT_EQ(api().Call("POST", attach, "{}").code, hns::hresult::kEndpointAlreadyAttached);
  Switch([](auto& s) { s.already_attached_code = 0x80070022; });
  EXPECT_EQ(api().Call("POST", attach, "{}").code, 0x80070022u);
}

TEST_P(HnsApiContract, RestartMayLoseEachKindOfObjectSeparately) {
  const Handle network = MustCreate(Bridge());
  const Handle pod = MustCreateEndpoint(network, Pod("10.244.3.5"));
  const std::string path = "/endpoints/" + IdOf(Kind::kEndpoint, pod);
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, Balancer()), 0u);
  EXPECT_EQ(api().Call("POST", path + "/attach", "{}").code, 0u);
  EXPECT_THAT(rig->host.endpoints(), SizeIs(1));
  emulator.RestartService({.attachments_kept = false});
  EXPECT_THAT(rig->host.endpoints(), IsEmpty());
  EXPECT_EQ(V1("GET", path)["State"], 1);
  EXPECT_EQ(api().Call("POST", path + "/attach", "{}").code, 0u);
  emulator.RestartService({.load_balancers_kept = false});
  EXPECT_THAT(Enumerate(Kind::kLoadBalancer), IsEmpty());
  EXPECT_THAT(Enumerate(Kind::kEndpoint), SizeIs(1));
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, Balancer()), 0u);
  emulator.RestartService({.endpoints_kept = false});
  EXPECT_THAT(Enumerate(Kind::kEndpoint), IsEmpty());
  EXPECT_THAT(rig->host.endpoints(), IsEmpty());
  EXPECT_THAT(Enumerate(Kind::kLoadBalancer), SizeIs(1));
}

TEST_P(HnsApiContract, AnAttachmentMayOutliveItsInterface) {
  const Handle network = MustCreate(Bridge());
  const Handle pod = MustCreateEndpoint(network, Pod("10.244.3.5"));
  const std::string path = "/endpoints/" + IdOf(Kind::kEndpoint, pod);
  const std::string never_attached =
      "/endpoints/" + IdOf(Kind::kEndpoint, MustCreateEndpoint(network, Pod("10.244.3.6")));
  EXPECT_EQ(api().Call("POST", path + "/attach", "{}").code, 0u);
  emulator.Reboot({.attachments_stale = true});
  EXPECT_THAT(rig->host.endpoints(), IsEmpty());
  EXPECT_EQ(V1("GET", path)["State"], 3);
  EXPECT_EQ(V1("GET", never_attached)["State"], 1);
  EXPECT_EQ(api().Call("POST", path + "/attach", "{}").code,
            hns::hresult::kEndpointAlreadyAttached);
  EXPECT_EQ(api().Call("DELETE", path, "").code, 0u);
  EXPECT_EQ(Creating(Kind::kEndpoint, api().Open(Kind::kNetwork, Only(Kind::kNetwork)).handle,
                     Pod("10.244.3.5")),
            0u);
}

TEST_P(HnsApiContract, AfterACrashTheServiceComesBackByItself) {
  MustCreate(Overlay());
  emulator.RestartService({.away = Milliseconds(120'000)});
  EXPECT_EQ(api().Enumerate(Kind::kNetwork, kV2).code, hns::hresult::kNoMoreEndpoints);
  rig->clock.Advance(Milliseconds(119'999));
  EXPECT_EQ(api().Enumerate(Kind::kNetwork, kV2).code, hns::hresult::kNoMoreEndpoints);
  rig->clock.Advance(Milliseconds(1));
  EXPECT_THAT(Enumerate(Kind::kNetwork), SizeIs(1));
}

TEST_P(HnsApiContract, ARebootMayGiveTheAdapterANewId) {
  Json persistent = Overlay("kept");
  persistent["Flags"] = 0;
  MustCreate(persistent);
  Restart restart = hns::emulator::kReboot;
  restart.adapter_ids_new = true;
  emulator.Reboot(restart);
  const Handle kept = api().Open(Kind::kNetwork, Only(Kind::kNetwork)).handle;
  EXPECT_THAT(SettingsOf(kept, "ProviderAddress"), IsEmpty());
  EXPECT_EQ(Modify(kept, "Add", {Route(1)}), hns::hresult::kDegradedOperation);
  EXPECT_EQ(Creating(Overlay("new")), 0u);
  emulator.Reboot();
  EXPECT_EQ(Modify(api().Open(Kind::kNetwork, Only(Kind::kNetwork)).handle, "Add", {Route(1)}),
            hns::hresult::kDegradedOperation);
}

TEST_P(HnsApiContract, AfterARebootCreatesMayBeRefusedForAWhile) {
  Switch([](auto& s) { s.settle_code = hns::hresult::kInvalidArgument; });
  Restart restart = hns::emulator::kReboot;
  restart.unsettled = Milliseconds(1000);
  emulator.Reboot(restart);
  EXPECT_EQ(Creating(Overlay()), hns::hresult::kInvalidArgument);
  rig->clock.Advance(Milliseconds(1000));
  EXPECT_EQ(Creating(Overlay()), 0u);
}

TEST_P(HnsApiContract, RestartMayLoseRoutes) {
  const Handle network = MustCreate(Overlay());
  const Guid id = *Guid::Parse(IdOf(Kind::kNetwork, network));
  MustCreateEndpoint(network, Pod("10.244.3.5"));
  Modify(network, "Add", {Route(1), {{"Type", "HostRoute"}, {"Settings", Json::object()}}});
  Restart restart;
  restart.routes_kept = false;
  emulator.RestartService(restart);
  const Handle again = api().Open(Kind::kNetwork, id).handle;
  EXPECT_THAT(SettingsOf(again, "RemoteSubnetRoute"), IsEmpty());
  EXPECT_THAT(SettingsOf(again, "HostRoute"), IsEmpty());
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
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, Balancer()), 0u);
  restart.networks = Restart::Networks::kLost;
  emulator.RestartService(restart);
  EXPECT_THAT(Enumerate(Kind::kNetwork), IsEmpty());
  EXPECT_THAT(Enumerate(Kind::kLoadBalancer), IsEmpty());
  EXPECT_FALSE(rig->host.HasSwitch("Ethernet"));
}

TEST_P(HnsApiContract, RebootKeepsOnlyPersistentNetworks) {
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

TEST_P(HnsApiContract, FaultMayLastAndMatchEveryCall) {
  emulator.Add({.function = "*",
                .first = 3,
                .count = hns::emulator::Fault::kAlways,
                .code = hns::hresult::kUnspecified,
                .error_record = R"({"Error":"Fehler"})"});
  EXPECT_THAT(Enumerate(Kind::kNetwork), IsEmpty());
  EXPECT_THAT(Enumerate(Kind::kNetwork), IsEmpty());
  const Reply reply = api().Call("GET", "/networks/", "");
  EXPECT_EQ(reply.code, hns::hresult::kUnspecified);
  // HNSCall has none.
  EXPECT_EQ(api().Enumerate(Kind::kNetwork, "").error_record, R"({"Error":"Fehler"})");
  EXPECT_EQ(Creating(Overlay()), hns::hresult::kUnspecified);
  emulator.ClearFaults();
  EXPECT_EQ(Creating(Overlay()), 0u);
}

TEST_P(HnsApiContract, FaultMatchesHnsCallByItsPath) {
  emulator.Add({.function = "HNSCall POST /networks/", .code = hns::hresult::kUnspecified});
  EXPECT_EQ(api().Call("GET", "/networks/", "").code, 0u);
  EXPECT_EQ(api().Call("POST", "/networks/", "{}").code, hns::hresult::kUnspecified);
}

TEST_P(HnsApiContract, FaultMayBeReturnedAfterTheWorkIsDone) {
  emulator.Add(
      {.function = "HcnCreateNetwork", .code = hns::hresult::kRpcCallFailed, .done = true});
  const std::size_t open = emulator.open_handles();
  EXPECT_EQ(Creating(Overlay()), hns::hresult::kRpcCallFailed);
  EXPECT_THAT(Enumerate(Kind::kNetwork), SizeIs(1));
  EXPECT_EQ(emulator.open_handles(), open);
  EXPECT_EQ(Creating(Overlay()), hns::hresult::kNetworkAlreadyExists);
  const Guid id = Only(Kind::kNetwork);
  emulator.Add({.function = "HcnOpenNetwork", .code = hns::hresult::kRpcCallFailed, .done = true});
  EXPECT_EQ(api().Open(Kind::kNetwork, id).code, hns::hresult::kRpcCallFailed);
  EXPECT_EQ(emulator.open_handles(), open);
  emulator.Add({.function = "HcnRegisterServiceCallback",
                .code = hns::hresult::kRpcCallFailed,
                .done = true});
  std::atomic<int> notified = 0;
  const auto notify = [&](hns::Notification, std::string_view) { ++notified; };
  EXPECT_EQ(api().Subscribe(notify).code, hns::hresult::kRpcCallFailed);
  MustCreate(Overlay("b"));
  EXPECT_EQ(notified, 0);
}

TEST_P(HnsApiContract, FaultMayBeADelay) {
  emulator.Add({.function = "HcnCreateNetwork", .delay = Milliseconds(60000)});
  const auto before = rig->clock.Now();
  EXPECT_EQ(Creating(Overlay()), 0u);
  EXPECT_EQ(rig->clock.Now() - before, Milliseconds(60000));
  EXPECT_THAT(Enumerate(Kind::kNetwork), SizeIs(1));
}

TEST_P(HnsApiContract, HooksSeeEachCallBeforeAndAfter) {
  std::vector<std::string> seen;
  emulator.OnEachCall(
      [&](const hns::ApiCall& call) { seen.push_back("> " + std::string(call.function())); },
      [&](const hns::ApiCall& call, const Reply& reply) {
        seen.push_back("< " + std::string(call.function()) + (reply.ok() ? "" : " !"));
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
  EXPECT_EQ(Modify(network, "Add", {Route(1)}), hns::hresult::kRpcCallFailedDne);
  emulator.OnEachCall({}, {});
}

// --- notifications

TEST_P(HnsApiContract, ServiceNotifiesOfNetworksAndOfItsStop) {
  std::mutex mutex;
  std::vector<std::pair<hns::Notification, std::string>> notified;
  const auto take = [&](std::size_t desired) {
    WaitUntil([&] {
      const std::lock_guard lock(mutex);
      return notified.size() >= desired;
    });
    const std::lock_guard lock(mutex);
    return std::exchange(notified, {});
  };
  const Reply subscribed = api().Subscribe([&](hns::Notification type, std::string_view data) {
    const std::lock_guard lock(mutex);
    notified.emplace_back(type, data);
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
  Switch([](auto& s) { s.disconnect_notified = false; });
  std::atomic<int> notified = 0, second_notified = 0;
  const Reply subscribed =
      api().Subscribe([&](hns::Notification, std::string_view) { ++notified; });
  emulator.RestartService();
  const Reply resubscribed =
      api().Subscribe([&](hns::Notification, std::string_view) { ++second_notified; });
  MustCreate(Overlay());
  WaitUntil([&] { return second_notified == 2; });
  EXPECT_EQ(api().Unsubscribe(subscribed.handle), hns::hresult::kInvalidHandle);
  EXPECT_EQ(api().Unsubscribe(resubscribed.handle), 0u);
  EXPECT_EQ(notified, 0);
}

TEST_P(HnsApiContract, NoNotificationAfterUnsubscribing) {
  int notified = 0;
  const Reply subscribed =
      api().Subscribe([&](hns::Notification, std::string_view) { ++notified; });
  EXPECT_EQ(api().Unsubscribe(subscribed.handle), 0u);
  MustCreate(Overlay());
  EXPECT_EQ(notified, 0);
}

}  // namespace weft::testing
