// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/exec_plugin.h"

#include "absl/strings/str_cat.h"
#include "control/kube/client/cluster_access.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::kube {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

std::string Document(const std::string& status, const std::string& version = kV1) {
  return absl::StrCat(R"({"apiVersion":")", version, R"(","kind":"ExecCredential","status":)",
                      status, "}");
}

TEST(ExecCredentialTest, ATokenOrAClientCertificate) {
  const auto token = ParseExecCredential(
      Document(R"({"token":"t","expirationTimestamp":"2026-11-24T01:02:03Z"})"), kV1);
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(token->token, "t");
  EXPECT_EQ(token->expires, absl::FromUnixSeconds(1795482123));
  const auto pair = ParseExecCredential(
      Document(R"({"clientCertificateData":"C","clientKeyData":"K","token":null})"), kV1);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->client_certificate, "C");
  EXPECT_EQ(pair->client_key, "K");
  EXPECT_EQ(pair->expires, std::nullopt);
}

TEST(ExecCredentialTest, WhatIsWrongIsNamedAndNoSecretShown) {
  const std::pair<std::string, const char*> rows[] = {
      {"", "is not JSON"},
      {"planted", "is not JSON"},
      {Document(R"({"token":"planted"})") + "planted", "is not JSON"},
      {"[]", "is not a JSON object"},
      {"{}", "is a \"\" of \"\", not an ExecCredential"},
      {Document(R"({"token":"planted"})", "client.authentication.k8s.io/v1beta1"),
       "v1beta1\", not an ExecCredential of client.authentication.k8s.io/v1"},
      {R"({"apiVersion":7})", "apiVersion that is not a text"},
      {R"({"kind":7})", "kind that is not a text"},
      {R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"Pod"})", "is a \"Pod\" of "},
      {R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"})",
       "has no status"},
      {Document("null"), "has no status"},
      {Document("{}"), "has neither a token nor a client certificate"},
      {Document(R"({"token":""})"), "has neither"},
      {Document(R"({"token":["planted"]})"), "token that is not a text"},
      {Document(R"({"token":"planted\r\nX: y"})"), "characters that are not valid"},
      {Document(R"({"clientKeyData":"planted"})"), "has only one of"},
      {Document(R"({"token":"planted","clientCertificateData":"planted"})"), "has only one of"},
      {Document(R"({"token":"planted","expirationTimestamp":"planted"})"), "not an RFC 3339 time"},
      {Document(R"({"token":"planted","expirationTimestamp":7})"),
       "expirationTimestamp that is not a text"},
  };
  for (const auto& [text, why] : rows) {
    EXPECT_THAT(std::string(ParseExecCredential(text, kV1).status().message()),
                AllOf(HasSubstr(why), Not(HasSubstr("planted"))))
        << text;
  }
}

TEST(ExecInfoTest, TheClusterIsGivenWhereItIsRequested) {
  ExecPlugin plugin;
  plugin.api_version = kV1;
  ClusterAccess access;
  access.host = "fd00::1";
  access.port = 6443;
  access.path = "/p";
  access.tls_server_name = "api";
  access.token.text = "planted";
  access.proxy = Proxy{"proxy", 3128, "planted", "planted"};
  EXPECT_EQ(ExecInfo(plugin, access, "CA"),
            R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
            R"("spec":{"interactive":false}})");
  plugin.provide_cluster_info = true;
  EXPECT_EQ(ExecInfo(plugin, access, "CA"),
            R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
            R"("spec":{"cluster":{"certificate-authority-data":"Q0E=","config":null,)"
            R"("proxy-url":"http://proxy:3128","server":"https://[fd00::1]:6443/p",)"
            R"("tls-server-name":"api"},"interactive":false}})");
  plugin.cluster_config = R"({"audience":["06e3fbd18de8"]})";
  access.insecure_skip_tls_verify = true;
  EXPECT_THAT(ExecInfo(plugin, access, ""), HasSubstr(R"("config":{"audience":["06e3fbd18de8"]},)"
                                                      R"("insecure-skip-tls-verify":true,)"));
}

}  // namespace
}  // namespace weft::kube
