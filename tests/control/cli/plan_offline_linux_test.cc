// SPDX-License-Identifier: Apache-2.0
// flannelctl plan --offline on this host, with a file of Nodes and an HNS emulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "tests/control/cli/call.h"
#include "tests/control/cli/installed_node.h"
#include "tests/support/traced_child_linux.h"

namespace weft::cli {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class PlanOfflineTest : public ::testing::Test {
 protected:
  PlanOfflineTest() {
    node_.Write("nodes.json", SampleNodes());
    node_.Write("net-conf.json",
                R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})");
  }
  std::vector<std::string> Words(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"plan",
                                      "--offline",
                                      "--",
                                      "--node-name=win-1",
                                      "--iface=lo",
                                      "--dataplane=hns",
                                      "--hns=" + node_.hns(),
                                      "--lease-source=file:" + node_.At("nodes.json"),
                                      "--net-config-path=" + node_.At("net-conf.json"),
                                      "--subnet-file=" + node_.At("run/subnet.env"),
                                      "--source-vip-store=" + node_.At("store"),
                                      "--state-dir=" + node_.At("state")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  InstalledNode node_;
};

TEST_F(PlanOfflineTest, NamesWhatAStartWouldDo) {
  const Outcome outcome = Call(Words());
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(StartsWith("Node win-1, interface lo, 127.0.0.1"),
                                 HasSubstr("would replace " + node_.At("run/subnet.env") + ":\n"),
                                 HasSubstr("FLANNEL_SUBNET=10.244.4.1/24\n"),
                                 HasSubstr("would reserve a source VIP in "),
                                 HasSubstr("the network flannel.4096")));
}

// Files, folders and sockets: it sends only to the emulator and to netlink, which is asked.
TEST_F(PlanOfflineTest, WritesNothing) {
  const std::vector<std::string> before = node_.State();
  std::vector<std::string> words = Words();
  words.insert(words.begin(), WEFT_FLANNELCTL);
  const std::string output = weft::testing::TestPath().string() + ".out";
  const weft::testing::TracedRun run = weft::testing::RunTraced(words, output);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.changes, AllOf(Not(IsEmpty()), Each("send")));
  EXPECT_EQ(node_.State(), before);
  std::filesystem::remove(output);
}

// lo has no route to a pod subnet, and the peers' addresses are not on its link.
TEST_F(PlanOfflineTest, NamesTheRoutesOfHostGw) {
  const std::string vxlan = "\"flannel.alpha.coreos.com/backend-type\": \"vxlan\"";
  const auto host_gw = absl::StrReplaceAll(vxlan, {{"vxlan", "host-gw"}});
  const std::string nodes = absl::StrReplaceAll(SampleNodes(), {{vxlan, host_gw}});
  node_.Write("nodes.json", nodes);
  node_.Write("net-conf.json", R"({"Network":"10.244.0.0/16","Backend":{"Type":"host-gw"}})");
  const Outcome far = Call(Words({"--dataplane=routes"}));
  EXPECT_EQ(far.code, 1) << far.err;
  EXPECT_THAT(far.out, HasSubstr("would refuse peer linux-1, without route 10.244.1.0/24 via "
                                 "192.0.2.1 dev lo: its address is not on that link\n"));
  EXPECT_THAT(far.out, AllOf(Not(HasSubstr("nothing to do")), Not(HasSubstr(" is kept"))));
}

TEST_F(PlanOfflineTest, NamesTheTunnelAndWhatHasNoEffect) {
  const Outcome outcome = Call(Words({"--dataplane=userspace"}));
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("would create the device flannel.4096 and its routes, for UDP port "
                              "4789, until flanneld stops\n"),
                    HasSubstr("--source-vip-store=" + node_.At("store") + " has no effect")));
}

TEST_F(PlanOfflineTest, WhatFlanneldRefusesIsAnError) {
  const struct {
    std::vector<std::string> flags;
    std::string error;
  } rows[] = {
      {{"--no-such-flag"}, "no-such-flag"},
      {{"--node-name=nobody"}, "nobody"},
      {{"--net-config-path=/no/such/file"}, "/no/such/file"},
      {{"--lease-source=file:/no/such/file"}, "/no/such/file"},
      {{"--hns=emulator:/no/such/socket"}, "the hns service does not run"},
  };
  for (const auto& row : rows) {
    const Outcome outcome = Call(Words(row.flags));
    EXPECT_EQ(outcome.code, 2) << row.error << outcome.out;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("flannelctl plan: "), HasSubstr(row.error)));
  }
  EXPECT_THAT(Call({"plan", "--", "--ip-masq"}).err,
              HasSubstr("flags of flanneld are for --offline"));
  EXPECT_THAT(Call({"plan", "--offline", "--timeout=x"}).err, HasSubstr("is not a duration"));
}

}  // namespace
}  // namespace weft::cli
