// SPDX-License-Identifier: Apache-2.0
// Which packets are masqueraded, packet by packet: pkg/trafficmngr of upstream v0.28.9, its
// iptables and its nftables, which differ.
#include "control/host/packet_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/lease_makers.h"

namespace weft::host {
namespace {

using ::testing::ElementsAre;
using ::weft::testing::Address;
using ::weft::testing::Prefix;

struct Packet {
  IpAddress source, destination;
  std::uint32_t mark = 0;
};

bool Fits(const std::optional<FilterRule::Side>& side, const IpAddress& address) {
  return !side || side->prefix.Contains(address) != side->outside;
}

// A chain's policy accepts, which leaves the packet as it is.
FilterVerdict Judge(const std::vector<FilterRule>& rules, const Packet& packet) {
  const auto fits = [&](const FilterRule& rule) {
    return rule.family == packet.source.family() &&
           (!rule.mark || (packet.mark & rule.mark->mask) == rule.mark->value) &&
           Fits(rule.source, packet.source) && Fits(rule.destination, packet.destination);
  };
  const auto rule = std::find_if(rules.begin(), rules.end(), fits);
  return rule == rules.end() ? FilterVerdict::kReturn : rule->verdict;
}

struct Row {
  const char* what;
  const char *source, *destination;
  std::uint32_t mark;
  bool by_iptables, by_nftables;  // masqueraded
};

class MasqueradeTest : public ::testing::Test {
 protected:
  static void Expect(const PodNetwork& pods, const std::vector<Row>& rows) {
    for (const bool nftables : {false, true}) {
      const std::vector<FilterRule> rules = MasqueradeRules(pods, {nftables, true});
      for (const Row& row : rows) {
        const Packet packet{Address(row.source), Address(row.destination), row.mark};
        const FilterVerdict verdict = Judge(rules, packet);
        EXPECT_EQ(verdict == FilterVerdict::kMasquerade,
                  nftables ? row.by_nftables : row.by_iptables)
            << row.what << (nftables ? ", as nftables" : ", as iptables");
      }
    }
  }
};

TEST_F(MasqueradeTest, Ipv4) {
  Expect({Prefix("10.244.0.0/16"), Prefix("10.244.1.0/24")},
         {
             {"our pod to the outside", "10.244.1.2", "203.0.113.9", 0, true, true},
             {"our pod to a node", "10.244.1.2", "192.168.0.2", 0, true, true},
             {"our pod to another node's pod", "10.244.1.2", "10.244.2.2", 0, false, false},
             {"our pod to another of ours", "10.244.1.2", "10.244.1.3", 0, false, false},
             {"another node's pod to ours", "10.244.2.2", "10.244.1.2", 0, false, false},
             {"another node's pod to the outside", "10.244.2.2", "203.0.113.9", 0, true, true},
             {"from one other node to another", "10.244.2.2", "10.244.3.2", 0, true, false},
             {"the outside to our pod", "203.0.113.9", "10.244.1.2", 0, false, false},
             {"the host to another node's pod", "192.168.0.1", "10.244.2.2", 0, true, false},
             {"flannel's own address to another node's pod", "10.244.1.0", "10.244.2.2", 0, false,
              false},
             {"our pod to a group", "10.244.1.2", "239.1.2.3", 0, false, false},
             {"the highest group", "10.244.1.2", "239.255.255.255", 0, false, false},
             {"beyond groups", "10.244.1.2", "240.0.0.1", 0, true, true},
             {"nothing of the cluster's", "192.168.0.1", "203.0.113.9", 0, false, false},
             {"next to the network", "10.245.1.2", "203.0.113.9", 0, false, false},
             {"marked by kube-proxy", "10.244.1.2", "203.0.113.9", 0x4000, false, false},
             {"and with another bit", "10.244.1.2", "203.0.113.9", 0x4001, false, true},
             {"another mark", "10.244.1.2", "203.0.113.9", 0x8000, true, true},
         });
}

TEST_F(MasqueradeTest, Ipv6) {
  Expect({Prefix("fd10:244::/48"), Prefix("fd10:244:0:1::/64")},
         {
             {"our pod to the outside", "fd10:244:0:1::2", "2001:db8::9", 0, true, true},
             {"to another node's pod", "fd10:244:0:1::2", "fd10:244:0:2::2", 0, false, false},
             {"from another node's pod", "fd10:244:0:2::2", "fd10:244:0:1::2", 0, false, false},
             {"the outside to our pod", "2001:db8::9", "fd10:244:0:1::2", 0, false, false},
             {"the host to another node's pod", "fd77::1", "fd10:244:0:2::2", 0, true, false},
             {"our pod to a group", "fd10:244:0:1::2", "ff0e::1", 0, false, false},
             {"marked by kube-proxy", "fd10:244:0:1::2", "2001:db8::9", 0x4000, false, false},
         });
}

TEST_F(MasqueradeTest, PortsAreFullyRandomUnlessSwitchedOff) {
  const PodNetwork pods{Prefix("10.244.0.0/16"), Prefix("10.244.1.0/24")};
  for (const bool random : {false, true}) {
    std::size_t masquerading = 0;
    for (const FilterRule& rule : MasqueradeRules(pods, {false, random})) {
      if (rule.verdict != FilterVerdict::kMasquerade) continue;
      ++masquerading;
      EXPECT_EQ(rule.fully_random, random);
    }
    EXPECT_EQ(masquerading, 2u);
  }
}

TEST(ForwardRulesTest, AcceptPacketsFromAndToPods) {
  const std::vector<FilterRule> rules = ForwardRules(Prefix("fd10:244::/48"));
  const FilterRule::Side pods{Prefix("fd10:244::/48")};
  EXPECT_THAT(rules,
              ElementsAre(FilterRule{IpFamily::kV6, {}, pods, {}, FilterVerdict::kAccept, false},
                          FilterRule{IpFamily::kV6, {}, {}, pods, FilterVerdict::kAccept, false}));
}

}  // namespace
}  // namespace weft::host
