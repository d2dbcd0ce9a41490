// SPDX-License-Identifier: Apache-2.0
#include <openssl/err.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "control/kube/client/api_client.h"
#include "control/kube/client/cluster_servers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/control/kube/client/client_fixture.h"
#include "tests/support/test_path.h"

namespace weft::kube {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::Authority;
using ::testing::ElementsAre;
using testing::Ending;
using ::testing::HasSubstr;
using testing::Identity;
using testing::KeyKind;
using ::testing::Not;

class ApiClientTlsTest : public ClientFixture {
 protected:
  ApiClientTlsTest() {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~ApiClientTlsTest() override { fs::remove_all(folder); }

  // Access to `server`, trusting `authority`.
  ClusterAccess To(const Server& server) const {
    ClusterAccess access = ClientFixture::To(server.port(), /*tls=*/true);
    access.certificate_authority.text = authority.certificate();
    return access;
  }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
    return testing::Utf8(folder / name);
  }

  // Sends a request to a server that has `identity`.
  Listener SendOne(const Identity& identity,
                   const std::function<void(ClusterAccess&)>& change = {}) {
    Server server(io, {.identity = identity});
    server.Answer({kOkAnswer});
    ClusterAccess access = To(server);
    if (change) change(access);
    return Send(access);
  }

  const fs::path folder =
      fs::temp_directory_path() / (std::string("weft-api-client-") +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  const Authority authority;
  const Identity usual = authority.IssueServer({"127.0.0.1", "api.example"});
};

TEST_F(ApiClientTlsTest, ARequestAndItsAnswer) {
  Server server(io, {.identity = usual});
  server.Answer({kOkAnswer});
  ClusterAccess access = To(server);
  access.token.text = "abc.def";
  Listener listener;
  Send(access, listener);
  EXPECT_TRUE(listener.end.ok()) << listener.end;
  EXPECT_EQ(listener.body, "ok");
  EXPECT_THAT(server.requests()[0], HasSubstr("\r\nAuthorization: Bearer abc.def\r\n"));
}

TEST_F(ApiClientTlsTest, ALongAnswerInSmallRecords) {
  Server server(io, {.identity = usual});
  std::string chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", body;
  for (int i = 0; i < 2'000; ++i) {
    const std::string piece(static_cast<std::size_t>(1 + i % 999), static_cast<char>('a' + i % 26));
    absl::StrAppend(&chunks, absl::Hex(piece.size()), "\r\n", piece, "\r\n");
    body += piece;
  }
  server.Answer({.bytes = chunks + "0\r\n\r\n", .piece = 501});
  const Listener listener = Send(To(server));
  EXPECT_TRUE(listener.end.ok()) << listener.end;
  EXPECT_EQ(listener.body, body);
}

TEST_F(ApiClientTlsTest, Trusted) {
  EXPECT_TRUE(SendOne(usual).end.ok());
  // By another name, for a client that requests that name.
  EXPECT_TRUE(SendOne(authority.IssueServer({"api.example"}), [](ClusterAccess& access) {
                access.tls_server_name = "api.example";
              }).end.ok());
  EXPECT_TRUE(SendOne(authority.IssueServer({"*.k.example"}), [](ClusterAccess& access) {
                access.tls_server_name = "api.k.example";
              }).end.ok());
  // A trusted certificate need not be an authority, nor the first in its file.
  EXPECT_TRUE(SendOne(usual, [this](ClusterAccess& access) {
                access.certificate_authority.text =
                    Authority("other").certificate() + usual.certificate;
              }).end.ok());
  EXPECT_TRUE(SendOne(authority.Issue({.names = {"127.0.0.1"}, .kind = KeyKind::kRsa})).end.ok());
  EXPECT_TRUE(SendOne(Authority("other").IssueServer({"nowhere"}), [](ClusterAccess& access) {
                access.insecure_skip_tls_verify = true;
              }).end.ok());
}

TEST_F(ApiClientTlsTest, ClustersDifferByTheKeysOfTheirAuthorities) {
  ClusterServers servers{ClusterAccess()};
  servers.servers.reserve(2);
  ClusterAccess& access = servers.servers[0];
  access.host = "10.0.0.1";
  EXPECT_THAT(ClusterKeys(servers), ElementsAre("name 10.0.0.1"));
  access.tls_server_name = "api.example";
  EXPECT_THAT(ClusterKeys(servers), ElementsAre("name api.example"));
  access.certificate_authority.text = authority.certificate();
  const std::set<std::string> own = ClusterKeys(servers);
  EXPECT_THAT(own, ElementsAre(::testing::StartsWith("sha256 ")));
  const Authority other("other");
  access.certificate_authority.text = other.certificate();
  std::set<std::string> both = ClusterKeys(servers);
  EXPECT_NE(both, own);
  both.insert(own.begin(), own.end());
  access.certificate_authority.text = other.certificate() + authority.certificate();
  EXPECT_EQ(ClusterKeys(servers), both) << "a bundle, as during a rotation";
  access.certificate_authority.text = other.certificate();
  servers.servers.push_back(To(Server(io, {.identity = usual})));
  EXPECT_EQ(ClusterKeys(servers), both) << "two servers";
  servers.servers.pop_back();
  access.certificate_authority.text = "no certificate";
  EXPECT_THAT(ClusterKeys(servers), ::testing::IsEmpty());
  access.certificate_authority = {.text = "", .file = (folder / "missing").string()};
  EXPECT_THAT(ClusterKeys(servers), ::testing::IsEmpty());
  EXPECT_EQ(ERR_peek_error(), 0u) << "another exchange would report it";
}

// As in Go: the other certificates are used.
TEST_F(ApiClientTlsTest, AnUnreadableCertificateDoesNotSpoilTheBundle) {
  const std::string begin = "-----BEGIN CERTIFICATE-----\n", end = "-----END CERTIFICATE-----\n";
  const std::string bads[] = {begin + "AAAA\n" + end,
                              begin + "no base64!\n" + end,
                              begin + end,
                              begin + "AAAA\n",
                              "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
                              "a comment\n"};
  for (const std::string& bad : bads) {
    SCOPED_TRACE(bad);
    for (const std::string& bundle :
         {bad + usual.certificate, Authority("other").certificate() + bad + usual.certificate,
          usual.certificate + bad}) {
      EXPECT_TRUE(SendOne(usual, [&](ClusterAccess& access) {
                    access.certificate_authority.text = bundle;
                  }).end.ok());
    }
    EXPECT_THAT(
        SendOne(usual, [&](ClusterAccess& access) { access.certificate_authority.text = bad; })
            .error(),
        HasSubstr("the inline CA has no PEM certificate"));
  }
}

TEST_F(ApiClientTlsTest, NotTrusted) {
  using std::chrono::hours;
  struct Row {
    const char* description;
    Identity identity;
    std::function<void(ClusterAccess&)> change;
    std::vector<std::string> reasons;
  };
  for (const Row& row : {
           Row{"another CA",
               Authority("their-ca").IssueServer({"127.0.0.1"}),
               {},
               {"its certificate, issued by CN=their-ca, cannot be verified with the inline CA; is "
                "that the CA of this cluster?"}},
           Row{"another CA of the same name",
               Authority().IssueServer({"127.0.0.1"}),
               {},
               {"issued by CN=test-ca, cannot be verified with the inline CA"}},
           Row{"no CA given",
               usual,
               [](ClusterAccess& access) { access.certificate_authority = {}; },
               {"cannot be verified with any CA that this system trusts"}},
           Row{"another address",
               authority.IssueServer({"10.96.0.1", "kubernetes", "fd00::1"}),
               {},
               {"its certificate is for 10.96.0.1, kubernetes, fd00::1, not for 127.0.0.1",
                "set tls-server-name"}},
           Row{"another name",
               usual,
               [](ClusterAccess& access) { access.tls_server_name = "other.example"; },
               {"is for 127.0.0.1, api.example, not for other.example"}},
           Row{"only a common name",
               authority.Issue({.subject = "127.0.0.1"}),
               {},
               {"is for no name at all, not for 127.0.0.1"}},
           Row{"expired",
               authority.Issue({.names = {"127.0.0.1"}, .begins = hours(-3), .ends = hours(-2)}),
               {},
               {"the certificate CN=somebody has expired on 20", "set this machine's clock"}},
           Row{"not yet valid",
               authority.Issue({.names = {"127.0.0.1"}, .begins = hours(2), .ends = hours(3)}),
               {},
               {"the certificate CN=somebody is not valid before 20"}},
       }) {
    SCOPED_TRACE(row.description);
    const Listener listener = SendOne(row.identity, row.change);
    EXPECT_EQ(listener.end.code(), absl::StatusCode::kUnauthenticated);
    for (const std::string& reason : row.reasons) EXPECT_THAT(listener.error(), HasSubstr(reason));
    EXPECT_EQ(listener.heads, 0);
  }
}

TEST_F(ApiClientTlsTest, AnImpossibleServerName) {
  for (const std::string& name : {std::string("api\0.example", 12), std::string(256, 'x')}) {
    const Listener listener =
        SendOne(usual, [&name](ClusterAccess& access) { access.tls_server_name = name; });
    EXPECT_EQ(listener.end.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(listener.error(), HasSubstr("correct tls-server-name"));
  }
}

TEST_F(ApiClientTlsTest, ClientCertificates) {
  for (const KeyKind kind : {KeyKind::kRsa, KeyKind::kEcdsa}) {
    Server server(io, {.identity = usual, .client_ca = authority.certificate()});
    server.Answer({kOkAnswer});
    const Identity own = authority.Issue({.subject = "system:node:a", .kind = kind});
    ClusterAccess access = To(server);
    access.client_certificate.text = own.certificate;
    access.client_key.text = own.key;
    EXPECT_TRUE(Send(access).end.ok());
    // kubelet keeps both in one file.
    const std::string both = Write("both.pem", own.key + own.certificate);
    server.Answer({kOkAnswer});
    access = To(server);
    access.client_certificate.file = access.client_key.file = both;
    EXPECT_TRUE(Send(access).end.ok());
  }
}

TEST_F(ApiClientTlsTest, AClientCertificateThatIsRefused) {
  Server server(io, {.identity = usual, .client_ca = authority.certificate()});
  EXPECT_THAT(Send(To(server)).error(), HasSubstr("it refuses our client certificate"));
  const Identity theirs = Authority("their-ca").Issue({});
  ClusterAccess access = To(server);
  access.client_certificate.text = theirs.certificate;
  access.client_key.text = theirs.key;
  const Listener listener = Send(access);
  EXPECT_EQ(listener.end.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(listener.error(),
              HasSubstr("it refuses our client certificate (TLS alert \"unknown CA\")"));
}

TEST_F(ApiClientTlsTest, FilesAreReadForEveryConnection) {
  Server server(io, {.identity = usual});
  ClusterAccess access = To(server);
  access.token.file = Write("token", "first\n");
  access.certificate_authority.text.clear();
  access.certificate_authority.file = Write("ca.crt", authority.certificate());
  ApiClient client(io, access, "x");
  const auto send = [&] {
    Listener listener;
    server.Answer({kOkAnswer});
    const auto exchange = client.Start(Get(), listener);
    RunUntil([&] { return listener.ends > 0; });
    return listener;
  };
  EXPECT_TRUE(send().end.ok());
  EXPECT_THAT(server.requests().back(), HasSubstr("Bearer first\r\n"));
  Write("token", "  second \r\n");
  EXPECT_TRUE(send().end.ok());
  EXPECT_THAT(server.requests().back(), HasSubstr("Bearer second\r\n"));
  Write("ca.crt", Authority("other").certificate());
  EXPECT_THAT(send().error(),
              AllOf(HasSubstr("cannot be verified with the CA file "), HasSubstr("ca.crt")));
}

TEST_F(ApiClientTlsTest, CredentialsThatCannotBeUsed) {
  const Identity own = authority.Issue({});
  const std::string missing = Write("x", "") + "/../missing";
  const std::string empty = Write("empty", " \n"), garbage = Write("garbage", "s3cret");
  struct Row {
    const char* description;
    std::function<void(ClusterAccess&)> change;
    absl::StatusCode code;
    std::string reason;
  };
  const auto key = [&own](ClusterAccess& access) {
    access.client_certificate.text = own.certificate;
    access.client_key.text = own.key;
  };
  constexpr auto kUnread = absl::StatusCode::kUnauthenticated;
  constexpr auto kUnusable = absl::StatusCode::kInvalidArgument;
  for (const Row& row : {
           Row{"no token", [&](auto& a) { a.token.file = (folder / "missing").string(); }, kUnread,
               "the token file " + (folder / "missing").string() +
                   " cannot be opened: no such file or folder; put it there"},
           Row{"empty token", [&](auto& a) { a.token.file = empty; }, kUnusable,
               "the token file " + empty + " is empty"},
           Row{"two lines in a token", [](auto& a) { a.token.text = "s3cret\r\nX: y"; }, kUnusable,
               "the token has characters that are not valid in a token"},
           Row{"no CA",
               [&](auto& a) {
                 a.certificate_authority = {"", missing};
               },
               kUnread, "the CA file " + missing + " cannot be opened"},
           Row{"CA is no PEM",
               [&](auto& a) {
                 a.certificate_authority = {"", garbage};
               },
               kUnusable, "the CA file " + garbage + " has no PEM certificate"},
           Row{"inline CA is no PEM",
               [](auto& a) {
                 a.certificate_authority = {"s3cret", ""};
               },
               kUnusable, "the inline CA has no PEM certificate"},
           Row{"no certificate",
               [&](auto& a) {
                 key(a);
                 a.client_certificate = {"", missing};
               },
               kUnread, "the client certificate file " + missing + " cannot be opened"},
           Row{"no key",
               [&](auto& a) {
                 key(a);
                 a.client_key = {"", missing};
               },
               kUnread, "the client key file " + missing + " cannot be opened"},
           Row{"certificate is no PEM",
               [&](auto& a) {
                 key(a);
                 a.client_certificate = {"", garbage};
               },
               kUnusable, "the client certificate file " + garbage + " is not a PEM certificate"},
           Row{"key is no PEM",
               [&](auto& a) {
                 key(a);
                 a.client_key = {"", garbage};
               },
               kUnusable, "the client key file " + garbage + " is not a PEM private key"},
           Row{"key of another",
               [&](auto& a) {
                 key(a);
                 a.client_key.text = authority.Issue({}).key;
               },
               kUnusable, "the inline client key does not belong to the inline client certificate"},
       }) {
    SCOPED_TRACE(row.description);
    const Listener listener = SendOne(usual, row.change);
    EXPECT_EQ(listener.end.code(), row.code);
    EXPECT_THAT(listener.error(), AllOf(HasSubstr(row.reason), Not(HasSubstr("s3cret"))));
    EXPECT_EQ(::ERR_peek_error(), 0u)
        << "it would appear as an error of the thread's next exchange";
  }
}

TEST_F(ApiClientTlsTest, NoTls) {
  Server server(io, {.greeting = "HTTP/1.0 400 Bad Request\r\n\r\n"});
  const Listener listener = Send(To(server));
  EXPECT_EQ(listener.end.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(listener.error(), HasSubstr("it does not answer in TLS; is this the port of"));
}

TEST_F(ApiClientTlsTest, AnInvalidHandshake) {
  struct Row {
    const char* description;
    std::string greeting;
    const char* reason;
  };
  for (const Row& row : {
           Row{"a farewell", {"\x15\x03\x03\x00\x02\x01\x00", 7}, "it closed the connection"},
           Row{"an alert",
               {"\x15\x03\x03\x00\x02\x02\x28", 7},
               "it ended TLS with the alert \"handshake failure\"; see the server's log"},
           Row{"data", {"\x17\x03\x03\x00\x01x", 6}, "TLS with it fails: "},
       }) {
    SCOPED_TRACE(row.description);
    Server server(io, {.greeting = row.greeting});
    const Listener listener = Send(To(server));
    EXPECT_EQ(listener.end.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(listener.error(), AllOf(HasSubstr(row.reason), Not(::testing::EndsWith(": "))));
  }
}

TEST_F(ApiClientTlsTest, OldTls) {
  Server server(io, {.identity = usual, .tls_1_1 = true});
  const Listener listener = Send(To(server));
  EXPECT_EQ(listener.end.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(listener.error(), HasSubstr("it has no TLS 1.2 or newer; update it"));
}

TEST_F(ApiClientTlsTest, ASilentServer) {
  Server server(io, {.silent = true});
  Listener listener;
  Send(To(server), listener, Get(), std::chrono::milliseconds(50));
  EXPECT_EQ(listener.end.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(listener.error(),
              HasSubstr("no connection within 0.05 s; check that the API server runs"));
}

// Without TLS's close_notify the answer may be incomplete.
TEST_F(ApiClientTlsTest, CutWithoutCloseNotify) {
  Server server(io, {.identity = usual});
  server.Answer({.bytes = "HTTP/1.1 200 OK\r\n\r\nabc", .ending = Ending::kCut});
  Listener listener = Send(To(server));
  EXPECT_EQ(listener.end.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(listener.error(), HasSubstr("it closed the connection"));
  server.Answer(
      {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", .ending = Ending::kReset});
  listener = Send(To(server));
  EXPECT_THAT(listener.error(), HasSubstr("the connection"));
  server.Answer({.bytes = kOkAnswer, .ending = Ending::kCut});
  EXPECT_TRUE(Send(To(server)).end.ok());
  // A CA that it does not check is not the cause.
  ClusterAccess blind = To(server);
  blind.insecure_skip_tls_verify = true;
  server.Answer({.bytes = "HTTP/1.1 200 OK\r\n\r\nabc", .ending = Ending::kCut});
  EXPECT_THAT(Send(blind).error(), HasSubstr("it closed the connection"));
}

TEST_F(ApiClientTlsTest, ThroughAProxy) {
  Server proxy(io, {.identity = authority.IssueServer({"api.invalid"}),
                    .connect_answer = "HTTP/1.1 200 Connection established\r\n\r\n"});
  proxy.Answer({kOkAnswer});
  ClusterAccess access = To(proxy);
  access.host = "api.invalid";
  access.port = 6443;
  access.proxy = Proxy{"127.0.0.1", proxy.port(), "u", "p"};
  access.token.text = "s3cret";
  EXPECT_TRUE(Send(access).end.ok());
  EXPECT_EQ(proxy.server_name(), "api.invalid");
  EXPECT_EQ(proxy.requests()[0],
            "CONNECT api.invalid:6443 HTTP/1.1\r\nHost: api.invalid:6443\r\n"
            "User-Agent: flanneld/test\r\nProxy-Authorization: Basic dTpw\r\n\r\n");
  EXPECT_THAT(proxy.requests()[1], AllOf(HasSubstr("Bearer s3cret"), Not(HasSubstr("Proxy"))));
}

TEST_F(ApiClientTlsTest, AProxyThatRefuses) {
  struct Row {
    const char* answer;
    const char* reason;
  };
  for (const Row& row : {
           Row{"HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\nno.\r\n",
               "it refuses a connection to api.invalid:6443 with HTTP status 403; allow it there"},
           Row{"HTTP/1.1 407 x\r\n\r\n", "status 407; give a user name and password"},
           Row{"nonsense\r\n\r\n", "the answer is not HTTP/1.1"},
       }) {
    Server proxy(io, {.connect_answer = row.answer});
    ClusterAccess access = To(proxy);
    access.host = "api.invalid";
    access.port = 6443;
    access.proxy = Proxy{"127.0.0.1", proxy.port(), "u", "s3cret"};
    const Listener listener = Send(access);
    EXPECT_EQ(listener.end.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(listener.error(),
                AllOf(HasSubstr(absl::StrCat(
                          "https://api.invalid:6443 (test): proxy 127.0.0.1:", proxy.port(), ": ")),
                      HasSubstr(row.reason), Not(HasSubstr("s3cret"))));
  }
}

// For every error, and wherever the secret is.
TEST_F(ApiClientTlsTest, SecretsAreNeverShown) {
  const Identity own = authority.Issue({});
  const auto plant = [&](ClusterAccess access, bool token) {
    access.client_certificate.text = own.certificate;
    access.client_key.file = Write("key", own.key);
    if (token) access.token.file = Write("token", "s3cret-token\n");
    if (!token) access.username = "s3cret-user";
    if (!token) access.password = "s3cret-password";
    return access;
  };
  const Identity elsewhere = authority.IssueServer({"nowhere"});
  for (const bool token : {true, false}) {
    for (const Server::Options& options :
         {Server::Options{.identity = elsewhere}, Server::Options{},
          Server::Options{.identity = usual, .client_ca = Authority("their-ca").certificate()},
          Server::Options{.identity = usual}, Server::Options{.greeting = "s3cret\r\n"},
          Server::Options{.identity = usual, .connect_answer = "HTTP/1.1 407 x\r\n\r\n"},
          Server::Options{.identity = usual, .connect_answer = "HTTP/1.1 200 x\r\n\r\n"}}) {
      Server server(io, options);
      server.Answer({"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"});
      ClusterAccess access = plant(To(server), token);
      if (!options.connect_answer.empty())
        access.proxy = Proxy{"127.0.0.1", server.port(), "s3cret-user", "s3cret-password"};
      if (!options.identity) access.tls = options.greeting.empty() ? false : true;
      const std::string error = Send(access).error();
      EXPECT_NE(error, "");
      for (const std::string& secret :
           {std::string("s3cret"), own.key.substr(30, 20), absl::Base64Escape("s3cret-user"),
            absl::Base64Escape("s3cret-user:s3cret-password").substr(0, 12)})
        EXPECT_THAT(error, Not(HasSubstr(secret)));
    }
  }
}

TEST_F(ApiClientTlsTest, DestroyedWithinEachCall) {
  Server server(io, {.identity = usual});
  ApiClient client(io, To(server), "x");
  for (int when = 0; when < 3; ++when) {
    SCOPED_TRACE(when);
    Listener listener;
    server.Answer(
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
         "1\r\na\r\n1\r\nb\r\n0\r\n\r\n"});
    auto exchange = client.Start(Get(), listener);
    bool destroyed = false;
    auto destroy = [&] {
      exchange.reset();
      destroyed = true;
    };
    (when == 0 ? listener.on_head : when == 1 ? listener.on_body : listener.on_end) = destroy;
    RunUntil([&] { return destroyed; });
    RunUntil([&] { return server.open_connections() == 0; });
    EXPECT_EQ(listener.pieces, when == 0 ? 0 : when == 1 ? 1 : 2);
    EXPECT_EQ(listener.ends, when == 2 ? 1 : 0);
  }
}

}  // namespace
}  // namespace weft::kube
