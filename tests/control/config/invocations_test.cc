// SPDX-License-Identifier: Apache-2.0
// The command lines that start upstream's flanneld on Windows nodes today, each with exactly the
// environment that it gets there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "control/config/flags.h"
#include "control/config/options.h"
#include "control/own_files.h"

namespace weft::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Started {
  Options options;
  std::vector<std::string> warnings;
  absl::Status status;
};

Started Start(const std::vector<std::string>& words, std::map<std::string, std::string> variables) {
  const Environment environment = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  absl::StatusOr<CommandLine> line = ParseFlags(words, environment);
  if (!line.ok()) return {{}, {}, line.status()};
  absl::StatusOr<Options> options = MakeOptions(line->values, environment);
  if (!options.ok()) return {{}, line->warnings, options.status()};
  return {*std::move(options), line->warnings, {}};
}

// The words are taken as they are.
void ExpectStarts(std::vector<std::string> words,
                  const std::map<std::string, std::string>& variables) {
  const Started plain = Start(words, variables);
  EXPECT_TRUE(plain.status.ok()) << plain.status;
  words.push_back("--dataplane=none");
  const Started none = Start(words, variables);
  EXPECT_TRUE(none.status.ok()) << none.status;
}

// The launcher passes only these; Go adds SYSTEMROOT.
TEST(Invocation, Rke2) {
  const std::vector<std::string> words = {
      R"(--kubeconfig-file=C:\var\lib\rancher\rke2\agent\flannel.kubeconfig)",
      "--ip-masq",
      "--kube-subnet-mgr",
      "--iptables-forward-rules=false",
      "--iface=10.0.0.4",
      R"(--net-config-path=C:\var\lib\rancher\rke2\agent\flanneld-net-conf.json)"};
  const std::map<std::string, std::string> variables = {
      {"NODE_NAME", "win1"}, {"PATH", R"(C:\Windows\system32)"}, {"SYSTEMROOT", R"(C:\Windows)"}};
  ExpectStarts(words, variables);
  const Started started = Start(words, variables);
  EXPECT_TRUE(started.options.kube_subnet_mgr);
  EXPECT_TRUE(started.options.ip_masq);
  EXPECT_EQ(started.options.node_name, "win1");
  EXPECT_EQ(started.options.kubeconfig_file, R"(C:\var\lib\rancher\rke2\agent\flannel.kubeconfig)");
  EXPECT_EQ(started.options.net_config_path,
            R"(C:\var\lib\rancher\rke2\agent\flanneld-net-conf.json)");
  EXPECT_THAT(started.options.iface, ElementsAre("10.0.0.4"));
  EXPECT_FALSE(started.options.iptables_forward_rules);
  EXPECT_THAT(started.warnings, IsEmpty());
}

// sig-windows-tools: in-cluster, with the API server's own address over the service's, and no
// NODE_NAME.
TEST(Invocation, HostProcess) {
  const std::vector<std::string> words = {"--kube-subnet-mgr", "--iface", "10.0.0.4"};
  const std::map<std::string, std::string> variables = {{"POD_NAME", "kube-flannel-ds-windows-x7"},
                                                        {"POD_NAMESPACE", "kube-flannel"},
                                                        {"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                                                        {"KUBERNETES_SERVICE_PORT", "6443"}};
  ExpectStarts(words, variables);
  const Started started = Start(words, variables);
  EXPECT_TRUE(started.options.kube_subnet_mgr);
  EXPECT_FALSE(started.options.ip_masq);
  EXPECT_EQ(started.options.node_name, "");
  EXPECT_EQ(started.options.pod_name, "kube-flannel-ds-windows-x7");
  EXPECT_EQ(started.options.pod_namespace, "kube-flannel");
  EXPECT_EQ(started.options.kubeconfig_file, "");
  EXPECT_TRUE(started.options.kube_api_url.empty());
  EXPECT_EQ(started.options.net_config_path, "/etc/kube-flannel/net-conf.json");
  EXPECT_EQ(started.options.subnet_file, control::OnSystemDrive("/run/flannel/subnet.env"));
  EXPECT_EQ(started.options.source_vip_store, control::OnSystemDrive("/var/lib/cni/networks"));
  EXPECT_THAT(started.options.iface, ElementsAre("10.0.0.4"));
  EXPECT_THAT(started.warnings, IsEmpty());
}

// PrepareNode.ps1 and start.ps1 under nssm; the script has put the host's name into lower case.
TEST(Invocation, Kubeadm) {
  const std::vector<std::string> words = {R"(--kubeconfig-file=c:\k\config)", "--iface=10.0.0.4",
                                          "--ip-masq=1", "--kube-subnet-mgr=1"};
  const std::map<std::string, std::string> variables = {{"NODE_NAME", "win-1"}};
  ExpectStarts(words, variables);
  const Started started = Start(words, variables);
  EXPECT_TRUE(started.options.kube_subnet_mgr);
  EXPECT_TRUE(started.options.ip_masq);
  EXPECT_EQ(started.options.node_name, "win-1");
  EXPECT_EQ(started.options.kubeconfig_file, R"(c:\k\config)");
  EXPECT_THAT(started.warnings, IsEmpty());
}

// The DaemonSet of the upstream manifest, on Linux.
TEST(Invocation, UpstreamsManifest) {
  const std::vector<std::string> words = {"--ip-masq", "--kube-subnet-mgr"};
  const std::map<std::string, std::string> variables = {{"POD_NAME", "kube-flannel-ds-x7"},
                                                        {"POD_NAMESPACE", "kube-flannel"},
                                                        {"EVENT_QUEUE_DEPTH", "5000"},
                                                        {"CONT_WHEN_CACHE_NOT_READY", "false"},
                                                        {"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                                                        {"KUBERNETES_SERVICE_PORT", "443"}};
  ExpectStarts(words, variables);
  const Started started = Start(words, variables);
  EXPECT_EQ(started.options.pod_name, "kube-flannel-ds-x7");
  EXPECT_THAT(started.warnings, ElementsAre("accepted from upstream, without effect: "
                                            "CONT_WHEN_CACHE_NOT_READY, EVENT_QUEUE_DEPTH"));
}

// Row "environment with only NODE_NAME and PATH": every other variable that is read may be unset.
TEST(Invocation, NoVariableOfTheSystemIsInspected) {
  std::set<std::string> asked;
  const Environment environment = [&](const std::string& name) -> std::optional<std::string> {
    asked.insert(name);
    return name == "NODE_NAME" ? std::optional<std::string>("win1") : std::nullopt;
  };
  const std::vector<std::string> words = {"--kube-subnet-mgr", "--dataplane=none"};
  EXPECT_TRUE(MakeOptions(ParseFlags(words, environment)->values, environment).ok());
  for (const char* name : {"TEMP", "TMP", "ProgramData", "USERPROFILE", "HOME", "COMPUTERNAME",
                           "HOSTNAME", "KUBECONFIG"})
    EXPECT_FALSE(asked.contains(name)) << name;
}

}  // namespace
}  // namespace weft::config
