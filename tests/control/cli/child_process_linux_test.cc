// SPDX-License-Identifier: Apache-2.0
// The program itself, as a shell runs it: separate streams, exit codes, a watch that continues.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "control/admin/admin_server.h"
#include "gmock/gmock.h"
#include "tests/control/admin/running_server.h"
#include "tests/control/admin/samples.h"
#include "tests/control/cli/call.h"

namespace weft::cli {
namespace {

using admin::AdminHandler;
using admin::FakeState;
using admin::HttpServer;
using admin::RunningServer;
using admin::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A running flannelctl whose output is read line by line. Its standard error is a file.
class Child {
 public:
  explicit Child(const std::string& arguments)
      : stderr_path_((folder_.path() / "stderr").string()),
        out_(::popen(
            (std::string("exec ") + WEFT_FLANNELCTL + " " + arguments + " 2>" + stderr_path_)
                .c_str(),
            "re")) {}
  ~Child() {
    if (out_ != nullptr) ::pclose(out_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // With its line end; empty at the end.
  std::string Line() {
    std::string line;
    for (int c = std::fgetc(out_); c != EOF; c = std::fgetc(out_)) {
      line += static_cast<char>(c);
      if (c == '\n') break;
    }
    return line;
  }
  std::string Rest() {
    std::string all;
    for (std::string line = Line(); !line.empty(); line = Line()) all += line;
    return all;
  }
  int Wait() {
    const int status = ::pclose(std::exchange(out_, nullptr));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  std::string Errors() const {
    std::ifstream file(stderr_path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  TemporaryFolder folder_;
  std::string stderr_path_;
  std::FILE* out_;
};

class ChildProcessTest : public ::testing::Test {
 protected:
  std::string Admin() const { return " --admin " + server_.endpoint() + " "; }
  void ChangeLeases(const std::function<void(admin::LeaseList&)>& change) {
    server_.Do([&](HttpServer& server) {
      change(state_.leases);
      ++state_.leases.generation;
      server.Wake();
    });
  }
  FakeState state_;
  RunningServer server_{AdminHandler(state_)};
};

TEST_F(ChildProcessTest, PrintsWhatTheFunctionPrints) {
  for (const char* verb : {"status", "leases", "leases -o json", "leases -o yaml"}) {
    Child child(verb + Admin());
    std::istringstream words(verb + Admin());
    const Outcome desired = Call({std::istream_iterator<std::string>(words), {}});
    EXPECT_EQ(child.Rest(), desired.out) << verb;
    EXPECT_EQ(child.Wait(), desired.code) << verb;
    EXPECT_THAT(child.Errors(), IsEmpty()) << verb;
  }
}

TEST_F(ChildProcessTest, ExitCodes) {
  server_.Do([&](HttpServer&) { state_.status = admin::DegradedStatus(); });
  Child degraded("status" + Admin());
  EXPECT_THAT(degraded.Rest(), HasSubstr("NOT READY"));
  EXPECT_EQ(degraded.Wait(), 1);
  Child down("status --admin /nonexistent/weft.sock");
  EXPECT_THAT(down.Rest(), IsEmpty());
  EXPECT_EQ(down.Wait(), 2);
  EXPECT_THAT(down.Errors(), HasSubstr("/nonexistent/weft.sock"));
  Child here("hns list");
  EXPECT_THAT(here.Rest(), IsEmpty());
  EXPECT_EQ(here.Wait(), 2);
  EXPECT_THAT(here.Errors(), HasSubstr("flannelctl hns list: "));
  Child usage("sttus");
  EXPECT_EQ(usage.Wait(), 2);
  EXPECT_THAT(usage.Errors(), HasSubstr("did you mean \"status\"?"));
}

TEST_F(ChildProcessTest, AWatchPrintsChangesUntilTheDaemonEnds) {
  Child child("leases --watch" + Admin());
  for (int i = 0; i < 8; ++i) EXPECT_THAT(child.Line(), ::testing::Not(IsEmpty()));
  ChangeLeases([](admin::LeaseList& list) { list.leases[1].v4->state = "usable"; });
  EXPECT_THAT(child.Line(), ::testing::MatchesRegex("linux-2 .* usable\n"));
  ChangeLeases([](admin::LeaseList& list) { list.leases.erase(list.leases.begin() + 1); });
  EXPECT_THAT(child.Line(), ::testing::MatchesRegex("linux-2 .* deleted\n"));
  server_.Do([](HttpServer& server) { server.Close(); });
  EXPECT_THAT(child.Rest(), IsEmpty());
  EXPECT_EQ(child.Wait(), 2);
  EXPECT_THAT(child.Errors(), HasSubstr("flanneld does not answer"));
}

TEST_F(ChildProcessTest, AWatchOfAFilePrintsChanges) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "nodes.json";
  std::ofstream(path) << SampleNodes();
  const auto pid_path = (folder.path() / "pid").string();
  // The shell prints its process id, which is flannelctl's after exec.
  Child child("leases --no-headers --watch --node-name win-1 --from " + path.string() +
              " & echo $! >" + pid_path + "; wait");
  for (int i = 0; i < 5; ++i) EXPECT_THAT(child.Line(), ::testing::Not(IsEmpty()));
  std::string nodes = SampleNodes();
  nodes.replace(nodes.find("10.244.1.0/24"), 13, "10.244.9.0/24");
  nodes.replace(nodes.find("10.244.1.0/24"), 13, "10.244.9.0/24");
  std::ofstream(folder.path() / "new") << nodes;
  std::filesystem::rename(folder.path() / "new", path);
  EXPECT_THAT(child.Line(), ::testing::MatchesRegex("linux-1 .*10\\.244\\.9\\.0/24 .* usable\n"));
  pid_t pid = 0;
  std::ifstream(pid_path) >> pid;
  ASSERT_GT(pid, 1);
  ::kill(pid, SIGTERM);
}

TEST_F(ChildProcessTest, AnEmulatorKeepsItsNodeInAFileThatIsNamed) {
  const TemporaryFolder folder;
  const std::string socket = folder.Endpoint("hns.sock"),
                    state = (folder.path() / "node.json").string(),
                    pid_path = (folder.path() / "pid").string();
  for (const std::string& option : {std::string(), " --state " + state}) {
    Child child("hns emulate --listen " + socket + option + " & echo $! >" + pid_path + "; wait");
    EXPECT_EQ(child.Line(), "listening on " + socket + "\n");
    EXPECT_EQ(Call({"hns", "list", "--hns=emulator:" + socket}).code, 0);
    EXPECT_EQ(std::filesystem::exists(state), !option.empty());
    pid_t pid = 0;
    std::ifstream(pid_path) >> pid;
    ASSERT_GT(pid, 1);
    ::kill(pid, SIGTERM);
  }
}

// Linux paths are bytes; JSON and YAML are UTF-8.
TEST_F(ChildProcessTest, APathThatIsNotUtf8IsShownAsWellAsItCan) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "n\xff.json").string();
  std::ofstream(path) << R"({"kind": "List", "items": []})";
  for (const char* form : {"json", "yaml", "table", "name"}) {
    Child child("leases -o " + std::string(form) + " --from " + path);
    const std::string out = child.Rest();
    EXPECT_EQ(child.Wait(), 0) << form;
    EXPECT_THAT(child.Errors(), IsEmpty()) << form;
    EXPECT_THAT(out, ::testing::Not(HasSubstr("\xff"))) << form;
  }
}

TEST_F(ChildProcessTest, AFullDiskIsAnError) {
  Child child("leases" + Admin() + ">/dev/full");
  EXPECT_THAT(child.Rest(), IsEmpty());
  EXPECT_EQ(child.Wait(), 2);
  EXPECT_THAT(child.Errors(), HasSubstr("cannot write to standard output"));
}

}  // namespace
}  // namespace weft::cli
