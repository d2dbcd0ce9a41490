// SPDX-License-Identifier: Apache-2.0
#include "control/underlay/own_underlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::underlay {
namespace {

using ::testing::HasSubstr;

constexpr char kNone[] = "";

// eth0 with 192.0.2.1 and fd00::1 and the default routes, eth1 with 192.0.2.129.
HostFacts TwoAdapters() {
  HostFacts host;
  host.adapters = {{1,
                    "eth0",
                    1500,
                    true,
                    false,
                    {},
                    {{*IpAddress::Parse("192.0.2.1"), 25}, {*IpAddress::Parse("fd00::1"), 64}}},
                   {2,
                    "eth1",
                    1500,
                    true,
                    false,
                    {},
                    {{*IpAddress::Parse("192.0.2.129"), 25}, {*IpAddress::Parse("fd01::1"), 64}}}};
  host::Route way;
  way.adapter_index = 1;
  host.routes_v4 = {way};
  way.destination = *IpPrefix::Parse("::/0");
  host.routes_v6 = {way};
  host.route_to = [](const IpAddress&) { return absl::NotFoundError("no route"); };
  return host;
}

struct Row {
  const char* what;
  std::string flag, annotation, published;
  std::string name, public_ip;  // chosen
};

TEST(OwnUnderlayTest, FlagAnnotationAndWhatTheNodePublishes) {
  const Row rows[] = {
      {"nothing configured", kNone, kNone, kNone, "eth0", "192.0.2.1"},
      {"published, ours", kNone, kNone, "192.0.2.129", "eth1", "192.0.2.129"},
      {"published, not ours", kNone, kNone, "203.0.113.9", "eth0", "192.0.2.1"},
      {"flag", "192.0.2.129", kNone, kNone, "eth1", "192.0.2.129"},
      {"flag over published", "192.0.2.129", kNone, "192.0.2.1", "eth1", "192.0.2.129"},
      {"annotation over flag", "192.0.2.1", "192.0.2.129", kNone, "eth1", "192.0.2.129"},
      {"annotation over published", kNone, "192.0.2.1", "192.0.2.129", "eth0", "192.0.2.1"},
  };
  for (const Row& row : rows) {
    config::Options options;
    options.public_ip = row.flag;
    control::NetConf conf;
    lease::OwnNode node;
    node.v4.node_public_ip = row.annotation;
    node.v4.published_public_ip = IpAddress::Parse(row.published);
    const auto choice = ChooseUnderlay(options, conf, node, TwoAdapters());
    ASSERT_TRUE(choice.ok()) << row.what << ": " << choice.status();
    EXPECT_EQ(choice->name, row.name) << row.what;
    EXPECT_EQ(choice->v4->public_ip.ToString(), row.public_ip) << row.what;
  }
}

TEST(OwnUnderlayTest, TheNodesInternalIpAndWhatItPublishesArePartOfTheRequest) {
  HostFacts host = TwoAdapters();
  lease::OwnNode node;
  node.internal_ips = {*IpAddress::Parse("192.0.2.129")};
  EXPECT_EQ(ChooseUnderlay({}, {}, node, host)->name, "eth1");
  node.internal_ips.clear();
  config::Options options;
  options.kube_subnet_mgr = true;
  host.routes_v4.push_back(host.routes_v4[0]);
  host.routes_v4[1].adapter_index = 2;
  EXPECT_EQ(ChooseUnderlay(options, {}, node, host)->name, "eth0");
  node.v4.published_public_ip = IpAddress::Parse("192.0.2.129");
  EXPECT_EQ(ChooseUnderlay(options, {}, node, host)->name, "eth1");
}

TEST(OwnUnderlayTest, AnInternalIpOfPodsIsNotFollowedAndIsACondition) {
  lease::OwnNode node;
  node.v4.subnet = *IpPrefix::Parse("192.0.2.128/26");
  node.v6.subnet = *IpPrefix::Parse("fd01::/64");  // not enabled
  node.internal_ips = {*IpAddress::Parse("192.0.2.129"), *IpAddress::Parse("192.0.2.1"),
                       *IpAddress::Parse("fd01::1")};
  for (const bool kube : {true, false}) {
    config::Options options;
    options.kube_subnet_mgr = kube;
    const auto choice = ChooseUnderlay(options, {}, node, TwoAdapters());
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_EQ(choice->name, "eth0");
    EXPECT_EQ(PublicIpCondition(options, node, *choice),
              "the kubelet reports InternalIP 192.0.2.129, a pod's, in 192.0.2.128/26: the API "
              "server does not reach the kubelet; start it with --node-ip=192.0.2.1");
  }
  node.v4.subnet.reset();
  EXPECT_EQ(PublicIpCondition({}, node, InterfaceChoice()), "");
}

// A changed overwrite is published, and the node stays where it is.
TEST(OwnUnderlayTest, WithAKeeperTheOverwriteIsFollowed) {
  UnderlayKeeper keeper;
  lease::OwnNode node;
  const auto first = ChooseUnderlay({}, {}, node, TwoAdapters(), &keeper);
  ASSERT_TRUE(first.ok()) << first.status();
  HostFacts host = TwoAdapters();
  host.routes_v4[0].adapter_index = 2;
  node.v4.public_ip_overwrite = "192.0.2.129";
  const auto next = ChooseUnderlay({}, {}, node, host, &keeper, &*first);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(Text(*next), "eth0, 192.0.2.1 (published as 192.0.2.129)");
  node.v4.public_ip_overwrite.clear();
  EXPECT_EQ(Text(*ChooseUnderlay({}, {}, node, host, &keeper, &*next)), "eth0, 192.0.2.1");
}

TEST(OwnUnderlayTest, WithoutANodeTheFlagsDecide) {
  config::Options options;
  options.public_ip = "192.0.2.129";
  EXPECT_EQ(ChooseUnderlay(options, {}, std::nullopt, TwoAdapters())->name, "eth1");
}

TEST(OwnUnderlayTest, EachFamilyHasItsOwnAnnotation) {
  control::NetConf conf;
  conf.enable_ipv6 = true;
  lease::OwnNode node;
  node.v4.published_public_ip = IpAddress::Parse("192.0.2.129");
  node.v6.published_public_ip = IpAddress::Parse("fd01::1");
  const auto choice = ChooseUnderlay({}, conf, node, TwoAdapters());
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->name, "eth1");
  EXPECT_EQ(choice->v6->public_ip, *IpAddress::Parse("fd01::1"));
}

TEST(OwnUnderlayTest, AnotherPublishedAddressIsACondition) {
  InterfaceChoice choice;
  choice.name = "eth0";
  const IpAddress ours = *IpAddress::Parse("192.0.2.1"), other = *IpAddress::Parse("203.0.113.9");
  choice.v4 = {ours, ours};
  lease::OwnNode node;
  EXPECT_EQ(PublicIpCondition({}, node, choice), "");
  node.v4.published_public_ip = ours;
  EXPECT_EQ(PublicIpCondition({}, node, choice), "");
  node.v4.published_public_ip = other;
  EXPECT_THAT(PublicIpCondition({}, node, choice),
              ::testing::StartsWith("the leases announce this node as 203.0.113.9, but the "
                                    "interface gives 192.0.2.1 on eth0"));
  InterfaceChoice configured = choice;
  configured.v4->configured = true;
  EXPECT_THAT(PublicIpCondition({}, node, configured),
              HasSubstr("but --public-ip gives 192.0.2.1"));
  node.v4.node_public_ip = "192.0.2.1";
  EXPECT_THAT(PublicIpCondition({}, node, configured),
              HasSubstr("but the annotation node-public-ip gives 192.0.2.1"));
  node.v4.node_public_ip = "";
  InterfaceChoice both = choice;
  both.v6 = {*IpAddress::Parse("fd00::1"), *IpAddress::Parse("fd00::1")};
  node.v6.published_public_ip = IpAddress::Parse("fd00::9");
  EXPECT_THAT(PublicIpCondition({}, node, both),
              HasSubstr("equal; the leases announce this node as fd00::9, but the interface gives "
                        "fd00::1 on eth0"));
  both.v6->configured = true;
  node.v6.node_public_ip = "fd00::1";
  EXPECT_THAT(PublicIpCondition({}, node, both),
              HasSubstr("but the annotation node-public-ipv6 gives fd00::1"));
  node.v6.published_public_ip.reset();
  node.v4.public_ip_overwrite = "203.0.113.9";
  EXPECT_EQ(PublicIpCondition({}, node, choice), "");
  // An unused family is not reported.
  node.v6.published_public_ip = IpAddress::Parse("fd00::9");
  EXPECT_EQ(PublicIpCondition({}, node, choice), "");
}

// An annotation that we publish ourselves is corrected, not followed.
TEST(OwnUnderlayTest, InKubeModeThePublishedAddressChoosesNothingAndIsNoCondition) {
  config::Options options;
  options.kube_subnet_mgr = true;
  lease::OwnNode node;
  node.v4.published_public_ip = IpAddress::Parse("192.0.2.129");
  const auto choice = ChooseUnderlay(options, {}, node, TwoAdapters());
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->name, "eth0");
  EXPECT_EQ(PublicIpCondition(options, node, *choice), "");
}

// The published address may be foreign to this host (NAT), or another adapter's.
TEST(OwnUnderlayTest, AnOverwriteIsPublishedAndChoosesNothing) {
  for (const bool kube : {false, true}) {
    for (const char* text : {"203.0.113.9", "192.0.2.129"}) {
      config::Options options;
      options.kube_subnet_mgr = kube;
      lease::OwnNode node;
      node.v4.public_ip_overwrite = text;
      const auto choice = ChooseUnderlay(options, {}, node, TwoAdapters());
      ASSERT_TRUE(choice.ok()) << choice.status();
      EXPECT_EQ(choice->name, "eth0");
      EXPECT_EQ(choice->v4->address.ToString(), "192.0.2.1");
      EXPECT_EQ(choice->v4->public_ip.ToString(), text);
    }
  }
  lease::OwnNode node;
  node.v4.public_ip_overwrite = "nat.example";
  EXPECT_EQ(ChooseUnderlay({}, {}, node, TwoAdapters())->v4->public_ip.ToString(), "192.0.2.1");
}

TEST(OwnUnderlayTest, AnInvalidAnnotationIsWaitedOut) {
  lease::OwnNode node;
  node.node.name = "win1";
  node.v4.node_public_ip = "nat.example";
  const auto choice = ChooseUnderlay({}, {}, node, TwoAdapters());
  EXPECT_EQ(choice.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(choice.status().message(),
            "annotation node-public-ip of node \"win1\" is \"nat.example\", not an IPv4 address of "
            "one host; correct or remove it");
  // An unused family is not inspected.
  node.v4.node_public_ip.clear();
  node.v6.node_public_ip = "nat.example";
  EXPECT_TRUE(ChooseUnderlay({}, {}, node, TwoAdapters()).ok());
  control::NetConf dual;
  dual.enable_ipv6 = true;
  EXPECT_THAT(std::string(ChooseUnderlay({}, dual, node, TwoAdapters()).status().message()),
              ::testing::StartsWith("annotation node-public-ipv6 of node \"win1\" is "));
}

// Peers route to that address directly. A wrong annotation of the Node is waited for, a wrong flag
// is an error.
TEST(OwnUnderlayTest, UnderHostGwThePublicAddressIsTheInterfaces) {
  constexpr auto kWaits = absl::StatusCode::kFailedPrecondition;
  constexpr auto kWrong = absl::StatusCode::kInvalidArgument;
  const struct {
    const char* what;
    std::string flag, annotation;
    bool v6;
    absl::StatusCode verdict;
    const char* message;
  } rows[] = {
      {"ours", "192.0.2.1", kNone, false, absl::StatusCode::kOk, ""},
      {"ours, IPv6", kNone, "fd00::1", true, absl::StatusCode::kOk, ""},
      {"flag", "203.0.113.9", kNone, false, kWrong, "correct --public-ip or --iface"},
      {"another adapter's", "192.0.2.129", kNone, false, kWrong, "correct --public-ip or --iface"},
      {"flag, IPv6", "fd00::9", kNone, true, kWrong, "correct --public-ipv6 or --iface"},
      {"annotation", kNone, "203.0.113.9", false, kWaits,
       "peers would route to 203.0.113.9, but eth0 has 192.0.2.1, and host-gw does not work "
       "through NAT: "
       "correct the annotation node-public-ip or --iface"},
      {"annotation, IPv6", kNone, "fd00::9", true, kWaits, "node-public-ipv6 or --iface"},
  };
  for (const auto& row : rows) {
    for (const bool is_host_gw : {true, false}) {
      SCOPED_TRACE(row.what);
      config::Options options;
      options.iface = {"eth0"};
      (row.v6 ? options.public_ipv6 : options.public_ip) = row.flag;
      control::NetConf conf;
      conf.enable_ipv6 = true;
      if (is_host_gw) conf.type = control::BackendType::kHostGw;
      lease::OwnNode node;
      (row.v6 ? node.v6 : node.v4).node_public_ip = row.annotation;
      const absl::Status status = ChooseUnderlay(options, conf, node, TwoAdapters()).status();
      EXPECT_EQ(status.code(), is_host_gw ? row.verdict : absl::StatusCode::kOk) << status;
      if (is_host_gw) EXPECT_THAT(std::string(status.message()), HasSubstr(row.message));
    }
  }
}

// kube-proxy's device has the addresses of services, this node's perhaps among them.
TEST(OwnUnderlayTest, UnderHostGwAnotherDeviceMayHaveThePublicAddressToo) {
  HostFacts host = TwoAdapters();
  host.adapters.insert(host.adapters.begin(),
                       {7, "kube-ipvs0", 1500, true, false, {}, host.adapters[0].addresses});
  config::Options options;
  options.iface = {"eth0"};
  control::NetConf conf;
  conf.type = control::BackendType::kHostGw;
  EXPECT_TRUE(ChooseUnderlay(options, conf, std::nullopt, host).ok());
}

TEST(OwnUnderlayTest, WhereNothingFitsTheTypeDoesNotMatter) {
  config::Options options;
  options.iface = {"missing0"};
  for (const auto type : {control::BackendType::kVxlan, control::BackendType::kHostGw}) {
    control::NetConf conf;
    conf.type = type;
    EXPECT_TRUE(
        absl::IsNotFound(ChooseUnderlay(options, conf, lease::OwnNode(), TwoAdapters()).status()));
  }
}

TEST(OwnUnderlayTest, UnderHnsAWirelessAdapterIsPassedOver) {
  HostFacts host = TwoAdapters();
  host.adapters[0].wireless = true;
  host.routes_v4.push_back(host.routes_v4[0]);
  host.routes_v4[1].adapter_index = 2;
  config::Options options;
  options.data_plane = config::DataPlane::kHns;
  EXPECT_EQ(ChooseUnderlay(options, {}, std::nullopt, host)->name, "eth1");
}

TEST(OwnUnderlayTest, UnderHostGwAFlagIsWrongBeforeTheNodeIsKnown) {
  config::Options options;
  options.iface = {"eth0"};
  options.public_ip = "203.0.113.9";
  control::NetConf conf;
  conf.type = control::BackendType::kHostGw;
  EXPECT_TRUE(
      absl::IsInvalidArgument(ChooseUnderlay(options, conf, std::nullopt, TwoAdapters()).status()));
}

TEST(OwnUnderlayTest, AnInterfaceThatIsDownIsACondition) {
  InterfaceChoice choice;
  choice.name = "eth0";
  choice.index = 2;
  HostFacts facts;
  facts.adapters.resize(1);
  facts.adapters[0].index = 2;
  facts.adapters[0].up = true;
  EXPECT_EQ(LinkCondition(choice, facts), "");
  facts.adapters[0].up = false;
  EXPECT_THAT(LinkCondition(choice, facts), ::testing::HasSubstr("the interface eth0 is down"));
  facts.adapters[0].up = true;
  facts.adapters[0].link = false;
  EXPECT_THAT(LinkCondition(choice, facts), ::testing::HasSubstr("the interface eth0 has no link"));
  facts.adapters[0].index = 3;
  EXPECT_EQ(LinkCondition(choice, facts), "");
}

TEST(OwnUnderlayTest, AnMtuOverTheInterfacesIsACondition) {
  InterfaceChoice choice;
  choice.name = "eth0";
  choice.mtu = *OuterMtu::From(1500);
  control::NetConf conf;
  EXPECT_EQ(MtuCondition(choice, conf), "");
  conf.mtu = OuterMtu::From(1500);
  EXPECT_EQ(MtuCondition(choice, conf), "");
  conf.mtu = OuterMtu::From(1501);
  EXPECT_THAT(MtuCondition(choice, conf),
              ::testing::HasSubstr("Backend.MTU 1501 of net-conf exceeds the MTU of eth0, 1500, "
                                   "which limits the pods' instead; pods that run keep"));
}

TEST(OwnUnderlayTest, ThePublishedFactsAreTheLeaseAndTheAddress) {
  const auto mac = [](const char* text) { return *MacAddress::Parse(text); };
  control::OwnFacts facts;
  facts.v4 = {*IpPrefix::Parse("10.244.3.0/24"), mac("00:15:5d:8c:2f:93")};
  control::NetConf conf;
  conf.vni = *Vni::From(5000);
  InterfaceChoice choice;
  choice.v4 = {*IpAddress::Parse("192.0.2.1"), *IpAddress::Parse("203.0.113.9")};
  kube::Publication expected;
  expected.backend_type = "vxlan";
  expected.vni = *Vni::From(5000);
  expected.v4 = {*IpAddress::Parse("203.0.113.9"), mac("00:15:5d:8c:2f:93")};
  EXPECT_EQ(PublicationOf(facts, conf, choice), expected);

  facts.v6 = {*IpPrefix::Parse("fd00:0:0:3::/64"), mac("02:00:00:00:00:66")};
  choice.v6 = {*IpAddress::Parse("fd01::1"), *IpAddress::Parse("fd01::1")};
  expected.v6 = {*IpAddress::Parse("fd01::1"), mac("02:00:00:00:00:66")};
  EXPECT_EQ(PublicationOf(facts, conf, choice), expected);

  conf.ipv6_left_out = expected.without_v6 = true;
  EXPECT_EQ(PublicationOf(facts, conf, choice), expected);

  conf.type = control::BackendType::kAlloc;
  expected.backend_type = "alloc";
  expected.v4->vtep_mac.reset();
  expected.v6->vtep_mac.reset();
  EXPECT_EQ(PublicationOf(facts, conf, choice), expected);
}

}  // namespace
}  // namespace weft::underlay
