// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/cluster_access.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/test_path.h"

namespace weft::kube {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Variables = std::map<std::string, std::string>;

Environment Of(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  };
}

class ClusterAccessTest : public ::testing::Test {
 protected:
  ClusterAccessTest() {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~ClusterAccessTest() override { fs::remove_all(folder); }

  static void Write(const fs::path& to, const std::string& text) {
    fs::create_directories(to.parent_path());
    std::ofstream(to, std::ios::binary) << text;
  }

  // One for each case: ctest runs them side by side.
  const fs::path folder =
      fs::temp_directory_path() / (std::string("weft-cluster-access-") +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

// RKE2 starts us with nothing else in the environment.
TEST_F(ClusterAccessTest, AKubeconfig) {
  Write(folder / "config",
        "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
        "clusters: [{name: k, cluster: {server: 'https://api', certificate-authority: ca.crt}}]\n"
        "users: [{name: u, user: {token: t}}]\n");
  const auto access = ReadClusterAccess(testing::Utf8(folder / "config"), "",
                                        Of({{"NODE_NAME", "n"}, {"PATH", "/bin"}}));
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->host, "api");
  EXPECT_EQ(access->certificate_authority.file, testing::Utf8(folder / "ca.crt"));
}

// `c:\k\config` and `c:/k/config` are one to Windows.
TEST_F(ClusterAccessTest, AKubeconfigByForwardSlashes) {
  Write(folder / "config", "current-context: c\ncontexts: [{name: c}]\n");
  const std::string path = absl::StrReplaceAll(testing::Utf8(folder / "config"), {{"\\", "/"}});
  EXPECT_TRUE(ReadClusterAccess(path, "https://api", Of({})).ok());
}

TEST_F(ClusterAccessTest, AMissingKubeconfig) {
  const auto access = ReadClusterAccess(testing::Utf8(folder / "config"), "https://api", Of({}));
  EXPECT_EQ(access.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(access.status().message(),
            "kubeconfig " + testing::Utf8(folder / "config") +
                " cannot be opened: no such file or folder; put it there or correct "
                "--kubeconfig-file");
}

// Not UTF-8 on Windows, elsewhere relative to a folder that is gone.
TEST_F(ClusterAccessTest, AKubeconfigsNameThatCannotBeUsed) {
  const fs::path before = fs::current_path();
  std::error_code held;
  fs::create_directories(folder / "gone");
  fs::current_path(folder / "gone");
  fs::remove(folder / "gone", held);
  const auto access = ReadClusterAccess("\xff", "", Of({}));
  fs::current_path(before);
  EXPECT_EQ(access.status().message(),
            "kubeconfig \xff: its name cannot be used on this system; rename it");
}

TEST_F(ClusterAccessTest, AFolderIsNoKubeconfig) {
  const auto access = ReadClusterAccess(testing::Utf8(folder), "", Of({}));
  EXPECT_THAT(access.status().ToString(), HasSubstr("not a regular file"));
}

TEST_F(ClusterAccessTest, AWrongFileIsNotReadToItsEnd) {
  Write(folder / "config", std::string(5 << 20, ' '));
  EXPECT_THAT(ReadClusterAccess(testing::Utf8(folder / "config"), "", Of({})).status().ToString(),
              HasSubstr("is larger than 4 MiB"));
}

TEST_F(ClusterAccessTest, AnUrlAloneIsWithoutCredentials) {
  const auto access = ReadClusterAccess(
      "", "http://127.0.0.1:8080",
      Of({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}}));
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_FALSE(access->tls);
  EXPECT_EQ(access->port, 8080);
  EXPECT_TRUE(access->token.empty());
  EXPECT_EQ(access->origin, "kube-api-url, without credentials");
}

TEST_F(ClusterAccessTest, NeitherFlagNorPod) {
  const auto access = ReadClusterAccess("", "", Of({{"NODE_NAME", "n"}, {"PATH", "/bin"}}));
  EXPECT_EQ(access.status().message(),
            "in-cluster: environment variable KUBERNETES_SERVICE_HOST is not set, so this is no "
            "pod; outside a pod give --kubeconfig-file (or FLANNELD_KUBECONFIG_FILE)");
  EXPECT_THAT(
      ReadClusterAccess("", "", Of({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}})).status().ToString(),
      HasSubstr("variable KUBERNETES_SERVICE_PORT is not set, so this is no pod"));
  EXPECT_THAT(
      ReadClusterAccess("", "", Of({{"KUBERNETES_SERVICE_PORT", "443"}})).status().ToString(),
      HasSubstr("variable KUBERNETES_SERVICE_HOST is not set, so this is no pod"));
}

// A HostProcess container: its files are under $CONTAINER_SANDBOX_MOUNT_POINT, `C:\hpc` or longer.
TEST_F(ClusterAccessTest, InClusterUnderTheSandboxMountPoint) {
  const fs::path account = folder / "var/run/secrets/kubernetes.io/serviceaccount";
  Write(account / "token", "t");
  for (const std::string end : {"", "/", "\\", "\\/"}) {
    const auto access =
        ReadClusterAccess("", "",
                          Of({{"KUBERNETES_SERVICE_HOST", end.empty() ? "[fd00::1]" : "fd00::1"},
                              {"KUBERNETES_SERVICE_PORT", "6443"},
                              {"CONTAINER_SANDBOX_MOUNT_POINT", testing::Utf8(folder) + end}}));
    ASSERT_TRUE(access.ok()) << access.status();
    EXPECT_TRUE(access->tls);
    EXPECT_EQ(access->host, "fd00::1");
    EXPECT_EQ(access->port, 6443);
    EXPECT_EQ(access->origin, "in-cluster");
    EXPECT_TRUE(fs::equivalent(access->token.file, account / "token"));
    EXPECT_EQ(access->certificate_authority.file,
              testing::Utf8(folder) + "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
  }
}

TEST_F(ClusterAccessTest, InClusterWithoutToken) {
  const auto access =
      ReadClusterAccess("", "",
                        Of({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                            {"KUBERNETES_SERVICE_PORT", "443"},
                            {"CONTAINER_SANDBOX_MOUNT_POINT", testing::Utf8(folder)}}));
  EXPECT_EQ(access.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(
      access.status().ToString(),
      AllOf(HasSubstr(testing::Utf8(folder) +
                      "/var/run/secrets/kubernetes.io/serviceaccount/token cannot"),
            HasSubstr(", /var/run/secrets/kubernetes.io/serviceaccount/token cannot be opened"),
            HasSubstr("automountServiceAccountToken")));
}

// Without a mount point the pod's own root is the only one.
TEST_F(ClusterAccessTest, InClusterWithoutTokenAndMountPoint) {
  Variables variables = {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                         {"KUBERNETES_SERVICE_PORT", "443"}};
  for (const bool set : {false, true}) {
    if (set) variables["CONTAINER_SANDBOX_MOUNT_POINT"] = "";
    EXPECT_THAT(std::string(ReadClusterAccess("", "", Of(variables)).status().message()),
                ::testing::StartsWith(
                    "in-cluster: no service account token: "
                    "/var/run/secrets/kubernetes.io/serviceaccount/token cannot be opened: no such "
                    "file or folder; does the pod have one"));
  }
  variables["CONTAINER_SANDBOX_MOUNT_POINT"] = "/";
  EXPECT_THAT(ReadClusterAccess("", "", Of(variables)).status().ToString(),
              HasSubstr("no service account token: /var/run/secrets/"));
}

TEST_F(ClusterAccessTest, AProxyOfTheEnvironment) {
  const auto by_url = ReadClusterAccess("", "https://api", Of({{"HTTPS_PROXY", "p:1"}}));
  ASSERT_TRUE(by_url.ok()) << by_url.status();
  ASSERT_TRUE(by_url->proxy.has_value());
  EXPECT_EQ(by_url->proxy->host, "p");
  // A node that upstream's flanneld connected stays connected where the server answers directly.
  const auto socks =
      ReadClusterAccess("", "https://api:6443", Of({{"HTTPS_PROXY", "socks5://u:s3cret@p"}}));
  ASSERT_TRUE(socks.ok()) << socks.status();
  EXPECT_FALSE(socks->proxy.has_value());
  EXPECT_THAT(socks->warnings,
              ::testing::ElementsAre(
                  AllOf(HasSubstr("the API server api:6443 is requested without a proxy: "
                                  "environment variable HTTPS_PROXY: \"socks5://\" proxies are not "
                                  "supported; give an \"http://\" proxy"),
                        Not(HasSubstr("s3cret")))));
  // That of the kubeconfig overrides it.
  Write(folder / "config",
        "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
        "clusters: [{name: k, cluster: {server: 'https://api', proxy-url: 'http://q:2'}}]\n");
  const auto own =
      ReadClusterAccess(testing::Utf8(folder / "config"), "", Of({{"HTTPS_PROXY", "socks5://p"}}));
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->proxy->host, "q");
  EXPECT_TRUE(own->warnings.empty());
}

TEST_F(ClusterAccessTest, ABadServicePort) {
  const auto access = ReadClusterAccess(
      "", "",
      Of({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_SERVICE_PORT", "tcp://x"}}));
  EXPECT_THAT(access.status().ToString(), HasSubstr("KUBERNETES_SERVICE_PORT: "));
}

// {proxy's host:port, "" for none, or the warning}
std::string ProxyFor(const std::string& host, Variables variables, bool tls = true,
                     std::uint16_t port = 6443) {
  ClusterAccess access;
  access.host = host;
  access.tls = tls;
  access.port = port;
  SetProxyOfEnvironment(Of(std::move(variables)), access);
  if (!access.warnings.empty()) return access.warnings.front();
  return access.proxy ? access.proxy->host + ":" + std::to_string(access.proxy->port) : "";
}

TEST(ProxyTest, WhichVariable) {
  EXPECT_EQ(ProxyFor("10.0.0.1", {}), "");
  EXPECT_EQ(ProxyFor("10.0.0.1", {{"HTTPS_PROXY", "http://p:3128"}}), "p:3128");
  EXPECT_EQ(ProxyFor("10.0.0.1", {{"https_proxy", "p"}}), "p:80");
  EXPECT_EQ(ProxyFor("10.0.0.1", {{"HTTPS_PROXY", ""}, {"https_proxy", "p:1"}}), "p:1");
  EXPECT_EQ(ProxyFor("10.0.0.1", {{"HTTP_PROXY", "p:1"}}), "");
  EXPECT_EQ(ProxyFor("10.0.0.1", {{"HTTP_PROXY", "p:1"}}, /*tls=*/false), "p:1");
}

TEST(ProxyTest, NeverForThisMachine) {
  for (const char* host : {"localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "::1"})
    EXPECT_EQ(ProxyFor(host, {{"HTTPS_PROXY", "p:1"}}), "") << host;
}

TEST(ProxyTest, Exceptions) {
  struct Row {
    const char* no_proxy;
    const char* host;
    bool direct;
  };
  for (const Row& row : {
           Row{"*", "api.example", true},
           Row{"10.0.0.0/8", "10.9.9.9", true},
           Row{"10.0.0.0/8", "11.9.9.9", false},
           Row{"10.0.0.0/8", "api.example", false},
           Row{"fd00::/8", "fd12::1", true},
           Row{"a, 10.0.0.1 ,b", "10.0.0.1", true},
           Row{"10.0.0.1:6443", "10.0.0.1", true},
           Row{"10.0.0.1:443", "10.0.0.1", false},
           Row{"[fd12::1]:6443", "fd12::1", true},
           Row{"fd12::1", "fd12::1", true},
           Row{"[fd12::1]", "fd12::1", true},
           Row{"[api.example]", "api.example", true},
           Row{"example", "api.example", true},
           Row{"Example", "API.example", true},
           Row{"api.example", "api.example", true},
           Row{"pi.example", "api.example", false},
           Row{".example", "api.example", true},
           Row{".example", "example", false},
           Row{"*.example", "api.example", true},
           Row{"*.example", "example", false},
           Row{"api.example:6443", "api.example", true},
           Row{"api.example:443", "api.example", false},
           Row{",, ,.,*.,:,[,[]", "api.example", false},
       }) {
    SCOPED_TRACE(std::string(row.no_proxy) + " " + row.host);
    EXPECT_EQ(ProxyFor(row.host, {{"HTTPS_PROXY", "p:1"}, {"NO_PROXY", row.no_proxy}}),
              row.direct ? "" : "p:1");
  }
  EXPECT_EQ(ProxyFor("api", {{"HTTPS_PROXY", "p:1"}, {"no_proxy", "api"}}), "");
}

TEST(ProxyTest, WhatCannotBeUsedIsNamed) {
  EXPECT_THAT(ProxyFor("api", {{"HTTPS_PROXY", "socks5://u:s3cret@p"}}),
              AllOf(HasSubstr("environment variable HTTPS_PROXY: \"socks5://\" proxies"),
                    Not(HasSubstr("s3cret"))));
  EXPECT_THAT(
      ProxyFor("api", {{"https_proxy", "http://u:s3cret@p:x"}}),
      AllOf(HasSubstr("environment variable https_proxy: its port"), Not(HasSubstr("s3cret"))));
  EXPECT_EQ(ProxyFor("api", {{"HTTPS_PROXY", "socks5://p"}, {"NO_PROXY", "api"}}), "");
}

}  // namespace
}  // namespace weft::kube
