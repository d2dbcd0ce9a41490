// SPDX-License-Identifier: Apache-2.0
// flanneld.exe as a service of the system's own service control manager.
#include <winsock2.h>

#include <windows.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <winsvc.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/service/event_table.h"
#include "control/service/service_manager.h"
#include "tests/support/program_win.h"
#include "tests/support/test_path.h"
#include "tests/support/wait.h"
#include "vxlan/text/utf16_win.h"

namespace weft::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

namespace fs = std::filesystem;

constexpr wchar_t kServices[] = L"SYSTEM\\CurrentControlSet\\Services";

// Every key and value below `key`, without the services of other runs of these tests.
void Dump(const std::wstring& key, const std::string& own, std::vector<std::string>& out) {
  HKEY open = nullptr;
  if (::RegOpenKeyExW(HKEY_LOCAL_MACHINE, key.c_str(), 0, KEY_READ, &open) != ERROR_SUCCESS) return;
  std::vector<BYTE> data(64 * 1024);
  wchar_t name[512];
  for (DWORD i = 0;; ++i) {
    DWORD length = std::size(name), type = 0, size = static_cast<DWORD>(data.size());
    if (::RegEnumValueW(open, i, name, &length, nullptr, &type, data.data(), &size) !=
        ERROR_SUCCESS)
      break;
    out.push_back(Utf8(key) + "\\" + Utf8(name) + "=" + std::to_string(type) + ":" +
                  std::string(data.begin(), data.begin() + size));
  }
  for (DWORD i = 0;; ++i) {
    DWORD length = std::size(name);
    if (::RegEnumKeyExW(open, i, name, &length, nullptr, nullptr, nullptr, nullptr) !=
        ERROR_SUCCESS)
      break;
    const std::string text = Utf8(name);
    if (text.starts_with("weft-test-") && text != own) continue;
    out.push_back(Utf8(key) + "\\" + text);
    Dump(key + L"\\" + name, own, out);
  }
  ::RegCloseKey(open);
}

// Read until two readings agree: an enumeration misses keys while other tests make and remove
// theirs.
std::vector<std::string> DumpServices(const std::string& own) {
  std::vector<std::string> last, now;
  do {
    last = std::exchange(now, {});
    Dump(kServices, own, now);
  } while (now != last);
  return now;
}

// The lines of `a` that `b` lacks.
std::vector<std::string> Without(std::vector<std::string> a, const std::vector<std::string>& b) {
  std::erase_if(a, [&](const std::string& line) { return std::ranges::count(b, line) != 0; });
  return a;
}

struct Result {
  DWORD code = 0;
  std::string out, err;
};

::testing::AssertionResult Succeeded(const Result& result) {
  if (result.code == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "status " << result.code << ": " << result.err;
}

// Wine's StartService fails so where the service ended before it looked.
bool MissedByWine(const std::string& error) {
  return error.find(absl::StrCat("(", ERROR_SERVICE_REQUEST_TIMEOUT, ")")) != std::string::npos;
}

class ServiceWindowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    Write("net-conf.json", kNetConf);
    Write("nodes.json",
          R"({"items":[{"metadata":{"name":"a","annotations":
{"flannel.alpha.coreos.com/kube-subnet-manager":"true"}},"spec":{"podCIDR":"10.244.1.0/24"}}]})");
    auto manager = OpenServiceManager(/*to_change=*/true);
    ASSERT_TRUE(manager.ok()) << manager.status();
    manager_ = *std::move(manager);
  }
  void TearDown() override {
    if (manager_ && manager_->Exists(name_)) {
      manager_->Stop(name_).IgnoreError();
      manager_->Delete(name_).IgnoreError();
      manager_->RemoveEventSource(name_).IgnoreError();
      // It keeps its name until its process is gone.
      EXPECT_TRUE(Becomes([this] { return !manager_->Exists(name_); }));
    }
    std::error_code error;
    EXPECT_TRUE(weft::testing::Await(std::chrono::seconds(60), [&] {
      fs::remove_all(folder_, error);
      return !error;
    })) << error.message();
  }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  std::string Log() const { return weft::testing::ReadText(folder_ / "log" / "flanneld.log"); }
  std::vector<std::string> Words(std::vector<std::string> more = {}) const {
    const std::string folder = folder_.string();
    std::vector<std::string> words = {"--node-name=a",
                                      "--lease-source=file:" + folder + "\\nodes.json",
                                      "--net-config-path=" + folder + "\\net-conf.json",
                                      "--subnet-file=" + folder + "\\subnet.env",
                                      "--state-dir=" + folder + "\\state",
                                      "--log-dir=" + folder + "\\log",
                                      "--admin=none",
                                      "--dataplane=none",
                                      "--iface=127.0.0.1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // "flanneld service VERB --service-name=... WORD..."
  Result Run(const std::string& verb, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"service", verb, "--service-name=" + name_};
    words.insert(words.end(), more.begin(), more.end());
    weft::testing::Program program(FLANNELD, words, folder_ / "out", folder_ / "err");
    const DWORD code = program.Wait();
    return {code, program.output(), program.error()};
  }
  ::testing::AssertionResult Becomes(const std::function<bool()>& condition,
                                     std::source_location where = std::source_location::current()) {
    return weft::testing::Await({std::chrono::seconds(30), where}, condition);
  }
  ::testing::AssertionResult Reaches(State state,
                                     std::source_location where = std::source_location::current()) {
    return Becomes([&] { return manager_->Query(name_)->state == state; }, where);
  }

  static constexpr char kNetConf[] =
      R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})";
  const fs::path folder_ = weft::testing::TestPath();
  const std::string name_ = "weft-test-" + std::to_string(::GetCurrentProcessId());
  std::unique_ptr<ServiceManager> manager_;
};

TEST_F(ServiceWindowsTest, AWholeLifeLeavesTheRegistryAsItWas) {
  const std::vector<std::string> before = DumpServices(name_);
  ASSERT_FALSE(before.empty());

  const Result installed = Run("install", Words({"--iface=Ethernet 2", "--start=manual"}));
  ASSERT_EQ(installed.code, 0u) << installed.err;
  EXPECT_THAT(installed.out, AllOf(StartsWith("service " + name_ + " installed: \""),
                                   HasSubstr(R"("--iface=Ethernet 2")")));
  const absl::StatusOr<Config> config = manager_->Read(name_);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->start, StartType::kManual);
  EXPECT_EQ(config->account, "LocalSystem");
  EXPECT_THAT(config->description, HasSubstr("Kubernetes"));
  EXPECT_TRUE(manager_->EventSource(name_));

  const Result again = Run("install", Words({"--iface=Ethernet 2", "--start=manual"}));
  EXPECT_THAT(again.out, HasSubstr("is installed like this already"));
  const Result other = Run("install", Words());
  EXPECT_THAT(other.out, AllOf(HasSubstr("start: manual -> auto"), HasSubstr("command: ")));

  const Result started = Run("start");
  ASSERT_EQ(started.code, 0u) << started.err << Log();
  ASSERT_TRUE(Becomes([&] { return Log().find("] ready\n") != std::string::npos; })) << Log();
  const Result status = Run("status");
  EXPECT_EQ(status.code, 0u);
  EXPECT_THAT(status.out, StartsWith("service " + name_ + ": running, process "));
  EXPECT_TRUE(fs::exists(folder_ / "subnet.env"));

  const Result stopped = Run("stop");
  EXPECT_EQ(stopped.code, 0u) << stopped.err;
  EXPECT_EQ(stopped.out, "service " + name_ + " stopped\n");
  EXPECT_THAT(Log(), AllOf(HasSubstr("stopping on the service manager's request"),
                           HasSubstr("exiting cleanly")));
  EXPECT_THAT(Log(), Not(HasSubstr("event log"))) << "its events were written";
  EXPECT_EQ(manager_->Query(name_)->error, 0u);
  EXPECT_EQ(Run("status").code, 1u);

  const Result removed = Run("uninstall");
  EXPECT_EQ(removed.code, 0u) << removed.err;
  EXPECT_FALSE(manager_->EventSource(name_));
  const std::vector<std::string> after = DumpServices(name_);
  EXPECT_THAT(Without(after, before), ::testing::IsEmpty());
  EXPECT_THAT(Without(before, after), ::testing::IsEmpty());
  EXPECT_THAT(Run("uninstall").err, HasSubstr("is not installed"));
}

TEST_F(ServiceWindowsTest, UninstallStopsARunningService) {
  ASSERT_TRUE(Succeeded(Run("install", Words())));
  ASSERT_TRUE(Succeeded(Run("start")));
  const Result removed = Run("uninstall");
  EXPECT_EQ(removed.code, 0u) << removed.err;
  EXPECT_THAT(removed.out, HasSubstr("stopped\n"));
  EXPECT_FALSE(manager_->Exists(name_));
}

// flannelctl.exe, with the paths of the service's command line.
TEST_F(ServiceWindowsTest, FlannelctlUninstallsAllOfIt) {
  const std::vector<std::string> before = DumpServices(name_);
  ASSERT_TRUE(Succeeded(Run("install", Words())));
  ASSERT_TRUE(Succeeded(Run("start")));
  ASSERT_TRUE(Becomes([&] { return Log().find("] ready\n") != std::string::npos; })) << Log();
  Write("foreign", "x");
  std::ofstream(folder_ / "log" / "foreign.log") << "x";
  const auto flannelctl = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"uninstall", "--service-name=" + name_, "--force"};
    words.insert(words.end(), more.begin(), more.end());
    weft::testing::Program program(FLANNELCTL, words, folder_ / "out", folder_ / "err");
    const DWORD code = program.Wait();
    return Result{code, program.output(), program.error()};
  };
  const Result dry = flannelctl({"--dry-run"});
  EXPECT_EQ(dry.code, 0u) << dry.err;
  EXPECT_THAT(dry.out, AllOf(StartsWith("would stop service " + name_ + "\n"),
                             HasSubstr("would delete " + (folder_ / "subnet.env").string())));
  EXPECT_EQ(manager_->Query(name_)->state, State::kRunning);

  const Result done = flannelctl({});
  EXPECT_EQ(done.code, 0u) << done.err;
  EXPECT_THAT(done.out, AllOf(StartsWith("stopped service " + name_ + "\n"),
                              HasSubstr("foreign.log: flanneld did not write it\n"),
                              HasSubstr("deleted service " + name_ + " and its event source\n")));
  EXPECT_FALSE(manager_->Exists(name_));
  std::vector<std::string> left;
  for (const auto& each : fs::recursive_directory_iterator(folder_))
    left.push_back(fs::relative(each.path(), folder_).generic_string());
  std::ranges::sort(left);
  EXPECT_THAT(left, ::testing::ElementsAre("err", "foreign", "log", "log/foreign.log",
                                           "net-conf.json", "nodes.json", "out"));
  const std::vector<std::string> after = DumpServices(name_);
  EXPECT_THAT(Without(after, before), ::testing::IsEmpty());
  EXPECT_THAT(Without(before, after), ::testing::IsEmpty());
}

// What it waits for: the file of leases, the API server.
TEST_F(ServiceWindowsTest, ItRunsAndStopsWhileItWaits) {
  fs::remove(folder_ / "nodes.json");
  ASSERT_TRUE(Succeeded(Run("install", Words())));
  ASSERT_TRUE(Succeeded(Run("start"))) << Log();
  ASSERT_TRUE(Becomes([&] { return Log().find("put the file back") != std::string::npos; }));
  EXPECT_TRUE(Succeeded(Run("stop")));
  EXPECT_THAT(Log(), HasSubstr("exiting cleanly"));

  Write("kubeconfig",
        "clusters:\n- {name: c, cluster: {server: \"http://127.0.0.1:9\"}}\n"
        "users:\n- {name: u, user: {token: t}}\n"
        "contexts:\n- {name: x, context: {cluster: c, user: u}}\ncurrent-context: x\n");
  std::vector<std::string> words =
      Words({"--kube-subnet-mgr", "--kubeconfig-file=" + folder_.string() + "\\kubeconfig"});
  std::erase_if(words, [](const std::string& word) { return word.starts_with("--lease-source"); });
  ASSERT_TRUE(Succeeded(Run("install", words)));
  ASSERT_TRUE(Succeeded(Run("start"))) << Log();
  ASSERT_TRUE(Becomes([&] { return Log().find("127.0.0.1:9") != std::string::npos; })) << Log();
  EXPECT_TRUE(Succeeded(Run("stop"))) << Log();
  EXPECT_EQ(manager_->Query(name_)->error, 0u);
}

// The former subnet.env comes through a pipe, so that the start lasts until this test closes it.
TEST_F(ServiceWindowsTest, AStopDuringTheStartEndsItAfterTheStart) {
  const std::string path = R"(\\.\pipe\weft-test-env-)" + std::to_string(::GetCurrentProcessId());
  std::vector<HANDLE> pipes(8);
  for (HANDLE& pipe : pipes) {
    pipe = ::CreateNamedPipeW(Utf16(path).c_str(), PIPE_ACCESS_DUPLEX, PIPE_NOWAIT,
                              static_cast<DWORD>(pipes.size()), 4096, 4096, 0, nullptr);
    ASSERT_NE(pipe, INVALID_HANDLE_VALUE);
    ::ConnectNamedPipe(pipe, nullptr);
  }
  ASSERT_TRUE(Succeeded(Run("install", Words({"--subnet-file=" + path}))));
  ASSERT_TRUE(manager_->Start(name_).ok());
  EXPECT_EQ(manager_->Query(name_)->state, State::kStartPending);
  EXPECT_GE(manager_->Query(name_)->checkpoint, 1u);
  ASSERT_TRUE(manager_->Stop(name_).ok());
  ASSERT_TRUE(manager_->Stop(name_).ok()) << "and again";
  EXPECT_NE(manager_->Query(name_)->state, State::kRunning);
  for (const HANDLE pipe : pipes) ::CloseHandle(pipe);
  EXPECT_TRUE(Reaches(State::kStopped)) << Log();
  EXPECT_EQ(manager_->Query(name_)->error, 0u) << Log();
  EXPECT_THAT(Log(), AllOf(HasSubstr("stopping on the service manager's request"),
                           HasSubstr("exiting cleanly")));
}

TEST_F(ServiceWindowsTest, AWrongConfigurationIsReportedWithItsExitStatus) {
  Write("net-conf.json", "{");
  ASSERT_TRUE(Succeeded(Run("install", Words())));
  const Result started = Run("start");
  EXPECT_EQ(started.code, 1u);
  if (MissedByWine(started.err))
    weft::testing::PeerFailure("Wine looked for the service when it had ended: " + started.err);
  EXPECT_THAT(started.err, HasSubstr("ended at once, exit status 1"));
  EXPECT_THAT(Log(), HasSubstr("net-conf.json"));
}

// As `sc create` makes it: no flag is needed for flanneld to run as a service.
TEST_F(ServiceWindowsTest, AServiceMadeByHand) {
  Config config;
  config.command = "\"" + manager_->Words("\"" FLANNELD "\"")[0] + "\" --no-such-flag";
  config.start = StartType::kManual;
  config.display_name = name_;
  ASSERT_TRUE(manager_->Create(name_, config).ok());
  const absl::Status started = manager_->Start(name_);
  ASSERT_TRUE(started.ok() || MissedByWine(started.ToString())) << started;
  ASSERT_TRUE(Reaches(State::kStopped));
  EXPECT_EQ(manager_->Query(name_)->error, kServiceSpecific);
  EXPECT_EQ(manager_->Query(name_)->exit_status, 2u);
}

TEST_F(ServiceWindowsTest, AServiceOfAnotherProgramIsLeftAlone) {
  Config config;
  config.command = R"("C:\windows\system32\winedevice.exe" x)";
  config.start = StartType::kManual;
  config.display_name = name_;
  ASSERT_TRUE(manager_->Create(name_, config).ok());
  for (const char* const verb : {"install", "start", "stop", "uninstall"}) {
    const Result refused = verb == std::string("install") ? Run(verb, Words()) : Run(verb);
    EXPECT_EQ(refused.code, 1u) << verb;
    EXPECT_THAT(refused.err,
                HasSubstr(R"(belongs to another program: "C:\windows\system32\winede)"));
  }
  EXPECT_EQ(manager_->Read(name_)->command, config.command);
}

TEST_F(ServiceWindowsTest, WrongWords) {
  const Result relative = Run("install", {"--kubeconfig-file=kubeconfig"});
  EXPECT_EQ(relative.code, 2u);
  EXPECT_THAT(relative.err, HasSubstr("give the whole path"));
  EXPECT_FALSE(manager_->Exists(name_));
  EXPECT_EQ(Run("frobnicate").code, 2u);
  const Result help = Run("--help");
  EXPECT_EQ(help.code, 0u);
  EXPECT_THAT(help.out, StartsWith("usage: flanneld service install"));
}

// The program has every text of the table: else a viewer shows that a description is missing.
TEST_F(ServiceWindowsTest, TheProgramHasTheTextsOfTheEvents) {
  const HMODULE program =
      ::LoadLibraryExW(Utf16(FLANNELD).c_str(), nullptr, LOAD_LIBRARY_AS_DATAFILE);
  ASSERT_NE(program, nullptr) << ::GetLastError();
  for (const EventRow& row : EventTable()) {
    wchar_t text[512];
    wchar_t first[] = L"ONE", second[] = L"TWO";
    DWORD_PTR inserted[] = {reinterpret_cast<DWORD_PTR>(first),
                            reinterpret_cast<DWORD_PTR>(second)};
    const DWORD length = ::FormatMessageW(
        FORMAT_MESSAGE_FROM_HMODULE | FORMAT_MESSAGE_ARGUMENT_ARRAY, program, MessageId(row), 0,
        text, std::size(text), reinterpret_cast<va_list*>(inserted));
    ASSERT_NE(length, 0u) << row.name << " " << ::GetLastError();
    std::string expected(row.text);
    for (const auto& [place, word] : {std::pair{"%1", "ONE"}, std::pair{"%2", "TWO"}}) {
      if (const std::size_t at = expected.find(place); at != std::string::npos)
        expected.replace(at, 2, word);
    }
    EXPECT_EQ(Utf8(text), expected + "\r\n");
  }
  ::FreeLibrary(program);
}

}  // namespace
}  // namespace weft::service
