// SPDX-License-Identifier: Apache-2.0
// Each flag on each kind of node: it has its effect, or its value's note says what it needs. The
// lists are written down here a second time, from what the code of the effect does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "control/config/flag_table.h"
#include "control/config/options.h"
#include "tests/control/admin/running_server.h"

namespace weft::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct Mode {
  const char* name;
  const char* words;
  const char* type;  // Backend.Type
};

// Windows has neither TUN nor TAP devices.
std::vector<Mode> Modes() {
  std::vector<Mode> modes = {{"pcap", "--dataplane=userspace --pod-device=pcap:e", "vxlan"},
                             {"routes", "--dataplane=routes", "host-gw"},
                             {"none", "--dataplane=none", "vxlan"},
                             {"alloc", "--dataplane=routes", "alloc"},
                             {"overlay", "--dataplane=hns --hns=emulator:s", "vxlan"},
                             {"bridge", "--dataplane=hns --hns=emulator:s", "host-gw"}};
  if (HasTunDevices()) {
    modes.push_back({"tun", "--dataplane=userspace", "vxlan"});
    modes.push_back({"tap", "--dataplane=userspace --pod-device=tap", "vxlan"});
  }
  return modes;
}

constexpr char kAll[] = "tun tap pcap routes none alloc overlay bridge";
constexpr char kTunnels[] = "tun tap pcap";
constexpr char kNowhere[] = "";

struct Row {
  const char* words;     // the last one is judged
  const char* on_linux;  // the modes in which it has its effect
  const char* on_windows;
};

// Leases come from a file.
constexpr Row kRows[] = {
    {"--net-config-path=", kAll, kAll},  // in every command line below
    {"--lease-source=file:x", kAll, kAll},
    {"--kube-subnet-mgr=false", kAll, kAll},
    {"--node-name=a", kAll, kAll},
    {"--kube-annotation-prefix=a.b", kAll, kAll},
    {"--kubeconfig-file=k", kNowhere, kNowhere},
    {"--kube-api-url=https://a", kNowhere, kNowhere},
    {"--kubelet-kubeconfig=k", kNowhere, kNowhere},
    {"--set-node-network-unavailable", kNowhere, kNowhere},
    {"--iface=e", kAll, kAll},
    {"--iface-regex=e", kAll, kAll},
    {"--iface-can-reach=10.0.0.1", kAll, kAll},
    {"--public-ip=10.0.0.1", kAll, kAll},
    {"--public-ipv6=fd00::1", kNowhere, kNowhere},
    {"--pod-device=pcap:e", kTunnels, kTunnels},
    {"--hns=emulator:s", "tun tap pcap routes none overlay bridge",
     "pcap routes none overlay bridge"},
    {"--hns-base-network", "overlay", "overlay"},
    {"--manage-firewall", "overlay", "overlay pcap"},
    {"--firewall-sources=peers", "overlay", "overlay"},
    {"--manage-firewall=false --firewall-sources=peers", kNowhere, kNowhere},
    {"--peer-check=strict", kTunnels, kTunnels},
    {"--peer-check=lease", kTunnels, kTunnels},
    {"--busy-poll=5", kTunnels, kTunnels},
    {"--trace=t", kTunnels, kTunnels},
    {"--workers=1", kTunnels, kTunnels},
    {"--udp-checksum=false", kTunnels, kTunnels},
    {"--superframes=whole", kTunnels, kNowhere},
    {"--replace-kernel-device", "tun tap", kNowhere},
    {"--ip-masq", "tun tap pcap routes alloc overlay bridge", kAll},
    {"--ip-masq --ip-masq-fully-random-disable", "tun tap pcap routes alloc", kNowhere},
    {"--ip-masq-fully-random-disable", kNowhere, kNowhere},
    {"--iptables-forward-rules", "tun tap pcap routes alloc", kNowhere},
    {"--iptables-resync=7", "tun tap pcap routes alloc", kNowhere},
    {"--subnet-file=f", kAll, kAll},
    {"--source-vip-store=f", "overlay", "overlay"},
    {"--source-vip-file=f", "overlay", "overlay"},
    {"--source-vip-store= --source-vip-file=f", kNowhere, kNowhere},
    {"--healthz-port=1 --healthz-ip=127.0.0.1", kAll, kAll},
    {"--healthz-ip=127.0.0.1", kNowhere, kNowhere},
    {"--healthz-port=1", kAll, kAll},
    {"--admin=none", kAll, kAll},
    {"--state-dir=f", kAll, kAll},
    {"--log-format=json", kAll, kAll},
    {"--log-dir=f", kAll, kAll},
    {"--log-dir=f --log-file-size=3", kAll, kAll},
    {"--log-file-size=3", kNowhere, kNowhere},
    {"--log-dir=f --log-files=3", kAll, kAll},
    {"--log-files=3", kNowhere, kNowhere},
    {"--v=1", kAll, kAll},
    // Nothing is requested, so nothing is missing.
    {"--iptables-forward-rules=false", kAll, kAll},
    {"--manage-firewall=false", kAll, kAll},
    {"--set-node-network-unavailable=false", kAll, kAll},
    {"--firewall-sources=any", kAll, kAll},
    {"--superframes=cut", kAll, kAll},
    {"--peer-check=off", kAll, kAll},
    {"--source-vip-store=", kAll, kAll},
};

class NeedsTest : public ::testing::Test {
 protected:
  absl::StatusOr<NodeConfig> Load(std::string_view type, std::string_view words,
                                  std::string_view more_of_conf = "") {
    const std::string path = (folder_.path() / "net-conf.json").string();
    std::ofstream(path) << R"({"Network":"10.244.0.0/16",)" << more_of_conf
                        << R"("Backend":{"Type":")" << type << "\""
                        << (type == "vxlan" ? R"(,"VNI":4096,"Port":4789)" : "") << "}}";
    std::vector<std::string> all = absl::StrSplit(words, ' ', absl::SkipEmpty());
    all.insert(all.begin(), {"--node-name=a", "--net-config-path=" + path});
    const Environment none = [](const std::string&) { return std::nullopt; };
    const absl::StatusOr<CommandLine> line = ParseFlags(all, none);
    EXPECT_TRUE(line.ok() && line->warnings.empty()) << words;
    return line.ok() ? LoadNodeConfig(line->values, none) : line.status();
  }

 private:
  admin::TemporaryFolder folder_;
};

std::string NameIn(std::string_view word) {
  const std::size_t end = std::min(word.find('='), word.size());
  return std::string(word.substr(2, end - 2));
}

TEST_F(NeedsTest, EachFlagHasItsEffectOrANote) {
  for (const Mode& mode : Modes()) {
    for (const Row& row : kRows) {
      const std::vector<std::string> words = absl::StrSplit(row.words, ' ');
      const std::string name = NameIn(words.back());
      SCOPED_TRACE(absl::StrCat(mode.name, ": ", row.words));
      const std::string given = name == "net-config-path" ? "" : row.words;
      const auto node =
          Load(mode.type, absl::StrCat("--lease-source=file:x ", mode.words, " ", given));
      ASSERT_TRUE(node.ok()) << node.status();
      const std::vector<std::string> modes =
          absl::StrSplit(HasTunDevices() ? row.on_linux : row.on_windows, ' ');
      const bool effect = std::find(modes.begin(), modes.end(), mode.name) != modes.end();
      const std::string said =
          absl::StrCat(absl::StrJoin(node->notes, "\n"), "\n", node->unprotected);
      EXPECT_EQ(said.find(absl::StrCat("--", name, "=")) == said.npos, effect) << said;
    }
  }
}

TEST_F(NeedsTest, NoFlagIsForgotten) {
  std::set<std::string> judged;
  for (const Row& row : kRows)
    for (const std::string_view word : absl::StrSplit(row.words, ' ')) judged.insert(NameIn(word));
  for (const FlagRow& row : FlagTable()) {
    const bool elsewhere = row.group == FlagGroup::kCompatible || row.name == "version" ||
                           row.name == "dataplane";  // it is what the modes differ in
    EXPECT_NE(judged.contains(std::string(row.name)), elsewhere) << row.name;
  }
}

TEST_F(NeedsTest, FlagsOfTheClusterNeedTheCluster) {
  const std::string cluster = "--kube-subnet-mgr --dataplane=none ";
  for (const char* words : {"--kubeconfig-file=k", "--kube-api-url=https://a",
                            "--kubelet-kubeconfig=k", "--set-node-network-unavailable"})
    EXPECT_THAT(Load("vxlan", cluster + words)->notes, IsEmpty()) << words;
  for (const char* words : {"--kubeconfig-file=k", "--kube-api-url=https://a"}) {
    EXPECT_THAT(
        Load("vxlan", absl::StrCat(cluster, words, " --kubelet-kubeconfig=k"))->notes,
        ElementsAre(StartsWith("--kubelet-kubeconfig=k has no effect on this node: it needs ")));
  }
}

#ifndef _WIN32
TEST_F(NeedsTest, ATunnelNeedsVxlan) {
  EXPECT_THAT(Load("alloc", "--lease-source=file:x --dataplane=userspace --busy-poll=5")->notes,
              ElementsAre(StartsWith("--busy-poll=5 has no effect on this node")));
}
#endif

TEST_F(NeedsTest, TheBaseNetworkIsOfTheNodesHnsOrOfAnEmulatorNextToIt) {
  EXPECT_THAT(
      Load("vxlan", "--lease-source=file:x --dataplane=none --hns=emulator:s --hns-base-network")
          ->notes,
      IsEmpty());
  Options options;
  options.data_plane = DataPlane::kHns;
  EXPECT_TRUE(FindFlag("hns-base-network")->need->is_met({FlagValues(), options, {}}));
}

TEST_F(NeedsTest, WhatIsWrongIsRefused) {
  EXPECT_THAT(Load("vxlan", "--dataplane=none").status().message(),
              StartsWith("no source of leases: "));
  EXPECT_THAT(Load("vxlan", "--lease-source=file:x --dataplane=none", "\"EnableIPv4\":7,")
                  .status()
                  .message(),
              HasSubstr("EnableIPv4"));
}

TEST_F(NeedsTest, APublicAddressNeedsItsFamily) {
  constexpr char kDual[] = R"("EnableIPv6":true,"IPv6Network":"fd00::/48",)";
  const std::string words = "--lease-source=file:x --public-ipv6=fd00::1 ";
  EXPECT_THAT(Load("vxlan", words + "--dataplane=none", kDual)->notes, IsEmpty());
  EXPECT_THAT(Load("vxlan", words + "--dataplane=hns --hns=emulator:s", kDual)->notes,
              ElementsAre(HasSubstr("EnableIPv6 of net-conf has no effect"),
                          StartsWith("--public-ipv6=fd00::1 has no effect on this node")));
}

TEST_F(NeedsTest, TheChecksumOfOuterIpv4NeedsATunnelOverIpv4) {
  const std::string words =
      "--lease-source=file:x --dataplane=userspace --pod-device=pcap:e --udp-checksum=false";
  EXPECT_THAT(Load("vxlan", words, R"("EnableIPv6":true,"IPv6Network":"fd00::/48",)")->notes,
              IsEmpty());
  EXPECT_THAT(
      Load("vxlan", words, R"("EnableIPv4":false,"EnableIPv6":true,"IPv6Network":"fd00::/48",)")
          ->notes,
      ElementsAre(StartsWith("--udp-checksum=false has no effect on this node: it needs a "
                             "tunnel of flanneld's own over IPv4")));
}

// What should keep packets out is more than a note.
TEST_F(NeedsTest, FlagsThatKeepPacketsOutAreACondition) {
  const auto node = Load("host-gw",
                         "--lease-source=file:x --dataplane=routes --peer-check=strict "
                         "--firewall-sources=peers");
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_THAT(node->notes, IsEmpty());
  EXPECT_THAT(
      node->unprotected,
      ::testing::AllOf(HasSubstr("--peer-check=strict has no effect on this node: it needs a "
                                 "tunnel of flanneld's own"),
                       StartsWith("--firewall-sources=peers has no effect"), HasSubstr("; --"),
                       HasSubstr("so no packet is kept out by it")));
  EXPECT_EQ(Load("vxlan",
                 "--lease-source=file:x --dataplane=hns --hns=emulator:s "
                 "--firewall-sources=peers")
                ->unprotected,
            "");
}

TEST_F(NeedsTest, AValueWithACredentialIsNotShown) {
  EXPECT_THAT(
      Load("vxlan", "--lease-source=file:x --dataplane=none --kube-api-url=https://u:p@h")->notes,
      ElementsAre(StartsWith("--kube-api-url=https://...@h has no effect")));
}

}  // namespace
}  // namespace weft::config
