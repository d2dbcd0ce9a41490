// SPDX-License-Identifier: Apache-2.0
#include "control/config/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_split.h"
#include "control/admin/endpoint.h"

namespace weft::config {
namespace {

using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

struct RefusedRow {
  const char* words;
  const char* message;
};

absl::StatusOr<Options> Make(std::string_view words, const Variables& variables) {
  const Environment environment = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  const std::vector<std::string> list = absl::StrSplit(words, ' ', absl::SkipEmpty());
  return MakeOptions(ParseFlags(list, environment)->values, environment);
}

std::string ErrorOf(std::string_view words, const Variables& variables) {
  return std::string(Make(words, variables).status().message());
}

TEST(MakeOptions, NamesTheNodeFromFlagThenVariable) {
  EXPECT_EQ(
      Make("--lease-source=file:x --dataplane=none --node-name=a", {{"NODE_NAME", "b"}})->node_name,
      "a");
  EXPECT_EQ(Make("--lease-source=file:x --dataplane=none", {{"NODE_NAME", "b"}})->node_name, "b");
}

// Upstream's form, repeated, and separated by commas: kube::ReadClusterServers separates them.
TEST(MakeOptions, NamesOneOrSeveralApiServers) {
  const std::string base = "--kube-subnet-mgr --dataplane=none ";
  const Variables variables = {{"NODE_NAME", "a"},
                               {"FLANNELD_KUBE_API_URL", "https://v,https://w"}};
  using Urls = std::vector<std::string>;
  EXPECT_EQ(Make(base + "--kube-api-url=https://a", variables)->kube_api_url, Urls{"https://a"});
  EXPECT_EQ(Make(base + "--kube-api-url=https://a --kube-api-url https://b,https://c", variables)
                ->kube_api_url,
            (Urls{"https://a", "https://b,https://c"}));
  EXPECT_EQ(Make(base, variables)->kube_api_url, Urls{"https://v,https://w"});
  EXPECT_EQ(Make(base, variables)->kubelet_kubeconfig, "/etc/kubernetes/kubelet.conf");
  EXPECT_EQ(Make(base + "--kubelet-kubeconfig=", variables)->kubelet_kubeconfig, "");
}

TEST(MakeOptions, FlagsBecomeValues) {
  const absl::StatusOr<Options> usual =
      Make("--lease-source=file:x --dataplane=none", {{"NODE_NAME", "a"}});
  ASSERT_TRUE(usual.ok()) << usual.status();
  EXPECT_EQ(usual->lease_file, "x");
  EXPECT_EQ(usual->data_plane, DataPlane::kNone);
  EXPECT_EQ(usual->peer_check, dataplane::PeerCheck::kLease);
  EXPECT_EQ(usual->firewall_sources, FirewallSources::kAny);
  EXPECT_EQ(usual->superframes, Superframes::kCut);
  EXPECT_EQ(usual->healthz_port, std::nullopt);
  EXPECT_EQ(usual->admin, admin::DefaultEndpoint());
  EXPECT_EQ(usual->hns_emulator, std::nullopt);
  const absl::StatusOr<Options> other = Make(
      "--kube-subnet-mgr --dataplane=hns --hns=emulator:f --admin=none "
      "--peer-check=strict --firewall-sources=peers --superframes=whole --healthz-port=8081 "
      "--iptables-resync=0",
      {{"NODE_NAME", "a"}});
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_TRUE(other->kube_subnet_mgr);
  EXPECT_EQ(other->data_plane, DataPlane::kHns);
  EXPECT_EQ(other->hns_emulator, "f");
  EXPECT_EQ(other->admin, std::nullopt);
  EXPECT_EQ(other->peer_check, dataplane::PeerCheck::kStrict);
  EXPECT_EQ(other->firewall_sources, FirewallSources::kPeers);
  EXPECT_EQ(other->superframes, Superframes::kWhole);
  const absl::StatusOr<Options> automatic =
      Make("--lease-source=file:x --dataplane=none --superframes=auto", {{"NODE_NAME", "a"}});
  EXPECT_EQ(automatic->superframes, Superframes::kCut);
  EXPECT_EQ(other->healthz_port, 8081);
  EXPECT_EQ(other->iptables_resync, std::chrono::seconds(1));
}

// By who moves the packets, not by the system alone: HNS has its own.
TEST(MakeOptions, VxlanDefaultsAreThoseOfTheDataPlane) {
  EXPECT_EQ(DefaultsFor(DataPlane::kHns), control::kHnsDefaults);
  const bool windows = DefaultDataPlane() == DataPlane::kHns;
  for (const DataPlane each : {DataPlane::kUserspace, DataPlane::kRoutes, DataPlane::kNone}) {
    EXPECT_EQ(DefaultsFor(each), windows ? control::kHnsDefaults : control::kLinuxDefaults)
        << Name(each);
  }
}

TEST(MakeOptions, RefusesWithRemedy) {
  const RefusedRow rows[] = {
      {"--dataplane=none",
       "no source of leases: give --kube-subnet-mgr or --lease-source=file:PATH"},
      {"--kube-subnet-mgr --lease-source=file:x --dataplane=none",
       "--kube-subnet-mgr and --lease-source=file:x both name a source of leases"},
      {"--lease-source=nodes.json --dataplane=none",
       "--lease-source=nodes.json is not understood; write file:PATH"},
      {"--lease-source=file: --dataplane=none", "--lease-source=file: is not understood"},
      {"--lease-source=file:x --hns=emulator", "--hns=emulator is not understood"},
      {"--lease-source=file:x --hns=real",
       "--hns=real is not understood; write --hns=emulator:PATH"},
      {"--lease-source=file:x --hns=emulator:", "--hns=emulator: is not understood"},
      {"--lease-source=https://u:hunter2@h --dataplane=none",
       "--lease-source=https://...@h is not understood"},
      {"--lease-source=file:x --hns=https://u:hunter2@h", "--hns=https://...@h is not understood"},
      {"--lease-source=file:x --dataplane=none --public-ip=10.0.0",
       "--public-ip=10.0.0 is not an IPv4 address; correct it"},
      {"--lease-source=file:x --dataplane=none --public-ip=fd00::1",
       "--public-ip=fd00::1 is not an IPv4 address"},
      {"--lease-source=file:x --dataplane=none --public-ipv6=10.0.0.1",
       "--public-ipv6=10.0.0.1 is not an IPv6 address"},
      {"--lease-source=file:x --dataplane=none --iface-can-reach=example.org",
       "--iface-can-reach=example.org is not an IP address"},
      {"--lease-source=file:x --dataplane=none --iface-regex=ok --iface-regex=(eth",
       "--iface-regex=(eth is not a regular expression of RE2: "},
      {"--lease-source=file:x --dataplane=none --subnet-lease-renew-margin=0",
       "--subnet-lease-renew-margin=0 must lie in"},
      {"--lease-source=file:x --dataplane=none --subnet-lease-renew-margin=1440",
       "--subnet-lease-renew-margin=1440 must lie in 1..1439"},
      {"--lease-source=file:x --dataplane=userspace --pod-device=pcap:e --busy-poll=-1",
       "--busy-poll=-1 must lie in 0..1000000 (microseconds)"},
      {"--lease-source=file:x --dataplane=userspace --pod-device=pcap:e --busy-poll=1000001",
       "--busy-poll=1000001 must lie in"},
      {"--lease-source=file:x --dataplane=userspace --pod-device=pcap:e --busy-poll=50us",
       "--busy-poll=50us must lie in"},
      {"--lease-source=file:x --dataplane=userspace --pod-device=pcap:e --workers=2",
       "--workers=2: with --pod-device=tap or pcap:ADAPTER there is one thread; leave it out"},
      {"--lease-source=file:x --dataplane=userspace --pod-device=pcap:e --workers=3",
       "--workers=3 must be 1, 2, 4 or 8"},
      {"--lease-source=file:x --dataplane=userspace --pod-device=pcap:e --workers=0",
       "--workers=0 must be 1, 2, 4 or 8"},
      {"--lease-source=file:x --dataplane=userspace --pod-device=pcap:e --workers=16",
       "--workers=16 must be 1, 2, 4 or 8"},
      {"--lease-source=file:x --dataplane=userspace --pod-device=pcap:e --workers=two",
       "--workers=two must be 1, 2, 4 or 8"},
      {"--lease-source=file:x --dataplane=userspace --pod-device=pcap:e --workers=2x",
       "--workers=2x must be 1, 2, 4 or 8"},
      {"--lease-source=file:x --dataplane=userspace --pod-device=pcap:e --workers=-2147483648",
       "--workers=-2147483648 must be 1, 2, 4 or 8"},
      {"--lease-source=file:x --dataplane=none --log-file-size=0",
       "--log-file-size=0 must lie in 1..4096 (MiB)"},
      {"--lease-source=file:x --dataplane=none --log-files=1001",
       "--log-files=1001 must lie in 1..1000"},
  };
  for (const RefusedRow& row : rows) {
    EXPECT_THAT(ErrorOf(row.words, {{"NODE_NAME", "a"}}), ::testing::StartsWith(row.message))
        << row.words;
  }
  EXPECT_THAT(ErrorOf("--lease-source=file:x --dataplane=none", {}),
              HasSubstr("set the variable NODE_NAME, or give --node-name"));
}

TEST(MakeOptions, TakesTheBoundsAndEachDataplane) {
  const struct {
    const char* words;
    absl::Status verdict;
  } rows[] = {
      {"--dataplane=none --healthz-port=65535", {}},
      {"--dataplane=none --subnet-lease-renew-margin=1", {}},
      {"--dataplane=none --subnet-lease-renew-margin=1439", {}},
      {"--dataplane=none", {}},
      {"--dataplane=routes", {}},
      {"--dataplane=hns --hns=emulator:hns.sock", {}},
      {"--dataplane=userspace --pod-device=pcap:eth0", {}},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(
        Make(std::string("--lease-source=file:x ") + row.words, {{"NODE_NAME", "a"}}).status(),
        row.verdict)
        << row.words;
  }
  if (DefaultDataPlane() == DataPlane::kHns) return;
  EXPECT_THAT(ErrorOf("--lease-source=file:x --dataplane=hns", {{"NODE_NAME", "a"}}),
              HasSubstr("--dataplane=hns needs Windows"));
}

TEST(MakeOptions, BusyPollIsWithoutALimitWhereItIsGiven) {
  const std::string words = "--lease-source=file:x --dataplane=userspace --pod-device=pcap:e ";
  const auto busy_poll = [&](const char* flag) {
    return Make(words + flag, {{"NODE_NAME", "a"}})->busy_poll;
  };
  EXPECT_EQ(busy_poll(""), dataplane::BusyPoll());
  EXPECT_EQ(busy_poll("--busy-poll=0"), (dataplane::BusyPoll{std::chrono::microseconds(0), 100}));
  EXPECT_EQ(busy_poll("--busy-poll=1000000"), (dataplane::BusyPoll{std::chrono::seconds(1), 100}));
}

#ifndef _WIN32
TEST(MakeOptions, ATunDeviceHasTheWorkersThatAreGivenUnlessPacketsAreTraced) {
  const std::string words = "--lease-source=file:x --dataplane=userspace --workers=2";
  EXPECT_EQ(Make(words, {{"NODE_NAME", "a"}})->workers, 2);
  EXPECT_EQ(ErrorOf(words + " --trace=t", {{"NODE_NAME", "a"}}),
            "--workers=2: with --trace there is one thread; leave it out");
}
#endif

TEST(LogFileOf, WithoutAFolderThereIsNone) { EXPECT_FALSE(LogFileOf(FlagValues())->has_value()); }

TEST(MakeOptions, HowPodsReachTheUserspaceDataPlane) {
  using Kind = PodDevice::Kind;
  const struct {
    const char* words;
    PodDevice device;
    const char* linux_error;  // empty: it is accepted
    const char* windows_error;
  } rows[] = {
      {"", {Kind::kTun}, "", "--dataplane=userspace on Windows needs Npcap and an adapter"},
      {"--pod-device=tun", {Kind::kTun}, "", "--pod-device=tun names none; give --pod-device=pcap"},
      {"--pod-device=tap", {Kind::kTap}, "", "--pod-device=tap names none; give --pod-device=pcap"},
      {"--pod-device=pcap:vEthernet", {Kind::kPcap, "vEthernet"}, "", ""},
      {"--pod-device=pcap:",
       {},
       "--pod-device=pcap: is not understood; write tun, tap or pcap:A",
       "--pod-device=pcap: names none; give"},
      {"--pod-device=TUN", {}, "--pod-device=TUN is not understood", "--pod-device=TUN names none"},
  };
  for (const auto& row : rows) {
    const std::string words =
        std::string("--lease-source=file:x --dataplane=userspace ") + row.words;
    const absl::StatusOr<Options> options = Make(words, {{"NODE_NAME", "a"}});
    const std::string error = HasTunDevices() ? row.linux_error : row.windows_error;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(error)) << row.words;
    ASSERT_EQ(options.ok(), error.empty()) << row.words << options.status();
    if (options.ok()) EXPECT_EQ(options->pod_device, row.device) << row.words;
  }
}

// Frames go past the host's routes.
TEST(MakeNodeConfig, NoHostRoutesBehindFrames) {
  Options options;
  options.pod_device = {PodDevice::Kind::kPcap, "pods"};
  control::NetConf conf;
  conf.type = control::BackendType::kVxlan;
  EXPECT_TRUE(MakeNodeConfig(options, conf).ok());
  conf.direct_routing = true;
  EXPECT_THAT(std::string(MakeNodeConfig(options, conf).status().message()),
              HasSubstr("Backend.DirectRouting: true of net-conf needs routes of the host"));
  conf.direct_routing = false;
  conf.type = control::BackendType::kHostGw;
  EXPECT_THAT(std::string(MakeNodeConfig(options, conf).status().message()),
              HasSubstr("remove the flag"));
  options.pod_device = {};
  EXPECT_TRUE(MakeNodeConfig(options, conf).ok());
}

struct NameRow {
  const char* words;
  Variables variables;
  const char* node_name;
  const char* pod;  // "NAMESPACE/NAME"
};

TEST(MakeOptions, InKubeModeTheNodesNameMayComeFromThePod) {
  const Variables pod = {{"POD_NAME", "flannel-x"}, {"POD_NAMESPACE", "kube-flannel"}};
  Variables both = pod;
  both["NODE_NAME"] = "b";
  const NameRow rows[] = {
      {"--node-name=a", both, "a", "/"},
      {"", both, "b", "/"},
      {"", pod, "", "kube-flannel/flannel-x"},
      // As given: not lowercased, not compared with the host's name.
      {"", {{"NODE_NAME", "WIN-1"}}, "WIN-1", "/"},
  };
  for (const NameRow& row : rows) {
    const absl::StatusOr<Options> options =
        Make(std::string("--kube-subnet-mgr --dataplane=none ") + row.words, row.variables);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(options->node_name, row.node_name);
    EXPECT_EQ(options->pod_namespace + "/" + options->pod_name, row.pod);
  }
}

TEST(MakeOptions, InKubeModeAMissingNodeNameHasThreeRemedies) {
  constexpr char kThree[] =
      "set the variable NODE_NAME, give --node-name, or set POD_NAME and POD_NAMESPACE";
  const struct {
    Variables variables;
    const char* message;
  } rows[] = {
      {{}, kThree},
      {{{"NODE_NAME", ""}}, kThree},
      {{{"HOSTNAME", "a"}, {"COMPUTERNAME", "A"}}, kThree},
      {{{"POD_NAME", "p"}, {"POD_NAMESPACE", ""}}, "POD_NAMESPACE (POD_NAMESPACE is not set)"},
      {{{"POD_NAME", "p"}}, "POD_NAMESPACE (POD_NAMESPACE is not set)"},
      {{{"POD_NAMESPACE", "n"}}, "POD_NAMESPACE (POD_NAME is not set)"},
      {{{"NODE_NAME", "a/b"}}, "NODE_NAME) \"a/b\" is not a name that the Kubernetes API accepts"},
      {{{"NODE_NAME", "."}}, "\".\" is not a name"},
      {{{"NODE_NAME", ".."}}, "\"..\" is not a name"},
      {{{"NODE_NAME", "a\x7f"}}, "is not a name"},
      {{{"NODE_NAME", "a\xc3\xa9"}}, "is not a name"},
      {{{"NODE_NAME", std::string(254, 'a')}}, "is not a name"},
      {{{"NODE_NAME", "a b"}}, "\"a b\" is not a name"},
      {{{"NODE_NAME", "a%2fb"}}, "\"a%2fb\" is not a name"},
      {{{"POD_NAME", "../x"}, {"POD_NAMESPACE", "n"}}, "POD_NAME \"../x\" is not a name"},
      {{{"POD_NAME", "p"}, {"POD_NAMESPACE", "n/x"}}, "POD_NAMESPACE \"n/x\" is not a name"},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(ErrorOf("--kube-subnet-mgr --dataplane=none", row.variables),
                HasSubstr(row.message));
  }
  EXPECT_THAT(ErrorOf("--kube-subnet-mgr --dataplane=none", {}), ::testing::EndsWith(kThree));
  EXPECT_EQ(ErrorOf("--kube-subnet-mgr --dataplane=none", {{"NODE_NAME", std::string(253, 'a')}}),
            "");
}

// A file of Nodes may use any names, and no pod is requested.
TEST(MakeOptions, AFileSourceAcceptsAnyNodeNameAndReadsNoPod) {
  EXPECT_EQ(Make("--lease-source=file:x --dataplane=none", {{"NODE_NAME", "a/b"}})->node_name,
            "a/b");
  EXPECT_THAT(ErrorOf("--lease-source=file:x --dataplane=none",
                      {{"POD_NAME", "p"}, {"POD_NAMESPACE", "n"}}),
              HasSubstr("this node's name is not known"));
}

TEST(MakeNodeConfig, HnsCarriesIPv4AndItsVnis) {
  control::NetConf v6_only;
  v6_only.enable_ipv4 = false;
  v6_only.enable_ipv6 = true;
  control::NetConf dual = v6_only;
  dual.enable_ipv4 = true;
  control::NetConf small;
  small.vni = *Vni::From(1);
  control::NetConf alloc = v6_only;
  alloc.type = control::BackendType::kAlloc;
  control::NetConf v6_host_gw = v6_only, small_host_gw = small;
  v6_host_gw.type = small_host_gw.type = control::BackendType::kHostGw;
  const struct {
    const char* what;
    DataPlane data_plane;
    const control::NetConf& conf;
    const char* message;
    bool follower = false;
  } rows[] = {
      {"usual", DataPlane::kHns, {}, ""},
      {"dual stack", DataPlane::kHns, dual, ""},
      {"IPv6 alone", DataPlane::kHns, v6_only, "EnableIPv4: false in net-conf"},
      {"IPv6 alone, host-gw", DataPlane::kHns, v6_host_gw, "EnableIPv4: false in net-conf"},
      {"IPv6 alone, no network of HNS", DataPlane::kHns, alloc, ""},
      {"host-gw has no VNI", DataPlane::kHns, small_host_gw, ""},
      {"a VNI of Linux", DataPlane::kHns, small, "Backend.VNI: 1 is not from 4096 to 65535"},
      {"IPv6 alone elsewhere", DataPlane::kUserspace, v6_only, ""},
      {"no data plane", DataPlane::kNone, v6_only, ""},
      {"a VNI of Linux elsewhere", DataPlane::kNone, small, ""},
      {"a follower, usual", DataPlane::kNone, {}, "", true},
      {"a follower, IPv6 alone", DataPlane::kNone, v6_only, "EnableIPv4: false", true},
      {"a follower, a VNI of Linux", DataPlane::kUserspace, small, "Backend.VNI: 1", true},
  };
  for (const auto& row : rows) {
    Options options;
    options.data_plane = row.data_plane;
    if (row.follower) options.hns_emulator = "x";
    const absl::Status status = MakeNodeConfig(options, row.conf).status();
    EXPECT_EQ(status.ok(), *row.message == '\0') << row.what;
    EXPECT_THAT(std::string(status.message()), ::testing::StartsWith(row.message)) << row.what;
  }
}

// Else other nodes would send to an IPv6 tunnel that does not exist.
TEST(MakeNodeConfig, HnsLeavesIPv6Out) {
  control::NetConf dual;
  dual.enable_ipv6 = true;
  dual.ipv6_network = *IpPrefix::Parse("fd00:10:244::/56");
  const struct {
    DataPlane data_plane;
    bool with_ipv6;
    bool follower = false;
  } rows[] = {
      {DataPlane::kHns, false}, {DataPlane::kUserspace, true}, {DataPlane::kNone, true, true}};
  for (const auto& row : rows) {
    for (const auto type : {control::BackendType::kVxlan, control::BackendType::kHostGw}) {
      Options options;
      options.data_plane = row.data_plane;
      if (row.follower) options.hns_emulator = "x";
      control::NetConf conf = dual;
      conf.type = type;
      const absl::StatusOr<NodeConfig> node = MakeNodeConfig(options, conf);
      ASSERT_TRUE(node.ok()) << node.status();
      EXPECT_TRUE(node->conf.enable_ipv4);
      EXPECT_EQ(node->conf.enable_ipv6, row.with_ipv6) << Name(row.data_plane);
      EXPECT_EQ(node->conf.ipv6_network.has_value(), row.with_ipv6) << Name(row.data_plane);
      EXPECT_EQ(node->conf.ipv6_left_out, !row.with_ipv6) << Name(row.data_plane);
    }
  }
}

TEST(MakeNodeConfig, RoutesRequireHostGw) {
  control::NetConf vxlan, host_gw, direct;
  host_gw.type = control::BackendType::kHostGw;
  direct.direct_routing = true;
  const struct {
    DataPlane data_plane;
    const control::NetConf& conf;
    std::optional<DataPlane> becomes;  // empty: refused
    const char* message;
  } rows[] = {
      {DataPlane::kRoutes, host_gw, DataPlane::kRoutes, ""},
      {DataPlane::kUserspace, host_gw, DataPlane::kRoutes, ""},
      {DataPlane::kNone, host_gw, DataPlane::kNone, ""},
      {DataPlane::kHns, host_gw, DataPlane::kHns, ""},
      {DataPlane::kUserspace, vxlan, DataPlane::kUserspace, ""},
      {DataPlane::kUserspace, direct, DataPlane::kUserspace, ""},
      {DataPlane::kRoutes, vxlan, std::nullopt,
       "Backend.Type: \"vxlan\" of net-conf needs a tunnel"},
      {DataPlane::kRoutes, direct, std::nullopt,
       "Backend.Type: \"vxlan\" of net-conf needs a tunnel"},
      {DataPlane::kHns, direct, std::nullopt,
       "Backend.DirectRouting: true of net-conf is impossible with"},
  };
  for (const auto& row : rows) {
    Options options;
    options.data_plane = row.data_plane;
    const absl::StatusOr<NodeConfig> node = MakeNodeConfig(options, row.conf);
    EXPECT_THAT(std::string(node.status().message()), ::testing::StartsWith(row.message))
        << Name(row.data_plane);
    EXPECT_EQ(node.ok() ? std::optional(node->options.data_plane) : std::nullopt, row.becomes)
        << Name(row.data_plane);
  }
}

}  // namespace
}  // namespace weft::config
