// SPDX-License-Identifier: Apache-2.0
// Part of hns_api_contract.h: objects, shapes, filters, handles.
#pragma once

namespace weft::testing {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// --- ids

TEST_P(HnsApiContract, ZeroGuidIsReplacedByANewOne) {
  const std::string a = IdOf(Kind::kNetwork, MustCreate(Overlay("a")));
  const std::string b = IdOf(Kind::kNetwork, MustCreate(Overlay("b")));
  EXPECT_NE(a, b);
  EXPECT_TRUE(Guid::Parse(a));
  EXPECT_FALSE(Guid::Parse(a)->is_zero());
}

TEST_P(HnsApiContract, GivenGuidIsKeptAndUnique) {
  const Guid id = *Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804");
  const Handle network = MustCreate(Overlay("a"), id);
  EXPECT_EQ(IdOf(Kind::kNetwork, network), id.ToString());
  EXPECT_EQ(Creating(Kind::kNetwork, Handle::kNone, Overlay("b"), id),
            hns::hresult::kNetworkAlreadyExists);
  for (const Kind kind : {Kind::kEndpoint, Kind::kNamespace, Kind::kLoadBalancer}) {
    const Handle parent = kind == Kind::kEndpoint ? network : Handle::kNone;
    EXPECT_EQ(Creating(kind, parent, Json::object(), id), 0u);
    EXPECT_EQ(Creating(kind, parent, Json::object(), id), hns::hresult::kObjectAlreadyExists);
    EXPECT_EQ(Creating(kind, parent, {{"ID", "55"}}), 0x803B0019u);
  }
}

TEST_P(HnsApiContract, IdInTheDocumentIsUsedWhereTheArgumentIsZero) {
  Json document = Overlay();
  document["ID"] = "55FEDB88-4B11-4DA4-8CD1-59970718A804";
  EXPECT_EQ(IdOf(Kind::kNetwork, MustCreate(document)), "55fedb88-4b11-4da4-8cd1-59970718a804");
  document = Overlay("b");
  document["ID"] = "";
  EXPECT_EQ(Creating(document), 0u);
}

TEST_P(HnsApiContract, TwoEmulatorsOfOneSeedGiveTheSameIds) {
  const auto other = GetParam().make();
  const Reply theirs = other->api().Create(Kind::kNetwork, Handle::kNone, Guid(), kOverlay);
  const Reply properties = other->api().Query(Kind::kNetwork, theirs.handle, kV2);
  EXPECT_EQ(Network(MustCreate(Overlay())), Json::parse(properties.text));
}

// --- shapes

TEST_P(HnsApiContract, OverlayShowsWhatHnsAdds) {
  const Json network = Network(MustCreate(Overlay()));
  EXPECT_EQ(network["Name"], "flannel.4096");
  EXPECT_EQ(network["Type"], "Overlay");
  EXPECT_EQ(network["Flags"], 8);
  EXPECT_EQ(network["SchemaVersion"], (Json{{"Major", 2}, {"Minor", 0}}));
  EXPECT_EQ(network["Policies"][0]["Settings"], (Json{{"NetworkAdapterName", "Ethernet"}}));
  // The management IP, as a policy.
  EXPECT_EQ(network["Policies"][1]["Type"], "ProviderAddress");
  EXPECT_EQ(network["Policies"][1]["Settings"], (Json{{"ProviderAddress", "192.168.1.10"}}));
  // Dashes and upper case, of HNS's own bytes.
  EXPECT_EQ(network["Policies"][2]["Type"], "DrMacAddress");
  EXPECT_THAT(network["Policies"][2]["Settings"]["Address"].get<std::string>(),
              AllOf(SizeIs(17), ::testing::StartsWith("00-15-5D-"),
                    ::testing::Not(::testing::Contains(
                        ::testing::AllOf(::testing::Ge('a'), ::testing::Le('z'))))));
  EXPECT_EQ(network["Health"].contains("Extra"), true);
  EXPECT_EQ(network["MacPool"]["Ranges"].size(), 1u);
}

TEST_P(HnsApiContract, ZeroesAreLeftOut) {
  const Json network = Network(MustCreate(Overlay()));
  EXPECT_FALSE(network["Ipams"][0].contains("Type"));  // Static is 0
  const Json nat = Network(MustCreate({{"Name", "nat"}, {"Type", "NAT"}}));
  EXPECT_FALSE(nat.contains("Type"));  // NAT is 0
  EXPECT_FALSE(nat.contains("Flags"));
  EXPECT_FALSE(nat.contains("Ipams"));
  EXPECT_FALSE(nat.contains("Policies"));
}

TEST_P(HnsApiContract, KeysAreReadInAnyCaseAndWordsAsNumbers) {
  const Json document = Json::parse(
      R"({"name":"n","TYPE":5,"ipams":[{"Type":0,"subnets":[{"ipaddressprefix":"10.1.0.0/24",)"
      R"("policies":[{"type":"VSID","settings":{"isolationid":5000}}],)"
      R"("routes":[{"nexthop":"10.1.0.1","destinationprefix":"0.0.0.0/0"}]}]}]})");
  const Json network = Network(MustCreate(document));
  EXPECT_EQ(network["Type"], "Overlay");
  EXPECT_EQ(network["Ipams"][0]["Subnets"][0]["IpAddressPrefix"], "10.1.0.0/24");
}

TEST_P(HnsApiContract, QueryWithoutSchema2AnswersInV1) {
  const Handle network = MustCreate(Overlay());
  const std::string id = Network(network)["ID"];
  for (const char* query : {"", "{}", R"({"SchemaVersion":{"Major":1,"Minor":0}})"}) {
    const Json v1 = Read(Kind::kNetwork, network, query);
    EXPECT_EQ(v1["ID"], Guid::Parse(id)->ToUpperString()) << query;
    EXPECT_EQ(v1["ManagementIP"], "192.168.1.10") << query;
    EXPECT_EQ(v1["Subnets"][0]["AddressPrefix"], "10.244.3.0/24") << query;
    EXPECT_FALSE(v1.contains("Ipams")) << query;
  }
}

TEST_P(HnsApiContract, QueryTakesAFilterAndIgnoresIt) {
  const Handle network = MustCreate(Overlay());
  EXPECT_EQ(Read(Kind::kNetwork, network, Filter({{"Name", "another"}})), Network(network));
}

TEST_P(HnsApiContract, PrivateNetworkIsNotPersistent) {
  EXPECT_EQ(Network(MustCreate({{"Name", "p"}, {"Type", "Private"}}))["Flags"], 8);
}

TEST_P(HnsApiContract, ProviderAddressPolicyChoosesTheAdapter) {
  rig->host.Add({"Ethernet 2", {*IpAddress::Parse("10.9.9.9")}, true});
  Json document = Overlay();
  document["Policies"] =
      Json::array({{{"Type", "ProviderAddress"}, {"Settings", {{"ProviderAddress", "10.9.9.9"}}}}});
  EXPECT_THAT(SettingsOf(MustCreate(document), "ProviderAddress"), SizeIs(1));
  EXPECT_TRUE(rig->host.HasSwitch("Ethernet 2"));
  EXPECT_FALSE(rig->host.HasSwitch("Ethernet"));
}

TEST_P(HnsApiContract, WithoutAnAdapterHnsChoosesTheDefault) {
  Json document = Overlay();
  document.erase("Policies");
  const Handle network = MustCreate(document);
  EXPECT_TRUE(rig->host.HasSwitch("Ethernet"));
  EXPECT_THAT(SettingsOf(network, "NetAdapterName"), IsEmpty());
  EXPECT_THAT(SettingsOf(network, "ProviderAddress"), SizeIs(1));
}

// --- enumerating and filters

TEST_P(HnsApiContract, NothingFoundIsAnEmptyArrayAndNoError) {
  for (const Kind kind : {Kind::kNetwork, Kind::kEndpoint, Kind::kNamespace, Kind::kLoadBalancer}) {
    const Reply reply = api().Enumerate(kind, kV2);
    EXPECT_EQ(reply.code, hns::hresult::kOk);
    EXPECT_EQ(reply.text, "[]");
    EXPECT_EQ(reply.error_record, "");  // hcsshim treats one as a failure with any code
  }
}

TEST_P(HnsApiContract, EnumerateAnswersIdsInLowerCase) {
  const Handle network = MustCreate(Overlay());
  for (const char* query : {"", "{}", kV2}) {
    EXPECT_THAT(Enumerate(Kind::kNetwork, query), ElementsAre(IdOf(Kind::kNetwork, network)));
  }
}

TEST_P(HnsApiContract, FilterComparesV1Properties) {
  const Handle a = MustCreate(Overlay("a"));
  MustCreate(Bridge("b"));
  const std::string id = IdOf(Kind::kNetwork, a);
  const std::string upper = Guid::Parse(id)->ToUpperString();
  const auto find = [&](const Json& filter) { return Enumerate(Kind::kNetwork, Filter(filter)); };
  EXPECT_THAT(find({{"Name", "a"}}), ElementsAre(id));
  EXPECT_THAT(find({{"Name", "A"}}), IsEmpty());
  EXPECT_THAT(find({{"ID", id}}), ElementsAre(id));
  EXPECT_THAT(find({{"ID", upper}}), ElementsAre(id));
  EXPECT_THAT(find({{"Type", "Overlay"}}), ElementsAre(id));
  EXPECT_THAT(find({{"Flags", 8}, {"Name", "a"}}), ElementsAre(id));
  EXPECT_THAT(find({{"Name", "c"}}), IsEmpty());
  EXPECT_THAT(find({{"Name", 5}}), IsEmpty());
  EXPECT_THAT(find({{"Flags", "8"}}), IsEmpty());
  EXPECT_THAT(find({{"ID", "55fedb88-4b11-4da4-8cd1-59970718a804"}}), IsEmpty());
  EXPECT_THAT(find(Json::object()), SizeIs(2));
}

TEST_P(HnsApiContract, FilterFindsEndpointsByNetworkAndName) {
  const Handle a = MustCreate(Overlay("a"));
  const Handle b = MustCreate(Overlay("b"));
  const std::string pod = IdOf(Kind::kEndpoint, MustCreateEndpoint(a, Pod("10.244.3.5")));
  MustCreateEndpoint(b, Pod("10.244.3.6"));
  const auto find = [&](const Json& filter) { return Enumerate(Kind::kEndpoint, Filter(filter)); };
  EXPECT_THAT(find({{"VirtualNetwork", IdOf(Kind::kNetwork, a)}}), ElementsAre(pod));
  EXPECT_THAT(find({{"VirtualNetworkName", "a"}}), ElementsAre(pod));
  EXPECT_THAT(find({{"Name", "pod-10.244.3.5"}}), ElementsAre(pod));
}

TEST_P(HnsApiContract, UnknownFilterFieldMatchesNothingOrIsIgnored) {
  MustCreate(Overlay());
  EXPECT_THAT(Enumerate(Kind::kNetwork, Filter({{"Colour", "red"}})), IsEmpty());
  Switch([](auto& s) { s.unknown_filter = hns::emulator::UnknownFilter::kIgnored; });
  EXPECT_THAT(Enumerate(Kind::kNetwork, Filter({{"Colour", "red"}})), SizeIs(1));
}

// --- policies

TEST_P(HnsApiContract, PoliciesKeepOrderAndText) {
  const Handle network = MustCreate(Overlay());
  EXPECT_EQ(Modify(network, "Add", {{{"Type", "HostRoute"}, {"Settings", Json::object()}}}), 0u);
  EXPECT_EQ(Modify(network, "Add", {Route(1)}), 0u);
  EXPECT_EQ(Modify(network, "Add", {Route(2), Route(3)}), 0u);
  EXPECT_THAT(SettingsOf(network, "HostRoute"), ElementsAre(Json::object()));
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"),
              ElementsAre(Route(1)["Settings"], Route(2)["Settings"], Route(3)["Settings"]));
}

TEST_P(HnsApiContract, OnlyAnExactMatchIsRemoved) {
  const Handle network = MustCreate(Overlay());
  Modify(network, "Add", {Route(1), Route(2)});
  Json spelled = Route(1);
  spelled["Settings"]["DistributedRouterMacAddress"] = "0E-2A-0A-F4-01-00";
  EXPECT_EQ(Modify(network, "Remove", {spelled}), hns::hresult::kPolicyNotFound);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), SizeIs(2));
  EXPECT_EQ(Modify(network, "Remove", {Route(1)}), 0u);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), ElementsAre(Route(2)["Settings"]));
}

TEST_P(HnsApiContract, UpdateReplacesPoliciesOfTheType) {
  const Handle network = MustCreate(Overlay());
  Modify(network, "Add", {Route(1), Route(2)});
  EXPECT_EQ(Modify(network, "Update", {Route(3)}), 0u);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), ElementsAre(Route(3)["Settings"]));
  Json wrong = Route(4);
  wrong["Settings"]["DestinationPrefix"] = "nowhere";
  EXPECT_EQ(Modify(network, "Update", {wrong}), hns::hresult::kInvalidPolicy);
  EXPECT_THAT(SettingsOf(network, "RemoteSubnetRoute"), ElementsAre(Route(3)["Settings"]));
}

TEST_P(HnsApiContract, DnsAndSubnetsOfANetworkChange) {
  const Handle network = MustCreate(Overlay());
  const auto change = [&](const char* resource, const char* request, const Json& settings) {
    const Json document = {
        {"ResourceType", resource}, {"RequestType", request}, {"Settings", settings}};
    return api().Modify(Kind::kNetwork, network, document.dump()).code;
  };
  const Json dns = {{"ServerList", Json::array({"10.96.0.10"})}};
  EXPECT_EQ(change("DNS", "Add", dns), 0u);
  EXPECT_EQ(change("DNS", "Add", "10.96.0.10"), hns::hresult::kInvalidArgument);
  EXPECT_EQ(Network(network)["Dns"], dns);
  EXPECT_EQ(change("DNS", "Remove", Json::object()), 0u);
  EXPECT_EQ(Network(network)["Dns"], Json::object());

  const Json more = Overlay("x", "10.245.0.0/24", "10.245.0.1")["Ipams"][0];
  const auto subnets = [&] { return Network(network)["Ipams"][0]["Subnets"].size(); };
  EXPECT_EQ(change("Subnet", "Remove", more), hns::hresult::kInvalidSubnet);
  EXPECT_EQ(change("Subnet", "Add", Json::object()), hns::hresult::kInvalidSubnet);
  EXPECT_EQ(change("Subnet", "Add", {{"Type", "Other"}}), hns::hresult::kInvalidSubnet);
  EXPECT_EQ(change("Subnet", "Update", more), hns::hresult::kRequestUnsupported);
  EXPECT_EQ(change("Subnet", "Add", more), 0u);
  EXPECT_EQ(change("Subnet", "Add", more), hns::hresult::kInvalidSubnet);
  EXPECT_EQ(subnets(), 2u);
  EXPECT_EQ(change("Subnet", "Remove", more), 0u);
  EXPECT_EQ(subnets(), 1u);
  Switch([](auto& s) { s.version = {10, 5}; });
  EXPECT_EQ(change("Subnet", "Add", more), hns::hresult::kRequestUnsupported);
}

TEST_P(HnsApiContract, EndpointPoliciesAreKeptTwiceOfOneType) {
  const Handle network = MustCreate(Bridge());
  Json pod = Pod("10.244.3.5");
  pod["Policies"] = Json::parse(
      R"([{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.96.0.0/12"]}},)"
      R"({"Type":"PortMapping","Settings":{"InternalPort":80,"ExternalPort":8080,"Protocol":6,)"
      R"("VIP":""}},{"Type":"OutBoundNAT","Settings":{"Destinations":["10.244.3.5"]}}])");
  EXPECT_EQ(Read(Kind::kEndpoint, MustCreateEndpoint(network, pod))["Policies"], pod["Policies"]);
}

// --- endpoints

TEST_P(HnsApiContract, EndpointShowsWhatWasSent) {
  const Handle network = MustCreate(Overlay());
  Json pod = Pod("10.244.3.5");
  pod["MacAddress"] = "0E-2A-0a-f4-03-05";
  pod["Routes"] = Json::array({{{"NextHop", "10.244.3.1"}, {"DestinationPrefix", "0.0.0.0/0"}}});
  const Json endpoint = Read(Kind::kEndpoint, MustCreateEndpoint(network, pod));
  EXPECT_EQ(endpoint["HostComputeNetwork"], IdOf(Kind::kNetwork, network));
  EXPECT_EQ(endpoint["MacAddress"], "0E-2A-0a-f4-03-05");
  EXPECT_EQ(endpoint["IpConfigurations"], pod["IpConfigurations"]);
  EXPECT_EQ(endpoint["Routes"], pod["Routes"]);
  EXPECT_FALSE(endpoint.contains("Flags"));
  EXPECT_FALSE(endpoint.contains("HostComputeNamespace"));
}

TEST_P(HnsApiContract, EndpointGetsAddressPrefixLengthAndMacWhereNoneAreSent) {
  const Handle network = MustCreate(Overlay());
  const Json chosen = Read(Kind::kEndpoint, MustCreateEndpoint(network, {{"Name", "a"}}));
  EXPECT_EQ(chosen["IpConfigurations"][0]["IpAddress"], "10.244.3.2");
  EXPECT_THAT(chosen["MacAddress"].get<std::string>(), ::testing::StartsWith("00-15-5D-"));
  Json sent = Pod("10.244.3.9");
  sent["IpConfigurations"][0].erase("PrefixLength");  // as win-bridge does
  const Json filled = Read(Kind::kEndpoint, MustCreateEndpoint(network, sent));
  EXPECT_EQ(filled["IpConfigurations"][0]["PrefixLength"], 24);
}

TEST_P(HnsApiContract, NoAddressIsChosenWhereNoneIsFree) {
  const auto chosen = [&](Handle network, std::uint32_t flags) {
    const Json endpoint =
        Read(Kind::kEndpoint, MustCreateEndpoint(network, {{"Name", "a"}, {"Flags", flags}}));
    return endpoint.value("IpConfigurations", Json());
  };
  const Handle full = MustCreate(Overlay("n", "fd00::/127", "fd00::1"));
  EXPECT_EQ(chosen(full, 1), Json()) << "a remote endpoint";
  EXPECT_EQ(chosen(full, 0)[0]["IpAddress"], "fd00::");
  EXPECT_EQ(chosen(full, 0), Json());
  EXPECT_EQ(chosen(MustCreate({{"Name", "nat"}, {"Type", "NAT"}}), 0), Json()) << "no subnet";
}

TEST_P(HnsApiContract, V1ShowsTheFirstAddressOfAFamily) {
  Json pod = Pod("10.244.3.5");
  pod["IpConfigurations"].push_back({{"IpAddress", "10.244.3.6"}, {"PrefixLength", 24}});
  MustCreateEndpoint(MustCreate(Overlay()), pod);
  EXPECT_EQ(V1("GET", "/endpoints/")[0]["IPAddress"], "10.244.3.5");
}

TEST_P(HnsApiContract, RemoteEndpointMayBeAnywhere) {
  const Handle network = MustCreate(Overlay());
  const Json remote = Json::parse(
      R"({"Policies":[{"Type":"ProviderAddress","Settings":{"ProviderAddress":"10.99.0.12"}}],)"
      R"("IpConfigurations":[{"IpAddress":"10.244.2.5"}],"MacAddress":"02-11-0a-f4-02-05",)"
      R"("Flags":1})");
  const Json endpoint = Read(Kind::kEndpoint, MustCreateEndpoint(network, remote));
  EXPECT_EQ(endpoint["Flags"], 1);
  EXPECT_EQ(endpoint["Policies"], remote["Policies"]);
}

TEST_P(HnsApiContract, DeletingANetworkTakesItsEndpointsOrIsRefused) {
  const Handle network = MustCreate(Overlay());
  MustCreateEndpoint(network, Pod("10.244.3.5"));
  const Guid id = *Guid::Parse(IdOf(Kind::kNetwork, network));
  Switch([](auto& s) { s.endpoints_hold_network = true; });
  EXPECT_EQ(api().Delete(Kind::kNetwork, id).code, hns::hresult::kEntityHasReferences);
  const std::string empty = IdOf(Kind::kNetwork, MustCreate(Overlay("empty")));
  EXPECT_EQ(api().Delete(Kind::kNetwork, *Guid::Parse(empty)).code, 0u);
  EXPECT_THAT(Enumerate(Kind::kEndpoint), SizeIs(1));
  Switch([](auto& s) { s.endpoints_hold_network = false; });
  EXPECT_EQ(api().Delete(Kind::kNetwork, id).code, 0u);
  EXPECT_THAT(Enumerate(Kind::kNetwork), IsEmpty());
  EXPECT_THAT(Enumerate(Kind::kEndpoint), IsEmpty());
}

// --- namespaces

TEST_P(HnsApiContract, EndpointIsInOneNamespace) {
  const auto make = [&] {
    const Reply reply = api().Create(Kind::kNamespace, Handle::kNone, Guid(), R"({"Type":"Host"})");
    EXPECT_EQ(reply.code, 0u) << reply.error_record;
    return reply.handle;
  };
  const Handle pod = MustCreateEndpoint(MustCreate(Overlay()), Pod("10.244.3.5"));
  const Handle space = make(), other = make();
  const auto change = [&](Handle where, const char* request) {
    const Json document = {{"ResourceType", "Endpoint"},
                           {"RequestType", request},
                           {"Settings", {{"EndpointId", IdOf(Kind::kEndpoint, pod)}}}};
    return api().Modify(Kind::kNamespace, where, document.dump()).code;
  };
  EXPECT_FALSE(Read(Kind::kNamespace, space).contains("Type"));  // Host is 0
  EXPECT_EQ(change(space, "Remove"), 0x803B0034u);
  EXPECT_EQ(change(space, "Add"), 0u);
  EXPECT_EQ(change(other, "Add"), hns::hresult::kEndpointNamespaceAlreadyExists);
  EXPECT_EQ(change(other, "Remove"), 0x803B0034u);
  EXPECT_THAT(rig->host.endpoints(), IsEmpty());
  EXPECT_EQ(Read(Kind::kEndpoint, pod)["HostComputeNamespace"], IdOf(Kind::kNamespace, space));
  EXPECT_EQ(Read(Kind::kNamespace, space)["Resources"][0],
            (Json{{"Type", "Endpoint"}, {"Data", {{"Id", IdOf(Kind::kEndpoint, pod)}}}}));
  EXPECT_EQ(change(space, "Remove"), 0u);
  EXPECT_EQ(change(other, "Add"), 0u);
}

TEST_P(HnsApiContract, EndpointInTheHostsNamespaceIsAnInterfaceOfTheHost) {
  const Handle pod = MustCreateEndpoint(MustCreate(Overlay()), Pod("10.244.3.5"));
  const Reply space =
      api().Create(Kind::kNamespace, Handle::kNone, Guid(), R"({"Type":"HostDefault"})");
  const Json add = {{"ResourceType", "Endpoint"},
                    {"RequestType", "Add"},
                    {"Settings", {{"EndpointId", IdOf(Kind::kEndpoint, pod)}}}};
  EXPECT_EQ(api().Modify(Kind::kNamespace, space.handle, add.dump()).code, 0u);
  EXPECT_THAT(rig->host.endpoints(), SizeIs(1));
}

// --- load balancers

TEST_P(HnsApiContract, LoadBalancerIsShownAndDeleted) {
  const Handle pod = MustCreateEndpoint(MustCreate(Overlay()), Pod("10.244.3.5"));
  Json document =
      Json::parse(R"({"SourceVIP":"10.244.3.200","FrontendVIPs":["10.96.0.77"],"PortMappings":)"
                  R"([{"Protocol":6,"InternalPort":8080,"ExternalPort":80}],)"
                  R"("SchemaVersion":{"Major":2,"Minor":0}})");
  document["HostComputeEndpoints"] = Json::array({IdOf(Kind::kEndpoint, pod)});
  const Reply made = api().Create(Kind::kLoadBalancer, Handle::kNone, Guid(), document.dump());
  ASSERT_EQ(made.code, 0u) << made.error_record;
  Json shown = Read(Kind::kLoadBalancer, made.handle);
  const std::string id = shown["ID"];
  shown.erase("ID");
  EXPECT_EQ(shown, document);
  EXPECT_THAT(Enumerate(Kind::kLoadBalancer), ElementsAre(id));
  EXPECT_EQ(api().Delete(Kind::kLoadBalancer, *Guid::Parse(id)).code, 0u);
  EXPECT_THAT(Enumerate(Kind::kLoadBalancer), IsEmpty());
}

// --- handles

TEST_P(HnsApiContract, HandlesAreCountedUntilTheyAreClosed) {
  const std::size_t before = emulator.open_handles();
  const Handle made = MustCreate(Overlay());
  const Guid id = *Guid::Parse(IdOf(Kind::kNetwork, made));
  const Handle opened = api().Open(Kind::kNetwork, id).handle;
  EXPECT_NE(made, opened);
  EXPECT_EQ(emulator.open_handles(), before + 2);
  EXPECT_EQ(api().Close(Kind::kNetwork, made), 0u);
  EXPECT_EQ(api().Close(Kind::kNetwork, opened), 0u);
  EXPECT_EQ(emulator.open_handles(), before);
  EXPECT_EQ(emulator.handle_misuses(), 0u);
}

TEST_P(HnsApiContract, HandleUsedAfterCloseIsRefusedAndSeen) {
  const Handle network = MustCreate(Overlay());
  EXPECT_EQ(api().Close(Kind::kNetwork, network), 0u);
  for (const Kind kind : {Kind::kNetwork, Kind::kEndpoint, Kind::kNamespace, Kind::kLoadBalancer})
    EXPECT_EQ(api().Query(kind, network, kV2).code, hns::hresult::kInvalidHandle);
  EXPECT_EQ(api().Close(Kind::kNetwork, network), hns::hresult::kInvalidHandle);
  EXPECT_EQ(emulator.handle_misuses(), 5u);
}

TEST_P(HnsApiContract, HandleOfAnotherKindIsRefusedAndSeen) {
  const Handle network = MustCreate(Overlay());
  EXPECT_EQ(api().Query(Kind::kEndpoint, network, kV2).code, hns::hresult::kInvalidHandle);
  EXPECT_EQ(emulator.handle_misuses(), 1u);
}

TEST_P(HnsApiContract, HandleOfADeletedObjectFindsNothing) {
  const Handle network = MustCreate(Overlay());
  EXPECT_EQ(api().Delete(Kind::kNetwork, *Guid::Parse(IdOf(Kind::kNetwork, network))).code, 0u);
  EXPECT_EQ(api().Query(Kind::kNetwork, network, kV2).code, hns::hresult::kNetworkNotFound);
  EXPECT_EQ(Creating(Kind::kEndpoint, network, Pod("10.244.3.5")), hns::hresult::kNetworkNotFound);
  EXPECT_EQ(api().Close(Kind::kNetwork, network), 0u);
}

}  // namespace weft::testing
