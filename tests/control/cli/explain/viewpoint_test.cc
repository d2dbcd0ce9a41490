// SPDX-License-Identifier: Apache-2.0
// The data plane's values from the samples' leases: win-1 is this node.
#include "control/cli/explain/viewpoint.h"

#include "control/cli/explain/frame.h"
#include "gmock/gmock.h"
#include "tests/control/admin/samples.h"
#include "tests/support/packet_builder.h"

namespace weft::cli {
namespace {

using admin::SampleLeases;
using ::testing::HasSubstr;

std::string NodeOf(const NamedHalf* half) { return half == nullptr ? "none" : half->node; }

TEST(ViewpointTest, OwnHalfAndUsablePeers) {
  const auto view = MakeViewpoint(SampleLeases(), IpFamily::kV4);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->node, "win-1");
  EXPECT_EQ(view->own.subnet.ToString(), "10.244.4.0/24");
  EXPECT_EQ(view->local.outer_source, Ip("192.0.2.4"));
  EXPECT_EQ(view->local.mac, Mac("00:15:5d:00:00:04"));
  EXPECT_EQ(view->local.vni, kFlannelWindowsVni);
  EXPECT_EQ(view->peers.size(), 4u);
  ASSERT_EQ(view->remotes.size(), 2u);
  EXPECT_EQ(view->remotes[0].peer, "linux-1");
  EXPECT_EQ(view->remotes[0].vtep, Ip("192.0.2.1"));
  EXPECT_EQ(view->remotes[1].peer, "win-2");
}

TEST(ViewpointTest, OurVniIsThatOfOurLease) {
  admin::LeaseList list = SampleLeases();
  list.leases[3].v4->vni = 7;
  EXPECT_EQ(MakeViewpoint(list, IpFamily::kV4)->local.vni, *Vni::From(7));
  list.leases[3].v4->vni = 1 << 24;  // no VNI at all
  EXPECT_EQ(MakeViewpoint(list, IpFamily::kV4)->local.vni, kFlannelWindowsVni);
}

TEST(ViewpointTest, AUsableRowWithoutAddressIsNoRemote) {
  admin::LeaseList list = SampleLeases();
  list.leases[0].v4->public_ip.reset();
  list.leases[4].v4->vtep_mac.reset();
  EXPECT_TRUE(MakeViewpoint(list, IpFamily::kV4)->remotes.empty());
}

TEST(ViewpointTest, ARowThatIsNoRemoteCoversNothingAsUsable) {
  admin::LeaseList list = SampleLeases();
  list.leases[4].v4->subnet = *IpPrefix::Parse("10.244.0.0/16");
  list.leases[0].v4->public_ip.reset();
  const auto view = MakeViewpoint(list, IpFamily::kV4);
  EXPECT_EQ(NodeOf(view->FindCovering(Ip("10.244.1.9"), true)), "win-2");
  EXPECT_EQ(NodeOf(view->FindCovering(Ip("10.244.1.9"), false)), "linux-1");
}

TEST(ViewpointTest, WithoutOurLeaseItNamesTheFlag) {
  const auto v6 = MakeViewpoint(SampleLeases(), IpFamily::kV6);
  EXPECT_EQ(v6.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(v6.status().message()), HasSubstr("no IPv6 lease of this node"));
  const auto none = MakeViewpoint({}, IpFamily::kV4);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("--node-name"));
}

TEST(ViewpointTest, TheLongestCoveringSubnetIsFound) {
  admin::LeaseList list = SampleLeases();
  list.leases[4].v4->subnet = *IpPrefix::Parse("10.244.0.0/16");
  const auto view = MakeViewpoint(list, IpFamily::kV4);
  EXPECT_EQ(NodeOf(view->FindCovering(Ip("10.244.1.9"), true)), "linux-1");
  EXPECT_EQ(NodeOf(view->FindCovering(Ip("10.244.77.9"), true)), "win-2");
  EXPECT_EQ(NodeOf(view->FindCovering(Ip("10.244.2.9"), false)), "linux-2");
  EXPECT_EQ(NodeOf(view->FindCovering(Ip("10.99.0.1"), true)), "none");
  EXPECT_EQ(NodeOf(view->FindCovering(Ip("fd00::1"), true)), "none");
  admin::LeaseList wide_first = SampleLeases();
  wide_first.leases[0].v4->subnet = *IpPrefix::Parse("10.244.0.0/16");
  const IpAddress narrow = wide_first.leases[4].v4->subnet.base();
  EXPECT_EQ(NodeOf(MakeViewpoint(wide_first, IpFamily::kV4)->FindCovering(narrow, true)), "win-2");
}

TEST(ViewpointTest, PeersByAddressAndMac) {
  const auto view = MakeViewpoint(SampleLeases(), IpFamily::kV4);
  EXPECT_EQ(NodeOf(view->FindByPublicIp(Ip("192.0.2.1"))), "linux-1");
  EXPECT_EQ(NodeOf(view->FindByPublicIp(Ip("192.0.2.2"))), "none");  // not used
  EXPECT_EQ(NodeOf(view->FindByMac(Mac("00:15:5d:00:00:05"))), "win-2");
  EXPECT_EQ(NodeOf(view->FindByMac(Mac("02:00:00:00:00:99"))), "none");
}

ByteVector Outer() {
  return VxlanBuilder(PacketBuilder("10.244.1.5", "10.244.4.7").Payload(5).Build())
      .Outer("192.0.2.1", "192.0.2.4")
      .Macs(Mac("5e:00:00:00:00:01"), Mac("00:15:5d:00:00:04"))
      .Network(77)
      .Build();
}

TEST(FrameFactsTest, OfAnOuterPacket) {
  const FrameFacts facts = CollectFacts(Outer(), FrameStart::kOuterIp);
  EXPECT_EQ(facts.outer_source, Ip("192.0.2.1"));
  EXPECT_EQ(facts.outer_port, 4789);
  EXPECT_EQ(facts.vni, 77u);
  EXPECT_EQ(facts.inner_source_mac, Mac("5e:00:00:00:00:01"));
  EXPECT_EQ(facts.inner_destination_mac, Mac("00:15:5d:00:00:04"));
  EXPECT_EQ(facts.inner_source, Ip("10.244.1.5"));
  EXPECT_EQ(facts.inner_destination, Ip("10.244.4.7"));
  EXPECT_EQ(facts.inner_length, 33u);
}

TEST(FrameFactsTest, WhatIsCutOffIsAbsent) {
  const ByteVector outer = Outer();
  const ByteVector payload(outer.begin() + 28, outer.end());
  for (std::size_t size = 0; size <= payload.size(); ++size) {
    const FrameFacts facts = CollectFacts(Bytes(payload).first(size), FrameStart::kVxlan);
    EXPECT_EQ(facts.vni.has_value(), size >= 8) << size;
    EXPECT_EQ(facts.inner_source_mac.has_value(), size >= 22) << size;
    EXPECT_EQ(facts.inner_source.has_value(), size == payload.size()) << size;
    EXPECT_FALSE(facts.outer_source.has_value());
  }
}

}  // namespace
}  // namespace weft::cli
