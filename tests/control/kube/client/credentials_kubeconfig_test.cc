// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/credentials_kubeconfig.h"

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/test_path.h"

namespace weft::kube {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string Exec(const std::string& version, const std::string& more) {
  return "exec: {command: s3cret, apiVersion: client.authentication.k8s.io/" + version + ", " +
         more + "}";
}

// An absolute folder of this system ("/k/", "C:\k\"); nothing is read there.
std::string InFolder(const std::string& name) {
  return testing::Utf8(std::filesystem::absolute("/k").make_preferred() / name);
}

// One context with `cluster` and `user`, the fields of which are indented by four.
std::string With(const std::string& cluster, const std::string& user = "{}") {
  return "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
         "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
         "clusters:\n- name: k\n  cluster:\n    " +
         cluster + "\nusers:\n- name: u\n  user:\n    " + user + "\n";
}

absl::StatusOr<ClusterAccess> Parse(const std::string& text, const std::string& api_url = "") {
  return ParseKubeconfig(text, InFolder("config"), api_url);
}

std::string Error(const std::string& text, const std::string& api_url = "") {
  const auto access = Parse(text, api_url);
  return access.ok() ? "no error" : std::string(access.status().message());
}

TEST(KubeconfigTest, Rke2) {
  const auto access = Parse(R"(apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: server-ca.crt
    server: https://127.0.0.1:6443
  name: kubernetes
contexts:
- context:
    cluster: kubernetes
    namespace: kube-system
    user: flannel
  name: flannel@kubernetes
current-context: flannel@kubernetes
users:
- name: flannel
  user:
    token: eyJhbGciOi.J9.x
)");
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_TRUE(access->tls);
  EXPECT_EQ(access->host, "127.0.0.1");
  EXPECT_EQ(access->port, 6443);
  EXPECT_EQ(access->token.text, "eyJhbGciOi.J9.x");
  EXPECT_EQ(access->certificate_authority.file, InFolder("server-ca.crt"));
  EXPECT_EQ(access->origin,
            "kubeconfig " + InFolder("config") + " (context \"flannel@kubernetes\")");
  EXPECT_THAT(access->warnings, IsEmpty());
}

// kubeadm's kubelet.conf: the other contexts are not read.
TEST(KubeconfigTest, ClientCertificates) {
  const auto access = Parse(R"(
current-context: second
contexts:
- {name: first, context: {cluster: nowhere, user: nobody}}
- {name: second, context: {cluster: k, user: u}}
clusters:
- {name: other, cluster: {server: "ftp://x"}}
- {name: k, cluster: {server: https://api/, certificate-authority-data: Q0E=, certificate-authority: unused}}
users:
- {name: other, user: {exec: {command: x}}}
- name: u
  user:
    client-certificate: pki/client.pem
    client-key-data: S0VZ
)");
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->certificate_authority.text, "CA");
  EXPECT_EQ(access->certificate_authority.file, "");
  EXPECT_EQ(access->client_certificate.file, InFolder("pki/client.pem"));
  EXPECT_EQ(access->client_key.text, "KEY");
}

TEST(KubeconfigTest, Json) {
  const auto access = Parse(
      "{\n\t\"kind\": \"Config\", \"apiVersion\": \"v1\",\n"
      "\t\"current-context\": \"c\",\n"
      "\t\"preferences\": {},\n"
      "\t\"contexts\": [{\"name\": \"c\", \"context\": {\"cluster\": \"k\", \"user\": \"u\"}}],\n"
      "\t\"clusters\": [\n\t\t{\"name\": \"k\", \"cluster\": {\n"
      "\t\t\t\"server\": \"https:\\/\\/api:6443\",\n"
      "\t\t\t\"insecure-skip-tls-verify\": false, \"extensions\": null}}],\n"
      "\t\"users\": [{\"name\": \"u\", \"user\": {\"token\": \"t\\u002dt\"}}]\n}\n");
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->host, "api");
  EXPECT_EQ(access->token.text, "t-t");
}

// As PowerShell and Notepad write it.
TEST(KubeconfigTest, WindowsText) {
  std::string text = "\xef\xbb\xbf";
  for (const char c : With("{server: https://api, certificate-authority: c:\\k\\ca.crt}"))
    text += c == '\n' ? "\r\n" : std::string(1, c);
  const auto access = Parse(text);
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->host, "api");
  EXPECT_THAT(access->certificate_authority.file, ::testing::EndsWith("c:\\k\\ca.crt"));
}

TEST(KubeconfigTest, AbsolutePathsStay) {
  const std::string path = testing::Utf8(std::filesystem::absolute("/var/lib/ca.pem"));
  const auto access = Parse(With("{server: https://api, certificate-authority: '" + path + "'}"));
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->certificate_authority.file, path);
}

TEST(KubeconfigTest, TokenFileOverridesToken) {
  const auto access = Parse(With("server: https://api", "{token: a, tokenFile: ../token}"));
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->token.text, "");
  EXPECT_EQ(access->token.file, InFolder("../token"));
}

TEST(KubeconfigTest, ServerNameAndProxy) {
  const std::string text = With(
      "{server: https://10.0.0.1/a/b/, tls-server-name: api, proxy-url: 'http://u:p@proxy:3128'}");
  const auto access = Parse(text);
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->path, "/a/b");
  EXPECT_EQ(access->tls_server_name, "api");
  ASSERT_TRUE(access->proxy.has_value());
  EXPECT_EQ(access->proxy->host, "proxy");
  EXPECT_EQ(access->proxy->port, 3128);
  EXPECT_EQ(access->proxy->password, "p");
}

TEST(KubeconfigTest, AProxyThatCannotBeUsedIsAWarning) {
  for (const std::string scheme : {"socks5", "https"}) {
    const auto access =
        Parse(With("{server: https://api, proxy-url: '" + scheme + "://u:s3cret@p'}"));
    ASSERT_TRUE(access.ok()) << access.status();
    EXPECT_FALSE(access->proxy.has_value());
    EXPECT_THAT(access->warnings,
                ElementsAre(AllOf(HasSubstr("api:443 is requested without a proxy: "),
                                  HasSubstr("proxy-url: \"" + scheme + "://\" proxies are not"),
                                  Not(HasSubstr("s3cret")))));
  }
}

TEST(KubeconfigTest, ApiUrlOverridesServer) {
  const auto access =
      Parse(With("{server: https://10.0.0.1, tls-server-name: api, certificate-authority: ca}",
                 "token: t"),
            "https://192.0.2.1:8443");
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->host, "192.0.2.1");
  EXPECT_EQ(access->port, 8443);
  EXPECT_EQ(access->tls_server_name, "");
  EXPECT_EQ(access->certificate_authority.file, InFolder("ca"));
  EXPECT_EQ(access->token.text, "t");
  EXPECT_TRUE(Parse(With("{}", "token: t"), "https://192.0.2.1:8443").ok()) << "no server at all";
}

TEST(KubeconfigTest, AServerWithoutScheme) {
  EXPECT_FALSE(Parse(With("server: api:8080"))->tls);
  EXPECT_EQ(Parse(With("server: api"))->port, 80);
  EXPECT_TRUE(Parse(With("{server: 'api:6443', certificate-authority: x}"))->tls);
  EXPECT_TRUE(Parse(With("{server: api, insecure-skip-tls-verify: true}"))->tls);
  EXPECT_TRUE(Parse(With("server: api", "{client-certificate: c, client-key: k}"))->tls);
}

TEST(KubeconfigTest, InsecureIsReported) {
  const auto access = Parse(With("{server: https://api, insecure-skip-tls-verify: true}"));
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_TRUE(access->insecure_skip_tls_verify);
  EXPECT_THAT(access->warnings, ElementsAre(AllOf(HasSubstr("insecure-skip-tls-verify is set"),
                                                  HasSubstr("give certificate-authority"))));
}

TEST(KubeconfigTest, CredentialsAreNotSentInTheClear) {
  for (const char* user : {"token: s3cret", "{username: u, password: s3cret}",
                           "{client-certificate: c, client-key: k}"}) {
    SCOPED_TRACE(user);
    const auto access = Parse(With("server: http://api:8080", user));
    ASSERT_TRUE(access.ok()) << access.status();
    EXPECT_FALSE(access->tls);
    EXPECT_TRUE(access->token.empty());
    EXPECT_EQ(access->username + access->password, "");
    EXPECT_TRUE(access->client_certificate.empty());
    EXPECT_TRUE(access->client_key.empty());
    EXPECT_THAT(access->warnings, ElementsAre(HasSubstr("\"http://\"")));
  }
  EXPECT_THAT(Parse(With("server: http://api:8080"))->warnings, IsEmpty());
}

// Fields that upstream accepts and we do not need, and unknown ones.
TEST(KubeconfigTest, UnknownFieldsAreIgnored) {
  const auto access = Parse(With("{server: https://api, disable-compression: true, colour: [1, 2]}",
                                 "{token: 1234, extensions: [{name: x, extension: {}}]}") +
                            "preferences: {colors: true}\nmore: {}\n");
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->token.text, "1234");
}

TEST(KubeconfigTest, AnExecPlugin) {
  const auto access =
      Parse(With("server: https://api",
                 "exec: {apiVersion: client.authentication.k8s.io/v1, command: get-token, args: "
                 "[--a, 'b c', 7], "
                 "env: [{name: A, value: x=y}, {name: B, value: }], interactiveMode: Never, "
                 "provideClusterInfo: true, installHint: \"two\\nlines\"}"));
  ASSERT_TRUE(access.ok()) << access.status();
  ASSERT_TRUE(access->exec);
  EXPECT_EQ(access->exec->command, "get-token");
  EXPECT_THAT(access->exec->args, ElementsAre("--a", "b c", "7"));
  EXPECT_THAT(access->exec->env, ElementsAre(std::pair("A", "x=y"), std::pair("B", "")));
  EXPECT_EQ(access->exec->api_version, "client.authentication.k8s.io/v1");
  EXPECT_TRUE(access->exec->provide_cluster_info);
  EXPECT_EQ(access->exec->install_hint, "two\nlines");
  EXPECT_EQ(access->exec->kubeconfig, InFolder("config"));
  const auto beta = Parse(With("server: https://api", Exec("v1beta1", "args: null")));
  ASSERT_TRUE(beta.ok()) << beta.status();
  EXPECT_FALSE(beta->exec->provide_cluster_info);
  EXPECT_TRUE(Parse(With("server: https://api", Exec("v1", "interactiveMode: IfAvailable"))).ok());
  const auto http = Parse(With("server: http://api", Exec("v1beta1", "args: null")));
  EXPECT_FALSE(http->exec) << "no credentials over http";
  EXPECT_THAT(http->warnings, SizeIs(1));
}

// As client-go: with a separator relative to the kubeconfig's folder, a name is found in PATH.
TEST(KubeconfigTest, AnExecPluginsCommandRelativeToTheKubeconfig) {
  const auto command = [](const std::string& text) {
    const auto access = Parse(With("server: https://api",
                                   "exec: {apiVersion: client.authentication.k8s.io/v1beta1, "
                                   "command: '" +
                                       text + "'}"));
    return access.ok() && access->exec ? access->exec->command
                                       : std::string(access.status().message());
  };
  const std::string separator(1, static_cast<char>(std::filesystem::path::preferred_separator));
  const std::string relative = "." + separator + "plugin";
  EXPECT_EQ(command(relative), InFolder(relative));
  EXPECT_EQ(command("bin" + separator + "plugin"), InFolder("bin" + separator + "plugin"));
  EXPECT_EQ(command(InFolder("plugin")), InFolder("plugin"));
  EXPECT_EQ(command("plugin"), "plugin");
}

// client-go makes JSON of it with sigs.k8s.io/yaml.
TEST(KubeconfigTest, TheClustersExtensionForTheExecPlugin) {
  const auto config = [](const std::string& extension, const std::string& provides = "true") {
    const auto access =
        Parse(With("{server: https://api, extensions: [{name: other, extension: 7}, 8, "
                   "{name: client.authentication.k8s.io/exec" +
                       extension + "}]}",
                   Exec("v1beta1", "provideClusterInfo: " + provides)));
    return access.ok() ? access->exec->cluster_config : std::string(access.status().message());
  };
  EXPECT_EQ(config(", extension: {audience: 06e3fbd18de8, nested: {list: [yes, 'yes', -7, 1.5, "
                   "'7', '1.5', ~, 2026-11-26, .inf]}, a: &a {b: c}, d: *a}"),
            R"({"a":{"b":"c"},"audience":"06e3fbd18de8","d":{"b":"c"},"nested":{"list":)"
            R"([true,"yes",-7,1.5,"7","1.5",null,"2026-11-26",".inf"]}})");
  EXPECT_EQ(config(", extension: text"), R"("text")");
  EXPECT_EQ(config(""), "null");
  EXPECT_EQ(config(", extension: {a: 1}", "false"), "") << "it is not requested";
  const auto without = Parse(With("server: https://api", Exec("v1",
                                                              "interactiveMode: Never, "
                                                              "provideClusterInfo: true")));
  EXPECT_EQ(without->exec->cluster_config, "");
}

// "token:" without a value.
TEST(KubeconfigTest, NullIsAbsent) {
  const auto access = Parse(
      With("{server: https://api, tls-server-name: null, insecure-skip-tls-verify: ~, proxy-url: }",
           "{token: , exec: null, as: ~}"));
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_TRUE(access->token.empty());
  EXPECT_TRUE(
      Parse("current-context: c\ncontexts: [{name: c, context: null}]", "https://api").ok());
}

// Entries without a name are skipped.
TEST(KubeconfigTest, WithoutUser) {
  EXPECT_TRUE(Parse("current-context: c\ncontexts: [7, {}, {name: c, context: {cluster: k}}]\n"
                    "clusters: [{name: k, cluster: {server: 'https://api'}}]")
                  .ok());
}

TEST(KubeconfigTest, Refused) {
  struct Row {
    const char* description;
    std::string text;
    const char* reason;
  };
  const std::string server = "server: https://api";
  const std::string info = Exec("v1beta1", "provideClusterInfo: true");
  const std::string extension = "{name: client.authentication.k8s.io/exec";
  std::string many = "s3cret";
  for (int i = 0; i < 1000; ++i) many += ", s3cret";
  for (const Row& row : {
           Row{"empty", "", "is not a kubeconfig: it is empty; write the kubeconfig itself there"},
           Row{"a text", "s3cret", "it holds one text of 6 bytes; write"},
           Row{"its own path", "C:\\s3cret\\config",
               "it holds one text of 16 bytes, perhaps the path"},
           Row{"all of it in base64, in lines",
               "YXBpVmVyc2lvbjogdjEKa2luZDogQ29u\nZmlnCmNsdXN0ZXJzOiBbXQo=\n",
               "all of it is base64; decode it with base64 -d"},
           Row{"a long text", "/" + std::string(300, 'x'), "it holds one text of 301 bytes; write"},
           Row{"a list", "[s3cret]", "it holds a list; write"},
           Row{"a path in double quotes", "a: b\ncommand: \"C:\\Program Files\\doctl s3cret\"",
               ": \\d is no escape; in double quotes a backslash begins an escape: "
               "write a path in single quotes"},
           Row{"a user's path in double quotes", "command: \"C:\\Users\\s3cret\"",
               "\\x, \\u or \\U lacks its hexadecimal digits"},
           Row{"half of a character", "command: \"\\uD800 s3cret\"",
               "\\x, \\u or \\U lacks its hexadecimal digits"},
           Row{"broken", "users:\n- name: \"s3cret\n  x",
               "line 3, column 4: neither YAML nor JSON"},
           Row{"an alias", "token: *s3cret", "line 1, column 8: neither YAML nor JSON"},
           Row{"another kind", "kind: Pod", "is a \"Pod\", not a kubeconfig"},
           Row{"a list as kind", "kind: [s3cret]", "kind is not a text"},
           Row{"a list as context", "current-context: [s3cret]", "current-context is not a text"},
           Row{"no context", "contexts: [{name: a}, {name: b}, 7, {}, {name: [c]}]",
               "current-context is not set; set it to one of contexts (\"a\", \"b\")"},
           Row{"no contexts", "users: []", "(there are none)"},
           Row{"no list of contexts", "contexts: {c: {name: x}}", "(there are none)"},
           Row{"unknown context", "current-context: c\ncontexts: [{name: a}]",
               "current-context is \"c\", which contexts does not hold"},
           Row{"contexts as a mapping", "current-context: c\ncontexts: {c: {}}",
               "contexts is not a list"},
           Row{"context as a text", "current-context: c\ncontexts: [{name: c, context: s3cret}]",
               "context \"c\": is not a mapping"},
           Row{"unknown cluster",
               "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]",
               "context \"c\": cluster is \"k\", which clusters does not hold"},
           Row{"unknown user",
               "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
               "clusters: [{name: k}]",
               "context \"c\": user is \"u\", which users does not hold"},
           Row{"two of a name", With(server) + "- {name: u, user: {}}",
               "users holds two with the name \"u\""},
           Row{"no server", With("{}"), "cluster \"k\": server is not set; write"},
           Row{"server as a mapping", With("server: {s3cret: 1}"), "server is not a text"},
           Row{"a bad server", With("server: https://api:s3cret"),
               "cluster \"k\": server: its port"},
           Row{"another scheme", With("server: unix://api"), "\"unix://\" is not supported"},
           Row{"only a password in the server", With("server: https://:s3cret@api"),
               "server: it holds a user name or password"},
           Row{"only a user in the server", With("server: https://s3cret@api"),
               "server: it holds a user name or password"},
           Row{"a password in the server", With("server: https://u:s3cret@api"),
               "server: it holds a user name or password"},
           Row{"insecure as a text",
               With("{server: https://api, insecure-skip-tls-verify: s3cret}"),
               "insecure-skip-tls-verify is neither true nor false"},
           Row{"insecure with a CA",
               With("{server: https://api, insecure-skip-tls-verify: true, certificate-authority: "
                    "c}"),
               "has both insecure-skip-tls-verify and certificate-authority"},
           Row{"tls-server-name as a list",
               With("{server: https://api, tls-server-name: [s3cret]}"),
               "tls-server-name is not a text"},
           Row{"proxy-url as a list", With("{server: https://api, proxy-url: [s3cret]}"),
               "proxy-url is not a text"},
           Row{"a CA as a list", With("{server: https://api, certificate-authority: [s3cret]}"),
               "certificate-authority is not a text"},
           Row{"a CA's data as a list",
               With("{server: https://api, certificate-authority-data: [s3cret]}"),
               "certificate-authority-data is not a text"},
           Row{"data of nothing", With("{server: https://api, certificate-authority-data: ' '}"),
               "certificate-authority-data is not base64"},
           Row{"no base64", With(server, "{client-certificate: c, client-key-data: 's3cret!'}"),
               "user \"u\": client-key-data is not base64"},
           Row{"a key alone", With(server, "client-key-data: S0VZ"),
               "has a client-key without a client-certificate"},
           Row{"a certificate alone", With(server, "client-certificate: c"),
               "has a client-certificate without a client-key"},
           Row{"token as a list", With(server, "token: [s3cret]"), "token is not a text"},
           Row{"token and password", With(server, "{token: s3cret, username: u, password: s3cret}"),
               "has both a token and a username or password"},
           Row{"token and user alone", With(server, "{token: s3cret, username: u}"),
               "has both a token and a username or password"},
           Row{"token and password alone", With(server, "{token: s3cret, password: s3cret}"),
               "has both a token and a username or password"},
           Row{"exec as a list", With(server, "exec: [s3cret]"),
               "user \"u\": exec: is not a mapping"},
           Row{"exec without a command", With(server, "exec: {apiVersion: x}"),
               "exec: command is not set"},
           Row{"exec of another version", With(server, "exec: {command: s3cret, apiVersion: v1}"),
               "exec: apiVersion is \"v1\"; supported are client.authentication.k8s.io/v1 and "
               "v1beta1"},
           Row{"exec without a mode", With(server, Exec("v1", "env: []")),
               "exec: interactiveMode is \"\", neither Never nor IfAvailable"},
           Row{"exec with a terminal", With(server, Exec("v1beta1", "interactiveMode: Always")),
               "exec: interactiveMode is Always, but flanneld has no terminal"},
           Row{"exec with another mode", With(server, Exec("v1beta1", "interactiveMode: Maybe")),
               "exec: interactiveMode is \"Maybe\", neither Never nor IfAvailable"},
           Row{"exec's command with a zero byte",
               With(server,
                    "exec: {command: \"s3cret\\0\", "
                    "apiVersion: client.authentication.k8s.io/v1beta1}"),
               "exec: command has a zero byte"},
           Row{"exec and a token",
               With(server, Exec("v1beta1", "args: []") + "\n    token: s3cret"),
               "exec: other credentials are given too"},
           Row{"exec and a user alone",
               With(server, Exec("v1beta1", "args: []") + "\n    username: s3cret"),
               "exec: other credentials are given too"},
           Row{"exec and a password alone",
               With(server, Exec("v1beta1", "args: []") + "\n    password: s3cret"),
               "exec: other credentials are given too"},
           Row{"exec and a client certificate",
               With(server, Exec("v1beta1", "args: []") +
                                "\n    client-certificate: s3cret\n    client-key: s3cret"),
               "exec: other credentials are given too"},
           Row{"args as a text", With(server, Exec("v1beta1", "args: s3cret")),
               "exec: args is not a list"},
           Row{"args with a list", With(server, Exec("v1beta1", "args: [[s3cret]]")),
               "exec: args has an entry that is not a text"},
           Row{"args with a zero byte", With(server, Exec("v1beta1", "args: [\"s3cret\\0\"]")),
               "exec: args has an entry"},
           Row{"env as a mapping", With(server, Exec("v1beta1", "env: {a: s3cret}")),
               "exec: env is not a list"},
           Row{"env with a text", With(server, Exec("v1beta1", "env: [s3cret]")),
               "exec: env: an entry is not a mapping"},
           Row{"env with an equals sign",
               With(server, Exec("v1beta1", "env: [{name: a=b, value: s3cret}]")),
               "exec: env: a name is empty or has \"=\""},
           Row{"env without a name", With(server, Exec("v1beta1", "env: [{value: s3cret}]")),
               "exec: env: a name is empty"},
           Row{"env with a zero byte in a name",
               With(server, Exec("v1beta1", "env: [{name: \"A\\0\", value: s3cret}]")),
               "exec: env: a name is empty or has \"=\", or a text has a zero byte"},
           Row{"env with a zero byte in a value",
               With(server, Exec("v1beta1", "env: [{name: A, value: \"s3cret\\0\"}]")),
               "or a text has a zero byte"},
           Row{"extensions as a mapping",
               With("{server: https://api, extensions: {a: s3cret}}", info),
               "cluster \"k\": extensions is not a list"},
           Row{"two extensions for the plugin",
               With("{server: https://api, extensions: [" + extension + "}, " + extension + "}]}",
                    info),
               "cluster \"k\": extensions holds two with the name "
               "client.authentication.k8s.io/exec"},
           Row{"an extension that contains itself",
               With("{server: https://api, extensions: [" + extension +
                        ", extension: &s3cret "
                        "[*s3cret]}]}",
                    info),
               "the extension client.authentication.k8s.io/exec has more than 1000 values"},
           Row{"an extension of too many values",
               With("{server: https://api, extensions: [" + extension + ", extension: [" + many +
                        "]}]}",
                    info),
               "has more than 1000 values; give the plugin a file"},
           Row{"auth-provider", With(server, "auth-provider: {name: s3cret}"),
               "auth-provider is not supported"},
           Row{"as", With(server, "{token: s3cret, as: root}"),
               "as (impersonation) is not supported"},
           Row{"as-groups", With(server, "as-groups: [a]"), "as-groups (impersonation)"},
       }) {
    SCOPED_TRACE(row.description);
    const std::string error = Error(row.text);
    EXPECT_THAT(error, HasSubstr("kubeconfig " + InFolder("config") + ": "));
    EXPECT_THAT(error, HasSubstr(row.reason));
    EXPECT_THAT(error, Not(HasSubstr("s3cret")));
  }
}

TEST(KubeconfigTest, ABadApiUrl) {
  EXPECT_THAT(Error(With("{}"), "https://u:s3cret@api"),
              AllOf(HasSubstr("kube-api-url: it holds a user name"), Not(HasSubstr("s3cret"))));
}

}  // namespace
}  // namespace weft::kube
