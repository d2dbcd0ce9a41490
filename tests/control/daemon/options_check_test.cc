// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/options_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_split.h"
#include "control/daemon/pod_device.h"
#include "control/daemon/service.h"

namespace weft::daemon {
namespace {

using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

struct ErrorRow {
  const char* words;
  const char* message;
};

// The options of `words`, checked under `variables`.
Options Checked(std::string_view words, Variables variables, absl::Status* status) {
  const Environment environment = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  const std::vector<std::string> list = absl::StrSplit(words, ' ', absl::SkipEmpty());
  Options options = ParseFlags(list, environment)->options;
  *status = CheckOptions(options, environment);
  return options;
}

TEST(CheckOptions, NamesTheNodeFromFlagThenVariable) {
  absl::Status status;
  EXPECT_EQ(
      Checked("--lease-source=file:x --dataplane=none --node-name=a", {{"NODE_NAME", "b"}}, &status)
          .node_name,
      "a");
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(
      Checked("--lease-source=file:x --dataplane=none", {{"NODE_NAME", "b"}}, &status).node_name,
      "b");
  EXPECT_TRUE(status.ok()) << status;
}

// By who moves the packets, not by the system alone: HNS has its own.
TEST(CheckOptions, VxlanDefaultsAreThoseOfTheDataPlane) {
  Options options;
  options.dataplane = "hns";
  EXPECT_EQ(DefaultsFor(options), control::kHnsDefaults);
  const bool windows = DefaultDataplane() == "hns";
  for (const char* dataplane : {"userspace", "routes", "none"}) {
    options.dataplane = dataplane;
    EXPECT_EQ(DefaultsFor(options), windows ? control::kHnsDefaults : control::kLinuxDefaults)
        << dataplane;
  }
}

TEST(CheckOptions, RefusesWithRemedy) {
  const ErrorRow rows[] = {
      {"--dataplane=none",
       "no source of leases: give --kube-subnet-mgr or --lease-source=file:PATH"},
      {"--kube-subnet-mgr --lease-source=file:x --dataplane=none",
       "--kube-subnet-mgr and --lease-source=file:x both say where leases come from"},
      {"--lease-source=nodes.json --dataplane=none",
       "--lease-source=nodes.json is not understood; write file:PATH"},
      {"--lease-source=file: --dataplane=none", "--lease-source=file: is not understood"},
      {"--lease-source=file:x --hns=emulator", "--hns=emulator is not understood"},
      {"--lease-source=file:x --hns=real",
       "--hns=real is not understood; write --hns=emulator:PATH"},
      {"--lease-source=file:x --hns=emulator:", "--hns=emulator: is not understood"},
      {"--lease-source=file:x --host=tcp:127.0.0.1:1",
       "--host=tcp:127.0.0.1:1 is not understood; write --host=emulator:PATH"},
      {"--lease-source=file:x --host=emulator:tcp:127.0.0.1:1 --dataplane=userspace",
       "--host=emulator:tcp:127.0.0.1:1 has no device for --dataplane=userspace; give hns"},
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
  };
  for (const ErrorRow& row : rows) {
    absl::Status status;
    Checked(row.words, {{"NODE_NAME", "a"}}, &status);
    EXPECT_THAT(std::string(status.message()), ::testing::StartsWith(row.message)) << row.words;
  }
  absl::Status status;
  Checked("--lease-source=file:x --dataplane=none", {}, &status);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("set the variable NODE_NAME, or give --node-name"));
}

TEST(CheckOptions, TakesTheBoundsAndEachDataplane) {
  const struct {
    const char* words;
    absl::Status verdict;
  } rows[] = {
      {"--dataplane=none --healthz-port=65535", {}},
      {"--dataplane=none --subnet-lease-renew-margin=1", {}},
      {"--dataplane=none --subnet-lease-renew-margin=1439", {}},
      {"--dataplane=none --host=emulator:tcp:127.0.0.1:1", {}},
      {"--dataplane=routes --host=emulator:tcp:127.0.0.1:1", {}},
      {"--dataplane=hns --hns=emulator:tcp:127.0.0.1:1", {}},
      {"--dataplane=userspace", PodDeviceSupport()},
  };
  for (const auto& row : rows) {
    absl::Status status;
    Checked(std::string("--lease-source=file:x ") + row.words, {{"NODE_NAME", "a"}}, &status);
    EXPECT_EQ(status, row.verdict) << row.words;
  }
  if (DefaultDataplane() == "hns") return;
  absl::Status status;
  Checked("--lease-source=file:x --dataplane=hns", {{"NODE_NAME", "a"}}, &status);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--dataplane=hns needs Windows"));
}

struct NameRow {
  const char* words;
  Variables variables;
  const char* node_name;
  const char* pod;  // "NAMESPACE/NAME"
};

TEST(CheckOptions, InKubeModeTheNodesNameMayStandInThePod) {
  const Variables pod = {{"POD_NAME", "flannel-x"}, {"POD_NAMESPACE", "kube-flannel"}};
  Variables both = pod;
  both["NODE_NAME"] = "b";
  const NameRow rows[] = {
      {"--node-name=a", both, "a", "/"},
      {"", both, "b", "/"},
      {"", pod, "", "kube-flannel/flannel-x"},
      // As given: no lower case, no look at the host's name.
      {"", {{"NODE_NAME", "WIN-1"}}, "WIN-1", "/"},
  };
  for (const NameRow& row : rows) {
    absl::Status status;
    const Options options = Checked(std::string("--kube-subnet-mgr --dataplane=none ") + row.words,
                                    row.variables, &status);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(options.node_name, row.node_name);
    EXPECT_EQ(options.pod_namespace + "/" + options.pod_name, row.pod);
  }
}

TEST(CheckOptions, InKubeModeANodeWithoutANameIsToldThreeWays) {
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
      {{{"NODE_NAME", "a/b"}}, "NODE_NAME) \"a/b\" is no name that the Kubernetes API takes"},
      {{{"NODE_NAME", "."}}, "\".\" is no name"},
      {{{"NODE_NAME", ".."}}, "\"..\" is no name"},
      {{{"NODE_NAME", "a\x7f"}}, "is no name"},
      {{{"NODE_NAME", "a\xc3\xa9"}}, "is no name"},
      {{{"NODE_NAME", std::string(254, 'a')}}, "is no name"},
      {{{"NODE_NAME", "a b"}}, "\"a b\" is no name"},
      {{{"NODE_NAME", "a%2fb"}}, "\"a%2fb\" is no name"},
      {{{"POD_NAME", "../x"}, {"POD_NAMESPACE", "n"}}, "POD_NAME \"../x\" is no name"},
      {{{"POD_NAME", "p"}, {"POD_NAMESPACE", "n/x"}}, "POD_NAMESPACE \"n/x\" is no name"},
  };
  for (const auto& row : rows) {
    absl::Status status;
    Checked("--kube-subnet-mgr --dataplane=none", row.variables, &status);
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.message));
  }
  absl::Status status;
  Checked("--kube-subnet-mgr --dataplane=none", {}, &status);
  EXPECT_THAT(std::string(status.message()), ::testing::EndsWith(kThree));
  Checked("--kube-subnet-mgr --dataplane=none", {{"NODE_NAME", std::string(253, 'a')}}, &status);
  EXPECT_TRUE(status.ok()) << status;
}

// A file of Nodes may name them as it likes, and no pod is asked for.
TEST(CheckOptions, AFileHasNoPodsAndAnyNames) {
  absl::Status status;
  EXPECT_EQ(
      Checked("--lease-source=file:x --dataplane=none", {{"NODE_NAME", "a/b"}}, &status).node_name,
      "a/b");
  EXPECT_TRUE(status.ok()) << status;
  Checked("--lease-source=file:x --dataplane=none", {{"POD_NAME", "p"}, {"POD_NAMESPACE", "n"}},
          &status);
  EXPECT_THAT(std::string(status.message()), HasSubstr("this node's name is not known"));
}

TEST(CheckForDataplane, HnsCarriesIPv4AndItsVnis) {
  control::NetConf v6_only;
  v6_only.enable_ipv4 = false;
  v6_only.enable_ipv6 = true;
  control::NetConf dual = v6_only;
  dual.enable_ipv4 = true;
  control::NetConf small;
  small.vni = *Vni::Of(1);
  control::NetConf alloc = v6_only;
  alloc.type = control::BackendType::kAlloc;
  control::NetConf v6_host_gw = v6_only, small_host_gw = small;
  v6_host_gw.type = small_host_gw.type = control::BackendType::kHostGw;
  const struct {
    const char* what;
    const char* dataplane;
    const control::NetConf& conf;
    const char* message;
    const char* hns = "";
  } rows[] = {
      {"usual", "hns", {}, ""},
      {"dual stack", "hns", dual, ""},
      {"IPv6 alone", "hns", v6_only, "EnableIPv4: false in net-conf"},
      {"IPv6 alone, host-gw", "hns", v6_host_gw, "EnableIPv4: false in net-conf"},
      {"IPv6 alone, no network of HNS", "hns", alloc, ""},
      {"host-gw has no VNI", "hns", small_host_gw, ""},
      {"a VNI of Linux", "hns", small, "Backend.VNI: 1 is not from 4096 to 65535"},
      {"IPv6 alone elsewhere", "userspace", v6_only, ""},
      {"nobody moves packets", "none", v6_only, ""},
      {"a VNI of Linux elsewhere", "none", small, ""},
      {"a follower, usual", "none", {}, "", "emulator:follower"},
      {"a follower, IPv6 alone", "none", v6_only, "EnableIPv4: false", "emulator:follower"},
      {"a follower, a VNI of Linux", "userspace", small, "Backend.VNI: 1", "emulator:follower"},
  };
  for (const auto& row : rows) {
    Options options;
    options.dataplane = row.dataplane;
    options.hns = row.hns;
    control::NetConf conf = row.conf;
    const absl::Status status = CheckForDataplane(options, conf);
    EXPECT_EQ(status.ok(), *row.message == '\0') << row.what;
    EXPECT_THAT(std::string(status.message()), ::testing::StartsWith(row.message)) << row.what;
  }
}

// Else other nodes would send to an IPv6 tunnel that nobody serves.
TEST(CheckForDataplane, HnsLeavesIPv6Out) {
  control::NetConf dual;
  dual.enable_ipv6 = true;
  dual.ipv6_network = *IpPrefix::Parse("fd00:10:244::/56");
  const struct {
    const char* dataplane;
    bool with_ipv6;
    const char* hns = "";
  } rows[] = {{"hns", false}, {"userspace", true}, {"none", true, "emulator:follower"}};
  for (const auto& row : rows) {
    for (const auto type : {control::BackendType::kVxlan, control::BackendType::kHostGw}) {
      Options options;
      options.dataplane = row.dataplane;
      options.hns = row.hns;
      control::NetConf conf = dual;
      conf.type = type;
      ASSERT_TRUE(CheckForDataplane(options, conf).ok());
      EXPECT_TRUE(conf.enable_ipv4);
      EXPECT_EQ(conf.enable_ipv6, row.with_ipv6) << row.dataplane;
      EXPECT_EQ(conf.ipv6_network.has_value(), row.with_ipv6) << row.dataplane;
      EXPECT_EQ(conf.ipv6_left_out, !row.with_ipv6) << row.dataplane;
    }
  }
}

TEST(CheckForDataplane, RoutesGoWithHostGw) {
  control::NetConf vxlan, host_gw, direct;
  host_gw.type = control::BackendType::kHostGw;
  direct.direct_routing = true;
  const struct {
    const char* dataplane;
    const control::NetConf& conf;
    const char* becomes;  // empty: refused
    const char* message;
  } rows[] = {
      {"routes", host_gw, "routes", ""},
      {"userspace", host_gw, "routes", ""},
      {"none", host_gw, "none", ""},
      {"hns", host_gw, "hns", ""},
      {"userspace", vxlan, "userspace", ""},
      {"userspace", direct, "userspace", ""},
      {"routes", vxlan, "", "Backend.Type: \"vxlan\" of net-conf needs a tunnel"},
      {"routes", direct, "", "Backend.Type: \"vxlan\" of net-conf needs a tunnel"},
      {"hns", direct, "", "Backend.DirectRouting: true of net-conf cannot be had with"},
  };
  for (const auto& row : rows) {
    Options options;
    options.dataplane = row.dataplane;
    control::NetConf conf = row.conf;
    const absl::Status status = CheckForDataplane(options, conf);
    EXPECT_THAT(std::string(status.message()), ::testing::StartsWith(row.message)) << row.dataplane;
    EXPECT_EQ(status.ok() ? options.dataplane : "", row.becomes) << row.dataplane;
  }
}

}  // namespace
}  // namespace weft::daemon
