// SPDX-License-Identifier: Apache-2.0
// flannelctl plan --offline on this host, with a file of Nodes and an HNS emulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_replace.h"
#include "tests/control/cli/call.h"
#include "tests/control/cli/installed_node.h"
#include "tests/support/fake_api_listener.h"
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
  void WriteConf(const std::string& backend) const {
    node_.Write("net-conf.json", R"({"Network":"10.244.0.0/16","Backend":)" + backend + "}");
  }
  // Of Nodes with host-gw.
  void WriteHostGw() const {
    const std::string vxlan = "\"flannel.alpha.coreos.com/backend-type\": \"vxlan\"";
    const auto host_gw = absl::StrReplaceAll(vxlan, {{"vxlan", "host-gw"}});
    node_.Write("nodes.json", absl::StrReplaceAll(SampleNodes(), {{vxlan, host_gw}}));
    WriteConf(R"({"Type":"host-gw"})");
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
  EXPECT_THAT(outcome.out, AllOf(Not(HasSubstr("create the device")), Not(HasSubstr("refuse peer")),
                                 Not(HasSubstr("packet filter"))));
  EXPECT_THAT(Call(Words({"--source-vip-store="})).out, Not(HasSubstr("source VIP")));
  node_.Write("damaged/flannel.4096", "no folder");
  EXPECT_THAT(Call(Words({"--source-vip-store=" + node_.At("damaged")})).out,
              HasSubstr("would reserve a source VIP in "));

  const std::string replace = "would replace " + node_.At("run/subnet.env") + ":\n";
  const std::size_t begin = outcome.out.find(replace) + replace.size();
  node_.Write("run/subnet.env",
              outcome.out.substr(begin, outcome.out.find("would ", begin) - begin));
  node_.Write("store/flannel.4096/10.244.4.2", "kube-proxy\r\nsource-vip");
  const Outcome again = Call(Words());
  EXPECT_EQ(again.code, 1) << "HNS has another network";
  EXPECT_THAT(again.out,
              AllOf(HasSubstr(node_.At("run/subnet.env") + " is as flanneld writes it"),
                    HasSubstr("the source VIP is 10.244.4.2\n"), Not(HasSubstr("would "))));
  std::filesystem::remove(node_.At("run/subnet.env"));
  EXPECT_THAT(Call(Words()).out, HasSubstr("would write " + node_.At("run/subnet.env") + ":\n"));
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
  WriteHostGw();
  const Outcome far = Call(Words({"--dataplane=routes"}));
  EXPECT_EQ(far.code, 1) << far.err;
  EXPECT_THAT(far.out, HasSubstr("would refuse peer linux-1, without route 10.244.1.0/24 via "
                                 "192.0.2.1 dev lo: its address is not on that link\n"));
  EXPECT_THAT(far.out, AllOf(Not(HasSubstr("nothing to do")), Not(HasSubstr(" is kept"))));
  EXPECT_THAT(Call(Words({"--dataplane=none"})).out, Not(HasSubstr("refuse peer")));
}

TEST_F(PlanOfflineTest, NamesTheNetworkOfTheBackend) {
  WriteHostGw();
  EXPECT_THAT(Call(Words()).out,
              AllOf(HasSubstr("the network cbr0"), Not(HasSubstr("source VIP"))));
  WriteConf(R"({"Type":"alloc"})");
  EXPECT_THAT(Call(Words()).out, AllOf(HasSubstr("Node win-1"), Not(HasSubstr("the network "))));
  EXPECT_THAT(Call(Words({"--dataplane=userspace"})).out, Not(HasSubstr("create the device")));
}

TEST_F(PlanOfflineTest, AnErrorOfHnsIsNamed) {
  hns::emulator::Fault fault;
  fault.function = "HcnEnumerateNetworks";
  fault.count = hns::emulator::Fault::kAlways;
  fault.code = hns::hresult::kUnspecified;
  node_.emulator().Add(fault);
  EXPECT_THAT(Call(Words()).err, StartsWith("flannelctl plan: list the networks"));
}

TEST_F(PlanOfflineTest, NamesTheTunnelAndWhatHasNoEffect) {
  const Outcome outcome = Call(Words({"--dataplane=userspace"}));
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("would create the device flannel.4096 and its routes, for UDP port "
                              "4789, until flanneld stops\n"),
                    HasSubstr("--source-vip-store=" + node_.At("store") + " has no effect"),
                    Not(HasSubstr("source VIP in")), HasSubstr("the network flannel.4096")));
  std::vector<std::string> words = Words({"--dataplane=userspace"});
  std::erase(words, "--hns=" + node_.hns());
  const Outcome alone = Call(words);
  EXPECT_EQ(alone.code, 1) << alone.err;
  EXPECT_THAT(alone.out, Not(HasSubstr("the network ")));
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
      {{"--kube-annotation-prefix=x"}, "annotation prefix \"x\" is not"},

      {{"--hns=emulator:/no/such/socket"}, "the hns service does not run"},
  };
  for (const auto& row : rows) {
    const Outcome outcome = Call(Words(row.flags));
    EXPECT_EQ(outcome.code, 2) << row.error << outcome.out;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("flannelctl plan: "), HasSubstr(row.error)));
  }
  std::vector<std::string> nowhere = Words({"--iface=not here"});
  std::erase(nowhere, "--iface=lo");
  EXPECT_THAT(Call(nowhere).err, HasSubstr("not here"));
  EXPECT_THAT(Call({"plan", "--", "--ip-masq"}).err,
              HasSubstr("flags of flanneld are for --offline"));
  EXPECT_THAT(Call({"plan", "--offline", "--timeout=x"}).err, HasSubstr("is not a duration"));
}

class PlanOfClusterTest : public PlanOfflineTest {
 protected:
  // `name`: this node's; empty: not given. Without `more`: of the listener's cluster.
  Outcome Plan(const std::string& name, std::vector<std::string> more = {},
               const std::string& timeout = "60s") {
    std::vector<std::string> words = {"plan",
                                      "--offline",
                                      "--timeout=" + timeout,
                                      "--",
                                      "--kube-subnet-mgr",
                                      "--iface=lo",
                                      "--dataplane=hns",
                                      "--hns=" + node_.hns(),
                                      "--net-config-path=" + node_.At("net-conf.json"),
                                      "--subnet-file=" + node_.At("run/subnet.env"),
                                      "--state-dir=" + node_.At("state")};
    if (!name.empty()) words.push_back("--node-name=" + name);
    if (more.empty())
      more = {"--kube-api-url=http://127.0.0.1:" + std::to_string(listener_.port())};
    words.insert(words.end(), more.begin(), more.end());
    return Call(words);
  }

  boost::asio::io_context io_;
  weft::testing::FakeApiServer server_;
  weft::testing::FakeApiListener listener_{io_, server_};
};

TEST_F(PlanOfClusterTest, NamesTheAnnotationsThatChange) {
  using weft::testing::NodeFacts;
  server_.Put(NodeFacts("win-1").Leased("10.244.4.0/24", "192.0.2.4"));
  server_.Put(NodeFacts("win-2").PodCidrs({"10.244.5.0/24"}));
  std::thread thread([this] { io_.run(); });
  const std::string with =
      "would publish flannel.alpha.coreos.com/backend-data with the MAC that "
      "HNS gives the network";
  const std::string known = Plan("win-1").out, unknown = Plan("win-2").out;
  io_.stop();
  thread.join();
  EXPECT_THAT(known,
              AllOf(HasSubstr(with + ", unless it is as now: {\"VNI\":4096,"),
                    HasSubstr("would publish flannel.alpha.coreos.com/public-ip=127.0.0.1\n"),
                    Not(HasSubstr("kube-subnet-manager"))));
  EXPECT_THAT(unknown,
              AllOf(HasSubstr(with + "\n"),
                    HasSubstr("would publish flannel.alpha.coreos.com/kube-subnet-manager=true")));
}

TEST_F(PlanOfClusterTest, WhatIsNotKnownOfTheClusterIsAnError) {
  const Outcome silent = Plan("win-1", {}, "50ms");
  EXPECT_EQ(silent.code, 2);
  EXPECT_THAT(silent.err, AllOf(HasSubstr("the Nodes were not read within 50ms from "),
                                Not(::testing::EndsWith(": \n"))));
  EXPECT_THAT(Plan("win-1", {"--kubeconfig-file=/no/such/file"}).err, HasSubstr("/no/such/file"));
  ::setenv("POD_NAME", "flanneld-1", 1);
  ::setenv("POD_NAMESPACE", "kube-flannel", 1);
  EXPECT_THAT(Plan("").err, HasSubstr("the Node's name is not known: give --node-name"));
  ::unsetenv("POD_NAME");
  ::unsetenv("POD_NAMESPACE");
}

}  // namespace
}  // namespace weft::cli
