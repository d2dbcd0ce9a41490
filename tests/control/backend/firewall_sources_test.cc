// SPDX-License-Identifier: Apache-2.0
#include "control/backend/hns_overlay/firewall_sources.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::backend {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<IpAddress> Addresses(std::initializer_list<const char*> texts) {
  std::vector<IpAddress> out;
  for (const char* const text : texts) out.push_back(*IpAddress::Parse(text));
  return out;
}

std::vector<std::string> Cover(std::initializer_list<const char*> texts, std::size_t most) {
  std::vector<std::string> out;
  const std::vector<IpPrefix> blocks = CoverAddresses(Addresses(texts), most);
  for (const IpPrefix& block : blocks) out.push_back(block.ToString());
  return out;
}

TEST(CoverAddresses, WholeBlocksAreOneEach) {
  EXPECT_THAT(Cover({}, 500), IsEmpty());
  EXPECT_THAT(Cover({"10.0.0.7", "10.0.0.7"}, 500), ElementsAre("10.0.0.7/32"));
  EXPECT_THAT(Cover({"10.0.0.3", "10.0.0.0", "10.0.0.2", "10.0.0.1"}, 500),
              ElementsAre("10.0.0.0/30"));
  EXPECT_THAT(Cover({"10.0.0.1", "10.0.0.2"}, 500), ElementsAre("10.0.0.1/32", "10.0.0.2/32"))
      << "neighbours, and not halves of one block";
  EXPECT_THAT(Cover({"10.0.0.0", "10.0.0.2", "10.0.0.3"}, 500),
              ElementsAre("10.0.0.0/32", "10.0.0.2/31"));
}

TEST(CoverAddresses, TooManyAreJoinedWithTheNearestFirst) {
  EXPECT_THAT(Cover({"10.0.0.1", "10.0.0.2", "10.0.1.9"}, 2),
              ElementsAre("10.0.0.0/30", "10.0.1.9/32"));
  EXPECT_THAT(Cover({"10.0.0.1", "10.0.0.2", "10.0.1.9", "192.168.0.1"}, 2),
              ElementsAre("10.0.0.0/23", "192.168.0.1/32"));
  EXPECT_THAT(Cover({"10.0.0.1", "10.0.0.2", "10.0.1.1", "10.0.1.2"}, 3),
              ElementsAre("10.0.0.0/30", "10.0.1.1/32", "10.0.1.2/32"));
  EXPECT_THAT(Cover({"0.0.0.1", "255.0.0.1"}, 1), ElementsAre("0.0.0.0/0"));
}

// Against the definition, over the cluster shapes that there are: one dense block, racks, and
// addresses of anybody.
TEST(CoverAddresses, OfAnyAddressesNoneIsLeftOutAndTheLimitHolds) {
  std::mt19937 random(4789);
  for (const std::uint32_t spread : {0xfffu, 0xfffffu, 0xffffffffu}) {
    for (const std::size_t most : {std::size_t{1}, std::size_t{7}, kMostFirewallSources}) {
      std::vector<IpAddress> addresses;
      for (int i = 0; i < 3000; ++i)
        addresses.push_back(
            IpAddress::V4(0x0a000000u ^ (static_cast<std::uint32_t>(random()) & spread)));
      const std::vector<IpPrefix> blocks = CoverAddresses(addresses, most);
      ASSERT_LE(blocks.size(), most);
      for (std::size_t i = 1; i < blocks.size(); ++i)
        ASSERT_TRUE(blocks[i - 1] < blocks[i] && !blocks[i - 1].Overlaps(blocks[i]));
      for (const IpAddress& address : addresses)
        ASSERT_TRUE(std::ranges::any_of(
            blocks, [&](const IpPrefix& block) { return block.Contains(address); }));
    }
  }
}

lease::Peer PeerAt(const char* public_ip) {
  lease::Peer peer;
  peer.node = "worker";
  peer.public_ip = *IpAddress::Parse(public_ip);
  return peer;
}

TEST(SourcesOf, ThePublicAddressesOfPeersAreTheSources) {
  EXPECT_EQ(SourcesOf({}).prefixes, std::vector<IpPrefix>());
  const std::vector<lease::Peer> peers = {PeerAt("192.168.1.11"), PeerAt("fd00::1"),
                                          PeerAt("192.168.1.12")};
  const FirewallSources sources = SourcesOf(peers);
  EXPECT_THAT(*sources.prefixes, ElementsAre(*IpPrefix::Parse("192.168.1.11/32"),
                                             *IpPrefix::Parse("192.168.1.12/32")));
  EXPECT_EQ(sources.refusal, "");
}

TEST(SourcesOf, APeerBehindNatIsNamedAndAnyAddressAllowed) {
  std::vector<lease::Peer> peers = {PeerAt("192.168.1.11"), PeerAt("203.0.113.7")};
  peers[1].behind_nat = true;
  const FirewallSources sources = SourcesOf(peers);
  EXPECT_EQ(sources.prefixes, std::nullopt);
  EXPECT_EQ(sources.refusal,
            "--firewall-sources=peers: node worker is behind NAT (its public IP 203.0.113.7, which "
            "an annotation sets, is no InternalIP of it), so its packets may come from another "
            "address, and the firewall lets in any; set --firewall-sources=any");
}

}  // namespace
}  // namespace weft::backend
