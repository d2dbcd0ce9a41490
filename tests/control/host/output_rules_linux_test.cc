// SPDX-License-Identifier: Apache-2.0
// Which of the host's rules could concern a node's own VXLAN packets, in a network namespace.
#include "control/host/output_rules_linux.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/xfrm.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <source_location>
#include <string>
#include <vector>

#include "control/host/netlink_linux.h"
#include "tests/support/lease_makers.h"
#include "tests/support/netns.h"
#include "tests/support/wait.h"

namespace weft::host {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::weft::testing::Prefix;

std::string Shell(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string output;
  std::array<char, 256> chunk;
  while (std::fgets(chunk.data(), chunk.size(), pipe) != nullptr) output += chunk.data();
  ::pclose(pipe);
  return output;
}

class OutputRulesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(EnterPrivateNetns(), ""); }

  static OutputPackets Packets(IpFamily family = IpFamily::kV4) {
    const bool v4 = family == IpFamily::kV4;
    return {.family = family,
            .source = *IpAddress::Parse(v4 ? "192.168.77.1" : "fd77::1"),
            .destination_port = 4789,
            .egress = "u0",
            .other_networks = {Prefix(v4 ? "10.244.0.0/16" : "fd10:244::/48")}};
  }
  static std::string Find(IpFamily family = IpFamily::kV4) {
    const absl::StatusOr<std::string> found = FindOutputRule(Packets(family));
    return found.ok() ? *found : std::string(found.status().message());
  }
  static std::string FindWith(const std::string& hook, const std::string& rule) {
    EXPECT_EQ(Shell("nft flush ruleset; nft 'add table inet t; add chain inet t side; add chain "
                    "inet t c { type filter hook " +
                    hook + " priority 0; }; add rule inet t c " + rule + "'"),
              "")
        << rule;
    return Find();
  }
};

TEST_F(OutputRulesTest, AHostWithoutRules) {
  EXPECT_EQ(Find(), "");
  EXPECT_EQ(Find(IpFamily::kV6), "");
}

TEST_F(OutputRulesTest, RulesThatMayConcernThePackets) {
  for (const char* hook : {"output", "postrouting"}) {
    for (const char* rule : {"drop",
                             "udp dport 4789 drop",
                             "udp dport 4000-5000 drop",
                             "udp dport {4789, 53} drop",
                             "meta l4proto udp drop",
                             "ip daddr 192.168.77.2 drop",
                             "ip daddr 192.168.0.0/16 drop",
                             "ip daddr 10.0.0.0/8 drop",
                             "ip saddr 192.168.77.1 drop",
                             "ip saddr 192.168.0.0/16 drop",
                             "ip saddr != 10.244.0.0/16 drop",
                             "oifname u0 drop",
                             "oifname != lo drop",
                             "meta mark 0 drop",
                             "meta mark and 0x4000 != 0x4000 drop",
                             "meta skuid 0 drop",
                             "ct state new drop",
                             "meta mark set 1",
                             "ct mark set 1",
                             "ip dscp set 4",
                             "log",
                             "notrack",
                             "udp sport 50000 drop",

                             "udp dport vmap { 53 : accept }",
                             "ip ttl 64 drop",
                             "@th,0,32 1 drop",
                             "limit rate over 1/second drop",
                             "meta nfproto ipv4 drop",
                             "ip version 4 drop",
                             "fib daddr type unicast drop",
                             "ip protocol 17 drop",
                             "meta length > 1000 drop",
                             "goto side; add rule inet t side drop",
                             "udp dport 4789 jump side; add rule inet t side ip daddr 1.2.3.4 drop",
                             "ct state new accept; add rule inet t c drop"}) {
      EXPECT_THAT(FindWith(hook, rule), HasSubstr("may match packets to UDP port 4789 and "))
          << hook << " " << rule;
    }
  }
}

TEST_F(OutputRulesTest, RulesThatDoNot) {
  for (const char* hook : {"output", "postrouting"}) {
    for (const char* rule : {"accept",
                             "counter",
                             "counter accept",
                             "udp dport 53 drop",
                             "tcp dport 4789 drop",
                             "meta l4proto tcp drop",
                             "meta l4proto icmp drop",
                             "ip saddr 10.244.0.0/16 drop",
                             "ip saddr 10.244.1.0/24 drop",
                             "ip daddr 127.0.0.0/8 drop",
                             "ip daddr 10.244.0.0/16 drop",
                             "ip daddr 10.244.1.7 drop",
                             "ip daddr 224.0.0.0/4 drop",
                             "ip daddr 224.0.0.1 drop",
                             "oifname lo drop",
                             "oifname docker0 drop",
                             "meta mark 0x4000 drop",
                             "meta mark and 0x4000 == 0x4000 drop",
                             "meta nfproto ipv6 drop",
                             "ip6 daddr fd00::1 drop",
                             "ct state new accept",
                             "udp dport 4789 accept",
                             "udp dport != 4789 drop",
                             "udp dport 53 jump side; add rule inet t side drop",
                             "jump side; add rule inet t side udp dport 53 drop",
                             "udp dport 4789 accept; add rule inet t c drop",
                             "udp dport 4789 return; add rule inet t c drop",
                             "jump side; add rule inet t side return; add rule inet t side drop"}) {
      EXPECT_EQ(FindWith(hook, rule), "") << hook << " " << rule;
    }
  }
  for (const char* hook : {"input", "forward", "prerouting"})
    EXPECT_EQ(FindWith(hook, "drop"), "") << hook;
}

TEST_F(OutputRulesTest, FamiliesAndPolicies) {
  Shell(
      "nft 'add table ip6 t; add chain ip6 t c { type filter hook output priority 0; policy "
      "drop; }'");
  EXPECT_EQ(Find(), "");
  EXPECT_EQ(Find(IpFamily::kV6), "the policy of nftables' chain ip6 t c is not accept");
  Shell("nft 'add rule ip6 t c udp dport 4789 accept'");
  EXPECT_EQ(Find(IpFamily::kV6), "");
  Shell(
      "nft 'flush chain ip6 t c; add rule ip6 t c ip6 daddr fd10:244::/48 drop; add rule ip6 t c "
      "accept'");
  EXPECT_EQ(Find(IpFamily::kV6), "");
  Shell(
      "nft 'flush chain ip6 t c; add rule ip6 t c ip6 daddr fd77::/64 drop; add rule ip6 t c "
      "accept'");
  EXPECT_THAT(Find(IpFamily::kV6), HasSubstr("drops"));
}

TEST_F(OutputRulesTest, RulesOfIptables) {
  for (const char* rule :
       {"-p udp --dport 4789 -j DROP", "-j DROP", "-p udp -j LOG", "-m mark --mark 0 -j DROP",
        "-m conntrack --ctstate NEW -j DROP", "-d 192.168.77.2 -j DROP", "-j MARK --set-mark 1",
        "-p udp -m multiport --dports 53,4789 -j DROP", "-m owner --uid-owner 0 -j REJECT",
        "-p udp -m udp --dport 4000:5000 -j DROP", "-p udp -m udp ! --dport 53 -j DROP"}) {
    Shell("nft flush ruleset");
    EXPECT_EQ(Shell(std::string("iptables-nft -A OUTPUT ") + rule), "") << rule;
    EXPECT_THAT(Find(), HasSubstr("may match")) << rule;
  }
  for (const char* rule :
       {"-p udp --dport 53 -j DROP", "-p tcp -j DROP", "-m mark --mark 0x4000/0x4000 -j DROP",
        "-m mark ! --mark 0/0x4000 -j DROP", "-m comment --comment x -j ACCEPT",
        "-d 10.244.0.0/16 -j DROP", "-o docker0 -j DROP", "-p icmp -j DROP",
        "-m conntrack --ctstate NEW -j ACCEPT", "-p udp -m udp ! --dport 4789 -j DROP"}) {
    Shell("nft flush ruleset");
    EXPECT_EQ(Shell(std::string("iptables-nft -A OUTPUT ") + rule), "") << rule;
    EXPECT_EQ(Find(), "") << rule;
  }
  Shell("nft flush ruleset");
  EXPECT_EQ(Shell("iptables-legacy -A OUTPUT -p udp --dport 53 -j ACCEPT"), "");
  EXPECT_THAT(Find(), StartsWith("the host has tables of iptables-legacy (filter)"));
  EXPECT_EQ(Find(IpFamily::kV6), "");
}

TEST_F(OutputRulesTest, RoutingRules) {
  for (const char* family : {"-4 ", "-6 "}) {
    const IpFamily own = family[1] == '4' ? IpFamily::kV4 : IpFamily::kV6;
    EXPECT_EQ(RunIp(std::string(family) + "rule add pref 99 fwmark 1 lookup 7"), "");
    EXPECT_THAT(Find(own), HasSubstr("a routing rule of priority 99"));
    EXPECT_EQ(RunIp(std::string(family) + "rule del pref 99"), "");
    EXPECT_EQ(Find(own), "");
    EXPECT_EQ(RunIp(std::string(family) + "rule add pref 0 lookup main"), "");
    EXPECT_THAT(Find(own), HasSubstr("a routing rule of priority 0"));
    EXPECT_EQ(RunIp(std::string(family) + "rule del pref 0 lookup main"), "");
  }
}

TEST_F(OutputRulesTest, Ipsec) {
  EXPECT_EQ(RunIp("xfrm policy add src 10.9.0.0/16 dst 10.8.0.0/16 dir out"), "");
  EXPECT_THAT(Find(), HasSubstr("ip xfrm policy"));
  EXPECT_EQ(RunIp("xfrm policy flush"), "");
  EXPECT_EQ(Find(), "");
  EXPECT_EQ(RunIp("xfrm policy setdefault out block"), "");
  EXPECT_THAT(Find(), HasSubstr("block packets out"));
  EXPECT_EQ(RunIp("xfrm policy setdefault out accept"), "");
  // What waits for keys is a state, too.
  absl::StatusOr<NetlinkSocket> socket = NetlinkSocket::Open(NETLINK_XFRM);
  ASSERT_TRUE(socket.ok()) << socket.status();
  NetlinkRequest request(XFRM_MSG_ALLOCSPI, 0);
  auto* spi = request.Extra<xfrm_userspi_info>();
  spi->info.family = AF_INET;
  spi->info.id.proto = 50;  // ESP
  spi->info.id.daddr.a4 = 0x0200'000a;
  spi->info.saddr.a4 = 0x0100'000a;
  spi->min = 0x1000;
  spi->max = 0x2000;
  EXPECT_EQ(socket->Query(request, {}).error, 0);
  EXPECT_THAT(Find(), HasSubstr("ip xfrm state"));
}

// Each is noticed at once, not at the next poll of iptables-legacy.
TEST_F(OutputRulesTest, ChangesAreReported) {
  struct Seen {
    std::mutex mutex;
    std::condition_variable arrived;
    std::vector<std::string> judged;
    int changed = 0, routed = 0;
  } seen;
  const auto watch = OutputWatch::Open(Packets(), {.changed =
                                                       [&] {
                                                         const std::lock_guard lock(seen.mutex);
                                                         ++seen.changed;
                                                         seen.arrived.notify_all();
                                                       },
                                                   .judged =
                                                       [&](const std::string& obstacle) {
                                                         const std::lock_guard lock(seen.mutex);
                                                         seen.judged.push_back(obstacle);
                                                         seen.arrived.notify_all();
                                                       },
                                                   .routed =
                                                       [&] {
                                                         const std::lock_guard lock(seen.mutex);
                                                         ++seen.routed;
                                                         seen.arrived.notify_all();
                                                       }});
  ASSERT_TRUE(watch.ok()) << watch.status();
  const auto wait = [&](const auto& condition,
                        std::source_location where = std::source_location::current()) {
    std::unique_lock lock(seen.mutex);
    return weft::testing::Await({std::chrono::seconds(10), where}, seen.arrived, lock, condition);
  };
  const auto count = [&](const int& of) {
    const std::lock_guard lock(seen.mutex);
    return of;
  };
  const auto last = [&](const std::string& part) {
    return [&seen, part] {
      return !seen.judged.empty() &&
             (part.empty() ? seen.judged.back().empty()
                           : seen.judged.back().find(part) != std::string::npos);
    };
  };
  EXPECT_TRUE(wait(last("")));
  for (const auto& [add, part, remove] : std::vector<std::array<std::string, 3>>{
           {"nft 'add table ip t; add chain ip t c { type filter hook output priority 0; policy "
            "drop; }'",
            "policy", "nft delete table ip t"},
           {"ip rule add pref 99 lookup 7", "priority 99", "ip rule del pref 99"},
           {"ip xfrm policy add src 10.9.0.0/16 dst 10.8.0.0/16 dir out", "xfrm",
            "ip xfrm policy flush"}}) {
    const int changed = count(seen.changed);
    EXPECT_EQ(Shell(add), "");
    EXPECT_TRUE(wait([&] { return seen.changed > changed; })) << add;
    EXPECT_TRUE(wait(last(part))) << add;
    EXPECT_EQ(Shell(remove), "");
    EXPECT_TRUE(wait(last(""))) << remove;
  }
  const int routed = count(seen.routed);
  EXPECT_EQ(Shell("ip route add 10.9.0.0/16 dev lo"), "");
  EXPECT_TRUE(wait([&] { return seen.routed > routed; }));
  EXPECT_EQ(Shell("iptables-legacy -A OUTPUT -j ACCEPT"), "");
  EXPECT_TRUE(wait(last("legacy")));
}

}  // namespace
}  // namespace weft::host
