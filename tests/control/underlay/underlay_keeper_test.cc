// SPDX-License-Identifier: Apache-2.0
#include "control/underlay/underlay_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/lease_makers.h"
#include "tests/support/manual_clock.h"

namespace weft::underlay {
namespace {

using host::Adapter;
using host::AssignedAddress;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::weft::testing::Address;

constexpr seconds kGone = std::chrono::duration_cast<seconds>(UnderlayKeeper::kGone);
constexpr seconds kMissing = std::chrono::duration_cast<seconds>(UnderlayKeeper::kMissing);
constexpr seconds kBack = std::chrono::duration_cast<seconds>(UnderlayKeeper::kBack);

// A host that is read every second: eth0 with 10.9.0.1, fd09::1 and the default routes, eth1 with
// 172.16.0.1 and fd16::1.
struct Node {
  Node() {
    facts.route_to = [](const IpAddress&) { return Route(2); };
    Plug(2, "eth0", "02:00:00:00:00:a0", {"10.9.0.1", "fd09::1"});
    Plug(3, "eth1", "02:00:00:00:00:a1", {"172.16.0.1", "fd16::1"});
    AddDefault(2, 100);
  }

  void Plug(std::uint32_t index, const char* name, const char* mac,
            const std::vector<const char*>& addresses) {
    Adapter adapter;
    adapter.index = index;
    adapter.name = name;
    adapter.mtu = 1500;
    adapter.up = true;
    adapter.mac = *MacAddress::Parse(mac);
    facts.adapters.push_back(adapter);
    for (const char* address : addresses) Add(name, address);
  }
  // Before all others, with the address of eth0 alone.
  void PlugTwin(const char* name) {
    Plug(1, name, "02:00:00:00:00:d0", {"10.9.0.1"});
    facts.adapters.back().addresses[0].prefix_length = 32;
    std::ranges::rotate(facts.adapters, facts.adapters.end() - 1);
  }
  Adapter Unplug(const char* name) {
    const Adapter adapter = Named(name);
    std::erase_if(facts.adapters, [&](const Adapter& each) { return each.name == name; });
    return adapter;
  }
  Adapter& Named(std::string_view name) {
    return *std::ranges::find(facts.adapters, name, &Adapter::name);
  }
  void Add(std::string_view adapter, const char* address, bool first = false) {
    std::vector<AssignedAddress>& addresses = Named(adapter).addresses;
    addresses.insert(first ? addresses.begin() : addresses.end(),
                     {Address(address), Address(address).is_v4() ? 24 : 64});
  }
  void Lose(std::string_view adapter, const char* address) {
    std::erase_if(Named(adapter).addresses,
                  [&](const AssignedAddress& each) { return each.address == Address(address); });
  }
  void Deprecate(std::string_view adapter, const char* address) {
    std::ranges::find(Named(adapter).addresses, Address(address), &AssignedAddress::address)
        ->deprecated = true;
  }
  static host::Route Route(std::uint32_t adapter, std::uint32_t metric = 0,
                           const char* destination = "0.0.0.0/0") {
    host::Route route;
    route.destination = *IpPrefix::Parse(destination);
    route.adapter_index = adapter;
    route.metric = metric;
    return route;
  }
  void AddDefault(std::uint32_t adapter, std::uint32_t metric) {
    facts.routes_v4.push_back(Route(adapter, metric));
    facts.routes_v6.push_back(Route(adapter, metric, "::/0"));
  }

  void Read() {
    const auto kept = keeper.Keep(request, facts, current ? &*current : nullptr, clock.Now());
    waits = std::string(kept.status().message());
    if (!kept.ok()) return;
    if (!keeper.reason().empty()) reasons.push_back(keeper.reason());
    current = *kept;
  }
  void Pass(seconds time) {
    for (seconds passed(0); passed < time; passed += seconds(1)) {
      clock.Advance(seconds(1));
      Read();
    }
  }
  std::string underlay() const { return current ? Text(*current) : "none"; }

  weft::testing::ManualClock clock{};
  InterfaceRequest request{};
  HostFacts facts{};
  UnderlayKeeper keeper{};
  std::optional<InterfaceChoice> current{};
  std::string waits{};                 // why the last reading gave nothing; empty: it did
  std::vector<std::string> reasons{};  // of each move
};

using Change = std::function<void(Node&)>;

void Nothing(Node&) {}
void WithV6(Node& node) { node.request.require_v6 = true; }
void V6Alone(Node& node) {
  node.request.require_v4 = false;
  node.request.require_v6 = true;
}

TEST(UnderlayKeeperTest, WhatNeverMovesTheNode) {
  const struct {
    const char* given;
    Change request;
    const char* in;
    Change happens;
  } rows[] = {
      {"no flag", Nothing, "a VPN client comes",
       [](Node& n) {
         n.Plug(9, "vpn0", "00:00:00:00:00:00", {"10.99.0.5"});
         n.AddDefault(9, 50);
       }},
      {"no flag", Nothing, "DHCP gives eth1 a better default route",
       [](Node& n) { n.AddDefault(3, 1); }},
      {"no flag", Nothing, "all default routes go", [](Node& n) { n.facts.routes_v4.clear(); }},
      {"no flag", Nothing, "the default route has another src",
       [](Node& n) {
         n.Add("eth0", "10.9.0.7");
         n.facts.routes_v4[0].source = Address("10.9.0.7");
       }},
      {"no flag", Nothing, "keepalived's address is first",
       [](Node& n) { n.Add("eth0", "10.9.0.100", /*first=*/true); }},
      {"no flag, IPv6 too", WithV6, "an address of another prefix is first",
       [](Node& n) { n.Add("eth0", "fd99::1", /*first=*/true); }},
      {"no flag, IPv6 alone", V6Alone, "its address is deprecated, the other one is link-local",
       [](Node& n) {
         n.Deprecate("eth0", "fd09::1");
         n.Add("eth0", "fe80::1", /*first=*/true);
       }},
      {"no flag", Nothing, "no link, and a better default route",
       [](Node& n) {
         n.Named("eth0").link = false;
         n.AddDefault(3, 1);
       }},
      {"no flag", Nothing, "set down, which removes its routes",
       [](Node& n) {
         n.Named("eth0").up = false;
         n.facts.routes_v4 = {Node::Route(3)};
       }},
      {"no flag", Nothing, "set down, next to a device with its address alone",
       [](Node& n) {
         n.PlugTwin("dummy3");
         n.Named("eth0").up = false;
       }},
      {"no flag", Nothing, "an adapter before it has its address and prefix",
       [](Node& n) {
         n.PlugTwin("eth9");
         n.Named("eth9").addresses[0].prefix_length = 24;
       }},
      {"no flag", [](Node& n) { n.request.pod_subnets = {*IpPrefix::Parse("10.30.1.0/24")}; },
       "the InternalIP is of pods",
       [](Node& n) {
         n.Plug(9, "net7_ep", "02:00:00:00:00:09", {"10.30.1.2"});
         n.request.node_ips = {Address("10.30.1.2")};
       }},
      {"--iface=eth0", [](Node& n) { n.request.iface = {"eth0"}; }, "another address is first",
       [](Node& n) { n.Add("eth0", "10.9.0.2", /*first=*/true); }},
      {"--iface=late0 --iface=eth0",
       [](Node& n) {
         n.request.iface = {"late0", "eth0"};
       },
       "late0 comes", [](Node& n) { n.Plug(9, "late0", "02:00:00:00:00:09", {"10.8.0.1"}); }},
      {"--iface-regex", [](Node& n) { n.request.iface_regex = {"^10[.]"}; },
       "an adapter before it matches",
       [](Node& n) {
         n.Plug(9, "new0", "02:00:00:00:00:09", {"10.8.0.1"});
         std::ranges::rotate(n.facts.adapters, n.facts.adapters.end() - 1);
       }},
      {"--iface-can-reach", [](Node& n) { n.request.iface_can_reach = "10.9.0.9"; },
       "eth1 leads there, which has the InternalIP",
       [](Node& n) {
         n.request.node_ips = {Address("172.16.0.1")};
         n.facts.route_to = [](const IpAddress&) { return Node::Route(3); };
       }},
      {"the InternalIPs of eth0 and eth1",
       [](Node& n) {
         n.request.node_ips = {Address("10.9.0.1"), Address("172.16.0.1")};
       },
       "their order changes", [](Node& n) { std::ranges::reverse(n.request.node_ips); }},
      {"no flag", Nothing, "the InternalIP is no address of this host",
       [](Node& n) { n.request.node_ips = {Address("203.0.113.9")}; }},
      {"no flag", Nothing, "another address is published",
       [](Node& n) { n.request.published = {Address("172.16.0.1")}; }},
      {"--iface=fd09::1",
       [](Node& n) {
         V6Alone(n);
         n.request.iface = {"fd09::1"};
       },
       "it is deprecated, and there is another",
       [](Node& n) {
         n.Deprecate("eth0", "fd09::1");
         n.Add("eth0", "fd99::1", /*first=*/true);
       }},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.given) + ": " + row.in);
    Node node;
    row.request(node);
    node.Read();
    const std::optional<InterfaceChoice> before = node.current;
    ASSERT_TRUE(before) << node.waits;
    ASSERT_EQ(before->name, "eth0");
    row.happens(node);
    node.Pass(minutes(15));
    EXPECT_EQ(node.current, before);
    EXPECT_EQ(node.waits, "");
    EXPECT_THAT(node.reasons, IsEmpty());
  }
}

TEST(UnderlayKeeperTest, WhatMovesTheNodeAndWhen) {
  constexpr auto kAtOnce = seconds(0);
  const struct {
    const char* given;
    Change request;
    const char* in;
    Change happens;
    seconds after;
    const char *underlay, *reason;
  } rows[] = {
      {"no flag, IPv6 too", WithV6, "the InternalIP is eth1's",
       [](Node& n) { n.request.node_ips = {Address("172.16.0.1")}; }, kAtOnce,
       "eth1, 172.16.0.1, fd16::1", "requested by the Node's InternalIP 172.16.0.1"},
      {"--iface=eth0",
       [](Node& n) {
         n.request.iface = {"eth0"};
         n.Add("eth0", "10.9.0.7");
       },
       "the InternalIP is its second address",
       [](Node& n) { n.request.node_ips = {Address("10.9.0.7")}; }, kAtOnce, "eth0, 10.9.0.7",
       "requested by the Node's InternalIP 10.9.0.7"},
      {"--iface=172.16.0.9 --iface=eth0 --public-ip=203.0.113.9",
       [](Node& n) {
         n.request.iface = {"172.16.0.9", "eth0"};
         n.request.public_ip = "203.0.113.9";
       },
       "the first address comes", [](Node& n) { n.Add("eth1", "172.16.0.9"); }, kAtOnce,
       "eth1, 172.16.0.9 (published as 203.0.113.9)", "requested by --iface=172.16.0.9"},
      {"the InternalIPs of eth0 and eth1",
       [](Node& n) {
         n.request.node_ips = {Address("10.9.0.1"), Address("172.16.0.1")};
       },
       "node-public-ip is eth1's", [](Node& n) { n.request.public_ip = "172.16.0.1"; }, kAtOnce,
       "eth1, 172.16.0.1", "requested by the public address 172.16.0.1"},
      {"--iface=eth0, IPv6 too",
       [](Node& n) {
         WithV6(n);
         n.request.iface = {"eth0"};
       },
       "node-public-ipv6 is its second address",
       [](Node& n) {
         n.Add("eth0", "fd99::1");
         n.request.public_ipv6 = "fd99::1";
       },
       kAtOnce, "eth0, 10.9.0.1, fd99::1", "requested by the public address fd99::1"},
      {"no flag, IPv6 too", WithV6, "the InternalIP is another one of eth0; IPv6 stays",
       [](Node& n) {
         n.request.node_ips = {Address("10.9.0.7")};
         n.Add("eth0", "10.9.0.7");
         n.Add("eth0", "fd99::1", /*first=*/true);
       },
       kAtOnce, "eth0, 10.9.0.7, fd09::1", "requested by the Node's InternalIP 10.9.0.7"},
      {"no flag, IPv6 too", WithV6, "the prefix is deprecated, and there is another",
       [](Node& n) {
         n.Deprecate("eth0", "fd09::1");
         n.Add("eth0", "fd99::1");
       },
       kAtOnce, "eth0, 10.9.0.1, fd99::1", "fd09::1 is deprecated"},
      {"the InternalIP, IPv6 alone",
       [](Node& n) {
         V6Alone(n);
         n.request.node_ips = {Address("fd09::1")};
       },
       "it is deprecated, and there is another",
       [](Node& n) {
         n.Deprecate("eth0", "fd09::1");
         n.Add("eth0", "fd99::1");
       },
       kAtOnce, "eth0, fd99::1", "fd09::1 is deprecated"},
      {"no flag", Nothing, "the address is gone, and eth0 has another",
       [](Node& n) {
         n.Lose("eth0", "10.9.0.1");
         n.Add("eth0", "10.9.0.7");
       },
       kGone, "eth0, 10.9.0.7", "10.9.0.1 is gone"},
      {"no flag", Nothing, "eth0 is made again with another address",
       [](Node& n) {
         n.Unplug("eth0");
         n.Plug(12, "eth0", "02:00:00:00:00:12", {"10.9.0.7"});
       },
       kGone, "eth0, 10.9.0.7", "10.9.0.1 is gone"},
      {"no flag", Nothing, "a bridge took eth0 over, and got another address",
       [](Node& n) {
         n.Lose("eth0", "10.9.0.1");
         n.Plug(9, "br0", "02:00:00:00:00:a0", {"10.9.0.7"});
         n.facts.routes_v4 = {Node::Route(9)};
       },
       kGone, "br0, 10.9.0.7", "10.9.0.1 is gone"},
      {"no flag", [](Node& n) { n.Add("eth0", "10.9.0.7"); },
       "a bridge took eth0 over, and kept its second address",
       [](Node& n) {
         n.Lose("eth0", "10.9.0.1");
         n.Lose("eth0", "10.9.0.7");
         n.Plug(9, "br0", "02:00:00:00:00:a0", {"10.9.0.7"});
         n.facts.routes_v4 = {Node::Route(9)};
       },
       kGone, "br0, 10.9.0.7", "10.9.0.1 is gone"},
      {"no flag", Nothing, "eth0 has another name and another address",
       [](Node& n) {
         n.Lose("eth0", "10.9.0.1");
         n.Add("eth0", "10.9.0.7");
         n.Named("eth0").name = "lan0";
       },
       kGone, "lan0, 10.9.0.7", "10.9.0.1 is gone"},
      {"--iface=10.9.0.1 --iface=172.16.0.1",
       [](Node& n) {
         n.request.iface = {"10.9.0.1", "172.16.0.1"};
       },
       "the first is gone, and eth0 has a third",
       [](Node& n) {
         n.Lose("eth0", "10.9.0.1");
         n.Add("eth0", "10.9.0.7");
       },
       kGone, "eth1, 172.16.0.1", "10.9.0.1 is gone"},
      {"no flag", Nothing, "eth0 is replaced by eth2 with its MAC",
       [](Node& n) {
         n.Unplug("eth0");
         n.Plug(9, "eth2", "02:00:00:00:00:a0", {"10.9.0.7"});
         n.facts.routes_v4 = {Node::Route(9)};
       },
       kMissing, "eth2, 10.9.0.7", "eth0 has been missing for 2 minutes"},
      {"no flag, Windows",
       [](Node& n) {
         n.request.windows = true;
         n.Named("eth0").mac = MacAddress();
       },
       "eth0 is replaced by eth2, both without MAC",
       [](Node& n) {
         n.Unplug("eth0");
         n.Plug(9, "eth2", "00:00:00:00:00:00", {"10.9.0.7"});
         n.facts.routes_v4 = {Node::Route(9)};
       },
       kMissing, "eth2, 10.9.0.7", "eth0 has been missing for 2 minutes"},
      {"no flag", Nothing, "the address moved to the loopback",
       [](Node& n) {
         n.Lose("eth0", "10.9.0.1");
         n.Add("eth0", "10.9.0.7");
         n.Plug(1, "lo", "00:00:00:00:00:00", {"10.9.0.1"});
         n.Named("lo").loopback = true;
       },
       kGone, "eth0, 10.9.0.7", "10.9.0.1 is gone"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.given) + ": " + row.in);
    Node node;
    row.request(node);
    node.Read();
    const std::string before = node.underlay();
    ASSERT_EQ(node.current->name, "eth0") << node.waits;
    row.happens(node);
    node.Read();
    if (row.after > kAtOnce) {
      node.Pass(row.after - seconds(1));
      EXPECT_EQ(node.underlay(), before);
      EXPECT_NE(node.waits, "");
      node.Pass(seconds(1));
    }
    EXPECT_EQ(node.underlay(), row.underlay);
    node.Pass(minutes(15));
    EXPECT_EQ(node.underlay(), row.underlay) << "it stays there";
    EXPECT_EQ(node.waits, "");
    EXPECT_THAT(node.reasons, ElementsAre(row.reason)) << "once";
  }
}

// An address that another adapter takes over, for a moment on none.
TEST(UnderlayKeeperTest, TheAddressIsFollowedToAnotherAdapter) {
  const struct {
    const char* what;
    const char *name, *mac;
    bool windows, hidden;  // Windows does not list the NIC meanwhile
  } rows[] = {
      {"bridge", "br0", "02:00:00:00:00:a0", false, false},
      {"bond", "bond0", "02:00:00:00:00:b0", false, false},
      {"virtual switch", "vEthernet (eth0)", "02:00:00:00:00:a0", true, false},
      {"virtual switch, NIC not listed", "vEthernet (eth0)", "02:00:00:00:00:a0", true, true}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    Node node;
    node.request.windows = row.windows;
    node.Read();
    node.AddDefault(3, 200);
    node.facts.routes_v4.erase(node.facts.routes_v4.begin());
    node.Lose("eth0", "10.9.0.1");
    if (row.hidden) node.Unplug("eth0");
    node.Pass(seconds(5));
    EXPECT_THAT(node.waits, HasSubstr("has lost its address 10.9.0.1: flanneld waits"));
    node.Plug(12, row.name, row.mac, {"169.254.3.4"});
    node.Pass(seconds(30));
    EXPECT_EQ(node.underlay(), "eth0, 10.9.0.1");
    node.Add(row.name, "10.9.0.1");
    node.Read();
    EXPECT_EQ(node.underlay(), std::string(row.name) + ", 10.9.0.1");
    EXPECT_EQ(node.current->index, 12u);
    EXPECT_THAT(node.reasons, IsEmpty());
  }
}

// kube-proxy's device is down; another program puts the address on our tunnel.
TEST(UnderlayKeeperTest, ADeviceThatCarriesNothingIsNotFollowed) {
  for (const bool tunnel : {true, false}) {
    Node node;
    node.PlugTwin(tunnel ? "flannel.7" : "kube-ipvs0");
    if (tunnel)
      node.facts.own_devices = {"flannel.7"};
    else
      node.facts.adapters[0].up = false;
    node.Read();
    ASSERT_EQ(node.current->name, "eth0");
    node.Lose("eth0", "10.9.0.1");
    node.Pass(seconds(30));
    EXPECT_THAT(node.waits, HasSubstr("eth0 exists but has lost its address 10.9.0.1"));
    node.Unplug("eth0");
    node.Plug(12, "eth0", "02:00:00:00:00:12", {"10.9.0.1"});
    node.Read();
    EXPECT_EQ(node.underlay(), "eth0, 10.9.0.1");
    EXPECT_EQ(node.current->index, 12u);
    EXPECT_THAT(node.reasons, IsEmpty());
  }
}

TEST(UnderlayKeeperTest, AnotherDeviceWithTheAddressIsLeftForTheNic) {
  Node node;
  node.PlugTwin("dummy3");
  node.Read();
  ASSERT_EQ(node.current->name, "eth0");
  Adapter eth0 = node.Unplug("eth0");
  node.Read();
  EXPECT_EQ(node.underlay(), "dummy3, 10.9.0.1");
  eth0.index = 12;
  node.facts.adapters.push_back(eth0);
  node.Read();
  EXPECT_EQ(node.underlay(), "eth0, 10.9.0.1");
  EXPECT_THAT(node.reasons, IsEmpty());
}

TEST(UnderlayKeeperTest, AnAdapterThatIsDownStillHasItsAddresses) {
  Node node;
  WithV6(node);
  node.Read();
  node.Named("eth0").up = false;
  node.Lose("eth0", "fd09::1");
  node.Plug(9, "br0", "02:00:00:00:00:b0", {"fd09::1"});
  node.Read();
  EXPECT_THAT(node.waits, HasSubstr("eth0 exists but has lost its address fd09::1"));
}

TEST(UnderlayKeeperTest, AnAdapterThatIsMadeAgainIsReadyWithItsLink) {
  Node node;
  node.Read();
  node.Unplug("eth0");
  node.Plug(12, "eth0", "02:00:00:00:00:12", {"10.9.0.7"});
  node.Named("eth0").link = false;
  node.Pass(seconds(30));
  EXPECT_THAT(node.waits, HasSubstr("eth0 exists but has lost its address 10.9.0.1"));
  node.Named("eth0").link = true;
  node.Read();
  EXPECT_EQ(node.underlay(), "eth0, 10.9.0.7");
}

TEST(UnderlayKeeperTest, OfTwoAddressesBothMustBeReplaced) {
  Node node;
  WithV6(node);
  node.request.iface = {"10.9.0.1", "172.16.0.1"};
  node.Read();
  node.Lose("eth0", "10.9.0.1");
  node.Lose("eth0", "fd09::1");
  node.Add("eth0", "10.9.0.7");
  node.Pass(minutes(15));
  EXPECT_EQ(node.underlay(), "eth0, 10.9.0.1, fd09::1");
  EXPECT_THAT(node.waits, HasSubstr("eth0 exists but has lost its address fd09::1"));
}

// DHCP that ran out, a switch that is created: never so soon to what is left, also where that is
// named as second choice.
TEST(UnderlayKeeperTest, AnAddressThatComesBackInTimeIsNoMove) {
  const struct {
    const char* given;
    Change request;
  } rows[] = {{"no flag", Nothing},
              {"two flags",
               [](Node& n) {
                 n.request.iface = {"10.9.0.1", "172.16.0.1"};
               }},
              {"two InternalIPs",
               [](Node& n) {
                 n.request.node_ips = {Address("10.9.0.1"), Address("172.16.0.1")};
               }},
              {"a public address", [](Node& n) { n.request.public_ip = "10.9.0.1"; }}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.given);
    Node node;
    row.request(node);
    node.Read();
    node.Add("eth0", "10.9.0.100");
    for (int i = 0; i < 3; ++i) {
      node.Lose("eth0", "10.9.0.1");
      node.Read();
      node.Pass(kGone - seconds(1));
      EXPECT_THAT(node.waits, HasSubstr("eth0 exists but has lost its address 10.9.0.1"));
      node.Add("eth0", "10.9.0.1");
      node.Pass(seconds(5));
      EXPECT_EQ(node.underlay(), "eth0, 10.9.0.1");
    }
    EXPECT_THAT(node.reasons, IsEmpty());
  }
}

// A DHCP client gives the address up with the link; keepalived's, or the other prefix, is left.
TEST(UnderlayKeeperTest, WithoutLinkNothingReplacesTheAddress) {
  for (const bool deprecated : {true, false}) {
    Node node;
    V6Alone(node);
    node.Read();
    node.Add("eth0", "fd99::1");
    for (int i = 0; i < 3; ++i) {
      bool& carries = i == 1 ? node.Named("eth0").up : node.Named("eth0").link;
      carries = false;
      deprecated ? node.Deprecate("eth0", "fd09::1") : node.Lose("eth0", "fd09::1");
      node.Read();
      node.Pass(minutes(15));
      EXPECT_EQ(node.waits, deprecated ? ""
                                       : "eth0 exists but has lost its address fd09::1: flanneld "
                                         "waits for an address of it");
      if (deprecated) node.Lose("eth0", "fd09::1");
      carries = true;
      if (!deprecated) node.Pass(seconds(7));
      node.Add("eth0", "fd09::1", /*first=*/true);
      node.Pass(seconds(30));
      EXPECT_EQ(node.underlay(), "eth0, fd09::1");
    }
    EXPECT_THAT(node.reasons, IsEmpty());
    node.Named("eth0").link = false;
    node.Lose("eth0", "fd09::1");
    node.Read();
    node.Named("eth0").link = true;
    node.Pass(seconds(15));
    EXPECT_EQ(node.underlay(), "eth0, fd99::1") << "it does not come back";
  }
}

// A VLAN of the NIC has its MAC, as a bridge that took the NIC over has.
TEST(UnderlayKeeperTest, AnAdapterWithTheMacThatHadItsAddressBeforeIsNotFollowed) {
  for (const bool v6 : {false, true}) {
    const char* const address = v6 ? "fd09::1" : "10.9.0.1";
    Node node;
    if (v6) V6Alone(node);
    node.Plug(11, "eth0.100", "02:00:00:00:00:a0", {"192.168.50.5", "fd50::5"});
    node.AddDefault(11, 400);
    node.Read();
    ASSERT_EQ(node.underlay(), std::string("eth0, ") + address);
    node.Named("eth0").link = node.Named("eth0.100").link = false;
    node.Lose("eth0", address);
    node.facts.routes_v4 = {Node::Route(11, 400)};
    node.facts.routes_v6 = {Node::Route(11, 400, "::/0")};
    node.Read();
    node.Pass(minutes(2));
    node.Named("eth0").link = node.Named("eth0.100").link = true;
    node.Pass(seconds(60));
    EXPECT_THAT(node.waits,
                HasSubstr(std::string("eth0 exists but has lost its address ") + address));
    node.Add("eth0", address);
    node.Read();
    EXPECT_EQ(node.underlay(), std::string("eth0, ") + address);
    EXPECT_THAT(node.reasons, IsEmpty());
  }
}

TEST(UnderlayKeeperTest, WithoutAnotherAddressTheNodeWaits) {
  for (const bool without_mac : {false, true}) {
    Node node;
    if (without_mac) node.Named("eth0").mac = MacAddress();
    node.Read();
    node.Plug(9, "eth2", without_mac ? "00:00:00:00:00:00" : "02:00:00:00:00:09", {"10.8.0.1"});
    node.AddDefault(9, 1);
    node.Lose("eth0", "10.9.0.1");
    node.Add("eth0", "169.254.3.4");
    node.Pass(minutes(15));
    EXPECT_EQ(node.underlay(), "eth0, 10.9.0.1");
    EXPECT_EQ(node.waits,
              "eth0 exists but has lost its address 10.9.0.1: flanneld waits for an address of it, "
              "and does not move to eth2; to move the node, restart flanneld or name eth2 with "
              "--iface");
    node.request.public_ip = "172.16.0.1";
    node.Read();
    EXPECT_EQ(node.underlay(), "eth1, 172.16.0.1") << "as requested meanwhile";
  }
}

TEST(UnderlayKeeperTest, APublicAddressThatIsGoneIsWaitedFor) {
  Node node;
  node.request.public_ip = "10.9.0.1";
  node.Read();
  node.Lose("eth0", "10.9.0.1");
  node.Add("eth0", "10.9.0.7");
  node.Pass(minutes(15));
  EXPECT_EQ(node.underlay(), "eth0, 10.9.0.1");
  EXPECT_THAT(node.waits, HasSubstr("eth0 exists but has lost its address 10.9.0.1"));
}

// With it peers send to an address of which nothing is known here.
TEST(UnderlayKeeperTest, APublicAddressThatNoAdapterHasIsReportedAndNotFollowed) {
  for (const bool v6 : {false, true}) {
    Node node;
    if (v6) V6Alone(node);
    node.Read();
    const std::string before = node.underlay();
    const std::string address = v6 ? "fd77::9" : "203.0.113.9";
    (v6 ? node.request.public_ipv6 : node.request.public_ip) = address;
    node.Read();
    EXPECT_THAT(node.waits,
                HasSubstr("the public address " + address + ": no adapter has that address"));
    EXPECT_EQ(node.underlay(), before);
    for (const char* iface : {"eth0", "late0"}) {
      node.request.iface = {iface};
      node.Read();
      EXPECT_EQ(node.waits, "");
      EXPECT_EQ(node.underlay(), before + " (published as " + address + ")");
    }
  }
}

TEST(UnderlayKeeperTest, AfterTheAdapterWasMissingTheNextThatFitsIsTaken) {
  Node node;
  node.Read();
  node.Unplug("eth0");
  node.Read();
  node.Pass(kMissing);
  EXPECT_EQ(node.waits, "eth0 is missing and has lost its address 10.9.0.1: flanneld waits for it");
  node.AddDefault(3, 200);
  node.Read();
  EXPECT_EQ(node.underlay(), "eth1, 172.16.0.1");
  node.Plug(9, "eth2", "02:00:00:00:00:09", {"10.8.0.1"});
  node.request.node_ips = {Address("10.8.0.1")};
  node.Read();
  EXPECT_EQ(node.underlay(), "eth2, 10.8.0.1") << "as requested meanwhile";
}

TEST(UnderlayKeeperTest, AfterTheAdapterWasMissingTheNodeReturnsToItsFirstAddress) {
  Node node;
  node.Read();
  node.AddDefault(3, 200);
  const Adapter eth0 = node.Unplug("eth0");
  node.Read();
  EXPECT_THAT(node.waits, HasSubstr("eth0 is missing and has lost its address 10.9.0.1: flanneld "
                                    "waits for it, for two minutes, and then moves to eth1"));
  node.Pass(kMissing);
  EXPECT_EQ(node.underlay(), "eth1, 172.16.0.1");
  // A loose connector.
  for (int i = 0; i < 3; ++i) {
    node.facts.adapters.push_back(eth0);
    node.Read();
    node.Pass(kBack - seconds(1));
    node.Unplug("eth0");
    node.Pass(seconds(10));
  }
  EXPECT_EQ(node.underlay(), "eth1, 172.16.0.1");
  node.facts.adapters.push_back(eth0);
  node.Read();
  node.Pass(kBack);
  EXPECT_EQ(node.underlay(), "eth0, 10.9.0.1");
  node.Pass(minutes(15));
  EXPECT_EQ(node.underlay(), "eth0, 10.9.0.1");
  EXPECT_THAT(node.reasons, ElementsAre("eth0 has been missing for 2 minutes",
                                        "its address of before is back for 60 s"));
}

TEST(UnderlayKeeperTest, AlsoWhereItsFirstAddressIsTheInternalIp) {
  for (const bool v6 : {false, true}) {
    Node node;
    if (v6) V6Alone(node);
    node.request.node_ips = {Address(v6 ? "fd09::1" : "10.9.0.1")};
    node.Read();
    const std::string before = node.underlay();
    const char* const meanwhile = v6 ? "eth1, fd16::1" : "eth1, 172.16.0.1";
    node.AddDefault(3, 200);
    const Adapter eth0 = node.Unplug("eth0");
    node.Read();
    node.Pass(kMissing);
    EXPECT_EQ(node.underlay(), meanwhile);
    node.facts.adapters.push_back(eth0);
    node.Read();
    node.Pass(kBack - seconds(1));
    EXPECT_EQ(node.underlay(), meanwhile);
    node.Pass(seconds(1));
    EXPECT_EQ(node.underlay(), before);
  }
}

TEST(UnderlayKeeperTest, OneOfItsTwoAddressesIsNoReasonToReturn) {
  Node node;
  WithV6(node);
  node.Read();
  node.AddDefault(3, 200);
  Adapter eth0 = node.Unplug("eth0");
  eth0.addresses.pop_back();
  node.Read();
  node.Pass(kMissing);
  node.facts.adapters.push_back(eth0);
  node.Pass(minutes(15));
  EXPECT_EQ(node.underlay(), "eth1, 172.16.0.1, fd16::1");
  node.Add("eth0", "fd09::1");
  node.Read();
  node.Pass(kBack);
  EXPECT_EQ(node.underlay(), "eth0, 10.9.0.1, fd09::1");
}

TEST(UnderlayKeeperTest, WhereTheInternalIpFollowedTheNodeStays) {
  Node node;
  node.request.node_ips = {Address("10.9.0.1")};
  node.Read();
  node.AddDefault(3, 200);
  const Adapter eth0 = node.Unplug("eth0");
  node.Read();
  node.Pass(kMissing);
  node.request.node_ips = {Address("172.16.0.1")};
  node.facts.adapters.push_back(eth0);
  node.Pass(minutes(15));
  EXPECT_EQ(node.underlay(), "eth1, 172.16.0.1");
  EXPECT_THAT(node.reasons, ElementsAre("eth0 has been missing for 2 minutes"));
}

TEST(UnderlayKeeperTest, TheMtuOfTheAdapterIsFollowed) {
  Node node;
  node.Read();
  node.Named("eth0").mtu = 9000;
  node.Read();
  EXPECT_EQ(node.current->mtu.bytes(), 9000u);
  node.Named("eth0").mtu = 0;
  node.Read();
  EXPECT_THAT(node.waits, HasSubstr("adapter eth0 has the MTU 0"));
  EXPECT_EQ(node.current->mtu.bytes(), 9000u);
}

}  // namespace
}  // namespace weft::underlay
