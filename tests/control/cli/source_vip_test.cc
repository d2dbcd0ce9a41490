// SPDX-License-Identifier: Apache-2.0
// flannelctl source-vip: of a running flanneld, else of the store.
#include <filesystem>
#include <fstream>

#include "control/admin/admin_server.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/control/admin/running_server.h"
#include "tests/control/admin/samples.h"
#include "tests/control/cli/call.h"
#include "tests/support/test_path.h"
#include "yaml-cpp/yaml.h"

namespace weft::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SourceVipVerbTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    state_.status.hns.emplace().network = "flannel.4096";
    state_.status.dataplane = "hns";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  Outcome Run(std::vector<std::string> words = {}) {
    words.insert(words.begin(), {"source-vip", "--admin", server_.endpoint()});
    return Call(std::move(words));
  }
  // Without a flanneld.
  Outcome RunOnStore(std::vector<std::string> words = {}) {
    words.insert(words.begin(), {"source-vip", "--admin=none", "--source-vip-store=" + Path("nets"),
                                 "--subnet-file=" + Path("subnet.env")});
    return Call(std::move(words));
  }
  Outcome RunOnBase(const std::string& base) {
    Write("config.conf", base);
    return Run({"-o", "kube-proxy-config", "--kube-proxy-config=" + Path("config.conf")});
  }

  const std::filesystem::path folder_ = weft::testing::TestPath();
  admin::FakeState state_;
  admin::RunningServer server_{AdminHandler(state_)};
};

TEST_F(SourceVipVerbTest, ThatOfARunningFlanneld) {
  const Outcome text = Run();
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out, "10.244.4.2\n");
  const auto json = nlohmann::json::parse(Run({"-o", "json"}).out);
  EXPECT_EQ(json["ip4"]["ip"], "10.244.4.2/24");
  EXPECT_EQ(json["ips"][0]["address"], "10.244.4.2/24");
  EXPECT_EQ(YAML::Load(Run({"-o", "yaml"}).out)["ip4"]["ip"].as<std::string>(), "10.244.4.2/24");
  EXPECT_THAT(text.err, IsEmpty());
  for (const char* const option : {"--source-vip-store", "--network", "--subnet-file"}) {
    const Outcome without_effect = Run({option, "x"});
    EXPECT_EQ(without_effect.code, 0);
    EXPECT_EQ(without_effect.out, text.out);
    EXPECT_THAT(without_effect.err,
                HasSubstr(std::string(option) + " has no effect while flanneld answers"));
  }
}

TEST_F(SourceVipVerbTest, WhyARunningFlanneldHasNone) {
  state_.status.source_vip.reset();
  Outcome none = Run();
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("has not reserved it yet"));
  state_.status.conditions = {{"net-conf", "it is gone", 1},
                              {"source-vip", "", 1},
                              {"source-vip", "no address is free", 1}};
  EXPECT_THAT(Run().err, HasSubstr("no address is free"));
  state_.status.conditions.clear();
  state_.status.backend = "host-gw";
  none = Run();
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("this node needs none (Backend.Type host-gw, data plane hns)"));
  EXPECT_THAT(none.out, IsEmpty());
  state_.status.backend = "vxlan";
  state_.status.dataplane = "userspace";
  EXPECT_THAT(Run().err, HasSubstr("this node needs none (Backend.Type vxlan, data plane "));
}

TEST_F(SourceVipVerbTest, ARunningFlanneldWithoutItsNetworkHasNone) {
  state_.status.hns.reset();
  EXPECT_EQ(Run().code, 1);
  state_.status.hns.emplace();
  state_.status.v4->subnet.reset();
  EXPECT_EQ(Run().code, 1);
  state_.status.v4.reset();
  EXPECT_EQ(Run().code, 1);
}

TEST_F(SourceVipVerbTest, ThatOfTheStore) {
  EXPECT_THAT(RunOnStore().err, AllOf(HasSubstr("subnet.env"), HasSubstr("--subnet-file")));
  Write("subnet.env", "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.1.1/24\n");
  Outcome none = RunOnStore();
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, AllOf(HasSubstr("10.244.1.0/24"), HasSubstr("--network")));
  Write("nets/flannel.4096/10.244.1.3", "kube-proxy\r\nsource-vip");
  EXPECT_EQ(RunOnStore().out, "10.244.1.3\n");
  EXPECT_EQ(RunOnStore({"--network=vxlan0"}).code, 1);
  EXPECT_EQ(RunOnStore({"--network=../x"}).code, 2);
  const std::vector<std::string> words{"source-vip", "--source-vip-store=" + Path("nets"),
                                       "--subnet-file=" + Path("subnet.env")};
  const auto of = [&words](const std::string& endpoint) {
    std::vector<std::string> all = words;
    all.push_back("--admin=" + endpoint);
    return Call(all);
  };
  const Outcome silent = of(server_.endpoint() + ".not");
  EXPECT_EQ(silent.out, "10.244.1.3\n");
  EXPECT_THAT(silent.err, IsEmpty());
  const admin::RawServer other("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_THAT(of(other.endpoint()).err,
              HasSubstr(" returned a document that this flannelctl cannot read"));
}

TEST_F(SourceVipVerbTest, TheConfigurationOfKubeProxy) {
  const YAML::Node bare = YAML::Load(Run({"-o", "kube-proxy-config"}).out);
  EXPECT_EQ(bare["kind"].as<std::string>(), "KubeProxyConfiguration");
  EXPECT_EQ(bare["winkernel"]["sourceVip"].as<std::string>(), "10.244.4.2");

  const Outcome made = RunOnBase(
      "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"
      "mode: iptables\nbindAddress: 0.0.0.0\nclusterCIDR: 10.244.0.0/16\n"
      "hostnameOverride: \"0123\"\nenableProfiling: false\nportRange: \"\"\n"
      "clientConnection: {kubeconfig: /x, qps: 5}\nconntrack: {min: null}\n"
      "winkernel: {enableDSR: true, sourceVip: 10.9.9.9}\nfeatureGates: {A: true}\n");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out,
            "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"
            "mode: kernelspace\nbindAddress: \"0.0.0.0\"\nclusterCIDR: \"10.244.0.0/16\"\n"
            "hostnameOverride: \"0123\"\nenableProfiling: false\nportRange: \"\"\n"
            "clientConnection:\n  kubeconfig: /x\n  qps: 5\nconntrack:\n  min: ~\n"
            "winkernel:\n  enableDSR: true\n  sourceVip: \"10.244.4.2\"\n"
            "  networkName: flannel.4096\nfeatureGates:\n  A: true\n  WinOverlay: true\n");
  EXPECT_EQ(RunOnBase("kind: KubeProxyConfiguration\n").code, 0);
}

TEST_F(SourceVipVerbTest, AnUnusableConfigurationIsRefused) {
  EXPECT_THAT(Run({"--kube-proxy-config=x"}).err, HasSubstr("needs -o kube-proxy-config"));
  EXPECT_THAT(Run({"-o", "kube-proxy-config", "--kube-proxy-config=" + Path("none")}).err,
              HasSubstr("none: it does not exist; give the cluster's"));
  const struct {
    const char* base;
    const char* why;
  } rows[] = {{"", "its kind is not KubeProxyConfiguration"},
              {"kind: KubeletConfiguration", "its kind is not KubeProxyConfiguration"},
              {"[1]", "its kind is not KubeProxyConfiguration"},
              {"kind: {a: 1}", "its kind is not KubeProxyConfiguration"},
              {"a: [", "line 1"},
              {"kind: KubeProxyConfiguration\nwinkernel: 5", "winkernel is not an object"},
              {"kind: KubeProxyConfiguration\nfeatureGates: [A]", "featureGates is not an object"},
              {"kind: KubeProxyConfiguration\n[a]: 1", "a key is not a text"},
              {"a: &a [*a]", "it is nested too deeply"},
              {"a: &a [1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n"
               "c: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\n"
               "e: [*d,*d,*d,*d,*d,*d,*d,*d]",
               "it has too many values"}};
  for (const auto& row : rows) {
    const Outcome refused = RunOnBase(row.base);
    EXPECT_EQ(refused.code, 2) << row.base;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("config.conf"), HasSubstr(row.why))) << row.base;
    EXPECT_THAT(refused.out, IsEmpty());
  }
}

}  // namespace
}  // namespace weft::cli
