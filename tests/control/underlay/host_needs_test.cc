// SPDX-License-Identifier: Apache-2.0
#include "control/underlay/host_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/lease/host_claims.h"
#include "tests/support/lease_makers.h"

namespace weft::underlay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using weft::testing::Address;
using weft::testing::Prefix;

std::vector<std::string> Texts(const std::vector<lease::HostClaim>& claims) {
  std::vector<std::string> texts;
  for (const lease::HostClaim& claim : claims)
    texts.push_back(claim.prefix.ToString() + ": " + claim.what);
  return texts;
}

TEST(HostNeeds, AreAddressesPrefixesGatewaysAndNameServers) {
  HostFacts host;
  host::Adapter eth0, tunnel;
  eth0.name = "eth0";
  eth0.addresses = {{Address("192.0.2.1"), 24},
                    {Address("192.0.2.7"), 32},
                    {Address("2001:db8::1"), 64},
                    {Address("fe80::1"), 64},
                    {Address("169.254.7.7"), 16}};
  tunnel.name = "flannel.4096";
  tunnel.addresses = {{Address("10.244.1.0"), 32}};
  host.adapters = {eth0, tunnel};
  host::Route by_default, by_peer;
  by_default.gateway = Address("192.0.2.254");
  by_peer.destination = Prefix("10.244.9.0/24");
  by_peer.gateway = Address("192.0.2.9");
  host.routes_v4 = {by_default, by_peer};
  by_default.destination = Prefix("::/0");
  by_default.gateway = Address("2001:db8::fe");
  host.routes_v6 = {by_default};
  EXPECT_THAT(
      Texts(ClaimsOf(host, {Address("192.0.2.53"), Address("127.0.0.53")}, {"flannel.4096"})),
      ElementsAre("192.0.2.254/32: the default gateway 192.0.2.254",
                  "2001:db8::fe/128: the default gateway 2001:db8::fe",
                  "192.0.2.1/32: this node's address 192.0.2.1 on eth0",
                  "192.0.2.0/24: the prefix 192.0.2.0/24 connected to eth0",
                  "192.0.2.7/32: this node's address 192.0.2.7 on eth0",
                  "2001:db8::1/128: this node's address 2001:db8::1 on eth0",
                  "2001:db8::/64: the prefix 2001:db8::/64 connected to eth0",
                  "192.0.2.53/32: name server 192.0.2.53"));
}

TEST(HostNeeds, AreOfOneFamilyAndInOrder) {
  HostNeeds needs;
  needs.Update({ClaimOf(Address("192.0.2.9"), "b"), ClaimOf(Address("2001:db8::1"), "six"),
                ClaimOf(Address("10.0.0.1"), "a")},
               {});
  EXPECT_THAT(Texts(needs.Claims(IpFamily::kV4)),
              ElementsAre("10.0.0.1/32: a 10.0.0.1", "192.0.2.9/32: b 192.0.2.9"));
  EXPECT_THAT(Texts(needs.Claims(IpFamily::kV6)), ElementsAre("2001:db8::1/128: six 2001:db8::1"));
}

// A left-over bridge, a switch of Windows for machines, a dummy with a service's address: a lease
// that contains such an address diverts nothing, and is not refused.
TEST(HostNeeds, AreNotAddressesByWhichNoNeighbourIsReached) {
  const struct {
    const char* description;
    const char* adapter;
    bool up, link;
    const char* address;
    int length;
    bool leads_out, idle;
  } rows[] = {
      {"in use", "eth1", true, true, "10.71.3.1", 16, false, false},
      {"down", "br0", false, true, "10.71.3.1", 16, false, true},
      {"without link", "br0", true, false, "10.71.3.1", 16, false, true},
      {"single", "dummy0", true, true, "10.71.3.1", 32, false, true},
      {"single, IPv6", "dummy0", true, true, "fd71::1", 128, false, true},
      {"no length of a prefix", "eth1", true, true, "10.71.3.1", 33, false, true},
      {"an internal switch", "vEthernet (nat)", true, true, "10.71.3.1", 20, false, true},
      {"wireless", "Wi-Fi", true, true, "10.71.3.1", 16, false, false},
      {"the way out", "eth0", true, true, "10.71.3.1", 32, true, false},
      {"the way out, down", "eth0", false, true, "10.71.3.1", 16, true, false},
      {"the way out, without link", "eth0", true, false, "10.71.3.1", 16, true, false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    HostFacts host;
    host::Adapter& adapter = host.adapters.emplace_back();
    adapter.index = 4;
    adapter.name = row.adapter;
    adapter.up = row.up;
    adapter.link = row.link;
    adapter.wireless = adapter.name == "Wi-Fi";
    adapter.addresses = {{Address(row.address), row.length}};
    host::Route& out = host.routes_v4.emplace_back();
    out.gateway = Address("192.0.2.254");
    out.adapter_index = row.leads_out ? 4 : 5;
    const bool v4 = Address(row.address).is_v4();
    lease::OwnIdentity own;
    HostNeeds().Fill(own, ClaimsOf(host, {}, {}), {}, {});
    const lease::OwnFamily& half = v4 ? own.v4 : own.v6;
    const auto* const found =
        lease::FindClaim(half.claims, v4 ? Prefix("10.71.3.0/24") : Prefix("fd71::/64"));
    EXPECT_EQ(found == nullptr, row.idle);
    ASSERT_EQ(half.addresses.size(), 1u) << "it is no node's public IP all the same";
    EXPECT_EQ(half.addresses[0].prefix.base(), Address(row.address));
    EXPECT_EQ(lease::FindClaim(half.claims, Prefix("10.71.0.0/16")) == nullptr, row.idle);
    HostNeeds().Fill(own, ClaimsOf(host, {}, {}, /*underlay_index=*/4), {}, {});
    EXPECT_NE(lease::FindClaim(half.claims, v4 ? Prefix("10.71.3.0/24") : Prefix("fd71::/64")),
              nullptr)
        << "of the underlay, whatever its link";
  }
}

TEST(HostNeeds, AreNotInTheOwnSubnet) {
  lease::OwnIdentity own;
  own.v4.subnet = Prefix("10.244.3.0/24");
  HostNeeds().Fill(own, {ClaimOf(Address("10.244.3.1"), "a"), ClaimOf(Address("10.244.4.1"), "b")},
                   {Address("10.244.3.9")}, {});
  EXPECT_THAT(Texts(own.v4.claims), ElementsAre("10.244.4.1/32: b 10.244.4.1"));
}

// HNS removes an adapter's address for many seconds when it makes a vSwitch.
TEST(HostNeeds, AreRememberedForTenMinutes) {
  HostNeeds needs;
  const control::TimePoint start{};
  needs.Update({ClaimOf(Address("10.0.0.1"), "a")}, start);
  needs.Update({}, start + HostNeeds::kMemory);
  EXPECT_EQ(needs.Claims(IpFamily::kV4).size(), 1u);
  needs.Update({}, start + HostNeeds::kMemory + std::chrono::seconds(1));
  EXPECT_THAT(needs.Claims(IpFamily::kV4), IsEmpty());
}

}  // namespace
}  // namespace weft::underlay
