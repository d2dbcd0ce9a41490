// SPDX-License-Identifier: Apache-2.0
// The emulated host under changes by HNS, DHCP or a user; and its text.
#include "control/emulator/host/emulated_host.h"

#include <algorithm>

#include "control/emulator/host/adapter_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::weft::testing::Address;
using ::weft::testing::Mac;
using ::weft::testing::Prefix;

// "Ethernet", index 10, 192.168.1.10/24, the default route, and one that an administrator set.
class EmulatorTest : public ::testing::Test {
 protected:
  EmulatorTest() {
    Adapter ethernet;
    ethernet.name = "Ethernet";
    ethernet.mtu = 1500;
    ethernet.up = true;
    ethernet.mac = Mac("02:00:00:00:00:0a");
    ethernet.addresses = {{Address("192.168.1.10"), 24}};
    host.AddAdapter(ethernet);
    EXPECT_THAT(host.PutRoutes({Via("0.0.0.0/0", "192.168.1.1"), Via("10.0.0.0/8", "192.168.1.2")}),
                ElementsAre(absl::OkStatus(), absl::OkStatus()));
  }
  static Route Via(std::string_view destination, std::string_view gateway, std::uint32_t on = 10) {
    Route route;
    route.destination = Prefix(destination);
    route.gateway = Address(gateway);
    route.adapter_index = on;
    route.marked = true;
    return route;
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const auto adapters = host.Adapters();
    for (const Adapter& adapter : *adapters) names.push_back(adapter.name);
    return names;
  }
  void Bind() { host.BindSwitch("Ethernet", "vEthernet (Ethernet)", Seconds(30), Seconds(5)); }
  static Milliseconds Seconds(int count) { return std::chrono::seconds(count); }

  Milliseconds now{1'000'000};
  EmulatedHost host{{}, [this] { return now; }};
};

TEST_F(EmulatorTest, ASwitchMovesTheAddressesToANewInterfaceThatComesLater) {
  Bind();
  EXPECT_THAT(Names(), ElementsAre("Ethernet"));
  EXPECT_THAT((*host.Adapters())[0].addresses, IsEmpty());
  EXPECT_FALSE(host.Reachable());
  now += Seconds(5);
  EXPECT_THAT(Names(), ElementsAre("Ethernet", "vEthernet (Ethernet)"));
  const Adapter virtual_adapter = (*host.Adapters())[1];
  EXPECT_EQ(virtual_adapter.index, 11u);
  EXPECT_EQ(virtual_adapter.mac, Mac("02:00:00:00:00:0a"));
  EXPECT_THAT(virtual_adapter.addresses, ElementsAre(AssignedAddress{Address("192.168.1.10"), 24}));
  host.HideBoundAdapters(true);
  EXPECT_THAT(Names(), ElementsAre("vEthernet (Ethernet)"));
  now += Seconds(25);
  EXPECT_TRUE(host.Reachable());
}

TEST_F(EmulatorTest, ASwitchRemovesStaticRoutesAndDisablesForwarding) {
  ASSERT_TRUE(host.SetForwarding(10, IpFamily::kV4, true).ok());
  Bind();
  now += Seconds(5);
  EXPECT_THAT(*host.Routes(IpFamily::kV4, 0), ElementsAre(Via("0.0.0.0/0", "192.168.1.1", 11)));
  EXPECT_FALSE(*host.Forwarding(11, IpFamily::kV4));
}

TEST_F(EmulatorTest, ASecondSwitchOnTheAdapterChangesNothing) {
  Bind();
  Bind();
  now += Seconds(5);
  EXPECT_EQ(Names().size(), 2u);
}

TEST_F(EmulatorTest, ASwitchOnNoAdapterIsNeitherMadeNorDeleted) {
  const HostState before = host.state();
  host.BindSwitch("Wi-Fi", "vEthernet (Wi-Fi)", Seconds(30), Seconds(5));
  host.UnbindSwitch("Ethernet", Seconds(10), Seconds(2));
  EXPECT_EQ(host.state(), before);
}

TEST_F(EmulatorTest, RemovingTheSwitchRestoresEverything) {
  Bind();
  now += Seconds(60);
  host.UnbindSwitch("Ethernet", Seconds(10), Seconds(2));
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_FALSE(host.Reachable());
  now += Seconds(2);
  EXPECT_THAT(Names(), ElementsAre("Ethernet"));
  EXPECT_THAT((*host.Adapters())[0].addresses,
              ElementsAre(AssignedAddress{Address("192.168.1.10"), 24}));
  EXPECT_THAT(*host.Routes(IpFamily::kV4, 0), ElementsAre(Via("0.0.0.0/0", "192.168.1.1")));
}

// A user removed its interface first.
TEST_F(EmulatorTest, WithoutTheSwitchsInterfaceTheAdapterStaysBare) {
  Bind();
  now += Seconds(60);
  for (int round = 0; round < 2; ++round) host.RemoveAdapter("vEthernet (Ethernet)");
  host.UnbindSwitch("Ethernet", Seconds(10), Seconds(2));
  EXPECT_THAT(Names(), ElementsAre("Ethernet"));
  EXPECT_THAT((*host.Adapters())[0].addresses, IsEmpty());
  Bind();
  host.RemoveAdapter("Ethernet");
  host.UnbindSwitch("Ethernet", Seconds(10), Seconds(2));
  EXPECT_THAT(Names(), IsEmpty()) << "the other one was removed";
}

TEST_F(EmulatorTest, AnAdapterThatIsPulledOutComesBackAsItWas) {
  host.Unplug("Ethernet");
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_THAT(*host.Routes(IpFamily::kV4, 0), IsEmpty());
  EXPECT_FALSE(host.RouteTo(Address("192.168.1.7")).ok());
  EXPECT_FALSE(host.PutRoutes({Via("10.1.0.0/16", "192.168.1.3")})[0].ok());
  host.Plug("Ethernet");
  EXPECT_EQ(host.Routes(IpFamily::kV4, 0)->size(), 2u);
  host.SetUp("Ethernet", false);
  EXPECT_FALSE(host.RouteTo(Address("192.168.1.7")).ok()) << "it is down";
}

// As on Windows, where the next hop is part of a route's key.
TEST_F(EmulatorTest, TwoRoutesToOneDestinationCoexist) {
  EXPECT_TRUE(host.PutRoutes({Via("10.0.0.0/8", "192.168.1.3")})[0].ok());
  EXPECT_EQ(host.Routes(IpFamily::kV4, 0)->size(), 3u);
  EXPECT_TRUE(host.PutRoutes({Via("10.1.0.0/16", "192.168.1.2")})[0].ok());
  EXPECT_EQ(host.Routes(IpFamily::kV4, 0)->size(), 4u) << "two by one gateway";
  host.RemoveRoutes({Via("10.1.0.0/16", "192.168.1.2")});
  EXPECT_EQ(host.Routes(IpFamily::kV4, 0)->size(), 3u);
  host.RemoveRoutes({Via("10.0.0.0/8", "192.168.1.2")});
  EXPECT_THAT(*host.Routes(IpFamily::kV4, 0),
              ElementsAre(Via("0.0.0.0/0", "192.168.1.1"), Via("10.0.0.0/8", "192.168.1.3")));
}

TEST_F(EmulatorTest, AGatewayMustBeOnTheLinkOfTheRoutesAdapter) {
  Adapter storage;
  storage.name = "Storage";
  storage.addresses = {{Address("10.1.0.1"), 24}};
  ASSERT_EQ(host.AddAdapter(storage), 11u);
  Route link;
  link.destination = Prefix("172.16.0.0/16");
  link.adapter_index = 10;
  ASSERT_TRUE(host.PutRoutes({link})[0].ok());
  const struct {
    const char* gateway;
    std::uint32_t adapter;
    bool onlink, put;
  } rows[] = {
      {"172.16.0.1", 10, false, true},   {"172.16.0.1", 11, false, false},
      {"192.168.1.1", 11, false, false}, {"203.0.113.1", 10, false, false},
      {"203.0.113.1", 10, true, true},
  };
  for (const auto& row : rows) {
    Route route = Via("10.2.0.0/16", row.gateway, row.adapter);
    route.onlink = row.onlink;
    EXPECT_EQ(host.PutRoutes({route})[0].ok(), row.put) << row.gateway << " on " << row.adapter;
  }
}

TEST_F(EmulatorTest, AnAddressIsAddedOnce) {
  for (int round = 0; round < 2; ++round)
    EXPECT_TRUE(host.AddAddress(10, {Address("10.244.1.0"), 32}).ok());
  EXPECT_EQ((*host.Adapters())[0].addresses.size(), 2u);
}

TEST_F(EmulatorTest, AFirewallRuleOfOneNameIsOne) {
  EXPECT_TRUE(host.AllowUdpIn({kOverlayFirewallRule, 4789}).ok());
  EXPECT_TRUE(host.AllowUdpIn({kOverlayFirewallRule, 4789}).ok());
  EXPECT_THAT(host.state().firewall,
              ElementsAre(EmulatedFirewallRule{{"OverlayTraffic4789UDP", 4789}, "weft"}));
}

TEST_F(EmulatorTest, ANewInterfaceMayHaveALinkLocalAddressFirst) {
  host.BindSwitch("Ethernet", "vEthernet (Ethernet)", {}, {}, Seconds(10));
  const auto addresses = [&] { return (*host.Adapters())[1].addresses; };
  EXPECT_THAT(addresses(), ElementsAre(AssignedAddress{Address("169.254.149.216"), 16}));
  EXPECT_THAT(*host.Routes(IpFamily::kV4, 0), IsEmpty()) << "no gateway is on its link";
  EXPECT_FALSE(host.RouteTo(Address("192.168.1.7")).ok());
  EXPECT_EQ(host.RouteTo(Address("169.254.1.1"))->source, Address("169.254.149.216"));
  EXPECT_FALSE(host.PutRoutes({Via("10.1.0.0/16", "192.168.1.3", 11)})[0].ok());
  now += Seconds(10);
  EXPECT_THAT(addresses(), ElementsAre(AssignedAddress{Address("192.168.1.10"), 24}));
  EXPECT_EQ(host.RouteTo(Address("8.8.8.8"))->source, Address("192.168.1.10"));
}

// Windows allows several rules with one name.
TEST_F(EmulatorTest, OfSeveralFirewallRulesOfOneNameTheFirstIsUsed) {
  HostState state = host.state();
  const EmulatedFirewallRule ours{{"b", 2}, "weft"}, other{{"b", 3}, ""};
  state.firewall = {ours, other};
  host.Replace(state);
  EXPECT_EQ(*host.AllowUdpIn({"b", 2}), "");
  EXPECT_EQ(*host.FindFirewallRule("b"), RuleOwner::kOurs);
  EXPECT_TRUE(host.RemoveFirewallRule("b").ok());
  EXPECT_EQ(*host.FindFirewallRule("b"), RuleOwner::kOther);
  EXPECT_TRUE(host.RemoveFirewallRule("b").ok());
  EXPECT_THAT(host.state().firewall, ElementsAre(other));
}

TEST_F(EmulatorTest, AFirewallRuleOfAnotherProgramIsNotChanged) {
  HostState state = host.state();
  const std::vector<IpPrefix> peers = {*IpPrefix::Parse("192.168.1.11/32")};
  state.firewall = {{{"b", 2}, ""}, {{"c", 2, peers}, ""}};
  host.Replace(state);
  EXPECT_EQ(*host.AllowUdpIn({"b", 2}), "");
  EXPECT_EQ(*host.AllowUdpIn({"c", 2, peers}), "");
  EXPECT_TRUE(absl::IsFailedPrecondition(host.AllowUdpIn({"b", 3}).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(host.AllowUdpIn({"b", 3, peers}).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(host.AllowUdpIn({"c", 2}).status()));
  EXPECT_TRUE(absl::IsAlreadyExists(host.AllowUdpIn({"b", 2, peers}).status()));
  EXPECT_EQ(host.state().firewall, state.firewall);
}

TEST_F(EmulatorTest, AFirewallThatIsNotUpFailsEveryCall) {
  host.StopFirewall(Seconds(60));
  for (const absl::Status& status : {host.AllowUdpIn({kOverlayFirewallRule, 4789}).status(),
                                     host.FindFirewallRule(kOverlayFirewallRule).status(),
                                     host.RemoveFirewallRule(kOverlayFirewallRule)}) {
    EXPECT_TRUE(absl::IsUnavailable(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("0x800706d9"));
  }
  now += Seconds(60);
  EXPECT_TRUE(host.AllowUdpIn({kOverlayFirewallRule, 4789}).ok());
}

TEST_F(EmulatorTest, ItsTextReadsBackAsItWas) {
  host.BindSwitch("Ethernet", "vEthernet (Ethernet)", Seconds(30), Seconds(5), Seconds(9));
  host.StopFirewall(Seconds(0));
  host.Unplug("vEthernet (Ethernet)");
  ASSERT_TRUE(host.AllowUdpIn({kOverlayFirewallRule, 4789}).ok());
  ASSERT_TRUE(host.AllowUdpIn({"narrow", 1, {{*IpPrefix::Parse("192.168.1.11/32")}}}).ok());
  ASSERT_TRUE(host.SetForwarding(10, IpFamily::kV6, true).ok());
  HostState state = host.state();
  state.name_servers = {Address("192.168.1.53"), Address("fd00::53")};
  const auto read = ParseHostState(HostStateText(state));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, state);
  EXPECT_EQ(*ParseHostState("{}"), HostState());
}

TEST_F(EmulatorTest, ItsNameServersAreThoseOfItsState) {
  HostState state = host.state();
  state.name_servers = {Address("192.168.1.53")};
  host.Replace(state);
  EXPECT_THAT(*host.NameServers(), ElementsAre(Address("192.168.1.53")));
}

// ---- static IP settings

class StaticIpEmulatorTest : public EmulatorTest {
 protected:
  void SetUp() override { host.SetStaticIp("Ethernet", settings); }
  void BindAndLose(StaticIpLoss lost) {
    host.BindSwitch("Ethernet", "vEthernet (Ethernet)", {}, {}, {}, lost);
  }
  StaticIp On(std::uint32_t adapter) { return *host.ReadStaticIp(adapter); }
  bool Has(std::uint32_t adapter, std::string_view address) {
    const auto adapters = host.Adapters();
    return std::ranges::any_of(*adapters, [&](const Adapter& each) {
      return each.index == adapter &&
             std::ranges::count(each.addresses, AssignedAddress{Address(address), 24}) != 0;
    });
  }
  const StaticIp settings{{{Address("192.168.1.10"), 24}}, {Address("192.168.1.53")}, 5u};
};

TEST_F(StaticIpEmulatorTest, AnAdapterThatKeepsItsSettingsMovesThemToTheSwitchAndBack) {
  BindAndLose(StaticIpLoss::kNothing);
  EXPECT_EQ(On(11), settings);
  EXPECT_EQ(On(10), StaticIp());
  host.UnbindSwitch("Ethernet", {}, {});
  EXPECT_EQ(On(10), settings);
}

TEST_F(StaticIpEmulatorTest, NameServersAndMetricMayBeLostUntilTheSwitchIsDeleted) {
  BindAndLose(StaticIpLoss::kNameServersAndMetric);
  EXPECT_EQ(On(11), (StaticIp{settings.addresses, {}, {}}));
  EXPECT_THAT(*host.NameServers(), IsEmpty());
  host.UnbindSwitch("Ethernet", {}, {});
  EXPECT_EQ(On(10), settings);
  EXPECT_THAT(*host.NameServers(), ElementsAre(Address("192.168.1.53")));
  host.Unplug("Ethernet");
  EXPECT_THAT(*host.NameServers(), IsEmpty());
}

TEST_F(StaticIpEmulatorTest, AllMayBeLostUntilTheSwitchIsDeleted) {
  BindAndLose(StaticIpLoss::kAll);
  EXPECT_EQ(On(11), StaticIp());
  EXPECT_FALSE(Has(11, "192.168.1.10"));
  EXPECT_THAT(*host.Routes(IpFamily::kV4, 0), IsEmpty());
  EXPECT_FALSE(host.RouteTo(Address("8.8.8.8")).ok()) << "its route is the bound adapter's";
  ASSERT_TRUE(host.PutStaticIp(11, settings).ok());
  ASSERT_TRUE(host.PutRoutes({Via("0.0.0.0/0", "192.168.1.1", 11)})[0].ok());
  EXPECT_EQ(On(11), settings);
  EXPECT_TRUE(Has(11, "192.168.1.10"));
  host.UnbindSwitch("Ethernet", {}, {});
  EXPECT_EQ(On(10), settings);
  EXPECT_THAT((*host.Adapters())[0].addresses, ElementsAre(settings.addresses[0]));
  EXPECT_THAT(*host.Routes(IpFamily::kV4, 0), ElementsAre(Via("0.0.0.0/0", "192.168.1.1")));
}

TEST_F(StaticIpEmulatorTest, IPv6LosesNothing) {
  const AssignedAddress v6{Address("fd00::10"), 64};
  host.SetAddresses("Ethernet", {settings.addresses[0], v6});
  ASSERT_TRUE(host.PutRoutes({Via("::/0", "fd00::1")})[0].ok());
  BindAndLose(StaticIpLoss::kAll);
  EXPECT_THAT(*host.Routes(IpFamily::kV6, 0), ElementsAre(Via("::/0", "fd00::1", 11)));
  const auto way = host.RouteTo(Address("fd01::1"));
  ASSERT_TRUE(way.ok()) << way.status();
  EXPECT_EQ(way->source, v6.address);
  ASSERT_TRUE(host.PutStaticIp(11, settings).ok());
  host.UnbindSwitch("Ethernet", {}, {});
  EXPECT_THAT((*host.Adapters())[0].addresses,
              ::testing::UnorderedElementsAre(settings.addresses[0], v6));
  EXPECT_THAT(*host.Routes(IpFamily::kV6, 0), ElementsAre(Via("::/0", "fd00::1")));
}

TEST_F(StaticIpEmulatorTest, AnotherAdapterKeepsItsRoutes) {
  Adapter storage;
  storage.name = "Storage";
  storage.addresses = {{Address("10.1.0.1"), 24}};
  ASSERT_EQ(host.AddAdapter(storage), 11u);
  const Route all = Via("0.0.0.0/0", "10.1.0.2", 11), some = Via("10.2.0.0/16", "10.1.0.2", 11);
  ASSERT_THAT(host.PutRoutes({all, some}), ElementsAre(absl::OkStatus(), absl::OkStatus()));
  BindAndLose(StaticIpLoss::kAll);
  EXPECT_THAT(*host.Routes(IpFamily::kV4, 11), ElementsAre(all, some));
  ASSERT_TRUE(host.PutStaticIp(12, settings).ok());
  host.Reboot();
  EXPECT_THAT(*host.Routes(IpFamily::kV4, 11), ElementsAre(all));
}

TEST_F(StaticIpEmulatorTest, ARebootRemovesAnAddressThatAProgramAdded) {
  BindAndLose(StaticIpLoss::kAll);
  ASSERT_TRUE(host.PutStaticIp(11, settings).ok());
  ASSERT_TRUE(host.PutRoutes({Via("0.0.0.0/0", "192.168.1.1", 11)})[0].ok());
  const auto read = ParseHostState(HostStateText(host.state()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, host.state());
  host.Reboot();
  EXPECT_FALSE(Has(11, "192.168.1.10"));
  EXPECT_THAT(*host.Routes(IpFamily::kV4, 0), IsEmpty());
}

TEST_F(StaticIpEmulatorTest, NoAdapterIsNamed) {
  EXPECT_TRUE(absl::IsNotFound(host.ReadStaticIp(99).status()));
  EXPECT_TRUE(absl::IsNotFound(host.PutStaticIp(99, settings)));
}

TEST(AdapterText, HasANameAndAddresses) {
  for (const char* text : {"10.0.0.1", "=10.0.0.1", "LAN=here"})
    EXPECT_THAT(std::string(emulator::ParseAdapter(text).status().message()),
                HasSubstr("is no adapter"))
        << text;
}

TEST(HostStateText, AHandWrittenHostMayOmitMembers) {
  const auto state = ParseHostState(R"({"adapters": [
      {"name": "Ethernet", "index": 4, "addresses": ["192.168.1.10/24", "fd00::a/64"]}],
      "routes": [{"destination": "0.0.0.0/0", "gateway": "192.168.1.1", "adapter": 4}]})");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_TRUE(state->adapters[0].adapter.up);
  EXPECT_EQ(state->adapters[0].adapter.mtu, 1500u);
  EXPECT_THAT(state->adapters[0].adapter.addresses,
              ElementsAre(AssignedAddress{Address("192.168.1.10"), 24},
                          AssignedAddress{Address("fd00::a"), 64}));
  EXPECT_EQ(state->next_index, 10u);
}

TEST(HostStateText, UnreadableTextIsNamedWithItsPosition) {
  const struct {
    const char *text, *error;
  } rows[] = {
      {"", "host document: it is no JSON"},
      {"[]", "host document: the document is not an object"},
      {R"({"adapters": 7})", "adapters is not an array"},
      {R"({"adapters": [7]})", "adapters[0] is not an object"},
      {R"({"adapters": [{"index": 1}]})", "adapters[0].name is empty"},
      {R"({"adapters": [{"name": "x"}]})", "adapters[0].index is not a number from 1"},
      {R"({"adapters": [{"name": 7, "index": 1}]})", "adapters[0].name is not a string"},
      {R"({"adapters": [{"name": "x", "index": 1, "up": 1}]})",
       "adapters[0].up is neither true nor false"},
      {R"({"adapters": [{"name": "x", "index": 1, "mac": "y"}]})",
       "adapters[0].mac \"y\" is not a MAC address"},
      {R"({"adapters": [{"name": "x", "index": 1, "addresses": ["1.2.3.4"]}]})",
       "adapters[0].addresses[0] \"1.2.3.4\" is not an address with its prefix length"},
      {R"({"routes": [{"adapter": 1}]})", "routes[0].destination is missing"},
      {R"({"routes": [{"destination": "10.0.0.0/8", "gateway": "fd00::1"}]})",
       "routes[0].destination is of another family"},
      {R"({"nextIndex": 3})", "nextIndex is not above every adapter's index"},
      {R"({"firewall": [{"name": "x", "udpPort": 65536}]})", "firewall[0].udpPort exceeds 65535"},
  };
  for (const auto& row : rows) {
    const auto state = ParseHostState(row.text);
    EXPECT_THAT(std::string(state.status().message()), HasSubstr(row.error)) << row.text;
  }
  std::string deep(100, '[');
  EXPECT_THAT(std::string(ParseHostState(deep + std::string(100, ']')).status().message()),
              HasSubstr("nests too deep"));
  const std::string long_text((std::size_t{64} << 20) + 1, ' ');
  EXPECT_THAT(std::string(ParseHostState(long_text).status().message()),
              HasSubstr("larger than 64 MiB"));
}

}  // namespace
}  // namespace weft::host
