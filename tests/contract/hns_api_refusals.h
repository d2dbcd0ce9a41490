// SPDX-License-Identifier: Apache-2.0
// Part of hns_api_contract.h: what HNS refuses, and both values of every setting.
#pragma once

namespace weft::testing {

// --- networks

TEST_P(HnsApiContract, NameIsTakenOnce) {
  MustCreate(Overlay("a"));
  EXPECT_EQ(Creating(Overlay("a")), hns::hresult::kNetworkAlreadyExists);
  EXPECT_EQ(Creating(Overlay("b")), 0u);
  EXPECT_EQ(Creating({{"Type", "Internal"}}), 0u);
  EXPECT_EQ(Creating({{"Type", "Internal"}}), 0u) << "neither has a name";
}

TEST_P(HnsApiContract, NameMayBeTakenByAnUnlistedNetwork) {
  emulator.TakeName("flannel.4096");
  EXPECT_EQ(Creating(Overlay()), hns::hresult::kNetworkAlreadyExists);
  EXPECT_THAT(Enumerate(Kind::kNetwork), IsEmpty());
  emulator.ReleaseName("flannel.4096");
  EXPECT_EQ(Creating(Overlay()), 0u);
}

TEST_P(HnsApiContract, DeletedNameStaysTakenForAWhile) {
  Switch([](auto& s) { s.name_release = hns::emulator::Milliseconds(5000); });
  const Guid id = *Guid::Parse(IdOf(Kind::kNetwork, MustCreate(Overlay())));
  EXPECT_EQ(api().Delete(Kind::kNetwork, id).code, 0u);
  EXPECT_EQ(Creating(Overlay()), hns::hresult::kNetworkAlreadyExists);
  rig->clock.Advance(hns::emulator::Milliseconds(5000));
  EXPECT_EQ(Creating(Overlay()), 0u);
}

TEST_P(HnsApiContract, CreatingRightAfterDeletingFailsUntilHnsHasSettled) {
  Switch([](auto& s) { s.settle = hns::emulator::Milliseconds(20000); });
  const Guid id = *Guid::Parse(IdOf(Kind::kNetwork, MustCreate(Overlay())));
  EXPECT_EQ(api().Delete(Kind::kNetwork, id).code, 0u);
  EXPECT_EQ(Creating(Overlay()), hns::hresult::kElementNotFound);
  Switch([](auto& s) { s.settle_code = hns::hresult::kUnspecified; });
  EXPECT_EQ(Creating(Overlay()), hns::hresult::kUnspecified);
  rig->clock.Advance(hns::emulator::Milliseconds(20000));
  EXPECT_EQ(Creating(Overlay()), 0u);
}

TEST_P(HnsApiContract, ThereIsOneNatNetwork) {
  for (const std::string type : {"NAT", "ICS"}) {
    EXPECT_EQ(Creating({{"Name", "a " + type}, {"Type", type}}), 0u);
    EXPECT_EQ(Creating({{"Name", "b " + type}, {"Type", type}}), 0x80070034u);
  }
}

TEST_P(HnsApiContract, AdapterMustBeAPhysicalOneThatIsFree) {
  rig->host.Add({"Wi-Fi", {}, /*usable=*/false});
  rig->host.Add({"Hyper-V", {}, /*usable=*/true, /*is_virtual=*/true});
  const auto on = [](const char* adapter) {
    Json document = Overlay();
    document["Policies"][0]["Settings"]["NetworkAdapterName"] = adapter;
    return document;
  };
  EXPECT_EQ(Creating(on("Ethernet 7")), hns::hresult::kAdapterNotFound);
  EXPECT_EQ(Creating(on("Wi-Fi")), hns::hresult::kAdapterNotFound);
  EXPECT_EQ(Creating(on("vEthernet (Ethernet)")), hns::hresult::kInvalidArgument);
  EXPECT_EQ(Creating(on("Hyper-V")), hns::hresult::kInvalidArgument);
  EXPECT_EQ(Creating(on("Ethernet")), 0u);
}

TEST_P(HnsApiContract, OverlayAndTransparentDoNotShareAnAdapter) {
  Json transparent = Overlay("t");
  transparent["Type"] = "Transparent";
  EXPECT_EQ(Creating(transparent), 0u);
  EXPECT_EQ(Creating(Overlay()), hns::hresult::kAdapterNotFound);
  rig->host.Add({"Ethernet 2", {*IpAddress::Parse("10.9.9.9")}});
  Json elsewhere = Overlay();
  elsewhere["Policies"][0]["Settings"]["NetworkAdapterName"] = "Ethernet 2";
  EXPECT_EQ(Creating(elsewhere), 0u);
}

TEST_P(HnsApiContract, DocumentOfANetworkIsChecked) {
  const auto with = [](const std::function<void(Json&)>& change) {
    Json document = Overlay();
    change(document);
    return document;
  };
  const auto subnet = [](Json& d) -> Json& { return d["Ipams"][0]["Subnets"][0]; };
  struct Row {
    const char* what;
    Json document;
    hns::Hresult code;
  };
  const std::vector<Row> rows = {
      {"unknown type", with([](Json& d) { d["Type"] = "Underlay"; }),
       hns::hresult::kInvalidNetworkType},
      {"type beyond the last", with([](Json& d) { d["Type"] = 11; }),
       hns::hresult::kInvalidNetworkType},
      {"type before the first", with([](Json& d) { d["Type"] = -1; }),
       hns::hresult::kInvalidNetworkType},
      {"type is no whole number", with([](Json& d) { d["Type"] = 5.5; }),
       hns::hresult::kInvalidNetworkType},
      {"type of Ipams beyond the last", with([](Json& d) { d["Ipams"][0]["Type"] = 2; }),
       hns::hresult::kInvalidNetwork},
      {"flag of a later version", with([](Json& d) { d["Flags"] = 1024; }),
       hns::hresult::kInvalidArgument},
      {"id is no GUID", with([](Json& d) { d["ID"] = "55"; }), 0x803B0019},
      {"Ipams is no array", {{"Type", "Internal"}, {"Ipams", "x"}}, hns::hresult::kInvalidNetwork},
      {"prefix is none", with([&](Json& d) { subnet(d)["IpAddressPrefix"] = "10.244.3.0"; }),
       hns::hresult::kInvalidSubnet},
      {"gateway elsewhere", with([&](Json& d) { subnet(d)["Routes"][0]["NextHop"] = "10.0.0.1"; }),
       hns::hresult::kInvalidSubnet},
      {"no VSID", with([&](Json& d) { subnet(d).erase("Policies"); }),
       hns::hresult::kInvalidNetwork},
      {"VLAN instead", with([&](Json& d) { subnet(d)["Policies"][0]["Type"] = "VLAN"; }),
       hns::hresult::kInvalidNetwork},
      {"VSID 4095", Overlay("n", "10.244.3.0/24", "10.244.3.1", 4095),
       hns::hresult::kInvalidArgument},
      {"VSID 16777215", Overlay("n", "10.244.3.0/24", "10.244.3.1", 16777215),
       hns::hresult::kInvalidArgument},
      {"unknown policy", with([](Json& d) { d["Policies"][0]["Type"] = "Wish"; }),
       hns::hresult::kInvalidPolicyType},
      {"policy without type", with([](Json& d) { d["Policies"][0].erase("Type"); }),
       hns::hresult::kInvalidPolicy},
      {"policies are no array", with([](Json& d) {
         d["Policies"] = {{"0", d["Policies"][0]}};
       }),
       hns::hresult::kInvalidPolicy},
      {"settings are no object", with([](Json& d) { d["Policies"][0]["Settings"] = 5; }),
       hns::hresult::kInvalidPolicy},
      {"address of the adapter is none", with([](Json& d) {
         d["Policies"][0] = {{"Type", "ProviderAddress"}};
       }),
       hns::hresult::kAdapterNotFound},
  };
  for (const Row& row : rows) EXPECT_EQ(Creating(row.document), row.code) << row.what;
  EXPECT_THAT(Enumerate(Kind::kNetwork), IsEmpty());
  EXPECT_FALSE(rig->host.HasSwitch("Ethernet"));
}

TEST_P(HnsApiContract, NumberThatIsNegativeOrTextIsNone) {
  for (const Json& flags : {Json(-1), Json("8")}) {
    Json document = Overlay(flags.dump());
    document["Flags"] = flags;
    EXPECT_FALSE(Network(MustCreate(document)).contains("Flags")) << flags;
  }
}

TEST_P(HnsApiContract, InvalidJsonIsRefused) {
  const Handle network = MustCreate(Overlay());
  const std::string deep(100000, '[');
  // The deepest that is read has 32 levels.
  const auto nested = [](std::size_t arrays) {
    return R"({"Name":"n","Type":"NAT","x":)" + std::string(arrays, '[') +
           std::string(arrays, ']') + "}";
  };
  std::string wide = R"({"Name":"w","Type":"Internal","x":[[])";
  for (int n = 0; n < 40; ++n) wide += ",[]";
  EXPECT_EQ(Creating(Json::parse(nested(31))), 0u);
  EXPECT_EQ(Creating(Json::parse(wide + "]}")), 0u);
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string("7"), deep, nested(32)}) {
    EXPECT_EQ(api().Create(Kind::kNetwork, Handle::kNone, Guid(), text).code,
              hns::hresult::kInvalidJson);
    EXPECT_EQ(api().Modify(Kind::kNetwork, network, text).code, hns::hresult::kInvalidJson);
    EXPECT_EQ(api().Query(Kind::kNetwork, network, text).code, hns::hresult::kInvalidJson);
    EXPECT_EQ(api().Enumerate(Kind::kNetwork, text).code, hns::hresult::kInvalidJson);
  }
  EXPECT_EQ(api().Create(Kind::kNetwork, Handle::kNone, Guid(), "").code,
            hns::hresult::kInvalidJson);
  EXPECT_EQ(api().Modify(Kind::kNetwork, network, "").code, hns::hresult::kInvalidJson);
  EXPECT_EQ(api().Enumerate(Kind::kNetwork, R"({"Filter":"{"})").code, hns::hresult::kInvalidJson);
  EXPECT_EQ(api().Enumerate(Kind::kNetwork, R"({"Filter":{"Name":"a"}})").code,
            hns::hresult::kInvalidJson);
}

TEST_P(HnsApiContract, SwitchSubnetNeeded) {
  Json document = Overlay();
  document.erase("Ipams");
  EXPECT_EQ(Creating(document), hns::hresult::kInvalidNetwork);
  Switch([](auto& s) { s.subnet_needed = false; });
  EXPECT_EQ(Creating(document), 0u);
}

TEST_P(HnsApiContract, SwitchGatewayNeeded) {
  Json document = Overlay();
  document["Ipams"][0]["Subnets"][0].erase("Routes");
  EXPECT_EQ(Creating(document), hns::hresult::kInvalidSubnet);
  Json internal = document;
  internal["Name"] = internal["Type"] = "Internal";
  EXPECT_EQ(Creating(internal), 0u) << "on no adapter";
  Switch([](auto& s) { s.gateway_needed = false; });
  EXPECT_EQ(Creating(document), 0u);
  for (const Json& network : V1("GET", "/networks/"))
    EXPECT_EQ(network["Subnets"][0]["GatewayAddress"], "");
}

TEST_P(HnsApiContract, SwitchOverlappingSubnets) {
  MustCreate(Overlay("a", "10.244.0.0/16", "10.244.0.1", 5000));
  Switch([](auto& s) { s.overlapping_subnets_accepted = false; });
  EXPECT_EQ(Creating(Overlay("b")), hns::hresult::kInvalidSubnet);
  EXPECT_EQ(Creating(Overlay("apart", "10.245.0.0/16", "10.245.0.1", 5001)), 0u);
  Json bridge = Overlay("c", "10.246.0.0/16", "10.246.0.1");
  bridge["Type"] = "L2Bridge";
  EXPECT_EQ(Creating(bridge), 0u);
  EXPECT_EQ(Creating(Overlay("d", "10.246.0.0/16", "10.246.0.1", 5002)),
            hns::hresult::kInvalidSubnet);
  Json internal = Overlay("internal", "10.244.0.0/14", "10.244.0.1");
  internal["Type"] = "Internal";
  EXPECT_EQ(Creating(internal), 0u) << "on no adapter";
  EXPECT_EQ(Creating(Overlay("e", "10.247.0.0/16", "10.247.0.1", 5003)), 0u);
  Switch([](auto& s) { s.overlapping_subnets_accepted = true; });
  EXPECT_EQ(Creating(Overlay("b")), 0u);
}

TEST_P(HnsApiContract, SwitchSameVsid) {
  MustCreate(Overlay("a", "10.1.0.0/24", "10.1.0.1"));
  Switch([](auto& s) { s.same_vsid_accepted = false; });
  EXPECT_EQ(Creating(Overlay("b")), hns::hresult::kInvalidArgument);
  EXPECT_EQ(Creating(Overlay("other", "10.2.0.0/24", "10.2.0.1", 4097)), 0u);
  Json internal = Overlay("internal", "10.3.0.0/24", "10.3.0.1", 4098);
  internal["Type"] = "Internal";
  EXPECT_EQ(Creating(internal), 0u);
  EXPECT_EQ(Creating(Overlay("c", "10.3.0.0/24", "10.3.0.1", 4098)), 0u) << "the other is none";
  Switch([](auto& s) { s.same_vsid_accepted = true; });
  EXPECT_EQ(Creating(Overlay("b")), 0u);
}

TEST_P(HnsApiContract, NetworkWhoseAdapterIsGoneStaysAndIsDegraded) {
  const Handle network = MustCreate(Overlay());
  rig->host.Remove("Ethernet");
  EXPECT_THAT(Enumerate(Kind::kNetwork), SizeIs(1));
  EXPECT_THAT(SettingsOf(network, "ProviderAddress"), IsEmpty());
  EXPECT_EQ(Modify(network, "Add", {Route(1)}), hns::hresult::kDegradedOperation);
  EXPECT_EQ(Creating(Kind::kEndpoint, network, Pod("10.244.3.5")),
            hns::hresult::kDegradedOperation);
}

TEST_P(HnsApiContract, MissingObjectsAreNotFound) {
  const Guid id = *Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804");
  EXPECT_EQ(api().Open(Kind::kNetwork, id).code, hns::hresult::kNetworkNotFound);
  EXPECT_EQ(api().Open(Kind::kEndpoint, id).code, hns::hresult::kEndpointNotFound);
  EXPECT_EQ(api().Open(Kind::kNamespace, id).code, hns::hresult::kElementNotFound);
  EXPECT_EQ(api().Open(Kind::kLoadBalancer, id).code, hns::hresult::kElementNotFound);
  // Another number than for opening it.
  EXPECT_EQ(api().Delete(Kind::kNetwork, id).code, hns::hresult::kElementNotFound);
  EXPECT_EQ(api().Delete(Kind::kEndpoint, id).code, hns::hresult::kEndpointNotFound);
  EXPECT_EQ(api().Delete(Kind::kNamespace, id).code, hns::hresult::kElementNotFound);
  EXPECT_EQ(api().Delete(Kind::kLoadBalancer, id).code, hns::hresult::kElementNotFound);
  // An object of another kind is refused.
  const Handle network = MustCreate(Overlay(), id);
  EXPECT_EQ(api().Open(Kind::kEndpoint, id).code, hns::hresult::kEndpointNotFound);
  std::string text = id.ToString();
  for (const Kind kind : {Kind::kEndpoint, Kind::kNamespace, Kind::kLoadBalancer}) {
    ++text.back();
    const Handle parent = kind == Kind::kEndpoint ? network : Handle::kNone;
    EXPECT_EQ(Creating(kind, parent, Json::object(), *Guid::Parse(text)), 0u);
    EXPECT_EQ(api().Open(Kind::kNetwork, *Guid::Parse(text)).code, hns::hresult::kNetworkNotFound);
  }
}

TEST_P(HnsApiContract, RefusalCarriesAnErrorRecord) {
  const Reply reply = api().Open(Kind::kNetwork, Guid());
  EXPECT_EQ(Json::parse(reply.error_record), (Json{{"Success", false},
                                                   {"Error", "The network was not found. "},
                                                   {"ErrorCode", 0x803B0001u}}));
  EXPECT_EQ(reply.handle, Handle::kNone);
}

TEST_P(HnsApiContract, SwitchLanguage) {
  Switch([](auto& s) { s.language = "de"; });
  EXPECT_THAT(api().Open(Kind::kNetwork, Guid()).error_record,
              HasSubstr("Das Netzwerk wurde nicht gefunden. "));
  Switch([](auto& s) { s.language = "zh"; });
  EXPECT_THAT(api().Open(Kind::kNetwork, Guid()).error_record, HasSubstr("找不到网络。"));
  const Handle network = MustCreate(Overlay());
  emulator.RestartService();
  for (const char* language : {"de", "zh"}) {
    Switch([&](auto& s) { s.language = language; });
    EXPECT_THAT(api().Query(Kind::kNetwork, network, kV2).error_record,
                HasSubstr("The remote procedure call failed and did not execute. "));
  }
}

TEST_P(HnsApiContract, SwitchElevated) {
  Switch([](auto& s) { s.elevated = false; });
  EXPECT_EQ(api().Enumerate(Kind::kNetwork, kV2).code, hns::hresult::kAccessDenied);
  EXPECT_EQ(api().Call("GET", "/globals/version", "").code, hns::hresult::kAccessDenied);
}

// --- policies and their batches

TEST_P(HnsApiContract, RouteIsChecked) {
  const Handle network = MustCreate(Overlay());
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, Json>>{{"DestinationPrefix", "10.244.1.0"},
                                                 {"ProviderAddress", ""},
                                                 {"DistributedRouterMacAddress", "0e:2a"},
                                                 {"IsolationId", 256},
                                                 {"IsolationId", 16777215}}) {
    Json route = Route(1);
    route["Settings"][key] = value;
    EXPECT_EQ(Modify(network, "Add", {route}), hns::hresult::kInvalidPolicy) << key;
  }
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), IsEmpty());
}

TEST_P(HnsApiContract, VxlanPortIsChecked) {
  const Handle network = MustCreate(Overlay());
  for (const auto& [port, code] : std::vector<std::pair<int, hns::Hresult>>{
           {0, hns::hresult::kInvalidPolicy}, {65536, hns::hresult::kInvalidPolicy}, {65535, 0}}) {
    const Json policy = {{"Type", "VxlanPort"}, {"Settings", {{"Port", port}}}};
    EXPECT_EQ(Modify(network, "Add", {policy}), code) << port;
  }
}

TEST_P(HnsApiContract, RoutesBelongToOverlays) {
  EXPECT_EQ(Modify(MustCreate(Bridge()), "Add", {Route(1)}), hns::hresult::kInvalidPolicy);
}

TEST_P(HnsApiContract, SwitchDuplicates) {
  using hns::emulator::Duplicates;
  const Handle network = MustCreate(Overlay());
  Json elsewhere = Route(1);
  elsewhere["Settings"]["ProviderAddress"] = "192.168.1.99";
  EXPECT_EQ(Modify(network, "Add", {Route(1)}), 0u);
  EXPECT_EQ(Modify(network, "Add", {Route(1)}), 0u);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), SizeIs(2));
  EXPECT_EQ(Modify(network, "Remove", {Route(1)}), 0u);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), SizeIs(1));

  Switch([](auto& s) { s.duplicates = Duplicates::kRefused; });
  EXPECT_EQ(Modify(network, "Add", {Route(1)}), hns::hresult::kPolicyAlreadyExists);
  EXPECT_EQ(Modify(network, "Add", {elsewhere}), 0u);
  EXPECT_EQ(Modify(network, "Remove", {elsewhere}), 0u);
  EXPECT_EQ(Modify(network, "Add", {Route(2), Route(2)}), hns::hresult::kPolicyAlreadyExists);
  const Json port = {{"Type", "VxlanPort"}, {"Settings", {{"Port", 8472}}}};
  EXPECT_EQ(Modify(network, "Add", {port, port}), 0u) << "no route";

  Switch([](auto& s) { s.duplicates = Duplicates::kRefusedByPrefix; });
  EXPECT_EQ(Modify(network, "Add", {elsewhere}), hns::hresult::kPolicyAlreadyExists);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), ElementsAre(Route(1)["Settings"]));
  EXPECT_EQ(Modify(network, "Add", {Route(2)}), 0u);
}

TEST_P(HnsApiContract, SwitchNetworkProviderAddress) {
  Switch([](auto& s) { s.network_provider_address = false; });
  Json document = Overlay();
  document["Policies"] = Json::array(
      {{{"Type", "ProviderAddress"}, {"Settings", {{"ProviderAddress", "192.168.1.10"}}}}});
  EXPECT_EQ(Creating(document), hns::hresult::kInvalidPolicyType);
  EXPECT_EQ(Creating(Overlay()), 0u);
}

TEST_P(HnsApiContract, SwitchMissingPolicyRefused) {
  const Handle network = MustCreate(Overlay());
  EXPECT_EQ(Modify(network, "Remove", {Route(1)}), hns::hresult::kPolicyNotFound);
  Switch([](auto& s) { s.missing_policy_refused = false; });
  EXPECT_EQ(Modify(network, "Remove", {Route(1)}), 0u);
}

TEST_P(HnsApiContract, SwitchAtomicBatches) {
  const Handle network = MustCreate(Overlay());
  Json wrong = Route(2);
  wrong["Settings"]["DestinationPrefix"] = "nowhere";
  EXPECT_EQ(Modify(network, "Add", {Route(1), wrong, Route(3)}), hns::hresult::kInvalidPolicy);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), IsEmpty());
  EXPECT_EQ(Modify(network, "Add", {Route(1), Route(2)}), 0u);
  EXPECT_EQ(Modify(network, "Remove", {Route(1), Route(9)}), hns::hresult::kPolicyNotFound);
  EXPECT_EQ(Modify(network, "Remove", {Route(1), wrong}), hns::hresult::kPolicyNotFound);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), SizeIs(2));

  Switch([](auto& s) { s.atomic_batches = false; });
  EXPECT_EQ(Modify(network, "Add", {Route(3), wrong, Route(4)}), hns::hresult::kInvalidPolicy);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), SizeIs(3));
  EXPECT_EQ(Modify(network, "Remove", {Route(1), Route(9)}), hns::hresult::kPolicyNotFound);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), SizeIs(2));
}

TEST_P(HnsApiContract, SwitchBatchLimit) {
  const Handle network = MustCreate(Overlay());
  Switch([](auto& s) { s.batch_limit = 2; });
  EXPECT_EQ(Modify(network, "Add", {Route(1), Route(2), Route(3)}), hns::hresult::kInvalidArgument);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), IsEmpty());
  EXPECT_EQ(Modify(network, "Add", {Route(1), Route(2)}), 0u);
  Switch([](auto& s) { s.batch_code = hns::hresult::kRequestUnsupported; });
  EXPECT_EQ(Modify(network, "Remove", {Route(1), Route(2), Route(3)}),
            hns::hresult::kRequestUnsupported);
}

TEST_P(HnsApiContract, SwitchBatchAppliedInPart) {
  const Handle network = MustCreate(Overlay());
  Switch([](auto& s) { s.batch_applied = 2; });
  EXPECT_EQ(Modify(network, "Add", {Route(1), Route(2), Route(3)}), hns::hresult::kInvalidArgument);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"),
              ElementsAre(Route(1)["Settings"], Route(2)["Settings"]));
  EXPECT_EQ(Modify(network, "Add", {Route(3), Route(4)}), 0u);
  Json wrong = Route(5);
  wrong["Settings"]["DestinationPrefix"] = "nowhere";
  EXPECT_EQ(Modify(network, "Add", {Route(6), wrong, Route(7)}), hns::hresult::kInvalidPolicy);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), SizeIs(5));
}

TEST_P(HnsApiContract, ABatchMayBeAcceptedAndAppliedInPart) {
  const Handle network = MustCreate(Overlay());
  Switch([](auto& s) {
    s.batch_applied = 1;
    s.batch_code = hns::hresult::kOk;
  });
  EXPECT_EQ(Modify(network, "Add", {Route(1), Route(2), Route(3)}), 0u);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), ElementsAre(Route(1)["Settings"]));
}

TEST_P(HnsApiContract, SwitchPoliciesShown) {
  const Handle network = MustCreate(Overlay());
  Switch([](auto& s) { s.policies_shown = hns::emulator::Milliseconds(1000); });
  EXPECT_EQ(Modify(network, "Add", {Route(1)}), 0u);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), IsEmpty());
  EXPECT_THAT(V1("GET", "/networks/" + IdOf(Kind::kNetwork, network))["Policies"],
              ::testing::Not(::testing::Contains(::testing::Contains("RemoteSubnetRoute"))));
  const std::string saved = emulator.StateText();
  EXPECT_TRUE(emulator.LoadState(saved).ok());
  EXPECT_EQ(emulator.StateText(), saved);
  rig->clock.Advance(hns::emulator::Milliseconds(1000));
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), SizeIs(1));
}

TEST_P(HnsApiContract, RequestsThatHnsLacksAreRefused) {
  const Handle network = MustCreate(Overlay());
  for (const char* request :
       {R"({"ResourceType":"Policy","RequestType":"Refresh"})", R"({"ResourceType":"Extension"})",
        R"({"ResourceType":9})", R"({"ResourceType":"Wish","RequestType":"Add"})"}) {
    EXPECT_EQ(api().Modify(Kind::kNetwork, network, request).code,
              hns::hresult::kRequestUnsupported)
        << request;
  }
  const Handle pod = MustCreateEndpoint(network, Pod("10.244.3.5"));
  for (const char* request :
       {R"({"ResourceType":"Policy","RequestType":"Refresh"})", R"({"ResourceType":"Port"})"}) {
    EXPECT_EQ(api().Modify(Kind::kEndpoint, pod, request).code, hns::hresult::kRequestUnsupported)
        << request;
  }
  const Reply space = api().Create(Kind::kNamespace, Handle::kNone, Guid(), "{}");
  for (const auto& [request, code] : std::vector<std::pair<const char*, hns::Hresult>>{
           {R"({"ResourceType":"Wish"})", hns::hresult::kRequestUnsupported},
           {R"({"ResourceType":"Endpoint","RequestType":"Update"})",
            hns::hresult::kRequestUnsupported},
           {R"({"ResourceType":"Endpoint","Settings":{"EndpointId":"7"}})", 0x803B0019},
           {R"({"ResourceType":"Endpoint","RequestType":"Add","Settings":{"EndpointId":)"
            R"("55fedb88-4b11-4da4-8cd1-59970718a804"}})",
            hns::hresult::kEndpointNotFound},
           {R"({"ResourceType":"Endpoint","RequestType":"Remove","Settings":{"EndpointId":)"
            R"("55fedb88-4b11-4da4-8cd1-59970718a804"}})",
            hns::hresult::kEndpointNotFound}}) {
    EXPECT_EQ(api().Modify(Kind::kNamespace, space.handle, request).code, code) << request;
  }
  EXPECT_EQ(Creating(Kind::kNamespace, Handle::kNone, {{"Type", "Wish"}}),
            hns::hresult::kInvalidArgument);
}

TEST_P(HnsApiContract, PoliciesThatAreNoArrayAreRefused) {
  const Handle network = MustCreate(Overlay());
  const Handle pod = MustCreateEndpoint(network, Pod("10.244.3.5"));
  const char* const request =
      R"({"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":5}})";
  EXPECT_EQ(api().Modify(Kind::kNetwork, network, request).code, hns::hresult::kInvalidPolicy);
  EXPECT_EQ(api().Modify(Kind::kEndpoint, pod, request).code, hns::hresult::kInvalidPolicy);
  EXPECT_EQ(Creating(Kind::kEndpoint, network, {{"Policies", 5}}), hns::hresult::kInvalidPolicy);
}

// --- versions

TEST_P(HnsApiContract, VersionGatesPolicies) {
  const Json port = {{"Type", "VxlanPort"}, {"Settings", {{"Port", 8472}}}};
  const Handle network = MustCreate(Overlay());
  const auto at = [&](std::uint32_t major, std::uint32_t minor) {
    Switch([&](auto& s) { s.version = {major, minor}; });
  };
  at(9, 1);
  EXPECT_EQ(Modify(network, "Add", {Route(1)}), hns::hresult::kInvalidPolicyType);
  at(9, 2);
  EXPECT_EQ(Modify(network, "Add", {Route(1)}), 0u);
  at(9, 5);
  EXPECT_EQ(Modify(network, "Add", {port}), hns::hresult::kInvalidPolicyType);
  at(10, 3);
  EXPECT_EQ(Modify(network, "Add", {port}), 0u);
  const Json proxy = {{"Type", "L4WFPPROXY"}, {"Settings", Json::object()}};
  const Json pod = {{"Name", "p"}, {"Policies", Json::array({proxy})}};
  at(13, 1);
  EXPECT_EQ(Creating(Kind::kEndpoint, network, pod), hns::hresult::kInvalidPolicyType);
  at(13, 2);
  EXPECT_EQ(Creating(Kind::kEndpoint, network, pod), 0u);
  Json no_host_port = Overlay("b");
  no_host_port["Flags"] = 1024;
  at(15, 1);
  EXPECT_EQ(Creating(no_host_port), 0u);
  at(7, 2);
  EXPECT_EQ(api().Enumerate(Kind::kNetwork, kV2).code, hns::hresult::kModuleNotFound);
  EXPECT_THAT(V1("GET", "/networks/"), SizeIs(2));
}

TEST_P(HnsApiContract, VersionGatesTwoFamiliesAndLonePrefixes) {
  Json both = Overlay();
  both["Ipams"][0]["Subnets"].push_back(
      Overlay("x", "fd00::/64", "fd00::1")["Ipams"][0]["Subnets"][0]);
  Json single = Pod("10.244.3.5");
  single["IpConfigurations"][0]["PrefixLength"] = 32;
  Switch([](auto& s) { s.version = {9, 2}; });
  EXPECT_EQ(Creating(both), hns::hresult::kInvalidSubnet);
  EXPECT_EQ(Creating(Overlay("six", "fd01::/64", "fd01::1")), 0u);
  const Handle network = MustCreate(Overlay("a"));
  EXPECT_EQ(Creating(Kind::kEndpoint, network, single), hns::hresult::kInvalidArgument);
  EXPECT_EQ(Creating(Kind::kEndpoint, network, Pod("10.244.3.6")), 0u);
  Json alone = Overlay("b", "10.244.9.5/32", "10.244.9.5");
  alone["Ipams"][0]["Subnets"][0]["Flags"] = 1;  // DoNotReserveGatewayAddress
  Json only = single;
  only["IpConfigurations"][0]["IpAddress"] = "10.244.9.5";
  EXPECT_EQ(Creating(Kind::kEndpoint, MustCreate(alone), only), 0u);
  Switch([](auto& s) { s.version = {11, 10}; });
  EXPECT_EQ(Creating(both), 0u);
  EXPECT_EQ(Creating(Kind::kEndpoint, network, single), 0u);
}

// --- endpoints

TEST_P(HnsApiContract, AddressOfAnEndpointIsChecked) {
  const Handle network = MustCreate(Overlay());
  MustCreateEndpoint(network, Pod("10.244.3.5"));
  for (const auto& [ip, code] : std::vector<std::pair<const char*, hns::Hresult>>{
           {"10.244.4.5", hns::hresult::kInvalidIp},
           {"nowhere", hns::hresult::kInvalidIp},
           {"10.244.3.0", hns::hresult::kAddrInvalidOrReserved},
           {"10.244.3.1", hns::hresult::kAddrInvalidOrReserved},
           {"10.244.3.255", hns::hresult::kAddrInvalidOrReserved},
           {"10.244.3.5", hns::hresult::kObjectAlreadyExists},
           {"10.244.3.6", 0}}) {
    EXPECT_EQ(Creating(Kind::kEndpoint, network, Pod(ip)), code) << ip;
  }
  EXPECT_EQ(Creating(Kind::kEndpoint, MustCreate(Overlay("other")), Pod("10.244.3.5")), 0u);
  Json wide = Pod("10.244.3.7");
  wide["IpConfigurations"][0]["PrefixLength"] = 33;
  EXPECT_EQ(Creating(Kind::kEndpoint, network, wide), hns::hresult::kInvalidIp);
  const Handle six = MustCreate(Overlay("six", "fd00::/64", "fd00::1"));
  EXPECT_EQ(Creating(Kind::kEndpoint, six, Pod("fd00::ffff:ffff:ffff:ffff")), 0u) << "no broadcast";
}

TEST_P(HnsApiContract, SwitchSameAddress) {
  const Handle network = MustCreate(Overlay());
  MustCreateEndpoint(network, Pod("10.244.3.5"));
  EXPECT_EQ(Creating(Kind::kEndpoint, network, Pod("10.244.3.5")),
            hns::hresult::kObjectAlreadyExists);
  Switch([](auto& s) { s.same_address_accepted = true; });
  EXPECT_EQ(Creating(Kind::kEndpoint, network, Pod("10.244.3.5")), 0u);
}

TEST_P(HnsApiContract, GatewayMayBeGivenAwayWhereTheSubnetSaysSo) {
  Json document = Overlay();
  document["Ipams"][0]["Subnets"][0]["Flags"] = 1;  // DoNotReserveGatewayAddress
  EXPECT_EQ(Creating(Kind::kEndpoint, MustCreate(document), Pod("10.244.3.1")), 0u);
}

TEST_P(HnsApiContract, PortOfTheHostIsMappedOnce) {
  const Handle network = MustCreate(Bridge());
  const auto mapped = [](const char* ip, const char* vip = "") {
    Json pod = Pod(ip);
    pod["Policies"] = Json::parse(
        R"([{"Type":"PortMapping","Settings":{"InternalPort":80,"ExternalPort":8080,"Protocol":6}},)"
        R"({"Type":"PortMapping","Settings":{"InternalPort":81,"ExternalPort":8081,"Protocol":6}}])");
    for (Json& policy : pod["Policies"]) policy["Settings"]["VIP"] = vip;
    return pod;
  };
  EXPECT_EQ(Creating(Kind::kEndpoint, network, mapped("10.244.3.5")), 0u);
  EXPECT_EQ(Creating(Kind::kEndpoint, network, mapped("10.244.3.6")),
            hns::hresult::kPortAlreadyExists);
  Json first = mapped("10.244.3.6");
  first["Policies"].erase(1);
  EXPECT_EQ(Creating(Kind::kEndpoint, network, first), hns::hresult::kPortAlreadyExists);
  EXPECT_EQ(Creating(Kind::kEndpoint, network, mapped("10.244.3.6", "10.96.0.1")), 0u);
  int n = 20;
  for (const auto& [type, protocol] : std::vector<std::pair<const char*, int>>{
           {"ACL", 6}, {"PortMapping", 6}, {"ACL", 6}, {"PortMapping", 17}}) {
    Json pod = Pod("10.244.3." + std::to_string(n++));
    pod["Policies"] = Json::array({{{"Type", type}, {"ExternalPort", 90}, {"Protocol", protocol}}});
    EXPECT_EQ(Creating(Kind::kEndpoint, network, pod), 0u) << n;
  }
}

TEST_P(HnsApiContract, EndpointPolicyAndMacAreChecked) {
  const Handle network = MustCreate(Overlay());
  Json pod = Pod("10.244.3.5");
  pod["MacAddress"] = "0e:2a";
  EXPECT_EQ(Creating(Kind::kEndpoint, network, pod), hns::hresult::kInvalidEndpoint);
  pod.erase("MacAddress");
  pod["Policies"] = Json::array({{{"Type", "HostRoute"}, {"Settings", Json::object()}}});
  EXPECT_EQ(Creating(Kind::kEndpoint, network, pod), hns::hresult::kInvalidPolicyType);
  pod["Policies"][0]["Type"] = "ProviderAddress";
  EXPECT_EQ(Creating(Kind::kEndpoint, network, pod), hns::hresult::kInvalidPolicy);
}

// --- load balancers

TEST_P(HnsApiContract, LoadBalancerHasAtMost64Backends) {
  const Handle network = MustCreate(Overlay());
  Json document = {{"PortMappings", Json::array()}};
  for (int n = 0; n < 65; ++n) {
    const Handle pod = MustCreateEndpoint(network, Pod("10.244.3." + std::to_string(100 + n)));
    document["HostComputeEndpoints"].push_back(IdOf(Kind::kEndpoint, pod));
  }
  const Reply reply = api().Create(Kind::kLoadBalancer, Handle::kNone, Guid(), document.dump());
  EXPECT_EQ(reply.code, hns::hresult::kInvalidArgument);
  EXPECT_THAT(reply.error_record, HasSubstr("invalid number of destinations"));
  document["HostComputeEndpoints"].erase(0);
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, document), 0u);
}

TEST_P(HnsApiContract, LoadBalancersShareNoFrontEnd) {
  const Json document = Json::parse(
      R"({"FrontendVIPs":["10.96.0.1"],"PortMappings":[{"Protocol":6,"ExternalPort":443}]})");
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, document), 0u);
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, document), 0x800700B7u);
  Json other = document;
  other["SourceVIP"] = "10.244.3.9";
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, other), hns::hresult::kPortAlreadyExists);
  Switch([](auto& s) { s.backends_must_exist = false; });
  other = document;
  other["HostComputeEndpoints"] = Json::array({"55fedb88-4b11-4da4-8cd1-59970718a804"});
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, other), hns::hresult::kPortAlreadyExists);
  other["PortMappings"][0]["Protocol"] = 17;
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, other), 0u);
  other["PortMappings"][0]["ExternalPort"] = 80;
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, other), 0u);
  // Every node's address is another front end than any.
  other.erase("FrontendVIPs");
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, other), 0u);
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, other), 0x800700B7u);
  other["FrontendVIPs"] = Json::array({"10.96.0.2"});
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, other), 0u);
}

TEST_P(HnsApiContract, IdsOfALoadBalancerAreChecked) {
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, {{"ID", "55"}}), 0x803B0019u);
  EXPECT_EQ(
      Creating(Kind::kLoadBalancer, Handle::kNone, {{"HostComputeEndpoints", Json::array({"55"})}}),
      0x803B0019u);
  EXPECT_THAT(Enumerate(Kind::kLoadBalancer), IsEmpty());
}

TEST_P(HnsApiContract, SwitchBackendsMustExist) {
  const Json document = {
      {"HostComputeEndpoints", Json::array({"55fedb88-4b11-4da4-8cd1-59970718a804"})}};
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, document),
            hns::hresult::kEndpointNotFound);
  Switch([](auto& s) { s.backends_must_exist = false; });
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, document), 0u);
}

TEST_P(HnsApiContract, VersionGatesLoadBalancers) {
  Json dsr = {{"Flags", 1}, {"PortMappings", Json::array()}};
  Json sticky = Json::parse(R"({"PortMappings":[{"Protocol":6,"DistributionType":2}]})");
  Switch([](auto& s) { s.version = {9, 2}; });
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, dsr), hns::hresult::kInvalidArgument);
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, sticky), hns::hresult::kInvalidArgument);
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, Balancer()), 0u);
  Switch([](auto& s) { s.version = {13, 3}; });
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, dsr), 0u);
  const Reply made = api().Create(Kind::kLoadBalancer, Handle::kNone, Guid(), sticky.dump());
  EXPECT_EQ(made.code, 0u);
  const std::string update = Json{{"RequestType", "Update"}, {"Settings", sticky}}.dump();
  EXPECT_EQ(api().Modify(Kind::kLoadBalancer, made.handle, update).code,
            hns::hresult::kRequestUnsupported);
  Switch([](auto& s) { s.version = {15, 4}; });
  EXPECT_EQ(api().Modify(Kind::kLoadBalancer, made.handle, update).code, 0u);
  EXPECT_EQ(api().Modify(Kind::kLoadBalancer, made.handle, R"({"RequestType":"Add"})").code,
            hns::hresult::kRequestUnsupported);
}

}  // namespace weft::testing
