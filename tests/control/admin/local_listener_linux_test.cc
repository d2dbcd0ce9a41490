// SPDX-License-Identifier: Apache-2.0
// The socket's file: its owner, who may connect, and what it never replaces.
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <fstream>
#include <vector>

#include "control/admin/admin_client.h"
#include "control/admin/http_codec.h"
#include "control/admin/http_server.h"
#include "control/admin/local_connection.h"
#include "control/admin/unix_address_linux.h"
#include "gmock/gmock.h"
#include "tests/control/admin/running_server.h"
#include "tests/support/wait.h"

namespace weft::admin {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

class LocalListenerTest : public ::testing::Test {
 protected:
  absl::Status Listen(const std::string& path) { return server_.ListenLocal(path); }
  std::string Path(std::string_view name) const { return (folder_.path() / name).string(); }
  static std::string Text(const absl::Status& status) { return std::string(status.message()); }

  TemporaryFolder folder_;
  boost::asio::io_context io_;
  HttpServer server_{io_, [](const Request&) { return Response(); }};
};

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0);
  return info.st_mode & 0777;
}

// Leaves the file of a socket that has no listener any more.
void MakeStaleSocket(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const sockaddr_un address = UnixAddress(path).value();
  ASSERT_EQ(::bind(fd, Generic(address), sizeof address), 0);
  ::close(fd);
}

TEST_F(LocalListenerTest, OnlyItsOwnerMayConnectWhateverTheUmask) {
  const mode_t before = ::umask(0);
  const absl::Status status = Listen(Path("s"));
  ::umask(before);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ModeOf(Path("s")), 0600u);
}

TEST_F(LocalListenerTest, AnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  ASSERT_TRUE(Listen(Path("s")).ok());
  fs::permissions(folder_.path(), fs::perms(0755));
  const std::string path = Path("s");
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::setuid(kNobody) != 0) ::_exit(2);
    const bool denied = absl::IsPermissionDenied(ConnectLocal(path, 1s).status());
    ::_exit(denied ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_TRUE(WIFEXITED(result));
  EXPECT_EQ(WEXITSTATUS(result), 0);
}

TEST_F(LocalListenerTest, AStaleSocketIsReplaced) {
  MakeStaleSocket(Path("s"));
  EXPECT_EQ(ConnectLocal(Path("s"), 1s).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Listen(Path("s")).ok());
  EXPECT_TRUE(ConnectLocal(Path("s"), 1s).ok());
}

TEST_F(LocalListenerTest, ASocketInUseIsKept) {
  ASSERT_TRUE(Listen(Path("s")).ok());
  HttpServer second(io_, [](const Request&) { return Response(); });
  const absl::Status status = second.ListenLocal(Path("s"));
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(Text(status),
              AllOf(HasSubstr(Path("s")),
                    HasSubstr("probably a flanneld: stop it, or give this one its own --admin")));
  EXPECT_TRUE(ConnectLocal(Path("s"), 1s).ok());
}

TEST_F(LocalListenerTest, AnOrdinaryFileIsKept) {
  std::ofstream(Path("file")) << "precious";
  fs::create_symlink("file", Path("link"));
  fs::create_directory(Path("folder"));
  for (const char* name : {"file", "link", "folder"}) {
    const absl::Status status = Listen(Path(name));
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_THAT(Text(status), AllOf(HasSubstr(Path(name)), HasSubstr("is not a socket")));
  }
  EXPECT_EQ(fs::file_size(Path("file")), 8u);
}

TEST_F(LocalListenerTest, AFolderWritableByOtherUsersIsRefusedUnlessSticky) {
  const std::string open = Path("open");
  fs::create_directory(open);
  fs::permissions(open, fs::perms(0777));
  EXPECT_THAT(Text(Listen(open + "/s")),
              AllOf(HasSubstr(open), HasSubstr("writable by other users")));
  fs::permissions(open, fs::perms(01777));
  EXPECT_TRUE(Listen(open + "/s").ok());
}

TEST_F(LocalListenerTest, AFolderOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a folder away";
  fs::create_directory(Path("theirs"));
  ASSERT_EQ(::chown(Path("theirs").c_str(), 65534, 65534), 0);
  EXPECT_THAT(Text(Listen(Path("theirs/s"))), HasSubstr("belongs to another user"));
}

// Not as root: the folder of the user that flanneld runs as.
TEST_F(LocalListenerTest, OurOwnFolderIsAccepted) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  fs::permissions(folder_.path(), fs::perms(0755));
  fs::create_directory(Path("ours"));
  ASSERT_EQ(::chown(Path("ours").c_str(), 65534, 65534), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    ::_exit(Listen(Path("ours/s")).ok() ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  ASSERT_TRUE(WIFEXITED(result));
  EXPECT_EQ(WEXITSTATUS(result), 0);
}

TEST_F(LocalListenerTest, AMissingFolderIsMadeOneDeep) {
  EXPECT_TRUE(Listen(Path("new/s")).ok());
  EXPECT_THAT(Text(Listen(Path("a/b/s"))), HasSubstr("cannot create folder " + Path("a/b")));
}

TEST_F(LocalListenerTest, ALongPathIsRefusedByName) {
  const std::string fits = "/" + std::string(106, 'x');
  const std::string longer = "/" + std::string(107, 'x');
  EXPECT_TRUE(UnixAddress(fits).ok());
  const absl::Status status = Listen(longer);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(status), AllOf(HasSubstr(longer), HasSubstr("108 bytes"), HasSubstr("107")));
  EXPECT_EQ(ConnectLocal(longer, 1s).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(Listen("")), HasSubstr("has 0 bytes"));
  EXPECT_THAT(Text(ConnectLocal("", 1s).status()), HasSubstr("has 0 bytes"));
  // The client reports the permission, not a daemon that does not run.
  const absl::Status asked = AdminClient(longer).ReadStatus().status();
  EXPECT_EQ(asked.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(asked), HasSubstr("107"));
}

TEST_F(LocalListenerTest, AFileWhereTheFolderShouldBeIsNamed) {
  std::ofstream(Path("file")) << "x";
  EXPECT_THAT(Text(Listen(Path("file/s"))), HasSubstr(Path("file") + " is not a folder"));
  EXPECT_EQ(ConnectLocal(Path("file/s"), 1s).status().code(), absl::StatusCode::kNotFound);
  fs::create_symlink("nowhere", Path("dangling"));
  EXPECT_THAT(Text(Listen(Path("dangling/s"))),
              HasSubstr("cannot inspect " + Path("dangling") + ": No such file or directory; "));
}

TEST_F(LocalListenerTest, WithoutDescriptorsLeft) {
  MakeStaleSocket(Path("stale"));
  ASSERT_TRUE(server_.ListenTcp("127.0.0.1", 0).ok());  // the loop's own descriptors are open
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Status probing = Listen(Path("stale"));
  const absl::Status opening = Listen(Path("new"));
  const absl::Status connecting = ConnectLocal(Path("stale"), 1s).status();
  const absl::Status tcp = server_.ListenTcp("127.0.0.1", 0).status();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  for (const absl::Status& status : {probing, opening})
    EXPECT_EQ(Text(status),
              "cannot open a socket: Too many open files; check the limit on open files");
  EXPECT_EQ(Text(connecting), "Too many open files");
  EXPECT_THAT(Text(tcp),
              HasSubstr("cannot open a socket on TCP 127.0.0.1 port 0: Too many open files; "));
}

// The server's loop does not run: nothing reads what is sent.
TEST_F(LocalListenerTest, AServerThatDoesNotReadIsGivenUp) {
  ASSERT_TRUE(Listen(Path("s")).ok());
  const auto connection = ConnectLocal(Path("s"), 20ms);
  ASSERT_TRUE(connection.ok()) << connection.status();
  errno = EINTR;  // left over by another call
  EXPECT_TRUE((*connection)->Write("x").ok());
  EXPECT_EQ((*connection)->Write(std::string(64 << 20, 'x')).code(),
            absl::StatusCode::kDeadlineExceeded);
}

volatile sig_atomic_t alarms = 10;  // to come

// Most alarms come while it waits.
TEST_F(LocalListenerTest, ASignalDoesNotEndAWrite) {
  ASSERT_TRUE(Listen(Path("s")).ok());
  const auto connection = ConnectLocal(Path("s"), 20ms);
  ASSERT_TRUE(connection.ok()) << connection.status();
  const std::string much(64 << 20, 'x');
  struct sigaction before {};
  struct sigaction count {};
  count.sa_handler = [](int) {
    const itimerval none{};
    alarms = alarms - 1;
    if (alarms == 0) ::setitimer(ITIMER_REAL, &none, nullptr);
  };
  ASSERT_EQ(::sigaction(SIGALRM, &count, &before), 0);
  const itimerval millisecond{{0, 1'000}, {0, 1'000}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &millisecond, nullptr), 0);
  EXPECT_EQ((*connection)->Write(much).code(), absl::StatusCode::kDeadlineExceeded);
  const itimerval none{};
  ::setitimer(ITIMER_REAL, &none, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
}

TEST_F(LocalListenerTest, AServerThatClosesDuringTheRequestIsNamed) {
  const RawServer server("");
  const absl::Status status =
      AdminClient(server.endpoint()).Get("/" + std::string(16 << 20, 'x')).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Text(status), HasSubstr(server.endpoint() + ": Broken pipe)"));
}

TEST_F(LocalListenerTest, AClientThatNoLongerReadsIsClosed) {
  const RunningServer server([](const Request&) { return Response{.body = "x"}; },
                             {.deadline = 60s});
  const sockaddr_un address = UnixAddress(server.endpoint()).value();
  const int client = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::connect(client, Generic(address), sizeof address), 0);
  ::shutdown(client, SHUT_RD);
  const std::string request = WriteRequest("/");
  EXPECT_EQ(::send(client, request.data(), request.size(), 0), std::ssize(request));
  const testing::Wait wait(10s);
  pollfd hangup{client, 0, 0};
  EXPECT_EQ(::poll(&hangup, 1, 100'000), 1);
  EXPECT_TRUE(wait.Ended());
  ::close(client);
}

TEST_F(LocalListenerTest, APermissionErrorIsReported) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  fs::create_directory(Path("closed"));
  ASSERT_TRUE(Listen(Path("closed/s")).ok());
  fs::permissions(folder_.path(), fs::perms(0755));
  fs::permissions(Path("closed"), fs::perms(0700));
  const std::string path = Path("closed/s");
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    const absl::Status status = AdminClient(path).ReadStatus().status();
    const bool named = absl::IsPermissionDenied(status) &&
                       Text(status).find("closed to this user") != std::string::npos &&
                       Text(status).find("run as root") != std::string::npos;
    ::_exit(named ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_TRUE(WIFEXITED(result));
  EXPECT_EQ(WEXITSTATUS(result), 0);
}

// Not as root: the error of each step of a flanneld that may not write there.
TEST_F(LocalListenerTest, AForbiddenChangeOfTheFolderIsNamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  fs::permissions(folder_.path(), fs::perms(0755));
  MakeStaleSocket(Path("closed"));
  fs::permissions(Path("closed"), fs::perms(0600));
  MakeStaleSocket(Path("open"));
  fs::permissions(Path("open"), fs::perms(0777));
  const std::pair<const char*, const char*> rows[] = {
      {"new", "cannot bind "},
      {"closed", "cannot determine whether a program answers on "},
      {"open", "cannot remove the stale socket "},
      {"folder/s", "cannot create folder "},
  };
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(100);
    for (int i = 0; i < 4; ++i) {
      const absl::Status status = Listen(Path(rows[i].first));
      const bool named = absl::IsPermissionDenied(status) &&
                         Text(status).starts_with(rows[i].second) &&
                         Text(status).find("Permission denied; ") != std::string::npos;
      if (!named) ::_exit(i + 1);
    }
    ::_exit(0);
  }
  int result = -1;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  ASSERT_TRUE(WIFEXITED(result));
  EXPECT_EQ(WEXITSTATUS(result), 0) << "the row, from 1 on";
}

// A listener whose queue is full is alive: its socket is not replaced.
TEST_F(LocalListenerTest, ASocketWhoseQueueIsFullIsKept) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const sockaddr_un address = UnixAddress(Path("s")).value();
  ASSERT_EQ(::bind(fd, Generic(address), sizeof address), 0);
  ASSERT_EQ(::listen(fd, 0), 0);
  std::vector<int> waiting;
  for (;;) {
    waiting.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    if (::connect(waiting.back(), Generic(address), sizeof address) != 0) break;
  }
  EXPECT_EQ(Listen(Path("s")).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(fs::exists(fs::symlink_status(Path("s"))));
  for (const int one : waiting) ::close(one);
  ::close(fd);
}

TEST_F(LocalListenerTest, TheFileIsRemovedWithTheServer) {
  ASSERT_TRUE(Listen(Path("s")).ok());
  server_.Close();
  EXPECT_FALSE(fs::exists(Path("s")));
}

TEST_F(LocalListenerTest, AForeignFileInItsPlaceStays) {
  ASSERT_TRUE(Listen(Path("s")).ok());
  fs::rename(Path("s"), Path("moved"));
  MakeStaleSocket(Path("s"));
  server_.Close();
  EXPECT_TRUE(fs::exists(fs::symlink_status(Path("s"))));
}

}  // namespace
}  // namespace weft::admin
