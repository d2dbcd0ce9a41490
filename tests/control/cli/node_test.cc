// SPDX-License-Identifier: Apache-2.0
// flannelctl node leave, against a server that has its answers from the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/admin/admin_server.h"
#include "control/ledger/ledger.h"
#include "control/process_lock.h"
#include "tests/control/admin/running_server.h"
#include "tests/control/admin/samples.h"
#include "tests/control/cli/call.h"
#include "tests/support/scripted_server.h"

namespace weft::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kJoined[] =
    R"({"metadata":{"annotations":{"flannel.alpha.coreos.com/public-ip":"192.0.2.1",
        "flannel.alpha.coreos.com/public-ip-overwrite":"192.0.2.2"}}})";
constexpr char kHasLeft[] = R"({"metadata":{"annotations":{}}})";

class NodeTest : public ::testing::Test {
 protected:
  void TearDown() override { Stop(); }

  void Answer(int status, const std::string& body) {
    server_.Answer({absl::StrCat("HTTP/1.1 ", status,
                                 " X\r\nContent-Type: application/json\r\nContent-Length: ",
                                 body.size(), "\r\n\r\n", body)});
  }
  Outcome Leave(std::vector<std::string> words = {}) {
    words.insert(words.begin(),
                 {"node", "leave", absl::StrCat("--kube-api-url=http://127.0.0.1:", server_.port()),
                  "--state-dir=" + folder_.path().string()});
    if (words.back() != "--no-name") {
      words.emplace_back("--node-name=win1");
    } else {
      words.pop_back();
    }
    bool checked = false;
    for (const std::string& word : words) checked = checked || word.starts_with("--admin");
    if (!checked) words.emplace_back("--admin=none");
    thread_ = std::thread([this] { io_.run(); });
    Outcome outcome = Call(std::move(words));
    Stop();
    return outcome;
  }
  // Valid once Leave returned.
  const std::vector<std::string>& requests() const { return server_.requests(); }

 private:
  void Stop() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
    io_.restart();
  }

 protected:
  admin::TemporaryFolder folder_;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  weft::testing::ScriptedServer server_{io_, {}};

 private:
  std::thread thread_;
};

TEST_F(NodeTest, LeavesAndSaysWhatItRemoved) {
  Answer(200, kJoined);
  Answer(200, R"({"items":[]})");
  Answer(200, kHasLeft);
  Answer(200, kHasLeft);
  const Outcome outcome = Leave();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "removed flannel.alpha.coreos.com/public-ip from Node win1\n");
  ASSERT_EQ(requests().size(), 4u);
  EXPECT_THAT(requests()[2], AllOf(StartsWith("PATCH /api/v1/nodes/win1/status HTTP/1.1"),
                                   HasSubstr(R"({"flannel.alpha.coreos.com/public-ip":null})")));
}

TEST_F(NodeTest, ADryRunSendsNothingButReads) {
  Answer(200, kJoined);
  Answer(200, R"({"items":[]})");
  const Outcome outcome = Leave({"--dry-run"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "would remove flannel.alpha.coreos.com/public-ip from Node win1\n");
  ASSERT_EQ(requests().size(), 2u);
  for (const std::string& request : requests()) EXPECT_THAT(request, StartsWith("GET "));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(NodeTest, NothingToDoIsASuccess) {
  Answer(404, R"({"kind":"Status","message":"nodes \"win1\" not found"})");
  Outcome outcome = Leave();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "nothing to do: there is no Node win1\n");
  Answer(404, R"({"kind":"Status","message":"nodes \"WIN1\" not found"})");
  outcome = Leave({"--node-name=WIN1", "--no-name"});
  EXPECT_EQ(outcome.code, 2) << "win1 may still be there";
  EXPECT_THAT(outcome.err, HasSubstr("names of Nodes have no capitals; give --node-name=win1"));
  for (const char* const name : {"win1", "WIN1"}) {
    Answer(200, kHasLeft);
    outcome = Leave({absl::StrCat("--node-name=", name), "--no-name"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              absl::StrCat("nothing to do: Node ", name, " has no annotation of flannel's\n"));
  }
}

TEST_F(NodeTest, RunningPodsAreNamed) {
  Answer(200, kJoined);
  Answer(200, R"({"items":[{"metadata":{"namespace":"shop","name":"web"}}]})");
  const Outcome outcome = Leave();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(StartsWith("flannelctl node leave: node \"win1\": 1 pod would"),
                                 HasSubstr("shop/web")));
  EXPECT_EQ(requests().size(), 2u);
}

TEST_F(NodeTest, AFlanneldOfThisNodeRefusesIt) {
  struct : admin::FakeState {
    admin::Status ReadStatus() override {
      admin::Status sample = admin::SampleStatus();
      sample.node = node;
      return sample;
    }
    std::string node = "win1";
  } state;
  const admin::RunningServer daemon{AdminHandler(state)};
  const std::string at = "--admin=" + daemon.endpoint();
  const Outcome refused = Leave({at});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("flanneld runs (process "),
                                 HasSubstr("and would publish them again: stop it first")));
  EXPECT_THAT(requests(), IsEmpty());

  state.node = "linux-1";  // where the command is run
  for (const std::string& each : {at, "--admin=" + folder_.Endpoint("none")}) {
    Answer(200, kHasLeft);
    EXPECT_EQ(Leave({each}).code, 0) << each;
  }

  const admin::RawServer other("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_THAT(Leave({"--admin=" + other.endpoint(), "--timeout=100ms"}).err,
              HasSubstr(" returned a document that this flannelctl cannot read"));
}

TEST_F(NodeTest, AFlanneldWithoutAnEndpointIsKnownByItsLock) {
  const auto lock = control::ProcessLock::TryTake(ledger::LedgerLockPath(folder_.path().string()));
  ASSERT_TRUE(lock.ok()) << lock.status();
  const Outcome refused = Leave();
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("flanneld runs ("));
  EXPECT_THAT(requests(), IsEmpty());
}

TEST_F(NodeTest, FlagsThatFlanneldRefusesAreNamed) {
  EXPECT_THAT(Leave({"--kube-annotation-prefix=!"}).err, HasSubstr("annotation prefix \"!\" is "));
  EXPECT_THAT(Leave({"--kubeconfig-file=" + (folder_.path() / "none").string()}).err,
              HasSubstr((folder_.path() / "none").string()));
  EXPECT_THAT(Leave({"--node-name=a/b", "--no-name"}).err,
              HasSubstr("the node's name (--node-name"));
}

TEST_F(NodeTest, NeedsAName) {
  const Outcome outcome = Leave({"--no-name"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("name is not known"));
}

TEST_F(NodeTest, AServerThatDoesNotAnswerEndsAtTheTimeout) {
  for (int i = 0; i < 3; ++i) Answer(503, "");
  const Outcome outcome = Leave({"--timeout=100ms"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("answers 503"), HasSubstr("; not done within 100ms: run it again")));
  EXPECT_THAT(Leave({"--timeout=0s"}).err, HasSubstr("is not a duration"));
}

}  // namespace
}  // namespace weft::cli
