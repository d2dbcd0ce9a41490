// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/cluster_servers.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/files/foreign_file.h"
#include "tests/support/test_path.h"

namespace weft::kube {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string TextOf(const fs::path& path) {
  const std::u8string text = path.generic_u8string();
  return {text.begin(), text.end()};
}

class ClusterServersTest : public ::testing::Test {
 protected:
  ClusterServersTest() { fs::create_directories(folder); }
  ~ClusterServersTest() override { fs::remove_all(folder); }

  static void Write(const fs::path& to, const std::string& text) {
    fs::create_directories(to.parent_path());
    std::ofstream(to, std::ios::binary) << text;
  }
  Environment Of(std::map<std::string, std::string> variables) {
    return [variables = std::move(variables)](const std::string& name) {
      const auto at = variables.find(name);
      return at == variables.end() ? std::nullopt : std::optional(at->second);
    };
  }
  absl::StatusOr<ClusterServers> ByUrls(std::vector<std::string> urls) {
    return ReadClusterServers({"", std::move(urls), kubelet}, Of({}));
  }
  static std::vector<std::string> Hosts(const absl::StatusOr<ClusterServers>& all) {
    std::vector<std::string> hosts;
    if (!all.ok()) return {std::string(all.status().message())};
    for (const ClusterAccess& each : all->servers) hosts.push_back(each.host);
    return hosts;
  }
  // A pod with a service account below the mount point, as in a HostProcess container.
  Environment Pod(std::map<std::string, std::string> more = {}) {
    more.insert({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                 {"KUBERNETES_SERVICE_PORT", "443"},
                 {"CONTAINER_SANDBOX_MOUNT_POINT", TextOf(folder / "mount")}});
    const fs::path account = folder / "mount/var/run/secrets/kubernetes.io/serviceaccount";
    Write(account / "token", "our-token");
    Write(account / "ca.crt", "our CA");
    return Of(std::move(more));
  }
  absl::StatusOr<ClusterServers> InPod() { return ReadClusterServers({"", {}, kubelet}, Pod()); }
  std::string Refusal() {
    const auto all = InPod();
    if (!all.ok()) return std::string(all.status().message());
    return std::string(all->fallback().status().message());
  }
  static std::string Kubeconfig(const std::string& cluster, const std::string& user = "{}") {
    return "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
           "clusters: [{name: k, cluster: {" +
           cluster + "}}]\nusers: [{name: u, user: " + user + "}]\n";
  }

  const fs::path folder = testing::TestPath();
  const fs::path kubelet_path = folder / "kubelet.conf";
  const std::string kubelet = TextOf(kubelet_path);
};

TEST_F(ClusterServersTest, UrlsAreRepeatedOrSeparatedByCommas) {
  const struct {
    std::vector<std::string> urls;
    std::vector<std::string> hosts;
  } rows[] = {
      {{"https://a:6443"}, {"a"}},
      {{"https://a:6443", "https://b"}, {"a", "b"}},
      {{"https://a:6443, https://b,", "https://c"}, {"a", "b", "c"}},
      {{"https://a:6443,https://a:6443", "https://a:6444"}, {"a", "a"}},
      {{"https://a,ftp://b"},
       {"kube-api-url: \"ftp://\" is not supported; write it as \"https://10.0.0.1:6443\""}},
      {{"https://a,https://:1"}, {Hosts(ByUrls({"https://:1"}))}},
  };
  for (const auto& row : rows) EXPECT_EQ(Hosts(ByUrls(row.urls)), row.hosts) << row.urls.front();
}

TEST_F(ClusterServersTest, TooManyAreRefused) {
  std::string urls = "https://h0";
  for (int i = 1; i <= 16; ++i) urls += ",https://h" + std::to_string(i);
  EXPECT_THAT(Hosts(ByUrls({urls})), ::testing::ElementsAre(HasSubstr("17 servers are more")));
}

TEST_F(ClusterServersTest, EachUrlHasTheKubeconfigsCredentials) {
  Write(folder / "config",
        Kubeconfig("server: 'https://no', certificate-authority: ca.crt", "{token: t}"));
  const auto all =
      ReadClusterServers({TextOf(folder / "config"), {"https://a,https://b"}, kubelet}, Of({}));
  EXPECT_EQ(Hosts(all), (std::vector<std::string>{"a", "b"}));
  for (const ClusterAccess& each : all->servers) {
    EXPECT_EQ(each.token.text, "t");
    EXPECT_EQ(fs::path(each.certificate_authority.file), folder / "ca.crt");
  }
}

TEST_F(ClusterServersTest, WhatTheOperatorNamesIsTheOnlyClusterTried) {
  Write(kubelet_path, Kubeconfig("server: 'https://192.0.2.1:6443'"));
  Write(folder / "config", Kubeconfig("server: 'https://a'"));
  EXPECT_FALSE(ByUrls({"https://a"})->fallback);
  EXPECT_FALSE(ReadClusterServers({TextOf(folder / "config"), {}, kubelet}, Pod())->fallback);
  EXPECT_FALSE(ReadClusterServers({"", {}, ""}, Pod())->fallback) << "an empty flag";
  EXPECT_TRUE(ReadClusterServers({"", {}, kubelet}, Pod())->fallback);
}

// The kubelet's credentials are the node's, which may do more, and not what flannel needs.
TEST_F(ClusterServersTest, OnlyTheAddressOfTheKubeletsKubeconfigIsUsed) {
  Write(
      kubelet_path,
      Kubeconfig("server: 'https://192.0.2.1:6443/p', tls-server-name: kubernetes, "
                 "certificate-authority-data: bm90IG91cnM=, insecure-skip-tls-verify: true, "
                 "proxy-url: 'http://planted:8080'",
                 "{client-certificate: /planted.pem, client-key: /planted.pem, client-key-data: "
                 "cGxhbnRlZA==, token: planted, tokenFile: /planted, username: planted, password: "
                 "planted, exec: {command: /planted}, as: planted}"));
  const auto all = InPod();
  ASSERT_TRUE(all.ok()) << all.status();
  const ClusterAccess& own = all->servers.front();
  EXPECT_EQ(own.host, "10.96.0.1");
  const auto found = all->fallback();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->tls);
  EXPECT_EQ(found->host, "192.0.2.1");
  EXPECT_EQ(found->port, 6443);
  EXPECT_EQ(found->path, "/p");
  EXPECT_EQ(found->tls_server_name, "kubernetes");
  EXPECT_FALSE(found->insecure_skip_tls_verify);
  EXPECT_FALSE(found->proxy);
  for (const auto& [secret, ours] : {std::pair{found->token, own.token},
                                     {found->certificate_authority, own.certificate_authority}}) {
    EXPECT_EQ(secret.file, ours.file);
    EXPECT_EQ(secret.text, "");
  }
  EXPECT_TRUE(found->client_certificate.empty() && found->client_key.empty());
  EXPECT_TRUE(found->username.empty() && found->password.empty());
}

TEST_F(ClusterServersTest, TheFileIsReadEachTime) {
  const auto all = InPod();
  EXPECT_THAT(
      std::string(all->fallback().status().message()),
      AllOf(HasSubstr(kubelet), HasSubstr("no such file"), HasSubstr("--kubelet-kubeconfig")));
  Write(kubelet_path, Kubeconfig("server: 'https://192.0.2.1:6443'").substr(0, 60));
  EXPECT_FALSE(all->fallback().ok()) << "half of a file";
  Write(kubelet_path, Kubeconfig("server: 'https://192.0.2.1:6443'"));
  EXPECT_TRUE(all->fallback().ok());
}

TEST_F(ClusterServersTest, TheFileBelowTheMountPointComesFirst) {
  Write(kubelet_path, Kubeconfig("server: 'https://192.0.2.1:6443'"));
  Write(folder / "mount" / kubelet_path.relative_path(), Kubeconfig("server: 'https://192.0.2.2'"));
  EXPECT_EQ(InPod()->fallback()->host, "192.0.2.2");
  fs::remove(folder / "mount" / kubelet_path.relative_path());
  EXPECT_EQ(InPod()->fallback()->host, "192.0.2.1");
}

TEST_F(ClusterServersTest, AFileThatCannotBeUsedIsRefusedByName) {
  const std::pair<std::string, const char*> rows[] = {
      {"", "it is empty"},
      {"current-context: [", "neither YAML nor JSON"},
      {"a: b", "current-context is not set"},
      {Kubeconfig("tls-server-name: x"), "server is not set"},
      {Kubeconfig("server: 'http://192.0.2.1:6443'"), "is not \"https://\""},
      {Kubeconfig("server: 'https://u:planted@192.0.2.1'"), "a user name or password"},
      {Kubeconfig("server: 'https://10.96.0.1:443'"), "the same server"},
      {Kubeconfig("server: [1]"), "server is not a text"},
      {std::string((std::size_t{4} << 20) + 1, '#'), "larger than 4 MiB"},
  };
  for (const auto& [text, why] : rows) {
    Write(kubelet_path, text);
    EXPECT_THAT(Refusal(), AllOf(HasSubstr("the kubelet's kubeconfig " + kubelet), HasSubstr(why),
                                 ::testing::Not(HasSubstr("planted"))));
  }
}

TEST_F(ClusterServersTest, AFolderIsRefused) {
  fs::create_directories(kubelet_path);
  EXPECT_THAT(Refusal(), HasSubstr("not a regular file"));
}

TEST_F(ClusterServersTest, ALinkIsRefused) {
  Write(folder / "real", Kubeconfig("server: 'https://192.0.2.1:6443'"));
  std::error_code error;
  fs::create_symlink(folder / "real", kubelet_path, error);
  if (error) GTEST_SKIP() << "no links here";
  EXPECT_THAT(Refusal(), HasSubstr("is a link"));
}

TEST_F(ClusterServersTest, AFileThatAnotherUserMayWriteIsRefused) {
  Write(kubelet_path, Kubeconfig("server: 'https://192.0.2.1:6443'"));
  if (!testing::AllowOtherUsersToWrite(kubelet)) GTEST_SKIP() << "needs root";
  EXPECT_THAT(Refusal(), AllOf(HasSubstr(kubelet), HasSubstr("may be written by")));
  if (!testing::GiveAway(kubelet)) GTEST_SKIP() << "needs root";
  EXPECT_THAT(Refusal(), HasSubstr("belongs to"));
}

}  // namespace
}  // namespace weft::kube
