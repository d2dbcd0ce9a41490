// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/exec_credentials.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "control/kube/client/cluster_access.h"
#include "gmock/gmock.h"
#include "tests/control/kube/client/client_fixture.h"
#include "tests/control/kube/client/test_plugin.h"
#include "tests/support/files/foreign_file.h"
#include "tests/support/test_path.h"

namespace weft::kube {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::Authority;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kUnauthorized = "HTTP/1.1 401 x\r\nContent-Length: 2\r\n\r\nno";

class ExecCredentialsTest : public ClientFixture {
 protected:
  ExecCredentialsTest() {
    fs::create_directories(folder);
    Write("config", "");
  }
  ~ExecCredentialsTest() override {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
  }
  std::string Path(const std::string& name) const { return testing::Utf8(folder / name); }
  // What the plugin prints from now on.
  void Prints(const std::string& token, std::optional<absl::Time> expires = std::nullopt) const {
    Write("credential",
          absl::StrCat(
              R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)",
              R"("status":{"token":")", token, "\"",
              expires
                  ? absl::StrCat(R"(,"expirationTimestamp":")",
                                 absl::FormatTime(absl::RFC3339_sec, *expires, absl::UTCTimeZone()),
                                 "\"")
                  : "",
              "}}"));
  }
  std::size_t Runs() const {
    std::error_code none;
    const auto size = fs::file_size(folder / "credential.count", none);
    return none ? 0 : size;
  }
  ClusterAccess With(std::vector<std::string> args) const {
    ClusterAccess access = To(server.port(), false);
    ExecPlugin plugin;
    plugin.command = testing::TestPlugin();
    plugin.args = std::move(args);
    plugin.api_version = "client.authentication.k8s.io/v1";
    plugin.kubeconfig = Path("config");
    access.exec = plugin;
    return access;
  }
  ClusterAccess Printing() const { return With({"print", Path("credential")}); }
  Listener Request(ApiClient& client, const char* answer = kOkAnswer) {
    if (answer != nullptr) server.Answer({answer});
    Listener listener;
    const auto exchange = client.Start(Get(), listener);
    RunUntil([&] { return listener.ends > 0; });
    return listener;
  }
  std::string ErrorOf(const ClusterAccess& access) {
    ApiClient client(io, access, "x");
    return Request(client, nullptr).error();
  }
  // Of one call of Get.
  absl::StatusOr<ExecCredentials::Credential> Got(ExecCredentials& credentials) {
    std::optional<absl::StatusOr<ExecCredentials::Credential>> got;
    credentials.Get([&](const auto& result) { got = result; });
    const boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work(
        io.get_executor());
    RunUntil([&] { return got.has_value(); });
    return *got;
  }

  const fs::path folder = testing::TestPath();
  Server server{io, {}};
};

TEST_F(ExecCredentialsTest, ItsTokenIsUsedAndKept) {
  Prints("t1");
  ApiClient client(io, Printing(), "x");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Request(client).body, "ok");
  ASSERT_THAT(server.requests(), SizeIs(3));
  for (const std::string& request : server.requests())
    EXPECT_THAT(request, HasSubstr("\r\nAuthorization: Bearer t1\r\n"));
  EXPECT_EQ(Runs(), 1u);
}

TEST_F(ExecCredentialsTest, A401RunsThePluginAgain) {
  Prints("t1");
  ApiClient client(io, Printing(), "x");
  Request(client, kUnauthorized);
  Prints("t2");
  Request(client);
  EXPECT_THAT(server.requests()[1], HasSubstr("Bearer t2\r\n"));
  EXPECT_EQ(Runs(), 2u);
}

TEST_F(ExecCredentialsTest, TheyAreReplacedShortlyBeforeTheyExpire) {
  absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  const struct {
    absl::Duration life, still, not_any_more;
  } rows[] = {
      {absl::Hours(1), absl::Minutes(59) - absl::Seconds(1), absl::Minutes(59)},
      {absl::Seconds(100), absl::Seconds(89), absl::Seconds(90)},
  };
  for (const auto& row : rows) {
    const absl::Time begin = now;
    Prints("t", begin + row.life);
    ExecCredentials credentials(io, Printing(), [&] { return now; });
    const std::size_t before = Runs();
    ASSERT_TRUE(Got(credentials).ok());
    now = begin + row.still;
    ASSERT_TRUE(Got(credentials).ok());
    EXPECT_EQ(Runs(), before + 1);
    now = begin + row.not_any_more;
    ASSERT_TRUE(Got(credentials).ok());
    EXPECT_EQ(Runs(), before + 2);
  }
}

TEST_F(ExecCredentialsTest, OneProcessServesAllThatWait) {
  Prints("t");
  ApiClient client(io, Printing(), "x");
  std::vector<Listener> listeners(5);
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (Listener& each : listeners) {
    server.Answer({kOkAnswer});
    exchanges.push_back(client.Start(Get(), each));
  }
  RunUntil([&] {
    return std::all_of(listeners.begin(), listeners.end(), [](auto& each) { return each.ends; });
  });
  EXPECT_EQ(Runs(), 1u);
}

TEST_F(ExecCredentialsTest, AClientCertificateIsUsed) {
  const Authority authority;
  const auto identity = authority.Issue({.subject = "node"});
  Server tls(
      io, {.identity = authority.IssueServer({"127.0.0.1"}), .client_ca = authority.certificate()});
  const auto escaped = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
      text.replace(at, 1, "\\n");
    return text;
  };
  Write("credential",
        absl::StrCat(R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)",
                     R"("status":{"clientCertificateData":")", escaped(identity.certificate),
                     R"(","clientKeyData":")", escaped(identity.key), "\"}}"));
  ClusterAccess access = Printing();
  access.tls = true;
  access.port = tls.port();
  access.certificate_authority.text = authority.certificate();
  tls.Answer({kOkAnswer});
  ApiClient client(io, access, "x");
  EXPECT_EQ(Request(client, nullptr).body, "ok");
}

TEST_F(ExecCredentialsTest, ErrorsNameThePluginTheCauseAndTheNextStep) {
  EXPECT_THAT(ErrorOf(With({"fail", "3", "please log in"})),
              AllOf(HasSubstr("the exec plugin "), HasSubstr("kubeconfig " + Path("config")),
                    HasSubstr("exit status 3: \"please log in"), HasSubstr("run it by hand")));
  EXPECT_THAT(ErrorOf(With({"fail", "4", ""})), HasSubstr("exit status 4; run it by hand"));
  Write("credential", "planted");
  EXPECT_THAT(ErrorOf(Printing()),
              AllOf(HasSubstr("is unusable: its output is not JSON"), Not(HasSubstr("planted"))));
  EXPECT_THAT(ErrorOf(With({"fill", "2000000"})), HasSubstr("printed more than 1048576 bytes"));
  ClusterAccess missing = With({});
  missing.exec->command = "weft-no-such-plugin";
  EXPECT_THAT(ErrorOf(missing), HasSubstr("in no folder of PATH; install it, or correct"));
  missing.exec->install_hint = "see https://example/install\nand more";
  EXPECT_THAT(ErrorOf(missing), HasSubstr("see https://example/install"));
  ClusterAccess without_ca = Printing();
  without_ca.certificate_authority.file = Path("no-ca");
  without_ca.exec->provide_cluster_info = true;
  EXPECT_THAT(ErrorOf(without_ca), HasSubstr(Path("no-ca")));
  EXPECT_EQ(Runs(), 1u) << "the plugin that wants the CA did not run";
  without_ca.exec->provide_cluster_info = false;
  EXPECT_THAT(ErrorOf(without_ca), HasSubstr("is unusable: ")) << "it ran: it does not want the CA";
  ClusterAccess any_ca = Printing();
  any_ca.exec->provide_cluster_info = true;
  EXPECT_THAT(ErrorOf(any_ca), HasSubstr("is unusable: ")) << "it ran: no CA is given";
}

TEST_F(ExecCredentialsTest, ARequestThatIsGivenUpAtOnceRunsNoPlugin) {
  Prints("t");
  boost::asio::io_context own;
  ApiClient client(own, Printing(), "x");
  Listener listener;
  client.Start(Get(), listener).reset();
  own.run();
  EXPECT_EQ(Runs(), 0u);
}

TEST_F(ExecCredentialsTest, ARequestThatIsGivenUpLeavesThePluginToTheNext) {
  Prints("t");
  ApiClient client(io, Printing(), "x");
  Listener given_up;
  auto exchange = client.Start(Get(), given_up);
  io.poll();
  exchange.reset();
  EXPECT_EQ(Request(client).body, "ok");
  EXPECT_EQ(given_up.ends, 0);
  EXPECT_EQ(Runs(), 1u);
}

// The event loop runs on, and a stop does not wait for it.
TEST_F(ExecCredentialsTest, APluginThatHangsIsKilledWhenNothingNeedsItAnyMore) {
  auto client = std::make_unique<ApiClient>(io, With({"hang", Path("hangs")}), "x");
  Listener listener;
  auto exchange = client->Start(Get(), listener);
  RunUntil([&] {
    io.poll();
    boost::asio::post(io, [] {});
    return fs::exists(folder / "hangs");
  });
  exchange.reset();
  client.reset();
  io.restart();
  io.poll();  // the end of the exchange's coroutine
  EXPECT_TRUE(testing::IsReleased(Path("hangs")));
  EXPECT_EQ(listener.ends, 0);
}

TEST_F(ExecCredentialsTest, ThePluginsTimeIsLimited) {
  ExecCredentials credentials(io, With({"hang", Path("hangs")}), absl::Now,
                              std::chrono::milliseconds(50));
  EXPECT_THAT(std::string(Got(credentials).status().message()),
              HasSubstr("did not end within 50 ms and was killed"));
}

TEST_F(ExecCredentialsTest, AFileThatAnotherUserMayWriteIsNotTrusted) {
  if (!testing::AllowOtherUsersToWrite(Path("config"))) GTEST_SKIP() << "needs root";
  EXPECT_THAT(ErrorOf(Printing()),
              AllOf(HasSubstr("is not run: " + Path("config")), HasSubstr("run any program")));
  Write("config2", "");
  ClusterAccess access = Printing();
  access.exec->kubeconfig = Path("config2");
  access.exec->command = testing::Utf8(folder / fs::path(testing::TestPlugin()).filename());
  fs::copy_file(fs::path(testing::TestPlugin()),
                folder / fs::path(testing::TestPlugin()).filename());
  ASSERT_TRUE(testing::AllowOtherUsersToWrite(access.exec->command));
  std::error_code not_on_windows;
  fs::permissions(access.exec->command, fs::perms::owner_exec, fs::perm_options::add,
                  not_on_windows);
  EXPECT_THAT(ErrorOf(access), HasSubstr("is not run: " + access.exec->command));
}

TEST_F(ExecCredentialsTest, AFileThatCannotBeInspectedIsNotSaidToBeAnothers) {
  std::error_code error;
  fs::create_directory_symlink("loop", folder / "loop", error);
  if (error) return;  // this file system has no links
  ExecPlugin plugin;
  plugin.kubeconfig = Path("loop/config");
  EXPECT_THAT(std::string(CheckExecFiles(plugin, "").message()),
              AllOf(HasSubstr("loop/config cannot be inspected: "),
                    HasSubstr("; let flanneld read"), Not(HasSubstr("run any program"))));
}

// flanneld starts as it does without; the plugin is what does not run, and not because of a folder.
TEST_F(ExecCredentialsTest, WhoElseMayChangeTheCredentialsIsNamedAtTheStart) {
  const auto none = [](const std::string&) { return std::nullopt; };
  const auto exposed = [&](const char* name) {
    const auto access = ReadClusterAccess(Path(name), "", none);
    return access.ok() ? access->exposed() : access.status().ToString();
  };
  const std::string text =
      "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
      "clusters: [{name: k, cluster: {server: 'https://api'}}]\nusers: [{name: u, user: ";
  Write("config", text +
                      "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1, "
                      "interactiveMode: Never}}}]\n");
  Write("other", text + "{token: t}}]\n");
  EXPECT_THAT(exposed("config"), Not(HasSubstr("config may be written")));
  if (!testing::AllowOtherUsersToWrite(Path("config"))) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(testing::AllowOtherUsersToWrite(Path("other")));
  for (const char* const name : {"config", "other"}) {
    EXPECT_THAT(exposed(name),
                AllOf(HasSubstr("another user may choose flanneld's credentials: "),
                      HasSubstr(std::string(name) + " may be written by "), Not(HasSubstr("; ;"))))
        << name;
  }
}

TEST_F(ExecCredentialsTest, AFolderAboveThatOthersMayChangeIsNamedAndThePluginRuns) {
  const std::string plugin =
      testing::Utf8(folder / "plugins" / fs::path(testing::TestPlugin()).filename());
  fs::create_directories(folder / "plugins");
  fs::copy_file(fs::path(testing::TestPlugin()), fs::path(plugin));
  Write("config",
        "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
        "clusters: [{name: k, cluster: {server: 'https://api'}}]\nusers: [{name: u, user: {exec: "
        "{command: '" +
            plugin +
            "', apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}}]\n");
  if (!testing::GiveAway(testing::Utf8(folder / "plugins"))) GTEST_SKIP() << "needs root";
  const auto access =
      ReadClusterAccess(Path("config"), "", [](const std::string&) { return std::nullopt; });
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_THAT(access->exposed(), AllOf(HasSubstr("plugins belongs to "), Not(HasSubstr(": ; "))));
  EXPECT_TRUE(CheckExecFiles(*access->exec, plugin).ok());
  fs::rename(folder / "plugins", folder / "former");
  EXPECT_THAT(access->exposed(), Not(HasSubstr("plugins belongs to "))) << "as it is now";
}

}  // namespace
}  // namespace weft::kube
