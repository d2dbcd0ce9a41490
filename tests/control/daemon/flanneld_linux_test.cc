// SPDX-License-Identifier: Apache-2.0
// The program as its callers see it: words in, text and exit status out, signals.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/test_path.h"
#include "tests/support/wait.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

bool IsReadable(int file, int milliseconds = 10) {
  pollfd wait{file, POLLIN, 0};
  return ::poll(&wait, 1, milliseconds) == 1;
}

// flanneld with --dataplane=none and nothing in its environment but NODE_NAME and PATH, as RKE2
// starts it; and the choice of tests/soak/mutation.py.
class Program {
 public:
  explicit Program(std::vector<std::string> words, std::vector<std::string> variables = {}) {
    int out[2], err[2];
    EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(err, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    words.insert(words.begin(), FLANNELD);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::string name = "NODE_NAME=a", path = "PATH=/usr/bin";
    const char* const chosen = std::getenv("WEFT_MUTANT");
    std::string mutant = std::string("WEFT_MUTANT=") + (chosen ? chosen : "0");
    std::vector<char*> environment = {name.data(), path.data(), mutant.data()};
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    EXPECT_EQ(
        ::posix_spawn(&pid_, FLANNELD, &actions, nullptr, arguments.data(), environment.data()), 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(out[1]);
    ::close(err[1]);
    stdout_ = out[0];
    stderr_ = err[0];
  }
  ~Program() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(stdout_);
    ::close(stderr_);
  }

  void Signal(int number) const { ::kill(pid_, number); }
  void LimitFiles(rlim_t bytes) const {
    const rlimit limit{bytes, RLIM_INFINITY};
    EXPECT_EQ(::prlimit(pid_, RLIMIT_FSIZE, &limit, nullptr), 0);
  }
  // Reads stderr until `text` has been there; false at the end.
  ::testing::AssertionResult Prints(const std::string& text,
                                    std::source_location where = std::source_location::current()) {
    bool open = true;
    const auto printed = [&] { return error.find(text) != error.npos; };
    const auto came = weft::testing::Await(
        {std::chrono::seconds(60), where}, [&] { return printed() || !open; },
        [&] { open = !IsReadable(stderr_) || ReadInto(stderr_, error); });
    return open || printed() ? came : ::testing::AssertionFailure() << "it ended";
  }
  // The exit status; 128 and the signal when one ended it. `output` and `error` are whole then.
  int Wait() {
    while (ReadInto(stderr_, error)) {
    }
    while (ReadInto(stdout_, output)) {
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string output, error;

 private:
  static bool ReadInto(int file, std::string& text) {
    char buffer[4096];
    const ssize_t count = ::read(file, buffer, sizeof buffer);
    if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
    return count > 0;
  }

  pid_t pid_ = 0;
  int stdout_ = -1, stderr_ = -1;
};

constexpr char kNodes[] =
    R"({"items":[{"metadata":{"name":"a","annotations":{"flannel.alpha.coreos.com/kube-subnet-manager":
"true"}},"spec":{"podCIDR":"10.244.1.0/24"}}]})";

class FlanneldTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    Write("net-conf.json",
          R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})");
    Write("nodes.json", kNodes);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  // Words that start a daemon without data plane on the loopback.
  std::vector<std::string> Words(std::vector<std::string> more = {}) {
    const std::string folder = folder_.string();
    std::vector<std::string> words = {"--lease-source=file:" + folder + "/nodes.json",
                                      "--net-config-path=" + folder + "/net-conf.json",
                                      "--subnet-file=" + folder + "/subnet.env",
                                      "--state-dir=" + folder + "/state",
                                      "--admin=" + folder + "/admin.sock",
                                      "--dataplane=none",
                                      "--iface=127.0.0.1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  const std::filesystem::path folder_ = weft::testing::TestPath();
};

TEST_F(FlanneldTest, ANetConfWritableByOtherUsersIsReported) {
  using std::filesystem::perms;
  for (const bool open : {false, true}) {
    std::filesystem::permissions(folder_ / "net-conf.json", open ? perms{0666} : perms{0644});
    Program program(Words());
    ASSERT_TRUE(program.Prints("] ready\n")) << program.error;
    const std::string report = "net-conf.json may be written by other users";
    EXPECT_EQ(program.error.find(report) != std::string::npos, open) << program.error;
  }
}

TEST_F(FlanneldTest, AFlagWithoutEffectIsAWarningAndNoError) {
  Program program(Words({"--busy-poll=5"}));
  ASSERT_TRUE(program.Prints("] ready\n")) << program.error;
  const std::size_t at =
      program.error.find("] --busy-poll=5 has no effect on this node: it needs ");
  ASSERT_NE(at, std::string::npos) << program.error;
  EXPECT_EQ(program.error[program.error.rfind('\n', at) + 1], 'W') << program.error;
}

TEST_F(FlanneldTest, HelpGoesToStdoutAndIsNoError) {
  Program program({"--help"});
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(program.output, ::testing::StartsWith("usage: flanneld"));
  EXPECT_EQ(program.error, "");
}

TEST_F(FlanneldTest, VersionIsOneLine) {
  Program program({"--version"});
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(program.output, ::testing::MatchesRegex("flanneld [0-9.]+ \\(weft\\)\n"));
}

TEST_F(FlanneldTest, AWrongFlagExitsWith2WithMessageAndUsageOnStderr) {
  Program program({"--ifce=eth0"});
  EXPECT_EQ(program.Wait(), 2);
  EXPECT_EQ(program.output, "");
  EXPECT_THAT(program.error,
              ::testing::StartsWith(
                  "flanneld: flag provided but not defined: -ifce; did you mean --iface?"));
  EXPECT_THAT(program.error, HasSubstr("; see flanneld --help\n"));
}

struct WrongRow {
  const char* name;
  std::vector<std::string> words;
  const char* message;
};

// One line of severity E, and exit status 1.
TEST_F(FlanneldTest, AWrongConfigurationExitsWith1AndOneErrorLine) {
  Write("broken.json", R"({"Network":"10.244.0.0/16")");
  const WrongRow rows[] = {
      {"kube", {"--kube-subnet-mgr"}, "--kube-subnet-mgr and --lease-source=file:"},
      {"hns", {"--dataplane=hns"}, "--dataplane=hns needs Windows"},
      {"net-conf a folder", {"--net-config-path=" + folder_.string()}, folder_.c_str()},
      {"net-conf broken",
       {"--net-config-path=" + (folder_ / "broken.json").string()},
       "broken.json"},
      {"net-conf broken, of a cluster",
       {"--lease-source=", "--kube-subnet-mgr", "--kube-api-url=http://127.0.0.1:1",
        "--net-config-path=" + (folder_ / "broken.json").string()},
       "broken.json"},
      {"admin", {"--admin=/" + std::string(200, 'x')}, "choose a shorter one"},
      {"interface", {"--iface-regex=("}, "--iface-regex=("},
      {"password",
       {"--kube-api-url=https://u:hunter2@h", "--lease-source=", "--kube-subnet-mgr"},
       "holds a user name or password"},
      {"log", {"--log-dir=" + folder_.string(), "--log-files=0"}, "--log-files=0 must lie in"},
      {"margin", {"--subnet-lease-renew-margin=0"}, "--subnet-lease-renew-margin=0"},
      {"data plane", {"--dataplane=routes"}, "--dataplane=routes has none"},
      {"cluster",
       {"--lease-source=", "--kube-subnet-mgr",
        "--kubeconfig-file=" + (folder_ / "broken.json").string()},
       "broken.json"},
      {"annotations", {"--kube-annotation-prefix=org"}, "--kube-annotation-prefix"},
  };
  for (const WrongRow& row : rows) {
    Program program(Words(row.words));
    EXPECT_EQ(program.Wait(), 1) << row.name << "\n" << program.error;
    EXPECT_THAT(program.error, HasSubstr(row.message)) << row.name;
    EXPECT_THAT(program.error, ::testing::Not(HasSubstr("hunter2"))) << row.name;
    std::size_t errors = 0;
    for (std::size_t at = 0; at != std::string::npos; at = program.error.find('\n', at + 1)) {
      const std::size_t first = at == 0 ? 0 : at + 1;
      if (first < program.error.size() && program.error[first] == 'E') ++errors;
    }
    EXPECT_EQ(errors, 1u) << row.name << "\n" << program.error;
  }
}

TEST_F(FlanneldTest, WithoutAnyWordASourceOfLeasesIsMissing) {
  Program program({});
  EXPECT_EQ(program.Wait(), 1);
  EXPECT_THAT(program.error, HasSubstr("no source of leases: give --kube-subnet-mgr"));
}

TEST_F(FlanneldTest, AMissingNetConfIsWaitedFor) {
  std::filesystem::rename(folder_ / "net-conf.json", folder_ / "later");
  Program program(Words());
  ASSERT_TRUE(
      program.Prints("net-conf.json does not exist; flanneld waits for it: put it there, "
                     "or correct --net-config-path"))
      << program.error;
  Write("net-conf.json", "");
  ASSERT_TRUE(program.Prints("net-conf.json is empty; flanneld waits for it")) << program.error;
  Write("net-conf.json", R"({"Network":)");
  ASSERT_TRUE(program.Prints("reads it again in case it is half written")) << program.error;
  std::filesystem::rename(folder_ / "later", folder_ / "net-conf.json");
  EXPECT_TRUE(program.Prints("] ready\n")) << program.error;
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
}

TEST_F(FlanneldTest, AnAwaitedNetConfThatStaysWrongExitsWith1) {
  std::filesystem::remove(folder_ / "net-conf.json");
  Program program(Words());
  ASSERT_TRUE(program.Prints("flanneld waits for it")) << program.error;
  Write("net-conf.json", R"({"Network":)");
  EXPECT_EQ(program.Wait(), 1) << program.error;
}

TEST_F(FlanneldTest, ItStopsWhileItWaits) {
  std::filesystem::remove(folder_ / "net-conf.json");
  Program program(Words());
  ASSERT_TRUE(program.Prints("flanneld waits for it")) << program.error;
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0) << program.error;
  EXPECT_THAT(program.error, HasSubstr("exiting cleanly"));
}

// The other way round, too: whichever comes last.
TEST_F(FlanneldTest, AMissingKubeconfigIsWaitedFor) {
  std::filesystem::rename(folder_ / "net-conf.json", folder_ / "later");
  Program program(Words({"--lease-source=", "--kube-subnet-mgr",
                         "--kubeconfig-file=" + (folder_ / "kubeconfig").string()}));
  ASSERT_TRUE(program.Prints("net-conf.json does not exist")) << program.error;
  std::filesystem::rename(folder_ / "later", folder_ / "net-conf.json");
  ASSERT_TRUE(
      program.Prints("kubeconfig does not exist; flanneld waits for it: put it there, or "
                     "correct --kubeconfig-file"))
      << program.error;
  // No server answers there: a refusal that only the running daemon reports.
  Write("kubeconfig.new", R"({"clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],
"contexts":[{"name":"x","context":{"cluster":"c"}}],"current-context":"x"})");
  std::filesystem::rename(folder_ / "kubeconfig.new", folder_ / "kubeconfig");
  EXPECT_TRUE(program.Prints("the configuration is complete")) << program.error;
  EXPECT_TRUE(program.Prints("127.0.0.1:1")) << program.error;
}

TEST_F(FlanneldTest, AnInvalidPortIsAWrongFlag) {
  Program program(Words({"--healthz-port=70000"}));
  EXPECT_EQ(program.Wait(), 2);
  EXPECT_THAT(program.error, ::testing::StartsWith(
                                 "flanneld: invalid value \"70000\" for flag -healthz-port: value "
                                 "out of range; see flanneld --help\n"));
}

// After a valid command line nothing ends it: it waits, logs that once, and continues by itself.
TEST_F(FlanneldTest, MissingObjectsAreWaitedFor) {
  const struct {
    const char* name;
    std::vector<std::string> words;
    const char* prints;
  } rows[] = {
      {"interface", {"--iface=", "--iface=weft-none0"}, "no adapter has that name"},
      {"admin endpoint", {"--admin=/proc/none/admin.sock"}, "cannot create folder /proc/none"},
      {"health port",
       {"--healthz-ip=203.0.113.1", "--healthz-port=1"},
       "health checks: cannot bind"},
      {"subnet file", {"--subnet-file=/proc/none/subnet.env"}, "subnet file /proc/none"},
  };
  for (const auto& row : rows) {
    std::vector<std::string> words = Words();
    if (row.words.front() == "--iface=") std::erase(words, "--iface=127.0.0.1");
    for (const std::string& word : row.words)
      if (word != "--iface=") words.push_back(word);
    Program program(words);
    ASSERT_TRUE(program.Prints(row.prints)) << row.name << "\n" << program.error;
    program.Signal(SIGTERM);
    EXPECT_EQ(program.Wait(), 0) << row.name << "\n" << program.error;
    EXPECT_EQ(program.error.find(row.prints), program.error.rfind(row.prints)) << row.name;
  }
}

TEST_F(FlanneldTest, SigtermEndsItCleanly) {
  Program program(Words());
  ASSERT_TRUE(program.Prints("] ready\n")) << program.error;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "admin.sock"));
  const weft::testing::Wait wait(std::chrono::seconds(5));
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0) << program.error;
  EXPECT_TRUE(wait.Ended());
  EXPECT_THAT(program.error, ::testing::EndsWith("] exiting cleanly\n"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "admin.sock"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "subnet.env"));
}

// Its first line is written before anything waits for signals.
TEST_F(FlanneldTest, SigtermDuringTheStartEndsItCleanly) {
  for (int round = 0; round < 30; ++round) {
    Program program(Words());
    ASSERT_TRUE(program.Prints("] flanneld ")) << program.error;
    program.Signal(SIGTERM);
    EXPECT_EQ(program.Wait(), 0) << program.error;
    EXPECT_THAT(program.error, ::testing::EndsWith("] exiting cleanly\n"));
  }
}

TEST_F(FlanneldTest, SigintDoesTheSameAndSighupNothing) {
  Program program(Words());
  ASSERT_TRUE(program.Prints("] ready\n")) << program.error;
  program.Signal(SIGHUP);
  program.Signal(SIGINT);
  EXPECT_EQ(program.Wait(), 0) << program.error;
}

TEST_F(FlanneldTest, ItStopsWhileItWaitsForAFile) {
  std::filesystem::remove(folder_ / "nodes.json");
  Program program(Words());
  ASSERT_TRUE(program.Prints("; put the file back\n")) << program.error;
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0) << program.error;
}

// systemd's end of NOTIFY_SOCKET, sd_notify(3).
class NotifySocket {
 public:
  explicit NotifySocket(std::string path) : path_(std::move(path)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~NotifySocket() { ::close(socket_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  std::string variable() const { return "NOTIFY_SOCKET=" + path_; }
  // The next datagram; empty: none came.
  std::string Next(std::source_location where = std::source_location::current()) const {
    if (!weft::testing::Await({std::chrono::seconds(30), where},
                              [&] { return IsReadable(socket_); }))
      return "";
    return NextWithin(0);
  }
  std::string NextWithin(int milliseconds) const {
    if (!IsReadable(socket_, milliseconds)) return "";
    char text[1024];
    const ssize_t length = ::recv(socket_, text, sizeof text, 0);
    return {text, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
  }

 private:
  const std::string path_;
  const int socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

TEST_F(FlanneldTest, NotifiesSystemdOfItsState) {
  const NotifySocket socket((folder_ / "notify").string());
  Program program(Words({"-v=1"}), {socket.variable()});
  EXPECT_EQ(socket.Next(), "READY=1\nSTATUS=ready") << program.error;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "subnet.env"));
  Write("nodes.json", R"({"items":[]})");
  EXPECT_THAT(socket.Next(), ::testing::StartsWith("STATUS=not ready: own-node"));
  Write("nodes.json", kNodes);
  EXPECT_EQ(socket.Next(), "STATUS=ready") << "READY=1 is sent once";
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0) << program.error;
  EXPECT_EQ(socket.Next(), "STOPPING=1\nSTATUS=stopping on SIGTERM");
  EXPECT_EQ(socket.NextWithin(0), "");
}

TEST_F(FlanneldTest, WhatItWaitsForIsItsStatusAndNotYetReady) {
  std::filesystem::remove(folder_ / "nodes.json");
  const NotifySocket socket((folder_ / "notify").string());
  Program program(Words(), {socket.variable()});
  EXPECT_THAT(socket.Next(), ::testing::StartsWith("STATUS=not ready: source"));
}

// A line break would let a Node's name forge READY=1.
TEST_F(FlanneldTest, AStatusIsOneLine) {
  Write("nodes.json", "{\"items\":[]}");
  const NotifySocket socket((folder_ / "notify").string());
  Program program(Words({"--lease-source=file:" + (folder_ / "no\nREADY=1").string()}),
                  {socket.variable()});
  const std::string status = socket.Next();
  EXPECT_THAT(status, ::testing::StartsWith("STATUS=not ready: source"));
  EXPECT_EQ(status.find('\n'), std::string::npos) << status;
}

TEST_F(FlanneldTest, TheEventLoopPingsSystemdsWatchdog) {
  const NotifySocket socket((folder_ / "notify").string());
  Program program(Words(), {socket.variable(), "WATCHDOG_USEC=100000"});
  for (int pings = 0; pings < 5;) {
    const std::string text = socket.Next();
    ASSERT_NE(text, "") << "no ping";
    if (text == "WATCHDOG=1") ++pings;
  }
  program.Signal(SIGSTOP);
  while (socket.NextWithin(0) != "") {
  }
  EXPECT_EQ(socket.NextWithin(300), "") << "the loop does not turn";
  program.Signal(SIGCONT);
  EXPECT_EQ(socket.Next(), "WATCHDOG=1");
}

TEST_F(FlanneldTest, NoPingsWithoutAWatchdogOfThisProcess) {
  for (const std::vector<std::string>& variables : {std::vector<std::string>{},
                                                    {"WATCHDOG_USEC=0"},
                                                    {"WATCHDOG_USEC=x"},
                                                    {"WATCHDOG_USEC=-100000"},
                                                    {"WATCHDOG_USEC=100000", "WATCHDOG_PID=1"}}) {
    const NotifySocket socket((folder_ / "notify").string());
    std::vector<std::string> all = variables;
    all.push_back(socket.variable());
    Program program(Words(), all);
    ASSERT_EQ(socket.Next(), "READY=1\nSTATUS=ready");
    EXPECT_EQ(socket.NextWithin(250), "") << ::testing::PrintToString(variables);
    std::filesystem::remove(folder_ / "notify");
  }
}

TEST_F(FlanneldTest, AnInvalidNotifySocketIsIgnored) {
  for (const std::string& path : {std::string(), std::string("/"), std::string(4096, 'x')}) {
    Program program(Words(), {"NOTIFY_SOCKET=" + path});
    ASSERT_TRUE(program.Prints("] ready\n")) << program.error;
    program.Signal(SIGTERM);
    EXPECT_EQ(program.Wait(), 0) << program.error;
  }
}

TEST_F(FlanneldTest, ServiceIsForWindows) {
  Program program({"service", "install"});
  EXPECT_EQ(program.Wait(), 2);
  EXPECT_THAT(program.error, HasSubstr("systemd unit flanneld.service: systemctl enable --now"));
}

TEST_F(FlanneldTest, TheLogIsAlsoInAFile) {
  Program program(Words({"--log-dir=" + (folder_ / "a/log").string()}));
  ASSERT_TRUE(program.Prints("] ready\n")) << program.error;
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
  std::ifstream file(folder_ / "a/log/flanneld.log");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), program.error);
}

// A disk that fills up: a limit on the size of files plays it.
TEST_F(FlanneldTest, AFullDiskUnderTheLogIsReportedOnceAndStopsNothing) {
  ::signal(SIGXFSZ, SIG_IGN);  // inherited
  Program program(Words({"--log-dir=" + (folder_ / "log").string()}));
  ASSERT_TRUE(program.Prints("] ready\n")) << program.error;
  program.LimitFiles(1);
  Write("nodes.json", R"({"items":[]})");
  ASSERT_TRUE(program.Prints("flanneld.log: File too large")) << program.error;
  Write("nodes.json", "broken");
  ASSERT_TRUE(program.Prints("correct the file")) << program.error;
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
  const std::string report = "lines are missing there; flanneld tries again";
  EXPECT_EQ(program.error.find(report), program.error.rfind(report)) << program.error;
}

TEST_F(FlanneldTest, EveryLineIsJsonOnRequest) {
  Program program(Words({"--log-format=json"}));
  ASSERT_TRUE(program.Prints("\"message\":\"ready\"}\n")) << program.error;
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
  ASSERT_THAT(program.error, ::testing::EndsWith("\n"));
  std::size_t begin = 0;
  while (begin < program.error.size()) {
    EXPECT_EQ(program.error[begin], '{');
    begin = program.error.find('\n', begin) + 1;
  }
}

}  // namespace
}  // namespace weft
