// SPDX-License-Identifier: Apache-2.0
// flannelctl wait, against a server whose status changes from one request to the next.
#include <optional>

#include "control/admin/admin_server.h"
#include "gmock/gmock.h"
#include "tests/control/admin/running_server.h"
#include "tests/control/admin/samples.h"
#include "tests/control/cli/call.h"

namespace weft::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

admin::Status With(std::vector<admin::Check> checks) {
  admin::Status status = admin::SampleStatus();
  status.ready = true;
  for (const admin::Check& check : checks) status.ready = status.ready && check.ok;
  status.checks = std::move(checks);
  return status;
}

// `before`, and from the third request on `after`.
struct ChangingState : admin::FakeState {
  admin::Status ReadStatus() override { return ++requests < 3 ? before : after; }
  admin::Status before, after;
  int requests = 0;
};

class WaitTest : public ::testing::Test {
 protected:
  Outcome Wait(std::vector<std::string> words) {
    words.insert(words.begin(), {"wait", "--admin", server_.endpoint()});
    return Call(std::move(words));
  }
  void Set(const admin::Status& before, const std::optional<admin::Status>& after = {}) {
    server_.Do([&](admin::HttpServer&) {
      state_.before = before;
      state_.after = after.value_or(before);
    });
  }
  ChangingState state_;
  admin::RunningServer server_{AdminHandler(state_)};
};

constexpr bool kOk = true, kFails = false;
const std::vector<admin::Check> kAll = {
    {"source", kOk, ""}, {"interface", kOk, "eth0"}, {"tunnels", kOk, "1 up"}, {"hns", kOk, ""},
    {"sinks", kOk, ""},  {"subnet-file", kOk, ""},   {"published", kOk, ""}};

TEST_F(WaitTest, EachStateNeedsItsChecks) {
  const struct {
    std::string_view failing;  // the check
    bool ready, network, cni;
  } rows[] = {
      {"", kOk, kOk, kOk},
      {"source", kFails, kOk, kOk},
      {"interface", kFails, kFails, kOk},
      {"tunnels", kFails, kFails, kOk},
      {"hns", kFails, kFails, kOk},
      {"sinks", kFails, kFails, kOk},
      {"subnet-file", kFails, kOk, kFails},
      {"published", kFails, kOk, kOk},
  };
  for (const auto& row : rows) {
    std::vector<admin::Check> checks = kAll;
    for (admin::Check& check : checks) {
      if (check.name == row.failing) check = {check.name, kFails, "not yet"};
    }
    Set(With(checks));
    for (const auto& [state, reached] :
         {std::pair("ready", row.ready), {"network", row.network}, {"cni", row.cni}}) {
      SCOPED_TRACE(std::string(row.failing) + " fails, --for=" + state);
      const Outcome outcome = Wait({std::string("--for=") + state, "--timeout=0s"});
      EXPECT_EQ(outcome.code, reached ? 0 : 1);
      EXPECT_EQ(outcome.out, reached ? std::string(state) + "\n" : "");
      const std::string missing = std::string("flannelctl wait: --for=") + state +
                                  " not reached within 0s: " + std::string(row.failing) +
                                  ": not yet\n";
      EXPECT_EQ(outcome.err, reached ? "" : missing);
    }
  }
}

TEST_F(WaitTest, WaitsUntilItIsReached) {
  std::vector<admin::Check> checks = kAll;
  checks[1] = {"interface", kFails, "not chosen yet"};
  Set(With(checks), With(kAll));
  const Outcome outcome = Wait({"--timeout=1m"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "ready\n");
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_EQ(state_.requests, 3) << "it ends with the first answer that is enough";
}

// While it waits for its own configuration.
TEST_F(WaitTest, AFlanneldWithoutTheseChecksHasReachedNothing) {
  admin::Status starting = With({{"source", kOk, ""}});
  starting.ready = false;
  Set(starting);
  for (const std::string state : {"ready", "network", "cni"})
    EXPECT_THAT(Wait({"--for=" + state, "--timeout=0s"}).err, HasSubstr("flanneld is starting"));
  starting.ready = true;
  Set(starting);
  EXPECT_EQ(Wait({"--for=network", "--timeout=0s"}).code, 1);
  Set(With({{"interface", kFails, ""}}));
  EXPECT_THAT(Wait({"--timeout=0s"}).err, ::testing::EndsWith("within 0s: interface\n"));
}

TEST_F(WaitTest, AFlanneldThatDoesNotRunIsWaitedFor) {
  const Outcome outcome = Call({"wait", "--admin", server_.endpoint() + ".not", "--timeout=250ms"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, StartsWith("flannelctl wait: --for=ready not reached within 250ms: "
                                      "flanneld does not answer"));
}

TEST_F(WaitTest, OneOfAnotherVersionEndsIt) {
  const admin::RawServer other("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  const Outcome outcome = Call({"wait", "--admin", other.endpoint(), "--timeout=1h"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("use the flannelctl of flanneld's version"));
}

TEST_F(WaitTest, WrongUsage) {
  for (const std::string word : {"--timeout=60", "--timeout=-1s", "--timeout=", "--timeout=soon",
                                 "--for=pods", "--for=", "now"}) {
    SCOPED_TRACE(word);
    const Outcome outcome = Wait({word});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, ::testing::Not(IsEmpty()));
  }
}

}  // namespace
}  // namespace weft::cli
