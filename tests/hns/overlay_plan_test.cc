// SPDX-License-Identifier: Apache-2.0
#include "hns/overlay_plan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hns/base_network.h"
#include "tests/hns/overlay_makers.h"

namespace weft::hns {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Version k2019{9, 5}, k2022{13, 3};

Network ExistingNetwork(const OverlaySpec& spec) {
  Network network = OverlayNetwork(spec);
  network.id = *Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804");
  network.policies.push_back({"ProviderAddress", R"({"ProviderAddress":"192.168.1.10"})"});
  network.policies.push_back({"DrMacAddress", R"({"Address":"00-15-5D-C2-00-BF"})"});
  return network;
}

Endpoint Pod(const Network& network, std::string_view name, std::string_view address) {
  Endpoint endpoint;
  endpoint.name = name;
  endpoint.network = network.id;
  endpoint.ip_configurations = {{Ip(address), 24}};
  return endpoint;
}

// The text is that of a trace of upstream v0.28.9.
TEST(OverlayPlanTest, TheDocumentIsUpstreams) {
  EXPECT_EQ(
      NetworkJson(OverlayNetwork(Spec())),
      R"({"Name":"flannel.4096","Type":"Overlay","Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"Ethernet"}}],"MacPool":{},"Dns":{},"Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"10.244.3.0/24","Policies":[{"Type":"VSID","Settings":{"IsolationId":4096}}],"Routes":[{"NextHop":"10.244.3.1","DestinationPrefix":"0.0.0.0/0"}]}]}],"Flags":8,"Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}})");
}

TEST(OverlayPlanTest, HnsReceivesTheAdapterBelowItsOwn) {
  const struct {
    const char *shown, *physical;
  } rows[] = {
      {"Ethernet", "Ethernet"},
      {"vEthernet (Ethernet)", "Ethernet"},
      {"vEthernet (Intel(R) X710)", "Intel(R) X710"},
      {"vEthernet", "vEthernet"},
      {"vEthernet (Ethernet) 2", "vEthernet (Ethernet) 2"},
      {"Intel(R)", "Intel(R)"},
      {"", ""},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(PhysicalAdapter(row.shown), row.physical);
    OverlaySpec spec = Spec();
    spec.adapter = row.shown;
    EXPECT_EQ(OverlayNetwork(spec).adapter_name(), row.physical);
  }
}

// By name, by MAC, by the node's address, not at all; an ambiguous MAC leaves only the name.
TEST(OverlayPlanTest, TheNamesOfTheAdapterAreTriedInOrder) {
  const struct {
    const char* description;
    std::string name, by_mac, ambiguous;
    bool by_address;
    std::vector<std::string> ways;
  } rows[] = {
      {"by name alone", "Ethernet", "", "", false, {"Ethernet"}},
      {"HNS chooses", "", "", "", false, {""}},
      {"each way", "Host", "Ethernet", "", true, {"Host", "Ethernet", "192.168.1.10", ""}},
      {"both names are one",
       "vEthernet (Ethernet)",
       "Ethernet",
       "",
       true,
       {"Ethernet", "192.168.1.10", ""}},
      {"no name", "", "", "", true, {"192.168.1.10", ""}},
      {"ambiguous behind a name", "Team", "", "several", true, {"Team"}},
      {"ambiguous", "", "", "several", true, {}},
  };
  for (const auto& row : rows) {
    OverlaySpec spec = Spec();
    spec.adapter = row.name;
    spec.adapter_by_mac = row.by_mac;
    spec.ambiguous = row.ambiguous;
    spec.by_address = row.by_address;
    std::vector<std::string> ways;
    for (std::size_t way = 0; way < AdapterCandidates(spec).size(); ++way) {
      const Network document = OverlayNetwork(spec, way);
      const auto address = document.provider_address();
      ways.push_back(address ? address->ToString() : document.adapter_name());
      EXPECT_EQ(BaseNetwork(spec, way).policies, document.policies) << row.description;
    }
    EXPECT_EQ(ways, row.ways) << row.description;
  }
}

TEST(OverlayPlanTest, TheAdapterHasEitherName) {
  OverlaySpec spec = Spec();
  spec.adapter = "vEthernet (Team)";
  EXPECT_FALSE(IsAdapterOf(spec, ""));
  spec.adapter_by_mac = "NIC 1";
  for (const char* name : {"Team", "vEthernet (Team)", "NIC 1", "vEthernet (NIC 1)"})
    EXPECT_TRUE(IsAdapterOf(spec, name)) << name;
  EXPECT_FALSE(IsAdapterOf(spec, "NIC 2"));
}

// An existing one needs no adapter.
TEST(OverlayPlanTest, AnAmbiguousAdapterIsRefusedWhereANetworkIsToBeMade) {
  OverlaySpec spec = Spec();
  spec.adapter.clear();
  spec.ambiguous = "Team and NIC 1 have its MAC";
  spec.base_network = true;
  NetworkPlan plan = PlanNetwork(spec, k2022, {}, {});
  EXPECT_EQ(plan.action, NetworkAction::kRefuse);
  EXPECT_EQ(plan.reason, spec.ambiguous);
  EXPECT_FALSE(plan.base);
  Network network = OverlayNetwork(Spec());
  plan = PlanNetwork(spec, k2022, std::vector{network}, {});
  EXPECT_EQ(plan.action, NetworkAction::kAdopt);
  network.subnets[0].prefix = Cidr("10.244.9.0/24");
  plan = PlanNetwork(spec, k2022, std::vector{network}, {});
  EXPECT_EQ(plan.action, NetworkAction::kRefuse) << "and not deleted first";
  EXPECT_FALSE(plan.base);
}

TEST(OverlayPlanTest, AnotherPortIsAPolicyWhereHnsHasIt) {
  OverlaySpec spec = Spec();
  spec.port = 8472;
  NetworkPlan plan = PlanNetwork(spec, k2022, {}, {});
  EXPECT_EQ(plan.action, NetworkAction::kCreate);
  EXPECT_EQ(plan.document.vxlan_port(), 8472);

  plan = PlanNetwork(spec, k2019, {}, {});
  EXPECT_EQ(plan.action, NetworkAction::kRefuse);
  EXPECT_THAT(plan.reason, AllOf(HasSubstr("Backend.Port is 8472"), HasSubstr("HNS 9.5"),
                                 HasSubstr("set Backend.Port to 4789")));
}

TEST(OverlayPlanTest, AnHnsWithoutRemoteSubnetsIsRefused) {
  const NetworkPlan plan = PlanNetwork(Spec(), {9, 1}, {}, {});
  EXPECT_EQ(plan.action, NetworkAction::kRefuse);
  EXPECT_THAT(plan.reason, AllOf(HasSubstr("HNS 9.1"), HasSubstr("9.2 or later")));
}

TEST(OverlayPlanTest, ARightNetworkIsAdoptedWhoeverMadeIt) {
  const Network network = ExistingNetwork(Spec());
  Network of_v1 = network;  // another spelling, another adapter, other flags, more policies
  of_v1.type = "overlay";
  of_v1.flags = 0;
  of_v1.policies = {NetAdapterNamePolicy("Ethernet 2"), {"Strange", "{}"}};
  for (const Network& there : {network, of_v1}) {
    const NetworkPlan plan = PlanNetwork(Spec(), k2022, std::vector{there}, {});
    EXPECT_EQ(plan.action, NetworkAction::kAdopt);
    EXPECT_EQ(plan.existing->id, network.id);
    EXPECT_EQ(plan.base, std::nullopt);
  }
}

TEST(OverlayPlanTest, OtherNetworksAreNotInspected) {
  Network other = ExistingNetwork(Spec());
  other.name = "Flannel.4096";  // HNS's names have a case
  EXPECT_EQ(PlanNetwork(Spec(), k2022, std::vector{other}, {}).action, NetworkAction::kCreate);
}

TEST(OverlayPlanTest, OfSeveralTheRightOneIsTaken) {
  Network wrong = ExistingNetwork(Spec());
  wrong.id = Guid();
  wrong.type = "L2Bridge";
  const Network right = ExistingNetwork(Spec());
  const NetworkPlan plan = PlanNetwork(Spec(), k2022, std::vector{wrong, right}, {});
  EXPECT_EQ(plan.action, NetworkAction::kAdopt);
  EXPECT_EQ(plan.existing->id, right.id);
}

// No public program reads VSID and VxlanPort back from schema 2, so HNS may not show them.
TEST(OverlayPlanTest, ValuesThatHnsDoesNotShowAreNoDifferenceAndAreNamed) {
  OverlaySpec spec = Spec();
  spec.port = 8472;
  Network there = ExistingNetwork(spec);
  EXPECT_EQ(Assumed(spec, there), "");
  EXPECT_EQ(Assumed(Spec(), ExistingNetwork(Spec())), "") << "the usual port";
  there.policies.clear();
  EXPECT_THAT(Differences(spec, there), IsEmpty());
  EXPECT_THAT(Assumed(spec, there),
              AllOf(HasSubstr("flannel.4096"), HasSubstr("the UDP port 8472: assumed")));
  there.subnets[0].isolation_id.reset();
  EXPECT_THAT(Differences(spec, there), IsEmpty());
  EXPECT_THAT(Assumed(spec, there), HasSubstr("the VSID 4096 and the UDP port 8472: assumed"));
  EXPECT_EQ(PlanNetwork(spec, k2022, std::vector{there}, {}).action, NetworkAction::kAdopt);
  // A route of the desired VSID decides, whatever the other routes have.
  RemoteSubnetRoute foreign = RouteTo("10.244.1.0/24");
  foreign.isolation_id = Vsid(5000);
  there.policies = {RemoteSubnetRoutePolicy(foreign),
                    RemoteSubnetRoutePolicy(RouteTo("10.244.2.0/24"))};
  EXPECT_THAT(Differences(spec, there), IsEmpty());
  EXPECT_THAT(Assumed(spec, there), AllOf(HasSubstr("the UDP port"), Not(HasSubstr("VSID"))));
  std::swap(there.policies[0], there.policies[1]);
  EXPECT_THAT(Differences(spec, there), IsEmpty());
  there.subnets.clear();
  EXPECT_THAT(Assumed(spec, there), HasSubstr("the VSID 4096"));
}

TEST(OverlayPlanTest, EachDifferenceOfANetwork) {
  const struct {
    const char* name;
    void (*change)(Network&);
    const char* difference;
  } rows[] = {
      {"type", [](Network& n) { n.type = "L2Bridge"; }, "type L2Bridge instead of Overlay"},
      {"no subnet", [](Network& n) { n.subnets.clear(); }, "subnet none instead of 10.244.3.0/24"},
      {"subnet", [](Network& n) { n.subnets[0].prefix = Cidr("10.244.4.0/24"); },
       "subnet 10.244.4.0/24 instead of 10.244.3.0/24"},
      {"VSID", [](Network& n) { n.subnets[0].isolation_id = 4097; }, "VSID 4097 instead of 4096"},
      {"VSID of its routes",
       [](Network& n) {
         n.subnets[0].isolation_id.reset();
         RemoteSubnetRoute route = RouteTo("10.244.1.0/24");
         route.isolation_id = Vsid(4097);
         n.policies.push_back(RemoteSubnetRoutePolicy(route));
       },
       "VSID 4097 instead of 4096"},
      {"port", [](Network& n) { n.policies.push_back(VxlanPortPolicy(8472)); },
       "UDP port 8472 instead of 4789"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Network there = ExistingNetwork(Spec());
    row.change(there);
    EXPECT_THAT(Differences(Spec(), there), ElementsAre(row.difference));

    // No pod of ours lives in it: it is replaced, and the reason is reported.
    const Endpoint dead = Pod(there, "old", "10.244.9.5");
    Endpoint remote = Pod(there, "remote", "10.244.3.7");
    remote.flags = kRemoteEndpoint;
    Endpoint elsewhere = Pod(there, "other", "10.244.3.8");
    elsewhere.network = Guid();
    NetworkPlan plan =
        PlanNetwork(Spec(), k2022, std::vector{there}, std::vector{dead, remote, elsewhere});
    EXPECT_EQ(plan.action, NetworkAction::kRecreate);
    EXPECT_THAT(plan.reason, HasSubstr(row.difference));
    EXPECT_EQ(NetworkJson(plan.document), NetworkJson(OverlayNetwork(Spec())));

    // A pod of ours lives in it: never.
    plan = PlanNetwork(Spec(), k2022, std::vector{there},
                       std::vector{dead, Pod(there, "pod1", "10.244.3.5")});
    EXPECT_EQ(plan.action, NetworkAction::kRefuse);
    EXPECT_THAT(plan.reason, AllOf(HasSubstr(row.difference), HasSubstr("1 endpoint "),
                                   HasSubstr("(pod1)"), HasSubstr("drain this node")));
  }
}

// kube-proxy's endpoint of its source VIP is no pod's: kube-proxy creates it again.
TEST(OverlayPlanTest, TheSourceVipIsNoPod) {
  Network there = ExistingNetwork(Spec());
  there.subnets[0].isolation_id = 5000;
  const auto action = [&](std::string_view name, Guid in_namespace) {
    Endpoint endpoint = Pod(there, name, "10.244.3.2");
    endpoint.compartment_namespace = in_namespace;
    return PlanNetwork(Spec(), k2022, std::vector{there}, std::vector{endpoint}).action;
  };
  const Guid pods = *Guid::Parse("66fedb88-4b11-4da4-8cd1-59970718a804");
  EXPECT_EQ(action("", Guid()), NetworkAction::kRecreate);
  EXPECT_EQ(action("Ethernet", Guid()), NetworkAction::kRecreate) << "as HNS's v1 view names it";
  EXPECT_EQ(action("", pods), NetworkAction::kRefuse);
  EXPECT_EQ(action("Ethernet", pods), NetworkAction::kRefuse);
  EXPECT_EQ(action("4f1c_flannel.4096", Guid()), NetworkAction::kRefuse) << "not attached yet";
}

TEST(OverlayPlanTest, ManyInhabitantsAreCounted) {
  Network there = ExistingNetwork(Spec());
  there.subnets[0].isolation_id = 5000;
  std::vector<Endpoint> pods;
  for (const char* address : {"10.244.3.5", "10.244.3.6", "10.244.3.7", "10.244.3.8"})
    pods.push_back(Pod(there, address, address));
  EXPECT_THAT(
      PlanNetwork(Spec(), k2022, std::vector{there}, pods).reason,
      AllOf(HasSubstr("4 endpoints"), HasSubstr("(10.244.3.5, 10.244.3.6, 10.244.3.7, ...)")));
}

TEST(OverlayPlanTest, ARefusalDoesNothingAtAll) {
  Network there = ExistingNetwork(Spec());
  there.type = "L2Bridge";
  OverlaySpec spec = Spec();
  spec.base_network = true;
  there.flags = kEnableNonPersistent;
  const NetworkPlan plan =
      PlanNetwork(spec, k2022, std::vector{there}, std::vector{Pod(there, "pod", "10.244.3.5")});
  EXPECT_EQ(plan.action, NetworkAction::kRefuse);
  EXPECT_EQ(plan.base, std::nullopt);
  EXPECT_THAT(plan.document.name, IsEmpty());
}

}  // namespace
}  // namespace weft::hns
