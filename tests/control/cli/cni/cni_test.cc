// SPDX-License-Identifier: Apache-2.0
// flannelctl cni, on a node's files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/admin/admin_server.h"
#include "control/cli/cni/service_cidrs.h"
#include "control/cni/containerd_folders.h"
#include "control/emulator/hns/emulator.h"
#include "control/emulator/remote/remote_server.h"
#include "control/host/host.h"
#include "tests/control/admin/running_server.h"
#include "tests/control/admin/samples.h"
#include "tests/control/cli/call.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/scripted_server.h"
#include "tests/support/test_path.h"

namespace weft::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kProgram = cni::DefaultsOfContainerd().end;

class CniTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    Write("net-conf.json", R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096}})");
    Write("subnet.env", "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\n");
    for (const char* const plugin : {"win-overlay", "win-bridge", "flannel", "host-local"})
      Write(absl::StrCat("bin/", plugin, kProgram), "");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const {
    return (folder_ / std::filesystem::path(name).make_preferred()).string();
  }
  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string Text(const std::string& name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Outcome Run(const std::string& verb, std::vector<std::string> words = {},
              const std::string& admin = "none") {
    words.insert(words.begin(),
                 {"cni", verb, "--admin=" + admin, "--net-config-path=" + Path("net-conf.json"),
                  "--subnet-file=" + Path("subnet.env")});
    if (verb != "render") {
      words.insert(words.end(), {"--conf-dir=" + Path("net.d"), "--bin-dir=" + Path("bin")});
    }
    if (verb == "install") words.push_back("--state-dir=" + Path("state"));
    return Call(std::move(words));
  }
  Outcome RunWithServices(const std::string& verb, std::vector<std::string> words = {}) {
    words.emplace_back("--service-cidr=10.96.0.0/12");
    return Run(verb, std::move(words));
  }
  // The folders are those that config.toml names.
  Outcome RunWithContainerd(const std::string& verb, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"cni",
                                   verb,
                                   "--admin=none",
                                   "--net-config-path=" + Path("net-conf.json"),
                                   "--subnet-file=" + Path("subnet.env"),
                                   "--service-cidr=10.96.0.0/12",
                                   "--containerd-config=" + Path("config.toml")};
    if (verb == "install") words.push_back("--state-dir=" + Path("state"));
    words.insert(words.end(), more.begin(), more.end());
    return Call(std::move(words));
  }

  const std::filesystem::path folder_ = weft::testing::TestPath();
};

TEST_F(CniTest, RendersForNetConfsBackend) {
  const Outcome overlay = RunWithServices("render");
  EXPECT_EQ(overlay.code, 0) << overlay.err;
  EXPECT_THAT(overlay.out, AllOf(HasSubstr(R"("type": "win-overlay")"),
                                 HasSubstr(R"("subnet": "10.244.3.0/24")"),
                                 HasSubstr(R"("name": "flannel.4096")")));
  EXPECT_THAT(RunWithServices("render", {"--plugin=flannel"}).out,
              AllOf(HasSubstr(R"("type": "flannel")"), HasSubstr(R"("type": "win-overlay")")));
  EXPECT_THAT(RunWithServices("render", {"--plugin=sdnoverlay", "--node-address=10.0.0.8"}).out,
              HasSubstr(R"("ProviderAddress": "10.0.0.8")"));
  EXPECT_THAT(RunWithServices("render", {"--plugin=flannel", "--delegate=sdnoverlay",
                                         "--node-address=10.0.0.8"})
                  .out,
              AllOf(HasSubstr(R"("type": "flannel")"), HasSubstr(R"("type": "sdnoverlay")")));
  EXPECT_EQ(RunWithServices("render", {"--source-vip-store=" + Path("store")}).code, 0);

  Write("net-conf.json", R"({"Network":"10.244.0.0/16","Backend":{"Type":"host-gw"}})");
  for (const char* const address : {"--node-address=10.0.0.8", "--node-address=10.0.0.8/24"}) {
    const Outcome bridge = RunWithServices("render", {address});
    EXPECT_THAT(bridge.out,
                AllOf(HasSubstr(R"("name": "cbr0")"), HasSubstr(R"("type": "win-bridge")"),
                      Not(HasSubstr("10.0.0.0/24")), HasSubstr("10.0.0.8/32")))
        << bridge.err;
  }
}

TEST_F(CniTest, WhatIsWrongOrNotKnownIsNamed) {
  const auto error = [this](std::vector<std::string> words) {
    const Outcome outcome = Run("render", std::move(words));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_THAT(error({}), AllOf(HasSubstr("win-overlay needs the service CIDR: "),
                               HasSubstr("; give --service-cidr")));
  EXPECT_THAT(error({"--kubeconfig-file=" + Path("none.conf")}), HasSubstr("none.conf"));
  EXPECT_THAT(error({"--service-cidr=10.96.0.0"}),
              AllOf(HasSubstr("--service-cidr=10.96.0.0 is no CIDR; write 10.96.0.0/12"),
                    Not(HasSubstr("not compared"))));
  EXPECT_THAT(error({"--service-cidr=fd00::/112"}), HasSubstr("no service CIDR is IPv4"));
  EXPECT_THAT(error({"--service-cidr=10.96.0.0/12", "--plugin=sdnoverlay"}),
              HasSubstr("sdnoverlay needs the node's address: the node's address is not known; "
                        "give --node-address"));
  EXPECT_THAT(error({"--service-cidr=10.96.0.0/12", "--plugin=sdnoverlay", "--node-address=x/y"}),
              HasSubstr("--node-address=x/y is no IPv4 address; write 10.0.0.8"));
  EXPECT_THAT(
      error({"--service-cidr=10.96.0.0/12", "--plugin=sdnoverlay", "--node-address=10.0.0.8/33"}),
      HasSubstr("--node-address=10.0.0.8/33 is no IPv4 address"));
  EXPECT_THAT(
      error({"--service-cidr=10.96.0.0/12", "--plugin=win-bridge", "--node-address=10.0.0.8/24"}),
      HasSubstr("net-conf's Backend.Type is vxlan, and win-bridge is for host-gw"));
  EXPECT_THAT(error({"--delegate=win-overlay"}), HasSubstr("--delegate is for --plugin=flannel"));
  EXPECT_THAT(error({"--service-cidr=10.96.0.0/12", "--plugin=sdnoverlay",
                     "--node-address=10.0.0.8", "--source-vip-store=" + Path("store")}),
              HasSubstr("sdnoverlay makes host-local use "));
  Write("subnet.env", "");
  EXPECT_THAT(error({"--service-cidr=10.96.0.0/12"}),
              HasSubstr("subnet.env names no subnet of this node; start flanneld"));
  Write("net-conf.json", "{");
  EXPECT_THAT(error({"--service-cidr=10.96.0.0/12"}), HasSubstr("; --net-config-path names the"));
}

TEST_F(CniTest, TheAddressIsThatOfFlannelsNetwork) {
  const std::vector<std::string> words = {"--plugin=sdnoverlay", "--service-cidr=10.96.0.0/12"};
  // Where flanneld publishes an address of this host, HNS's other one is a load balancer's.
  const struct {
    const char *published, *address;
  } rows[] = {{"", "192.0.2.8"}, {"203.0.113.5", "192.0.2.8"}, {"127.0.0.1", "127.0.0.1"}};
  for (const auto& row : rows) {
    admin::FakeState state;
    state.status.hns.emplace().management_ip = IpAddress::Parse("192.0.2.8");
    state.status.v4.emplace().public_ip = IpAddress::Parse(row.published);
    admin::RunningServer server{AdminHandler(state)};
    EXPECT_THAT(Run("render", words, server.endpoint()).out,
                HasSubstr(absl::StrCat("\"ProviderAddress\": \"", row.address, "\"")));
  }
  admin::FakeState state;
  state.status.v4.reset();
  admin::RunningServer server{AdminHandler(state)};
  EXPECT_THAT(Run("render", words, server.endpoint()).out,
              HasSubstr("\"ProviderAddress\": \"192.0.2.4\""));
  constexpr char kUnknown[] = "the node's address is not known: flanneld's network has none yet; ";
  server.Do([&](admin::HttpServer&) { state.status.hns->management_ip.reset(); });
  EXPECT_THAT(Run("render", words, server.endpoint()).err, HasSubstr(kUnknown));
  server.Do([&](admin::HttpServer&) { state.status.hns.reset(); });
  EXPECT_THAT(Run("render", words, server.endpoint()).err, HasSubstr(kUnknown));
  EXPECT_THAT(Run("render", words, Path("no.sock")).err,
              HasSubstr("the node's address is not known: flanneld does not answer"));
}

TEST_F(CniTest, LoopbackDsrNeedsAnHnsThatHasIt) {
  hns::emulator::SystemClock clock;
  weft::testing::EthernetNode node{clock};
  const auto server =
      hns::emulator::RemoteServer::Start(weft::testing::TestSocket(".sock"), node.hns(), nullptr)
          .value();
  const auto render = [&](const hns::Version& version) {
    hns::emulator::Settings settings = node.hns().settings();
    settings.version = version;
    node.hns().Set(settings);
    return RunWithServices("render", {"--loopback-dsr", "--hns=emulator:" + server->path()});
  };
  EXPECT_EQ(RunWithServices("render", {"--loopback-dsr", "--hns=emulator:" + Path("none")}).code,
            0);
  EXPECT_EQ(render({9, 5}).code, 0);
  EXPECT_THAT(render({9, 2}).err,
              ::testing::EndsWith("flannelctl cni render: this HNS has no DSR (it needs 9.3 to "
                                  "9.x, or 10.2)\n"));
}

// A pod's status.hostIP, where the kubelet lists IPv6 first.
TEST_F(CniTest, AnIpv6NodeAddressStandsForTheIpv4OneOfItsAdapter) {
  const auto render = [this](const std::string& address) {
    return RunWithServices("render", {"--plugin=sdnoverlay", "--node-address=" + address});
  };
  EXPECT_THAT(render("2001:db8::8").err, HasSubstr("=2001:db8::8 is no IPv4 address"));
  const auto adapters = (*host::OpenHost())->Adapters();
  ASSERT_TRUE(adapters.ok()) << adapters.status();
  for (const host::Adapter& adapter : *adapters) {
    std::string v4, v6;
    for (const host::AssignedAddress& each : adapter.addresses) {
      std::string& first = each.address.is_v4() ? v4 : v6;
      if (first.empty()) first = each.address.ToString();
    }
    if (v4.empty() || v6.empty()) continue;
    EXPECT_THAT(render(v6).out, HasSubstr("\"ProviderAddress\": \"" + v4 + "\""));
  }
}

TEST_F(CniTest, InstallsOnceAndSaysWhatIsInTheWay) {
  const Outcome first = RunWithServices("install");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, "wrote " + Path("net.d/10-flannel.conflist") + "\n");
  EXPECT_EQ(Text("net.d/10-flannel.conflist"), RunWithServices("render").out);
  EXPECT_EQ(RunWithServices("install").out,
            "unchanged: " + Path("net.d/10-flannel.conflist") + "\n");

  Write("net.d/05-other.conf", "{}");
  std::filesystem::remove(folder_ / ("bin/host-local" + kProgram));
  const Outcome rival = RunWithServices("install");
  EXPECT_EQ(rival.code, 1);
  EXPECT_EQ(RunWithServices("validate", {Path("net.d/10-flannel.conflist")}).code, 1);
  EXPECT_THAT(rival.err,
              AllOf(HasSubstr("containerd takes 05-other.conf, not 10-flannel.conflist: the first "
                              "by name in "),
                    HasSubstr(Path("bin/host-local" + kProgram) + " is missing")));
  EXPECT_EQ(Text("net.d/05-other.conf"), "{}");

  const Outcome renamed = RunWithServices("install", {"--file-name=00-flannel.conflist"});
  EXPECT_THAT(renamed.out, HasSubstr("removed " + Path("net.d/10-flannel.conflist")));
  EXPECT_THAT(renamed.err, Not(HasSubstr("containerd takes")));
  EXPECT_EQ(RunWithServices("install", {"--file-name=../x.conf"}).code, 2);

  Write("net.d/00-flannel.conflist", "mine");
  const Outcome changed = RunWithServices("install", {"--file-name=00-flannel.conflist"});
  EXPECT_EQ(changed.code, 2);
  EXPECT_THAT(changed.err, HasSubstr("run this again with --overwrite"));
  EXPECT_EQ(Text("net.d/00-flannel.conflist"), "mine");
}

TEST_F(CniTest, AFileBesideALaterWeftsRecordIsNotCalledUnchanged) {
  Write("state/cni.json", R"({"apiVersion": "weft/cni/v2", "version": 2, "files": []})");
  Write("net.d/10-flannel.conflist", "the later weft's");
  const Outcome outcome = RunWithServices("install");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "left with another content: " + Path("net.d/10-flannel.conflist") + "\n");
  EXPECT_THAT(outcome.err, HasSubstr("has version 2"));
  EXPECT_EQ(Text("net.d/10-flannel.conflist"), "the later weft's");
}

TEST_F(CniTest, InstallWaitsForSubnetEnv) {
  const std::string text = Text("subnet.env");
  std::filesystem::remove(folder_ / "subnet.env");
  const Outcome none = RunWithServices("install", {"--timeout=0s"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("subnet.env names no subnet"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "net.d"));
  EXPECT_EQ(RunWithServices("install", {"--plugin=flannel", "--timeout=24h"}).code, 0);
  for (const char* const timeout : {"--timeout=soon", "--timeout=-1s", "--timeout=25h"})
    EXPECT_THAT(RunWithServices("install", {timeout}).err, HasSubstr("is no duration"));
  std::thread writer([&] { Write("subnet.env", text); });
  EXPECT_EQ(RunWithServices("install", {"--timeout=24h"}).code, 0);
  writer.join();
}

TEST_F(CniTest, ContainerdsConfigurationNamesTheFolders) {
  Write("config.toml", absl::StrCat("[plugins.\"io.containerd.grpc.v1.cri\".cni]\nconf_dir = '",
                                    Path("own"), "'\nbin_dir = '", Path("bin"), "'\n"));
  EXPECT_EQ(RunWithContainerd("install").out, "wrote " + Path("own/10-flannel.conflist") + "\n");
  for (const std::string& given : {"--conf-dir=" + Path("own"), "--bin-dir=" + Path("bin")}) {
    const Outcome again = RunWithContainerd("install", {given});
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(again.out, "unchanged: " + Path("own/10-flannel.conflist") + "\n");
  }
  Write("config.toml", "[plugins.cri.cni]\nconf_dir = 7\n");
  EXPECT_THAT(RunWithContainerd("install").err, HasSubstr("config.toml"));
  EXPECT_THAT(RunWithContainerd("validate").err, HasSubstr("config.toml"));
}

TEST_F(CniTest, AConfDirThatIsNoFolderIsNamed) {
  Write("net.d", "");
  Write("own.conflist", RunWithServices("render").out);
  for (const std::vector<std::string>& file : {std::vector<std::string>(), {Path("own.conflist")}})
    EXPECT_THAT(RunWithServices("validate", file).err,
                HasSubstr("cannot read the folder " + Path("net.d")));
}

// containerd may have other folders by now than those that are named.
TEST_F(CniTest, ImportsOfContainerdsConfigurationAreNotLookedAtAndNamed) {
  Write("config.toml", absl::StrCat("imports = ['d/*.toml']\n[plugins.cri.cni]\nconf_dir = '",
                                    Path("own"), "'\nbin_dir = '", Path("bin"), "'\n"));
  const auto named =
      HasSubstr("not looked at: " + Path("config.toml") + ": line 1, which imports other files");
  EXPECT_THAT(RunWithContainerd("validate").err,
              AllOf(HasSubstr("has no CNI configuration, but "), named));
  const Outcome installed = RunWithContainerd("install"), validated = RunWithContainerd("validate");
  EXPECT_EQ(installed.code, 0) << "pods start wherever the imported files set nothing";
  EXPECT_THAT(installed.err, named);
  EXPECT_EQ(validated.code, 0) << validated.out;
  EXPECT_THAT(validated.out, named);
  EXPECT_THAT(validated.err, named);
  EXPECT_THAT(RunWithContainerd("explain").err, named);
  EXPECT_EQ(RunWithServices("install").err.find("imports"), std::string::npos) << "both are given";
}

TEST_F(CniTest, ValidatesTheFileThatContainerdTakes) {
  EXPECT_THAT(RunWithServices("validate").err,
              HasSubstr("has no CNI configuration: containerd starts no pods"));
  ASSERT_EQ(RunWithServices("install").code, 0);
  const Outcome good = RunWithServices("validate");
  EXPECT_EQ(good.code, 0) << good.out;
  EXPECT_EQ(good.out, Path("net.d/10-flannel.conflist") + ": good\n");
  EXPECT_THAT(good.err, HasSubstr("not compared: the node's address is not known"));
  Write("net.d/99-other.conf", "{}");
  EXPECT_EQ(RunWithServices("validate").out, good.out);
  Write("own.conflist", Text("net.d/10-flannel.conflist"));
  EXPECT_EQ(RunWithServices("validate", {Path("own.conflist")}).out,
            Path("own.conflist") + ": good\n");

  Write("subnet.env", "FLANNEL_SUBNET=10.244.9.1/24\n");
  const Outcome old = RunWithServices("validate");
  EXPECT_EQ(old.code, 1);
  EXPECT_THAT(old.out, AllOf(StartsWith(Path("net.d/10-flannel.conflist") +
                                        ": plugins[0].ipam.ranges[0][0].subnet: the node's subnet "
                                        "is 10.244.9.0/24"),
                             Not(HasSubstr(": good"))));

  Write("net.d/00.conf", "{");
  EXPECT_EQ(RunWithServices("validate").code, 2);
  const Outcome named = RunWithServices("validate", {Path("net.d/10-flannel.conflist")});
  EXPECT_THAT(named.out, HasSubstr("containerd takes 00.conf, not 10-flannel.conflist"));
  Write("net.d/00.conf", std::string(256 * 1024 + 1, ' '));
  EXPECT_THAT(RunWithServices("validate").err, HasSubstr("it is too large"));
}

// One that containerd's installer wrote: its pods start, and are on no other node's way.
TEST_F(CniTest, AnotherNetworksFileBeforeOursIsNamedWithTheNextStep) {
  ASSERT_EQ(RunWithServices("install").code, 0);
  Write("net.d/0-containerd-nat.json",
        R"({"cniVersion":"0.2.0","name":"nat","type":"nat","master":"Ethernet","ipam":)"
        R"({"subnet":"172.28.48.0/20","routes":[{"GW":"172.28.48.1"}]}})");
  Write("bin/nat" + kProgram, "");
  for (const char* verb : {"validate", "explain"}) {
    const Outcome outcome = RunWithServices(verb);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(
        outcome.out,
        AllOf(HasSubstr("flanneld's network is flannel.4096: no pod can start in it"),
              HasSubstr("0-containerd-nat.json: containerd takes it, the first by name, and "
                        "not 10-flannel.conflist; remove it, or")));
  }
}

TEST_F(CniTest, WhatItDidNotLookAtIsNotGood) {
  Write("net.d/10-azure.conflist",
        R"({"name":"flannel.4096","cniVersion":"1.0.0","plugins":[{"type":"azure-vnet"}]})");
  Write("bin/azure-vnet" + kProgram, "");
  const Outcome outcome = RunWithServices("validate");
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_EQ(outcome.out, Path("net.d/10-azure.conflist") +
                             ": no findings, but not looked at: plugins[0].type \"azure-vnet\"\n");
}

TEST_F(CniTest, AFileThatContainerdRefusesIsNotGood) {
  ASSERT_EQ(RunWithServices("install").code, 0);
  const std::string text = Text("net.d/10-flannel.conflist");
  Write("net.d/10-flannel.conflist", "\xef\xbb\xbf" + text);
  const Outcome mark = RunWithServices("validate");
  EXPECT_EQ(mark.code, 2);
  EXPECT_THAT(mark.err, HasSubstr("byte order mark"));
  Write("net.d/00-flannel.conf", text);
  const Outcome list = RunWithServices("validate");
  EXPECT_EQ(list.code, 1);
  EXPECT_THAT(list.out, HasSubstr("files named .conflist alone"));
}

TEST_F(CniTest, ExplainsEachMember) {
  ASSERT_EQ(RunWithServices("install").code, 0);
  const Outcome outcome = RunWithServices("explain");
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith(Path("net.d/10-flannel.conflist") + "\n  name = \"flannel.4096\"\n"),
                    HasSubstr("      packets of pods leave with the node's address, but not to "
                              "10.244.0.0/16, 10.96.0.0/12\n"),
                    Not(HasSubstr("wrong: ")), Not(HasSubstr(": good"))));
  Write("net-conf.json", R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":5000}})");
  const Outcome wrong = RunWithServices("explain");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.out, AllOf(HasSubstr("      wrong: flanneld's network is flannel.5000"),
                               Not(HasSubstr("containerd takes it"))));
}

// ---- service CIDRs of the API server

class CniClusterTest : public CniTest {
 protected:
  void Answer(int status, const std::string& body) {
    server_.Answer({absl::StrCat("HTTP/1.1 ", status,
                                 " X\r\nContent-Type: application/json\r\nContent-Length: ",
                                 body.size(), "\r\n\r\n", body)});
  }
  Outcome Render() { return RunOnServer("render", {}); }
  Outcome RunOnServer(const std::string& verb, std::vector<std::string> words) {
    io_.restart();
    std::thread thread([this] { io_.run(); });
    words.push_back(absl::StrCat("--kube-api-url=http://127.0.0.1:", server_.port()));
    Outcome outcome = Run(verb, std::move(words));
    io_.stop();
    thread.join();
    return outcome;
  }

  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  weft::testing::ScriptedServer server_{io_, {}};
};

TEST_F(CniClusterTest, FromItsServiceCidrs) {
  Answer(200, R"({"items":[{"spec":{"cidrs":["10.97.0.0/16","fd00::/112"]}}]})");
  const Outcome outcome = Render();
  EXPECT_THAT(outcome.out, HasSubstr("\"DestinationPrefix\": \"10.97.0.0/16\"")) << outcome.err;
  EXPECT_THAT(server_.requests(),
              ElementsAre(StartsWith("GET /apis/networking.k8s.io/v1/servicecidrs HTTP/1.1")));
}

TEST_F(CniClusterTest, FromKubeadmsConfigMapOfAnOlderOne) {
  Answer(404, "{}");
  Answer(200,
         R"({"data":{"ClusterConfiguration":"networking:\n  serviceSubnet: 10.98.0.0/16\n"}})");
  const Outcome outcome = Render();
  EXPECT_THAT(outcome.out, HasSubstr("\"DestinationPrefix\": \"10.98.0.0/16\"")) << outcome.err;
  ASSERT_EQ(server_.requests().size(), 2u);
  EXPECT_THAT(server_.requests()[1],
              StartsWith("GET /api/v1/namespaces/kube-system/configmaps/kubeadm-config "));
}

TEST_F(CniClusterTest, BothAnswersAreNamed) {
  Answer(403, R"({"kind":"Status","message":"servicecidrs is forbidden"})");
  Answer(404, R"({"kind":"Status","message":"configmaps not found"})");
  const Outcome outcome = Render();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("403 servicecidrs is forbidden"),
                    HasSubstr("404 configmaps not found"), HasSubstr("; give --service-cidr")));
}

TEST_F(CniClusterTest, AnAnswerThatIsNoHttpEndsIt) {
  server_.Answer({"none\r\n\r\n"});
  const Outcome outcome = Render();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("win-overlay needs the service CIDR: "),
                                 Not(HasSubstr("the API server does not tell"))));
}

// A Service of every cluster: where the credentials may read it, it shows a wrong --service-cidr.
TEST_F(CniClusterTest, AServiceCidrIsComparedWithTheServiceOfTheApiServer) {
  const struct {
    const char* description;
    int status;
    std::string service;
    int code;
    const char* said;
  } rows[] = {
      {"inside", 200, R"({"spec":{"clusterIP":"10.96.0.1","clusterIPs":["10.96.0.1"]}})", 0, ""},
      {"outside", 200, R"({"spec":{"clusterIP":"10.43.0.1","clusterIPs":["fd43::1","10.43.0.1"]}})",
       1, "--service-cidr lacks 10.43.0.1, the address of the cluster's Service kubernetes"},
      {"forbidden", 403, R"({"kind":"Status","message":"services is forbidden"})", 0,
       "not compared: --service-cidr with the cluster's: 403 services is forbidden"},
  };
  for (const auto& row : rows) {
    for (const std::string verb : {"render", "install", "validate"}) {
      Answer(row.status, row.service);
      const Outcome outcome = RunOnServer(verb, {"--service-cidr=10.96.0.0/12"});
      EXPECT_EQ(outcome.code, row.code) << row.description << ", " << verb << ": " << outcome.err;
      EXPECT_THAT(outcome.out + outcome.err, HasSubstr(row.said)) << row.description;
      EXPECT_THAT(server_.requests().back(),
                  StartsWith("GET /api/v1/namespaces/default/services/kubernetes HTTP/1.1"));
    }
  }
}

TEST(ServiceCidrsTest, TheServiceMayHaveOneFamily) {
  EXPECT_EQ(ApiServiceOf(R"({"spec":{"clusterIP":"10.96.0.1"}})").value(),
            *IpAddress::Parse("10.96.0.1"));
  for (const char* const text : {"", "7", "{}", R"({"spec":7})", R"({"spec":{"clusterIP":"None"}})",
                                 R"({"spec":{"clusterIPs":["fd00::1",7]}})"})
    EXPECT_FALSE(ApiServiceOf(text).ok()) << text;
}

TEST_F(CniTest, TheLastNodeAddressCounts) {
  EXPECT_THAT(RunWithServices("render", {"--plugin=sdnoverlay", "--node-address=10.0.0.7",
                                         "--node-address=10.0.0.8"})
                  .out,
              HasSubstr(R"("ProviderAddress": "10.0.0.8")"));
}

TEST(ServiceCidrsTest, WrongAnswersAreErrors) {
  for (const char* const text :
       {"", "7", "{}", R"({"items":{"a":{"spec":{"cidrs":["10.96.0.0/12"]}}}})", R"({"items":[]})",
        R"({"items":[7]})", R"({"items":[{"spec":{"cidrs":"10.96.0.0/12"}}]})",
        R"({"items":[{"spec":{"cidrs":[7]}}]})",
        R"({"items":[{"spec":{"cidrs":["10.96.0.0/12","10.96.0.0"]}}]})"})
    EXPECT_FALSE(ServiceCidrsOf(text).ok()) << text;
  for (const char* const text :
       {"", "7", "{}", R"({"data":{}})", R"({"data":{"ClusterConfiguration":"a: ["}})",
        R"({"data":{"ClusterConfiguration":"networking:\n  serviceSubnet: 10.96.0.0/12,"}})"})
    EXPECT_FALSE(KubeadmServiceCidrs(text).ok()) << text;
  for (const char* const text :
       {R"({"data":{"ClusterConfiguration":"7"}})",
        R"({"data":{"ClusterConfiguration":"networking: 7"}})",
        R"({"data":{"ClusterConfiguration":"networking:\n  serviceSubnet: [a]"}})"})
    EXPECT_EQ(KubeadmServiceCidrs(text).status().message(), "it has no networking.serviceSubnet");
}

}  // namespace
}  // namespace weft::cli
