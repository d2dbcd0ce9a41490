// SPDX-License-Identifier: Apache-2.0
// Part of hns_api_contract.h: HNSCall, and that both views show the same objects.
#pragma once

namespace weft::testing {

TEST_P(HnsApiContract, VersionIsReturned) {
  EXPECT_EQ(api().Call("GET", "/globals/version", "").text,
            R"({"Success":true,"Output":{"Major":13,"Minor":3}})");
  Switch([](auto& s) { s.version = {9, 1}; });
  EXPECT_EQ(V1("GET", "/globals/version"), (Json{{"Major", 9}, {"Minor", 1}}));
}

TEST_P(HnsApiContract, V1ListsAreEmptyAtFirst) {
  for (const char* path :
       {"/networks/", "/networks", "/endpoints/", "/policylists/", "/namespaces/"}) {
    EXPECT_EQ(V1("GET", path), Json::array()) << path;
  }
}

TEST_P(HnsApiContract, NetworkMadeInV2ShowsInV1) {
  const Handle network = MustCreate(Overlay());
  Modify(network, "Add", {Route(1), {{"Type", "HostRoute"}, {"Settings", Json::object()}}});
  const Json v2 = Network(network);
  const Json v1 = V1("GET", "/networks/")[0];
  EXPECT_EQ(v1["ID"], Guid::Parse(v2["ID"].get<std::string>())->ToUpperString());
  EXPECT_EQ(v1["Name"], "flannel.4096");
  EXPECT_EQ(v1["Type"], "Overlay");
  EXPECT_EQ(v1["ManagementIP"], "192.168.1.10");
  EXPECT_EQ(v1["NetworkAdapterName"], "Ethernet");
  EXPECT_EQ(v1["DrMacAddress"], v2["Policies"][2]["Settings"]["Address"]);
  EXPECT_EQ(v1["Subnets"][0]["AddressPrefix"], "10.244.3.0/24");
  EXPECT_EQ(v1["Subnets"][0]["GatewayAddress"], "10.244.3.1");
  EXPECT_EQ(v1["Subnets"][0]["Flags"], 0);
  EXPECT_EQ(v1["Subnets"][0]["Policies"][0], (Json{{"Type", "VSID"}, {"VSID", 4096}}));
  EXPECT_EQ(v1["Version"], 55834574851u);  // 13.3, as a Server 2022 shows it
  Json flat = Route(1)["Settings"];
  flat["Type"] = "RemoteSubnetRoute";
  EXPECT_EQ(v1["Policies"], (Json::array({flat, {{"Type", "HostRoute"}}})));
  EXPECT_EQ(V1("GET", "/networks/" + v1["ID"].get<std::string>()), v1);
  EXPECT_EQ(V1("GET", "/networks/" + v2["ID"].get<std::string>()), v1);
}

TEST_P(HnsApiContract, NetworkMadeInV1ShowsInV2) {
  // As upstream's host-gw sends it.
  const Json request =
      Json::parse(R"({"Name":"cbr0","Type":"L2Bridge","Subnets":[{"AddressPrefix":"10.244.3.0/24",)"
                  R"("GatewayAddress":"10.244.3.1"}],"DNSServerList":"10.96.0.10,10.96.0.11"})");
  const Json made = V1("POST", "/networks/", request);
  EXPECT_EQ(made["ManagementIP"], "192.168.1.10");
  EXPECT_EQ(made["DNSServerList"], "10.96.0.10,10.96.0.11");
  const Json v2 =
      Network(api().Open(Kind::kNetwork, *Guid::Parse(made["ID"].get<std::string>())).handle);
  EXPECT_EQ(v2["Type"], "L2Bridge");
  EXPECT_EQ(v2["Ipams"][0]["Subnets"][0]["IpAddressPrefix"], "10.244.3.0/24");
  EXPECT_EQ(v2["Ipams"][0]["Subnets"][0]["Routes"][0]["NextHop"], "10.244.3.1");
  EXPECT_EQ(v2["Dns"]["ServerList"], (Json::array({"10.96.0.10", "10.96.0.11"})));
  EXPECT_EQ(V1("DELETE", "/networks/" + made["ID"].get<std::string>()), Json());
  EXPECT_THAT(Enumerate(Kind::kNetwork), IsEmpty());
}

TEST_P(HnsApiContract, V1OverlayCarriesVsidAndAdapter) {
  const Json request =
      Json::parse(R"({"Type":"Overlay","Name":"vxlan0","NetworkAdapterName":"Ethernet","Subnets":)"
                  R"([{"AddressPrefix":"10.244.3.0/24","GatewayAddress":"10.244.3.1",)"
                  R"("Policies":[{"Type":"VSID","VSID":4096}]}]})");
  const std::string id = V1("POST", "/networks/", request)["ID"];
  const Handle network = api().Open(Kind::kNetwork, *Guid::Parse(id)).handle;
  EXPECT_EQ(Network(network)["Ipams"][0]["Subnets"][0]["Policies"][0]["Settings"],
            (Json{{"IsolationId", 4096}}));
  EXPECT_THAT(SettingsOf(network, "DrMacAddress"), SizeIs(1));
}

TEST_P(HnsApiContract, HostGetsAnInterfaceByAttach) {
  // Upstream's host-gw: an endpoint at .2, attached to the host's compartment.
  const Json network =
      V1("POST", "/networks/",
         Json::parse(
             R"({"Name":"cbr0","Type":"L2Bridge",)"
             R"("Subnets":[{"AddressPrefix":"10.244.3.0/24","GatewayAddress":"10.244.3.1"}]})"));
  const Json made =
      V1("POST", "/endpoints/",
         {{"Name", "cbr0_ep"}, {"VirtualNetwork", network["ID"]}, {"IPAddress", "10.244.3.2"}});
  EXPECT_EQ(made["VirtualNetworkName"], "cbr0");
  EXPECT_EQ(made["State"], 1);
  const std::string path = "/endpoints/" + made["ID"].get<std::string>();
  const Json attach = {{"SystemType", "Host"}, {"CompartmentId", 1}};
  V1("POST", path + "/attach", attach);
  ASSERT_THAT(rig->host.endpoints(), SizeIs(1));
  EXPECT_EQ(rig->host.endpoints()[0].name, "cbr0_ep");
  EXPECT_EQ(rig->host.endpoints()[0].address.ToString(), "10.244.3.2");
  EXPECT_EQ(rig->host.endpoints()[0].prefix_length, 24);
  EXPECT_EQ(V1("GET", path)["State"], 2);
  EXPECT_EQ(api().Call("POST", path + "/attach", attach.dump()).code,
            hns::hresult::kEndpointAlreadyAttached);
  V1("POST", path + "/detach");
  EXPECT_THAT(rig->host.endpoints(), IsEmpty());
  V1("POST", path + "/attach", {{"SystemType", "Container"}});
  EXPECT_THAT(rig->host.endpoints(), IsEmpty());
  V1("POST", path + "/detach");
  V1("POST", path + "/attach", attach);
  V1("DELETE", path);
  EXPECT_THAT(rig->host.endpoints(), IsEmpty());
}

TEST_P(HnsApiContract, EndpointsHaveTheirPoliciesInEitherViewsWords) {
  const Handle network = MustCreate(Overlay());
  const std::string id = IdOf(Kind::kNetwork, network);
  const Json made =
      V1("POST", "/endpoints/",
         {{"Name", "r"},
          {"VirtualNetwork", id},
          {"IPAddress", "10.244.1.5"},
          {"MacAddress", "0E-2A-0a-f4-01-05"},
          {"IsRemoteEndpoint", true},
          {"Policies", Json::parse(R"([{"Type":"PA","PA":"192.168.1.11"},)"
                                   R"({"Type":"OutBoundNAT","ExceptionList":["10.96.0.0/12"]},)"
                                   R"({"Type":"EncapOverhead","Settings":{"Overhead":50}},)"
                                   R"({"Type":"ROUTE","NextHop":"10.244.1.1"}])")}});
  EXPECT_EQ(made["IsRemoteEndpoint"], true);
  EXPECT_EQ(made["Policies"][0], (Json{{"Type", "PA"}, {"PA", "192.168.1.11"}}));
  EXPECT_EQ(made["Policies"][3], (Json{{"Type", "ROUTE"}, {"NextHop", "10.244.1.1"}}));
  const Guid endpoint = *Guid::Parse(made["ID"].get<std::string>());
  const Json v2 = Read(Kind::kEndpoint, api().Open(Kind::kEndpoint, endpoint).handle);
  EXPECT_EQ(v2["Flags"], 1);
  EXPECT_EQ(
      v2["Policies"],
      Json::parse(R"([{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.168.1.11"}},)"
                  R"({"Type":"OutBoundNAT","Settings":{"Exceptions":["10.96.0.0/12"]}},)"
                  R"({"Type":"EncapOverhead","Settings":{"Overhead":50}},)"
                  R"({"Type":"SDNRoute","Settings":{"NextHop":"10.244.1.1"}}])"));
}

TEST_P(HnsApiContract, V1EndpointIsUpdatedByPost) {
  const Handle network = MustCreate(Overlay());
  MustCreateEndpoint(network, Pod("10.244.3.5"));
  const std::string id = V1("GET", "/endpoints/")[0]["ID"];
  const Json policies = Json::parse(R"([{"Type":"OutBoundNAT","ExceptionList":["10.0.0.0/8"]}])");
  EXPECT_EQ(V1("POST", "/endpoints/" + id, {{"Policies", policies}})["Policies"], policies);
  EXPECT_EQ(V1("GET", "/endpointstats/" + id)["EndpointId"], id);
}

TEST_P(HnsApiContract, LoadBalancersArePolicyListsInV1) {
  const std::string pod =
      Guid::Parse(
          IdOf(Kind::kEndpoint, MustCreateEndpoint(MustCreate(Overlay()), Pod("10.244.3.5"))))
          ->ToUpperString();
  const Json list = {
      {"References", Json::array({"/endpoints/" + pod})},
      {"Policies",
       Json::parse(R"([{"Type":"ELB","VIPs":["10.96.0.1"],)"
                   R"("Protocol":6,"InternalPort":80,"ExternalPort":80,"ILB":true}])")}};
  const Json made = V1("POST", "/policylists/", list);
  EXPECT_EQ(made["References"], list["References"]);
  EXPECT_EQ(made["Policies"][0]["VIPs"], (Json::array({"10.96.0.1"})));
  EXPECT_EQ(made["Policies"][0]["ILB"], true);
  EXPECT_THAT(Enumerate(Kind::kLoadBalancer), SizeIs(1));
  V1("DELETE", "/policylists/" + made["ID"].get<std::string>());
  EXPECT_EQ(V1("GET", "/policylists/"), Json::array());
}

TEST_P(HnsApiContract, NamespacesTakeEndpointsInV1) {
  const Handle pod = MustCreateEndpoint(MustCreate(Overlay()), Pod("10.244.3.5"));
  const std::string id = V1("POST", "/namespaces/", Json::object())["ID"];
  const Json resource = {{"Type", "Endpoint"}, {"Data", {{"Id", IdOf(Kind::kEndpoint, pod)}}}};
  EXPECT_EQ(V1("POST", "/namespaces/" + id + "/addresource", resource)["ResourceList"].size(), 1u);
  EXPECT_TRUE(Read(Kind::kEndpoint, pod).contains("HostComputeNamespace"));
  EXPECT_EQ(V1("POST", "/namespaces/" + id + "/removeresource", resource)["ResourceList"].size(),
            0u);
  V1("DELETE", "/namespaces/" + id);
  EXPECT_THAT(Enumerate(Kind::kNamespace), IsEmpty());
}

TEST_P(HnsApiContract, SwitchV1Failures) {
  using hns::emulator::V1Failures;
  const std::string missing = "55FEDB88-4B11-4DA4-8CD1-59970718A804";
  const auto both = [&] {
    return std::pair(api().Call("GET", "/endpoints/" + missing, ""),
                     api().Call("GET", "/networks/" + missing, ""));
  };
  const auto [endpoint, network] = both();
  EXPECT_EQ(endpoint.code, 0u);
  EXPECT_EQ(Json::parse(endpoint.text)["Error"], "The endpoint was not found. ");
  EXPECT_EQ(Json::parse(endpoint.text)["Success"], false);
  EXPECT_EQ(network.code, hns::hresult::kNetworkNotFound);
  Switch([](auto& s) { s.v1_failures = V1Failures::kHresult; });
  EXPECT_EQ(both().first.code, hns::hresult::kEndpointNotFound);
  Switch([](auto& s) { s.v1_failures = V1Failures::kText; });
  EXPECT_EQ(both().second.code, 0u);
  EXPECT_EQ(Json::parse(both().second.text)["ErrorCode"], 0x803B0001u);
  EXPECT_EQ(V1("GET", "/networks/"), Json::array());
}

TEST_P(HnsApiContract, UnknownPathsAndMethodsAreRefused) {
  const std::string id =
      V1("POST", "/networks/", Json::parse(R"({"Name":"n","Type":"NAT"})"))["ID"];
  for (const auto& [method, path] :
       std::vector<std::pair<std::string, std::string>>{{"GET", "/"},
                                                        {"GET", ""},
                                                        {"GET", "/accelnet"},
                                                        {"GET", "/globals/colour"},
                                                        {"PUT", "/networks/"},
                                                        {"PUT", "/networks/" + id},
                                                        {"GET", "/networks/" + id + "/x"},
                                                        {"GET", "/networks/x"},
                                                        {"DELETE", "/networks/x"},
                                                        {"DELETE", "/policylists/x"}}) {
    EXPECT_TRUE(hns::Failed(api().Call(method, path, "").code)) << method << " " << path;
  }
  EXPECT_EQ(api().Call("POST", "/networks/", "{").code, hns::hresult::kInvalidJson);
}

TEST_P(HnsApiContract, RequestsInV1AreChecked) {
  Switch([](auto& s) { s.v1_failures = hns::emulator::V1Failures::kHresult; });
  const Handle pod = MustCreateEndpoint(MustCreate(Overlay()), Pod("10.244.3.5"));
  const std::string pod_id = IdOf(Kind::kEndpoint, pod);
  const std::string endpoint = "/endpoints/" + pod_id;
  EXPECT_EQ(Creating(Kind::kLoadBalancer, Handle::kNone, Balancer()), 0u);
  const std::string list = "/policylists/" + Only(Kind::kLoadBalancer).ToString();
  const std::string id = V1("POST", "/namespaces/", Json::object())["ID"];
  const std::string space = "/namespaces/" + id;
  using namespace hns::hresult;
  struct Row {
    const char* method;
    std::string path;
    std::string body;
    hns::Hresult code;
  };
  const std::string named = R"({"Data":{"Id":")" + pod_id + R"("}})";
  const std::vector<Row> rows = {
      {"PUT", "/networks/", "", kRequestUnsupported},
      {"GET", "/networks/" + id, "", kNetworkNotFound},
      {"DELETE", "/networks/" + id, "", kElementNotFound},
      {"GET", "/globals", "", kElementNotFound},
      {"PUT", "/endpoints/", "", kRequestUnsupported},
      {"POST", "/endpoints/", R"({"VirtualNetwork":")" + pod_id + R"("})", kNetworkNotFound},
      {"PUT", endpoint, "", kRequestUnsupported},
      {"POST", endpoint, R"({"Policies":5})", kInvalidPolicy},
      {"POST", endpoint, R"({"Policies":["x"]})", kInvalidPolicy},
      {"POST", endpoint, R"({"Policies":[{"Type":"Wish"}]})", kInvalidPolicyType},
      {"POST", endpoint + "/detach", "", 0x803B0034},
      {"POST", endpoint + "/dance", "", kRequestUnsupported},
      {"GET", "/endpointstats/" + id, "", kEndpointNotFound},
      {"GET", "/endpointstats/", "", kEndpointNotFound},
      {"PUT", "/policylists/", "", kRequestUnsupported},
      {"PUT", list, "", kRequestUnsupported},
      {"GET", list + "/x", "", kElementNotFound},
      {"GET", "/policylists/" + id, "", kElementNotFound},
      {"POST", "/policylists/", R"({"Policies":[{"Type":"ACL"}]})", kInvalidPolicyType},
      {"PUT", "/namespaces/", "", kRequestUnsupported},
      {"PUT", space, "", kRequestUnsupported},
      {"GET", "/namespaces/" + pod_id, "", kElementNotFound},
      {"POST", space + "/addresource", R"({"Data":{"Id":"7"}})", 0x803B0019},
      {"POST", space + "/dance", named, kRequestUnsupported},
      {"GET", space + "/x/y", "", kElementNotFound}};
  for (const auto& [method, path, body, code] : rows) {
    EXPECT_EQ(api().Call(method, path, body).code, code) << method << " " << path << " " << body;
  }
  EXPECT_EQ(V1("GET", endpoint + "/attach")["State"], 1) << "only POST attaches";
}

TEST_P(HnsApiContract, SwitchManagementIpOfABridgeOnceTheHostIsOnIt) {
  Switch([](auto& s) { s.management_ip_after_attach = true; });  // 1803
  EXPECT_THAT(SettingsOf(MustCreate(Overlay()), "ProviderAddress"), SizeIs(1));
  const Json made =
      V1("POST", "/networks/",
         Json::parse(
             R"({"Name":"cbr0","Type":"L2Bridge",)"
             R"("Subnets":[{"AddressPrefix":"10.244.3.0/24","GatewayAddress":"10.244.3.1"}]})"));
  EXPECT_FALSE(made.contains("ManagementIP"));
  const std::string network = "/networks/" + made["ID"].get<std::string>();
  const Json endpoint =
      V1("POST", "/endpoints/", {{"VirtualNetwork", made["ID"]}, {"IPAddress", "10.244.3.2"}});
  EXPECT_FALSE(V1("GET", network).contains("ManagementIP"));
  V1("POST", "/endpoints/" + endpoint["ID"].get<std::string>() + "/attach",
     {{"SystemType", "Host"}, {"CompartmentId", 1}});
  EXPECT_EQ(V1("GET", network)["ManagementIP"], "192.168.1.10");
  EXPECT_THAT(SettingsOf(MustCreate(Bridge("b")), "ProviderAddress"), IsEmpty());
}

}  // namespace weft::testing
