// SPDX-License-Identifier: Apache-2.0
#include "control/underlay/interface_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/fake_host.h"
#include "tests/support/lease_makers.h"

namespace weft::underlay {
namespace {

using host::Adapter;
using host::Route;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::weft::testing::Address;
using ::weft::testing::Prefix;

Adapter AdapterWith(std::uint32_t index, std::string name, std::vector<std::string_view> addresses,
                    std::uint32_t mtu = 1500) {
  Adapter adapter{index, std::move(name), mtu, true, false, {}, {}};
  for (std::string_view address : addresses)
    adapter.addresses.push_back({Address(address), Address(address).is_v4() ? 24 : 64});
  return adapter;
}

Route DefaultVia(std::uint32_t adapter_index, std::uint32_t metric,
                 IpFamily family = IpFamily::kV4) {
  Route route;
  route.destination =
      *IpPrefix::From(family == IpFamily::kV4 ? Address("0.0.0.0") : Address("::"), 0);
  route.adapter_index = adapter_index;
  route.metric = metric;
  return route;
}

// Upstream's test host (9.1): one NIC with four addresses, and a second one.
class InterfaceChoiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    facts_.adapters = {AdapterWith(1, "lo", {"127.0.0.1", "::1"}, 65536),
                       AdapterWith(2, "dummy0",
                                   {"1.10.100.1", "192.168.200.128", "172.16.30.18",
                                    "172.16.31.200", "fe80::1", "fd00:1::18"}),
                       AdapterWith(3, "eth0", {"10.0.0.5"}, 9000)};
    facts_.routes_v4 = {DefaultVia(3, 100)};
    facts_.route_to = [this](const IpAddress& to) -> absl::StatusOr<Route> {
      requested_ = to;
      return reach_;
    };
  }

  InterfaceChoice Choose() {
    const absl::StatusOr<InterfaceChoice> choice = ChooseInterface(request_, facts_);
    EXPECT_TRUE(choice.ok()) << choice.status();
    return choice.value_or(InterfaceChoice());
  }
  std::string Error() {
    const absl::StatusOr<InterfaceChoice> choice = ChooseInterface(request_, facts_);
    EXPECT_FALSE(choice.ok()) << choice->name;
    return std::string(choice.status().message());
  }

  InterfaceRequest request_;
  HostFacts facts_;
  absl::StatusOr<Route> reach_ = absl::NotFoundError("no route");
  std::optional<IpAddress> requested_;
};

// ---- upstream's rows

TEST_F(InterfaceChoiceTest, RegexOnAnAddressGivesThatAddress) {
  request_.iface_regex = {"192\\.168\\.200\\.\\d+"};
  EXPECT_EQ(Choose().name, "dummy0");
  EXPECT_EQ(Choose().v4->address, Address("192.168.200.128"));
}

TEST_F(InterfaceChoiceTest, RegexOnTheNameGivesTheFirstAddress) {
  request_.iface_regex = {"^dum"};
  EXPECT_EQ(Choose().name, "dummy0");
  EXPECT_EQ(Choose().v4->address, Address("1.10.100.1"));
}

TEST_F(InterfaceChoiceTest, NameGivesTheFirstAddress) {
  request_.iface = {"dummy0"};
  EXPECT_EQ(Choose().v4->address, Address("1.10.100.1"));
}

TEST_F(InterfaceChoiceTest, AddressGivesThatAddress) {
  request_.iface = {"172.16.30.18"};
  EXPECT_EQ(Choose().name, "dummy0");
  EXPECT_EQ(Choose().v4->address, Address("172.16.30.18"));
  EXPECT_EQ(Choose().v4->public_ip, Address("172.16.30.18"));
}

TEST_F(InterfaceChoiceTest, PublicIpIsPublishedInsteadOfTheInterfaces) {
  request_.iface_regex = {"172\\.16\\.30\\.\\d+"};
  request_.public_ip = "172.16.31.200";
  EXPECT_EQ(Choose().v4->address, Address("172.16.30.18"));
  EXPECT_EQ(Choose().v4->public_ip, Address("172.16.31.200"));
}

// A script's variable is empty: --iface=$ADDRESS.
TEST_F(InterfaceChoiceTest, AnEmptyNameOrExpressionIsTheDefaultRoutes) {
  request_.iface = {""};
  EXPECT_EQ(Choose().name, "eth0");
  request_.iface = {"dummy0", ""};
  EXPECT_EQ(Choose().name, "dummy0") << "in order";
  request_.iface = {"gone0", ""};
  EXPECT_EQ(Choose().name, "eth0");
  request_.iface.clear();
  request_.iface_regex = {""};
  EXPECT_EQ(Choose().name, "eth0");
  facts_.routes_v4.clear();
  EXPECT_THAT(Error(), HasSubstr("--iface-regex=: this host has none"));
}

TEST_F(InterfaceChoiceTest, CanReachFollowsTheRoute) {
  reach_ = Route{};
  reach_->adapter_index = 2;
  reach_->source = Address("172.16.31.200");
  request_.iface_can_reach = "172.16.32.254";
  EXPECT_EQ(Choose().name, "dummy0");
  EXPECT_EQ(Choose().v4->address, Address("172.16.31.200"));
  EXPECT_EQ(requested_, Address("172.16.32.254"));
}

TEST_F(InterfaceChoiceTest, DualStackFindsTheV6AddressToo) {
  request_.require_v6 = true;
  request_.iface = {"172.16.30.18"};
  EXPECT_EQ(Choose().v4->address, Address("172.16.30.18"));
  EXPECT_EQ(Choose().v6->address, Address("fd00:1::18"));  // not the link-local one before it
}

TEST_F(InterfaceChoiceTest, TheDefaultRoutesAdapterIsFoundAgainByItsFirstAddress) {
  const InterfaceChoice by_route = Choose();
  ASSERT_TRUE(by_route.v4);
  request_.iface = {by_route.v4->address.ToString()};
  EXPECT_EQ(Choose(), by_route);
}

// ---- upstream v0.28.9, and where we do better

TEST_F(InterfaceChoiceTest, OfTwoDefaultRoutesTheLowestMetricCounts) {
  facts_.routes_v4 = {DefaultVia(3, 200), DefaultVia(2, 100)};
  EXPECT_EQ(Choose().name, "dummy0");
  facts_.routes_v4 = {DefaultVia(3, 100), DefaultVia(2, 100)};
  EXPECT_EQ(Choose().name, "eth0");  // the system's order
}

// 50 addresses, as kube-proxy of old put services' addresses on an adapter.
TEST_F(InterfaceChoiceTest, AnAddressOfTheNodeComesBeforeTheAdaptersFirst) {
  facts_.routes_v4 = {DefaultVia(4, 100)};
  facts_.adapters.push_back(AdapterWith(4, "Ethernet0 2", {}));
  for (int i = 0; i < 50; ++i)
    facts_.adapters.back().addresses.push_back({IpAddress::V4(0xC0A8'4700U + unsigned(i)), 24});
  EXPECT_EQ(Choose().v4->address, Address("192.168.71.0"));
  request_.node_ips = {Address("fd00::9"), Address("203.0.113.9"), Address("192.168.71.31")};
  EXPECT_EQ(Choose().v4->address, Address("192.168.71.31"));
  request_.iface = {"Ethernet0 2"};
  EXPECT_EQ(Choose().v4->address, Address("192.168.71.31"));
  request_.iface = {"192.168.71.7"};
  EXPECT_EQ(Choose().v4->address, Address("192.168.71.7")) << "as requested";
}

TEST_F(InterfaceChoiceTest, WithoutAFlagTheInternalIpComesBeforeMetrics) {
  facts_.routes_v4 = {DefaultVia(3, 1), DefaultVia(2, 100)};
  request_.node_ips = {Address("203.0.113.9"), Address("172.16.31.200")};
  EXPECT_EQ(Choose().v4->address, Address("172.16.31.200"));
  ChoiceReasons reasons;
  EXPECT_TRUE(ChooseInterface(request_, facts_, &reasons).ok());
  EXPECT_EQ(reasons.taken_by, "the Node's InternalIP 172.16.31.200");
  EXPECT_THAT(reasons.named, ::testing::ElementsAre(Address("172.16.31.200")));
  request_.iface = {"eth0"};
  EXPECT_EQ(Choose().name, "eth0") << "as requested";
  request_.iface.clear();
  request_.public_ip = "10.0.0.5";
  EXPECT_EQ(Choose().name, "eth0") << "as requested";
}

// A loopback's address that routers announce, a switch for containers, an address that is ending.
TEST_F(InterfaceChoiceTest, AnInternalIpThatCarriesNoTrafficOfTheNodeIsNoChoice) {
  facts_.adapters[1].addresses[3].deprecated = true;
  facts_.adapters[1].addresses.push_back({Address("169.254.7.1"), 16});
  facts_.adapters[0].loopback = true;
  for (const char* ip : {"127.0.0.1", "172.16.31.200", "169.254.7.1", "fd00:1::18"}) {
    request_.node_ips = {Address(ip)};
    EXPECT_EQ(Choose().name, "eth0") << ip;
  }
  facts_.adapters.push_back(AdapterWith(5, "", {"172.31.0.1"}));
  request_.node_ips = {Address("172.31.0.1")};
  for (const char* name :
       {"vEthernet (nat)", "vEthernet (Default Switch)", "vEthernet (HNS Internal NIC)"}) {
    facts_.adapters.back().name = name;
    request_.windows = false;
    EXPECT_EQ(Choose().name, name);
    request_.windows = true;
    EXPECT_EQ(Choose().name, "eth0") << name;
  }
}

// A bridge of pods, the host's own endpoint on one in HNS.
TEST_F(InterfaceChoiceTest, AnAddressOfPodsIsTakenOnlyWhereAFlagNamesIt) {
  request_.pod_subnets = {Prefix("10.77.4.0/24"), Prefix("fd77:0:0:4::/64")};
  facts_.adapters.push_back(AdapterWith(8, "vEthernet (net7_ep)", {"fe80::8", "10.77.4.2"}));
  request_.node_ips = {Address("10.77.4.2")};
  EXPECT_EQ(Choose().name, "eth0");
  request_.node_ips.clear();
  facts_.routes_v4.push_back(DefaultVia(8, 1));
  EXPECT_EQ(Choose().name, "eth0") << "whatever the metric";
  std::vector<host::AssignedAddress>& of_eth0 = facts_.adapters[2].addresses;
  of_eth0.insert(of_eth0.begin(), {Address("10.77.4.1"), 24});
  EXPECT_EQ(Choose().v4->address, Address("10.0.0.5")) << "on the same adapter, too";
  request_.node_ips = {Address("10.77.4.1")};
  EXPECT_EQ(Choose().v4->address, Address("10.0.0.5"));
  request_.node_ips.clear();
  request_.iface_regex = {"^10[.]77"};
  EXPECT_THAT(Error(), HasSubstr("--iface-regex=^10[.]77: matches neither"));
  request_.iface_regex.clear();
  request_.iface = {"vEthernet (net7_ep)"};
  EXPECT_THAT(Error(), HasSubstr("adapter vEthernet (net7_ep) has no IPv4 address for traffic "
                                 "between nodes: its address is in this node's podCIDR"));
  request_.iface = {"10.77.4.2"};
  EXPECT_EQ(Choose().v4->address, Address("10.77.4.2"));
  facts_.adapters.push_back(AdapterWith(9, "br6", {"fd77:0:0:4::1"}));
  request_.iface = {"br6"};
  EXPECT_THAT(Error(), HasSubstr("adapter br6 has no IPv4 address. Adapters here"));
}

// Another program puts the node's address, or a default route, on it.
TEST_F(InterfaceChoiceTest, OurOwnTunnelIsNoChoice) {
  facts_.adapters.insert(facts_.adapters.begin(), AdapterWith(7, "flannel.9", {"10.0.0.5"}));
  facts_.routes_v4.push_back(DefaultVia(7, 1));
  facts_.own_devices = {"flannel.9", "flannel-v6.9"};
  EXPECT_EQ(Choose().name, "eth0");
  request_.node_ips = {Address("10.0.0.5")};
  EXPECT_EQ(Choose().name, "eth0");
  request_.public_ip = "10.0.0.5";
  EXPECT_EQ(Choose().name, "eth0");
  request_ = InterfaceRequest();
  facts_.routes_v4.erase(facts_.routes_v4.begin());
  EXPECT_THAT(Error(), HasSubstr("none but that of flannel.9 (it is flanneld's own)"));
}

// Addresses of services on a dummy device, of keepalived on a second adapter, of BGP on a loopback.
TEST_F(InterfaceChoiceTest, OfSeveralOwnersOfAnAddressTheOneThatCarriesItIsTaken) {
  const struct {
    const char* twin;
    std::function<void(Adapter&)> set;
    const char* taken;
  } rows[] = {
      {"equal", [](Adapter&) {}, "twin"},
      {"down", [](Adapter& twin) { twin.up = false; }, "bond3"},
      {"alone in its prefix", [](Adapter& twin) { twin.addresses[0].prefix_length = 32; }, "bond3"},
      {"loopback", [](Adapter& twin) { twin.loopback = true; }, "bond3"},
  };
  facts_.adapters.push_back(AdapterWith(4, "twin", {"10.33.0.4"}));
  facts_.adapters.push_back(AdapterWith(9, "bond3", {"10.33.0.4"}));
  const Adapter twin = facts_.adapters[3];
  for (const auto& row : rows) {
    SCOPED_TRACE(row.twin);
    facts_.adapters[3] = twin;
    row.set(facts_.adapters[3]);
    request_ = InterfaceRequest();
    request_.node_ips = {Address("10.33.0.4")};
    EXPECT_EQ(Choose().name, row.taken);
    request_.iface = {"10.33.0.4"};
    EXPECT_EQ(Choose().name, row.taken);
  }
}

TEST_F(InterfaceChoiceTest, TheAddressIsThePublishedOneWhereTheAdapterHasIt) {
  facts_.adapters.push_back(
      AdapterWith(5, "ens7", {"10.66.0.1", "10.66.0.2", "fd66::1", "fd66::2"}));
  request_.require_v6 = true;
  request_.public_ip = "10.66.0.2";
  request_.public_ipv6 = "fd66::2";
  for (const bool by_name : {false, true}) {
    if (by_name) request_.iface = {"ens7"};
    ChoiceReasons reasons;
    const auto choice = ChooseInterface(request_, facts_, &reasons);
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_EQ(Text(*choice), "ens7, 10.66.0.2, fd66::2");
    EXPECT_THAT(reasons.named, ::testing::ElementsAre(Address("10.66.0.2"), Address("fd66::2")));
    request_.node_ips = {Address("fd66::1")};
  }
}

// A restart, while an address of keepalived is on the adapter, or two routes are equal.
TEST_F(InterfaceChoiceTest, WhatIsPublishedDecidesWhatIsOtherwiseEqualAlone) {
  facts_.routes_v4 = {DefaultVia(3, 100), DefaultVia(2, 100)};
  request_.published = {Address("172.16.31.200")};
  EXPECT_EQ(Choose().v4->address, Address("172.16.31.200"));
  request_.published.push_back(Address("10.0.0.5"));
  EXPECT_EQ(Choose().name, "eth0") << "the first, where both have one";
  request_.published.pop_back();
  facts_.routes_v4 = {DefaultVia(3, 99), DefaultVia(2, 100)};
  EXPECT_EQ(Choose().name, "eth0");
  request_.iface = {"dummy0"};
  EXPECT_EQ(Choose().v4->address, Address("172.16.31.200"));
  request_.iface.clear();
  request_.iface_regex = {"^1"};
  EXPECT_EQ(Choose().v4->address, Address("172.16.31.200"));
  request_.node_ips = {Address("172.16.30.18")};
  EXPECT_EQ(Choose().v4->address, Address("172.16.30.18"));
  request_ = InterfaceRequest();
  request_.published = {Address("203.0.113.9")};
  EXPECT_EQ(Choose().name, "eth0");
}

TEST_F(InterfaceChoiceTest, ADeprecatedAddressIsTakenWhereThereIsNoOther) {
  request_.iface = {"dummy0"};
  request_.node_ips = request_.published = {Address("1.10.100.1")};
  facts_.adapters[1].addresses[0].deprecated = true;
  EXPECT_EQ(Choose().v4->address, Address("192.168.200.128"));
  facts_.adapters[1].addresses.resize(1);
  EXPECT_EQ(Choose().v4->address, Address("1.10.100.1"));
}

TEST_F(InterfaceChoiceTest, OtherRoutesAreNoDefaultRoutes) {
  facts_.routes_v4 = {DefaultVia(3, 100)};
  facts_.routes_v4.push_back(DefaultVia(2, 0));
  facts_.routes_v4.back().destination = *IpPrefix::Parse("0.0.0.0/1");
  EXPECT_EQ(Choose().name, "eth0");
  facts_.routes_v4.push_back(DefaultVia(77, 0));  // of an adapter that is gone
  EXPECT_EQ(Choose().name, "eth0");
  facts_.routes_v4.push_back(DefaultVia(2, 0));
  facts_.routes_v4.back().kind = host::RouteKind::kUnreachable;
  EXPECT_EQ(Choose().name, "eth0");
}

TEST_F(InterfaceChoiceTest, TheDefaultRoutesPreferredSourceIsTheAddress) {
  facts_.routes_v4 = {DefaultVia(2, 0)};
  facts_.routes_v4[0].source = Address("172.16.31.200");
  EXPECT_EQ(Choose().v4->address, Address("172.16.31.200"));
}

TEST_F(InterfaceChoiceTest, V6AloneFollowsTheV6DefaultRoute) {
  request_.require_v4 = false;
  request_.require_v6 = true;
  facts_.routes_v6 = {DefaultVia(2, 0, IpFamily::kV6)};
  EXPECT_EQ(Choose().v4, std::nullopt);
  EXPECT_EQ(Choose().v6->address, Address("fd00:1::18"));
}

TEST_F(InterfaceChoiceTest, WithoutNameThePublicIpsOwnerIsChosen) {
  request_.public_ip = "172.16.30.18";
  EXPECT_EQ(Choose().name, "dummy0");
  EXPECT_EQ(Choose().v4->address, Address("172.16.30.18"));
}

TEST_F(InterfaceChoiceTest, WithoutNameAnUnknownPublicIpIsAnErrorThatNamesNat) {
  request_.public_ip = "203.0.113.7";
  EXPECT_THAT(Error(), AllOf(HasSubstr("203.0.113.7"), HasSubstr("no adapter has that address"),
                             HasSubstr("--iface")));
}

TEST_F(InterfaceChoiceTest, APublicIpv6AloneFindsItsOwner) {
  request_.require_v6 = true;
  request_.public_ipv6 = "fd00:1::18";
  EXPECT_EQ(Choose().name, "dummy0");
  EXPECT_EQ(Choose().v6->public_ip, Address("fd00:1::18"));
}

TEST_F(InterfaceChoiceTest, CandidatesAreTriedInOrder) {
  request_.iface = {"missing0", "eth0", "dummy0"};
  EXPECT_EQ(Choose().name, "eth0");
}

TEST_F(InterfaceChoiceTest, EveryIfaceComesBeforeAnyRegex) {
  request_.iface_regex = {"dummy"};
  request_.iface = {"eth0"};
  EXPECT_EQ(Choose().name, "eth0");
  request_.iface = {"missing0"};
  EXPECT_EQ(Choose().name, "dummy0");
}

// Addresses of every adapter before the name of any: "1" is in lo's address and in no name before
// it.
TEST_F(InterfaceChoiceTest, RegexMatchesAddressesBeforeNames) {
  facts_.adapters[1].name = "net-10.0.0.5";
  request_.iface_regex = {"10\\.0\\.0\\.5"};
  EXPECT_EQ(Choose().name, "eth0");
}

TEST_F(InterfaceChoiceTest, RegexIsUnanchored) {
  request_.iface_regex = {"th"};
  EXPECT_EQ(Choose().name, "eth0");
}

TEST_F(InterfaceChoiceTest, RegexMatchesNoAddressOfTheOtherFamily) {
  request_.iface_regex = {"^fd00"};
  EXPECT_THAT(Error(), HasSubstr("--iface-regex=^fd00: matches neither"));
}

TEST_F(InterfaceChoiceTest, NamesAreExact) {
  request_.iface = {"eth"};
  EXPECT_THAT(Error(), HasSubstr("--iface=eth: no adapter has that name"));
  facts_.adapters[2].name = "vEthernet (Ethernet)";
  request_.iface = {"vEthernet (Ethernet)"};
  EXPECT_EQ(Choose().v4->address, Address("10.0.0.5"));
}

TEST_F(InterfaceChoiceTest, AnAddressBeyondTheLinkIsPreferredToApipa) {
  facts_.adapters.push_back(AdapterWith(4, "eth1", {"169.254.10.1", "10.0.1.5"}));
  request_.iface = {"eth1"};
  EXPECT_EQ(Choose().v4->address, Address("10.0.1.5"));
  facts_.adapters.back().addresses.pop_back();
  EXPECT_EQ(Choose().v4->address, Address("169.254.10.1"));  // there is no other
}

// ---- on Windows

// 169.254/16 is what an adapter has while DHCP has not answered, or HNS makes its switch.
TEST_F(InterfaceChoiceTest, OnWindowsApipaIsNoAddressUnlessItIsNamed) {
  facts_.adapters = {AdapterWith(4, "Ethernet", {"169.254.10.1"}),
                     AdapterWith(5, "Ethernet 2", {"169.254.20.1", "10.0.1.5"})};
  facts_.routes_v4 = {DefaultVia(4, 1)};
  facts_.routes_v4[0].source = Address("169.254.10.1");
  reach_ = facts_.routes_v4[0];
  const struct {
    const char* description;
    std::function<void(InterfaceRequest&)> set;
    const char *windows, *elsewhere;  // the address; empty: none
  } rows[] = {
      {"default route", [](InterfaceRequest&) {}, "", "169.254.10.1"},
      {"name", [](InterfaceRequest& r) { r.iface = {"Ethernet"}; }, "", "169.254.10.1"},
      {"expression on a name", [](InterfaceRequest& r) { r.iface_regex = {"^Ethernet$"}; }, "",
       "169.254.10.1"},
      {"expression on an address", [](InterfaceRequest& r) { r.iface_regex = {"^1"}; }, "10.0.1.5",
       "169.254.10.1"},
      {"reach", [](InterfaceRequest& r) { r.iface_can_reach = "10.8.8.8"; }, "", "169.254.10.1"},
      {"next to another", [](InterfaceRequest& r) { r.iface = {"Ethernet 2"}; }, "10.0.1.5",
       "10.0.1.5"},
      {"address", [](InterfaceRequest& r) { r.iface = {"169.254.10.1"}; }, "169.254.10.1",
       "169.254.10.1"},
      {"public address", [](InterfaceRequest& r) { r.public_ip = "169.254.20.1"; }, "169.254.20.1",
       "169.254.20.1"},
  };
  for (const auto& row : rows) {
    for (const bool windows : {true, false}) {
      SCOPED_TRACE(row.description);
      request_ = InterfaceRequest();
      row.set(request_);
      request_.windows = windows;
      const std::string expected = windows ? row.windows : row.elsewhere;
      const auto choice = ChooseInterface(request_, facts_);
      EXPECT_EQ(choice.ok() ? choice->v4->address.ToString() : "", expected);
      if (!choice.ok())
        EXPECT_THAT(std::string(choice.status().message()),
                    HasSubstr("adapter Ethernet has no IPv4 address"));
    }
  }
  EXPECT_FALSE(IsUnset(Address("fe80::1"))) << "IPv6 has it besides another";
}

TEST_F(InterfaceChoiceTest, OnWindowsWirelessAdaptersAndInternalSwitchesMustBeNamed) {
  facts_.adapters = {AdapterWith(4, "Wi-Fi", {"10.0.1.4"}),
                     AdapterWith(5, "vEthernet (nat)", {"10.0.1.5"}),
                     AdapterWith(6, "vEthernet (WSL (Hyper-V firewall))", {"10.0.1.6"}),
                     AdapterWith(7, "vEthernet (Ethernet 2)", {"10.0.1.7"})};
  facts_.adapters[0].wireless = true;
  facts_.routes_v4 = {DefaultVia(4, 1), DefaultVia(5, 2), DefaultVia(6, 3), DefaultVia(7, 4)};
  EXPECT_EQ(Choose().name, "Wi-Fi");
  request_.windows = true;
  EXPECT_EQ(Choose().name, "vEthernet (Ethernet 2)");
  request_.iface_regex = {"^10[.]"};
  EXPECT_EQ(Choose().name, "vEthernet (Ethernet 2)");
  request_.iface_regex = {"^vEthernet .nat"};
  EXPECT_EQ(Choose().name, "vEthernet (nat)");
  request_.iface = {"Wi-Fi"};
  EXPECT_EQ(Choose().name, "Wi-Fi");
  request_ = InterfaceRequest();
  request_.windows = true;
  facts_.routes_v4.pop_back();
  facts_.adapters[1].mac = facts_.adapters[3].mac = *MacAddress::Parse("02:00:00:00:00:09");
  EXPECT_EQ(Choose().name, "vEthernet (nat)") << "behind it is the NIC of that MAC";
  facts_.adapters[3].mac = MacAddress();
  facts_.adapters[1].name = "vEthernet (nat) 2";
  EXPECT_EQ(Choose().name, "vEthernet (nat) 2")
      << "HNS was seen to give a switch with a NIC that name";
  facts_.adapters[1].name = "vEthernet (nat)";
  facts_.adapters[0].mac = *MacAddress::Parse("02:00:00:00:00:08");
  EXPECT_THAT(Error(),
              AllOf(HasSubstr("this host has none but that of Wi-Fi (it is wireless), and that "
                              "of vEthernet (nat) (its switch has no NIC), and that of"),
                    HasSubstr("name the interface with --iface")));
}

// Once HNS has made its switch the NIC exists without an address: other names match, too.
TEST_F(InterfaceChoiceTest, ANameByExpressionFollowsItsAddressesToTheVirtualSwitch) {
  facts_.adapters = {AdapterWith(1, "Loopback", {"127.0.0.1"}), AdapterWith(4, "Ethernet", {}),
                     AdapterWith(9, "vEthernet (Ethernet)", {"192.168.1.10"})};
  for (const char* pattern : {"^Ethernet$", "Ethernet", "^(v?Ethernet.*)"}) {
    for (const bool windows : {true, false}) {
      request_.iface_regex = {pattern};
      request_.windows = windows;
      EXPECT_EQ(Choose().index, 9u) << pattern;
    }
  }
  facts_.adapters.pop_back();
  EXPECT_THAT(Error(), HasSubstr("adapter Ethernet has no IPv4 address"));
  // An adapter without address is skipped for another that matches.
  facts_.adapters.push_back(AdapterWith(6, "Ethernet 2", {"10.0.1.5"}));
  EXPECT_EQ(Choose().name, "Ethernet 2");
}

// "vEthernet (Ethernet) 2", or what Hyper-V called it: it has the NIC's MAC.
TEST_F(InterfaceChoiceTest, OnWindowsANameFollowsItsMac) {
  const MacAddress nic = *MacAddress::Parse("00:15:5d:00:00:0a");
  facts_.adapters = {AdapterWith(4, "Ethernet", {}), AdapterWith(8, "Other", {"10.0.1.5"}),
                     AdapterWith(9, "Host", {"192.168.1.10"})};
  facts_.adapters[0].mac = facts_.adapters[2].mac = nic;
  for (const bool by_name : {true, false}) {
    request_ = InterfaceRequest();
    (by_name ? request_.iface : request_.iface_regex) = {"Ethernet"};
    EXPECT_THAT(Error(), HasSubstr("adapter Ethernet has no IPv4 address")) << "Linux";
    request_.windows = true;
    EXPECT_EQ(Choose().name, "Host");
    facts_.adapters[0].mac = facts_.adapters[2].mac = MacAddress();
    EXPECT_THAT(Error(), HasSubstr("adapter Ethernet has no IPv4 address")) << "no MAC";
    facts_.adapters[0].mac = facts_.adapters[2].mac = nic;
  }
  facts_.adapters.push_back(AdapterWith(12, "vEthernet (Ethernet)", {"10.0.1.9"}));
  facts_.adapters.back().mac = nic;
  EXPECT_EQ(Choose().index, 12u) << "of two with the MAC the one with the name";
  request_.iface_regex.clear();
  request_.iface = {"missing0"};
  EXPECT_THAT(Error(), HasSubstr("--iface=missing0: no adapter has that name"));
}

// Pods and machines have adapters "vEthernet (LAN)", too.
TEST_F(InterfaceChoiceTest, OnWindowsTheMacDecidesBetweenSwitchesOfOneName) {
  facts_.adapters = {AdapterWith(4, "LAN", {}), AdapterWith(9, "vEthernet (LAN)", {"172.20.9.5"}),
                     AdapterWith(12, "vEthernet (LAN) 3", {"10.5.0.9"})};
  facts_.adapters[0].mac = facts_.adapters[2].mac = *MacAddress::Parse("06:05:9d:00:00:11");
  facts_.adapters[1].mac = *MacAddress::Parse("00:15:5d:00:00:12");
  for (const bool by_name : {true, false}) {
    request_ = InterfaceRequest();
    request_.windows = true;
    if (by_name)
      request_.iface = {"LAN"};
    else
      request_.iface_regex = {"^LAN$"};
    EXPECT_EQ(Choose().index, 12u);
  }
  facts_.adapters[2].addresses.clear();
  EXPECT_EQ(Choose().index, 9u) << "a team's has another MAC";
}

// Two of pods have the name that the host's own one would have, which is called "... 3" now.
TEST_F(InterfaceChoiceTest, OnWindowsAdaptersOfPodsWithTheSwitchsNameAreNotTaken) {
  const auto with_mac = [](Adapter adapter, const char* mac) {
    adapter.mac = *MacAddress::Parse(mac);
    return adapter;
  };
  facts_.adapters = {
      with_mac(AdapterWith(10, "Ethernet", {"10.0.20.7"}), "06:05:9d:c4:a4:11"),
      with_mac(AdapterWith(15, "vEthernet (HNS Internal NIC)", {}), "00:15:5d:00:2c:00"),
      with_mac(AdapterWith(18, "vEthernet (nat)", {"172.19.0.1"}), "00:15:5d:00:2c:01"),
      with_mac(AdapterWith(26, "vEthernet (Ethernet)", {"172.20.1.5"}), "00:15:5d:24:6d:ae"),
      with_mac(AdapterWith(31, "vEthernet (Ethernet) 2", {}), "00:15:5d:24:66:0b"),
      AdapterWith(33, "vEthernet (15fdf8c8ade)", {})};
  facts_.routes_v4 = {DefaultVia(10, 25)};
  for (const bool after : {false, true}) {
    if (after) {
      facts_.adapters[0].addresses.clear();
      facts_.adapters.push_back(
          with_mac(AdapterWith(40, "vEthernet (Ethernet) 3", {"10.0.20.7"}), "06:05:9d:c4:a4:11"));
      facts_.routes_v4 = {DefaultVia(40, 25)};
    }
    request_ = InterfaceRequest();
    request_.windows = true;
    EXPECT_EQ(Choose().index, after ? 40u : 10u) << "without a flag";
    request_.iface = {"Ethernet"};
    EXPECT_EQ(Choose().index, after ? 40u : 10u) << "--iface";
  }
}

// After an overlay network has bound the adapter, its address is on the vSwitch's.
TEST_F(InterfaceChoiceTest, AnAdapterWithoutAddressIsSkippedAndNamed) {
  facts_.adapters.push_back(AdapterWith(4, "Ethernet", {}));
  request_.iface = {"Ethernet", "eth0"};
  EXPECT_EQ(Choose().name, "eth0");
  request_.iface = {"Ethernet"};
  EXPECT_THAT(Error(), HasSubstr("--iface=Ethernet: adapter Ethernet has no IPv4 address"));
}

// After the first network upstream's next start with the same flag finds a NIC without address, and
// exits.
TEST_F(InterfaceChoiceTest, ANameFollowsItsAddressesToTheVirtualSwitchAndBack) {
  request_.iface = {"Ethernet 2"};
  facts_.adapters.push_back(AdapterWith(4, "Ethernet 2", {}));
  facts_.adapters.push_back(AdapterWith(9, "vEthernet (Ethernet 2)", {"10.0.0.7"}));
  EXPECT_EQ(Choose().index, 9u);
  facts_.adapters[3].addresses.swap(facts_.adapters[4].addresses);
  EXPECT_EQ(Choose().index, 4u);
  request_.iface = {"vEthernet (Ethernet 2)"};
  EXPECT_EQ(Choose().index, 4u);
  facts_.adapters.pop_back();
  EXPECT_EQ(Choose().index, 4u);
  facts_.adapters.push_back(AdapterWith(10, "vEthernet (LAN) 2", {}));
  facts_.adapters.push_back(AdapterWith(11, "vEthernet (vEthernet (LAN) 2)", {"10.0.0.8"}));
  request_.iface = {"vEthernet (LAN) 2"};
  EXPECT_EQ(Choose().index, 11u);
}

TEST_F(InterfaceChoiceTest, ANameIsFollowedForTheFamiliesThatAreDesired) {
  const std::string name = "NIC (2)", other = "vEthernet (NIC (2))";
  using Addresses = std::vector<std::string_view>;
  const struct {
    const char* description;
    bool v4, v6;
    Addresses named, switched;
    std::uint32_t index;
  } rows[] = {
      {"moved", true, false, {}, {"10.0.0.7"}, 9},
      {"moved, both", true, true, {}, {"10.0.0.7", "fd00::7"}, 9},
      {"half of it moved", true, true, {"fd00::7"}, {"10.0.0.7", "fd00::8"}, 9},
      {"the other half moved", true, true, {"10.0.0.7"}, {"10.0.0.8", "fd00::7"}, 9},
      {"IPv6 alone stays", false, true, {"fd00::7"}, {"10.0.0.7", "fd00::8"}, 4},
      {"IPv4 alone stays", true, false, {"10.0.0.7"}, {"10.0.0.8", "fd00::8"}, 4},
  };
  const std::vector<Adapter> before = facts_.adapters;
  for (const auto& row : rows) {
    facts_.adapters = before;
    facts_.adapters.push_back(AdapterWith(4, name, row.named));
    facts_.adapters.push_back(AdapterWith(9, other, row.switched));
    request_.require_v4 = row.v4;
    request_.require_v6 = row.v6;
    request_.iface = {name};
    EXPECT_EQ(Choose().index, row.index) << row.description;
  }
}

TEST_F(InterfaceChoiceTest, AnAdapterWithoutTheOtherFamilyIsSkipped) {
  request_.require_v6 = true;
  EXPECT_THAT(Error(), HasSubstr("the default route: adapter eth0 has no IPv6 address"));
}

TEST_F(InterfaceChoiceTest, MtuZeroEndsTheSearch) {
  facts_.adapters[2].mtu = 0;
  request_.iface = {"eth0", "dummy0"};
  EXPECT_THAT(Error(), HasSubstr("adapter eth0 has the MTU 0"));
}

TEST_F(InterfaceChoiceTest, TheMtuIsTheLinksAndALoopbacksIsCut) {
  EXPECT_EQ(Choose().mtu.bytes(), 9000u);
  request_.iface = {"lo"};
  EXPECT_EQ(Choose().mtu.bytes(), InnerMtu::kMax + 50);
}

TEST_F(InterfaceChoiceTest, NothingFoundNamesEveryCandidateAndEveryAdapter) {
  request_.iface = {"missing0", "10.9.9.9"};
  request_.iface_regex = {"^wlan"};
  request_.iface_can_reach = "10.8.8.8";
  EXPECT_THAT(Error(),
              AllOf(HasSubstr("--iface=missing0: no adapter has that name"),
                    HasSubstr("--iface=10.9.9.9: no adapter has that address"),
                    HasSubstr("--iface-regex=^wlan: matches neither an address nor a name"),
                    HasSubstr("--iface-can-reach=10.8.8.8: no route"), HasSubstr("eth0 (10.0.0.5)"),
                    HasSubstr("dummy0 (1.10.100.1, 192.168.200.128")));
}

TEST_F(InterfaceChoiceTest, AMissingDefaultRouteNamesTheNextStep) {
  facts_.routes_v4.clear();
  EXPECT_THAT(Error(),
              HasSubstr("the default route: this host has none; name the interface with --iface"));
}

TEST_F(InterfaceChoiceTest, ACanReachRouteToAnUnknownAdapterIsAnError) {
  reach_ = Route{};
  reach_->adapter_index = 77;
  request_.iface_can_reach = "10.8.8.8";
  EXPECT_THAT(Error(), HasSubstr("unknown adapter 77"));
}

TEST_F(InterfaceChoiceTest, MalformedFlagsAreNamed) {
  const auto code = [&] { return ChooseInterface(request_, facts_).status().code(); };
  request_.public_ip = "10.0.0";
  EXPECT_EQ(code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Error(), HasSubstr("\"10.0.0\" is not an IPv4 address; correct --public-ip or"));
  request_.public_ip = "fd00::1";
  EXPECT_THAT(Error(), HasSubstr("is not an IPv4 address"));
  request_.public_ip.clear();
  request_.public_ipv6 = "10.0.0.1";
  EXPECT_THAT(Error(), HasSubstr("correct --public-ipv6"));
  request_.public_ipv6.clear();
  request_.iface_regex = {"(eth"};
  EXPECT_EQ(code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Error(), HasSubstr("--iface-regex=(eth is not a regular expression"));
  request_.iface_regex.clear();
  request_.iface_can_reach = "example.org";
  EXPECT_THAT(Error(), HasSubstr("--iface-can-reach=example.org is not an IP address"));
}

struct HalfReadHost : ::weft::testing::FakeHost {
  absl::StatusOr<std::vector<Adapter>> Adapters() override {
    if (!unread) return absl::UnavailableError("unread");
    return FakeHost::Adapters();
  }
  absl::StatusOr<std::vector<Route>> Routes(IpFamily family, std::uint32_t adapter) override {
    if (family == unread) return absl::UnavailableError("unread");
    return FakeHost::Routes(family, adapter);
  }
  std::optional<IpFamily> unread;  // the routes of it; absent: the adapters
};

TEST(ReadHostFacts, NeedsTheAdaptersAndTheRoutesOfBothFamilies) {
  HalfReadHost host;
  EXPECT_EQ(ReadHostFacts(host).status(), absl::UnavailableError("unread"));
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    host.unread = family;
    EXPECT_EQ(ReadHostFacts(host).status(), absl::UnavailableError("unread"));
  }
}

}  // namespace
}  // namespace weft::underlay
