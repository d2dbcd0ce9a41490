// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/support/lease_makers.h"

namespace weft::ledger {
namespace {

using testing::Address;
using testing::Prefix;

constexpr char kId[] = "55fedb88-4b11-4da4-8cd1-59970718a804";

// We read an older flanneld's ledger, and an older flannelctl reads ours.
TEST(EntryTest, EachKindIsARowAndReadFromIt) {
  const hns::Guid id = *hns::Guid::Parse(kId);
  const MacAddress mac = *MacAddress::Parse("00:15:5d:00:00:0a");
  const struct {
    Entry entry;
    Row row;
  } rows[] = {
      {HnsObject{hns::Kind::kNetwork, "flannel.4096", id, true},
       {"hns-network", "flannel.4096", kId, true}},
      {HnsObject{hns::Kind::kEndpoint, "cbr0_ep", {}, false, "10.244.1.2", "a boot"},
       {"hns-endpoint", "cbr0_ep", "", false, "10.244.1.2", "a boot"}},
      {HostRoute{Prefix("10.244.1.0/24"), Address("192.0.2.1")},
       {"host-route", "10.244.1.0/24", "192.0.2.1"}},
      {HostRoute{Prefix("fd00:244:1::/64"), Address("fd09::1"), true},
       {"host-route", "fd00:244:1::/64", "fd09::1", true}},
      {HostRoute{Prefix("10.244.3.0/24"), Address("192.0.2.3"), false, "a boot"},
       {"host-route", "10.244.3.0/24", "192.0.2.3", false, "", "a boot"}},
      {FormerRoute{Prefix("10.244.1.0/24"), Address("10.244.1.0"), "flannel.1", 0, true},
       {"former-route", "10.244.1.0/24", "10.244.1.0", true, "0 onlink flannel.1"}},
      {FormerRoute{Prefix("10.244.1.0/24"), std::nullopt, "vEthernet (Ethernet 2)", 256, false},
       {"former-route", "10.244.1.0/24", "", true, "256 - vEthernet (Ethernet 2)"}},
      {FirewallRule{"OverlayTraffic4789UDP", 4789, true},
       {"firewall-rule", "OverlayTraffic4789UDP", "4789", true}},
      {FilterRules{host::FilterPart::kMasquerade}, {"filter-table", "inet weft", ""}},
      {FilterRules{host::FilterPart::kForward, true}, {"forward-rules", "nftables", "", true}},
      {FilterRules{host::FilterPart::kForwardLegacy}, {"forward-rules", "iptables-legacy", ""}},
      {StaticRoute{Prefix("10.8.0.0/16"), Address("192.0.2.9"), mac, 7, 5, "a boot"},
       {"static-route", "10.8.0.0/16", "192.0.2.9", true, "00:15:5d:00:00:0a 7 5", "a boot"}},
      {StaticIp{mac,
                7,
                {{{Address("192.168.1.10"), 24}, {Address("192.168.1.11"), 24}},
                 {Address("192.168.1.53"), Address("192.168.1.54")},
                 0u},
                {Address("192.168.1.1")},
                "a boot"},
       {"static-ip", "00:15:5d:00:00:0a", "7", true,
        "192.168.1.10/24,192.168.1.11/24;192.168.1.1;192.168.1.53,192.168.1.54;0", "a boot"}},
      {StaticIp{*MacAddress::Parse("00:15:5d:00:00:0b"),
                8,
                {{{Address("10.0.0.1"), 8}}, {}, {}},
                {},
                ""},
       {"static-ip", "00:15:5d:00:00:0b", "8", true, "10.0.0.1/8;;;", ""}},
      {Unknown{{"hns-load-balancer", "a-vip", "id", true, "a shape", "a boot"}},
       {"hns-load-balancer", "a-vip", "id", true, "a shape", "a boot"}},
  };
  std::set<std::string> keys;
  for (const auto& [entry, row] : rows) {
    SCOPED_TRACE(row.kind + " " + row.name);
    EXPECT_EQ(RowOf(entry), row);
    EXPECT_TRUE(EntryFrom(row) == entry);
    EXPECT_TRUE(keys.insert(KeyOf(entry)).second || row.kind == "former-route");
  }
}

// A person wrote it: nothing of it is lost.
TEST(EntryTest, UnreadableEntriesAreKept) {
  for (const Row& row : std::initializer_list<Row>{
           {"hns-network", "flannel.4096", "no id", false, "Overlay", "a boot"},
           {"host-route", "nonsense", "192.0.2.1"},
           {"host-route", "10.244.1.0/24", "nonsense"},
           {"host-route", "10.244.1.0/24", ""},
           {"former-route", "nonsense", "192.0.2.1", true, "0 - eth0"},
           {"former-route", "10.244.1.0/24", "nonsense", true, "0 - eth0"},
           {"former-route", "10.244.1.0/24", "fd09::1", true, "0 - eth0"},
           {"former-route", "10.244.1.0/24", "192.0.2.1", true, "much - eth0"},
           {"former-route", "10.244.1.0/24", "192.0.2.1", true, "0 eth0"},
           {"former-route", "10.244.1.0/24", "192.0.2.1", true, ""},
           {"static-route", "10.8.0.0/16", "192.0.2.9", true, ""},
           {"static-route", "10.8.0.0/16", "192.0.2.9", true, "x 7 5"},
           {"static-route", "10.8.0.0/16", "192.0.2.9", true, "00:15:5d:00:00:0a x 5"},
           {"static-route", "10.8.0.0/16", "192.0.2.9", true, "00:15:5d:00:00:0a 7 x"},
           {"static-route", "10.8.0.0/16", "192.0.2.9", true, "00:15:5d:00:00:0a 7 5 3"},
           {"static-ip", "x", "7", true, "10.0.0.1/8;;;"},
           {"static-ip", "00:15:5d:00:00:0a", "x", true, "10.0.0.1/8;;;"},
           {"static-ip", "00:15:5d:00:00:0a", "7", true, "10.0.0.1/8;;"},
           {"static-ip", "00:15:5d:00:00:0a", "7", true, "10.0.0.1/8;;;;"},
           {"static-ip", "00:15:5d:00:00:0a", "7", true, ";;;"},
           {"static-ip", "00:15:5d:00:00:0a", "7", true, "10.0.0.1/0;;;"},
           {"static-ip", "00:15:5d:00:00:0a", "7", true, "10.0.0.1/33;;;"},
           {"static-ip", "00:15:5d:00:00:0a", "7", true, "fd00::1/64;;;"},
           {"static-ip", "00:15:5d:00:00:0a", "7", true, "127.0.0.1/8;;;"},
           {"static-ip", "00:15:5d:00:00:0a", "7", true, "224.0.0.1/8;;;"},
           {"static-ip", "00:15:5d:00:00:0a", "7", true, "10.0.0.1/8;0.0.0.0;;"},
           {"static-ip", "00:15:5d:00:00:0a", "7", true, "10.0.0.1/8;255.255.255.255;;"},
           {"static-ip", "00:15:5d:00:00:0a", "7", true, "/8;;;"},
           {"static-ip", "00:15:5d:00:00:0a", "7", true, "10.0.0.1/8;;x;"},
           {"static-ip", "00:15:5d:00:00:0a", "7", true, "10.0.0.1/8;;;x"},
           {"firewall-rule", "a rule", "65536"},
           {"firewall-rule", "a rule", "a port"},
           {"filter-table", "inet other", ""},
           {"filter-table", "nftables", ""},
           {"", "", ""}}) {
    const Entry entry = EntryFrom(row);
    EXPECT_TRUE(std::holds_alternative<Unknown>(entry)) << row.kind << row.name << row.id;
    EXPECT_EQ(RowOf(entry), row);
  }
}

// ledger.changes forgets by the key, also what an earlier version put in.
TEST(EntryTest, AKeyIsOneLineForAnyName) {
  const auto key = [](Row row) { return KeyOf(EntryFrom(std::move(row))); };
  EXPECT_EQ(key({"hns-network", "a \"b\"\n\\", kId, true, "shape", "boot"}),
            R"(hns-network "a \"b\"\n\\")");
  EXPECT_EQ(key({"host-route", "10.244.1.0/24", "192.0.2.1", true}),
            R"(host-route "10.244.1.0/24" "192.0.2.1")");
  EXPECT_EQ(key({"former-route", "10.244.1.0/24", "", true, "0 - eth0"}),
            R"(former-route "10.244.1.0/24" "")");
  EXPECT_EQ(key({"firewall-rule", "a rule", "4789"}), R"(firewall-rule "a rule")");
  EXPECT_EQ(key({"static-route", "10.8.0.0/16", "192.0.2.9", true, "00:15:5d:00:00:0a 7 5", "b"}),
            R"(static-route "10.8.0.0/16" "192.0.2.9" "00:15:5d:00:00:0a 7 5")");
  EXPECT_EQ(key({"static-ip", "00:15:5d:00:00:0a", "7", true, "10.0.0.1/8;;;", "b"}),
            R"(static-ip "00:15:5d:00:00:0a")");
  EXPECT_EQ(key({"new\nkind", "n", "i", true, "s", "b"}), R"(new\nkind "n" "i" "s")");
}

TEST(EntryTest, MatchesAnObjectThatHnsShowsIncompletely) {
  const HnsObject entry{
      hns::Kind::kNetwork, "n", {}, false, "Overlay 10.0.0.0/24 VSID 4096 port 8472", "boot"};
  for (const char* shape :
       {"Overlay 10.0.0.0/24", "overlay 10.0.0.0/24 VSID 4096", "Overlay 10.0.0.0/24 port 8472",
        "Overlay 10.0.0.0/24 VSID 4096 port 8472"}) {
    EXPECT_TRUE(MayBe(entry, shape, "boot")) << shape;
    EXPECT_FALSE(MayBe(entry, shape, "another boot")) << shape;
    EXPECT_FALSE(MayBe(entry, shape, "")) << shape;
  }
  for (const char* shape :
       {"", "Overlay", "VSID 4096", "Overlay 10.0.0.0/2", "Overlay 10.0.1.0/24",
        "L2Bridge 10.0.0.0/24", "Overlay 10.0.0.0/24 VSID 8472", "Overlay 10.0.0.0/24 VSID",
        "Overlay 10.0.0.0/24 port 8472 VSID 4096", "Overlay 10.0.0.0/24 VSID 4096 port 8472 more"})
    EXPECT_FALSE(MayBe(entry, shape, "boot")) << shape;
  HnsObject endpoint{hns::Kind::kEndpoint, "e", {}, false, "10.0.0.2", "boot"};
  EXPECT_TRUE(MayBe(endpoint, "10.0.0.2", "boot"));
  EXPECT_FALSE(MayBe(endpoint, "10.0.0.3", "boot"));
  endpoint.boot.clear();
  EXPECT_FALSE(MayBe(endpoint, "10.0.0.2", "")) << "which boot this is is not known";
}

}  // namespace
}  // namespace weft::ledger
