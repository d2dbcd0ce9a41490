// SPDX-License-Identifier: Apache-2.0
#include "control/service/service_verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/control/service/fake_service_manager.h"
#include "tests/support/manual_clock.h"

namespace weft::service {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kProgram[] = R"(C:\Program Files\weft\flanneld.exe)";

class ServiceVerbsTest : public ::testing::Test {
 protected:
  absl::Status DoInstall(std::vector<std::string> arguments = {"--ip-masq"},
                         StartType start = StartType::kAuto) {
    Command command;
    command.verb = Verb::kInstall;
    command.arguments = std::move(arguments);
    command.start = start;
    out_.str("");
    return Install(command, context_);
  }
  absl::Status Do(absl::Status (*verb)(const std::string&, VerbContext&)) {
    out_.str("");
    return verb("flanneld", context_);
  }
  FakeServiceManager::Entry& Installed() { return manager_.services.at("flanneld"); }
  // Of another program, under our name.
  void PutForeign() {
    FakeServiceManager::Entry entry;
    entry.config.command = R"("C:\k\nssm.exe" run)";
    manager_.services["flanneld"] = entry;
  }

  FakeServiceManager manager_;
  weft::testing::ManualClock clock_;
  std::ostringstream out_;
  VerbContext context_{manager_, kProgram, out_, clock_,
                       [this](control::Duration time) { clock_.Advance(time); }};
};

TEST_F(ServiceVerbsTest, InstallMakesAServiceThatRestartsAndDependsOnWhatExists) {
  manager_.services["hns"] = {};
  ASSERT_TRUE(DoInstall({"--node-name=a b"}, StartType::kDelayed).ok());
  const Config& config = Installed().config;
  EXPECT_EQ(config.command, R"("C:\Program Files\weft\flanneld.exe" "--node-name=a b")");
  EXPECT_EQ(config.start, StartType::kDelayed);
  EXPECT_THAT(config.dependencies, ElementsAre("hns"));
  EXPECT_EQ(config.account, "LocalSystem");
  EXPECT_THAT(config.description, HasSubstr("Kubernetes"));
  using std::chrono::seconds;
  const Recovery expected{{seconds(5), seconds(10), seconds(60)}, seconds(86400), true};
  EXPECT_EQ(config.recovery, expected);
  EXPECT_EQ(manager_.sources.at("flanneld"), kProgram);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("service flanneld installed: \"C:\\Program"),
                                HasSubstr("start it: flanneld service start\n")));
  ASSERT_TRUE(DoInstall({}).ok());
  EXPECT_EQ(Installed().config.command, R"("C:\Program Files\weft\flanneld.exe")");
}

TEST_F(ServiceVerbsTest, ContainerdIsADependencyWhereItExists) {
  manager_.services["hns"] = manager_.services["containerd"] = {};
  ASSERT_TRUE(DoInstall().ok());
  EXPECT_THAT(Installed().config.dependencies, ElementsAre("hns", "containerd"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("hns")));
}

TEST_F(ServiceVerbsTest, WithoutHnsInstallSaysWhatIsMissing) {
  ASSERT_TRUE(DoInstall().ok());
  EXPECT_THAT(Installed().config.dependencies, IsEmpty());
  EXPECT_THAT(out_.str(), HasSubstr("no service hns: enable Windows' feature Containers"));
}

TEST_F(ServiceVerbsTest, InstallAgainChangesNothing) {
  ASSERT_TRUE(DoInstall().ok());
  manager_.calls.clear();
  ASSERT_TRUE(DoInstall().ok());
  EXPECT_THAT(manager_.calls, IsEmpty());
  EXPECT_EQ(out_.str(),
            "service flanneld is installed like this already\n"
            "this system has no service hns: enable Windows' feature Containers\n"
            "start it: flanneld service start\n");
}

TEST_F(ServiceVerbsTest, InstallWithOtherWordsChangesInPlaceAndSaysWhat) {
  ASSERT_TRUE(DoInstall().ok());
  Installed().status = {.state = State::kRunning, .process = 7};
  manager_.calls.clear();
  ASSERT_TRUE(DoInstall({"-v=1"}, StartType::kManual).ok());
  EXPECT_THAT(manager_.calls, ElementsAre("change flanneld"));
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("command: \"C:\\Program Files\\weft\\flanneld.exe\" "
                                          "--ip-masq -> \"C:\\Program Files\\weft\\flanneld.exe\" "
                                          "-v=1\n"),
                                HasSubstr("start: auto -> manual\n"),
                                HasSubstr("it still runs with its former settings")));
}

TEST_F(ServiceVerbsTest, RecoveryThatTheManagerDoesNotKeepIsReportedOnceAndIsNoDifference) {
  manager_.keeps_recovery = false;
  ASSERT_TRUE(DoInstall().ok());
  EXPECT_THAT(out_.str(), HasSubstr("does not keep the recovery actions"));
  ASSERT_TRUE(DoInstall().ok());
  EXPECT_THAT(out_.str(), HasSubstr("like this already"));
  for (const bool kept : {false, true}) {
    manager_.keeps_recovery = kept;
    Installed().config.recovery = Recovery{};
    EXPECT_FALSE(Do(&PrintStatus).ok());
    EXPECT_THAT(out_.str(), HasSubstr("  recovery:     none\n")) << kept;
  }
}

TEST_F(ServiceVerbsTest, AnAccountThatAnAdministratorChoseStays) {
  ASSERT_TRUE(DoInstall().ok());
  Installed().config.account = R"(.\weft)";
  ASSERT_TRUE(DoInstall({"-v=1"}).ok());
  EXPECT_EQ(Installed().config.account, R"(.\weft)");
  EXPECT_THAT(out_.str(), HasSubstr(R"(it runs as .\weft, not as LocalSystem)"));
}

TEST_F(ServiceVerbsTest, TheProgramsPathIsComparedAsWindowsDoes) {
  ASSERT_TRUE(DoInstall().ok());
  Installed().config.command = R"("c:/program files/WEFT/flanneld.exe" --ip-masq)";
  EXPECT_TRUE(DoInstall().ok());
}

// Every verb that acts; nothing is changed.
TEST_F(ServiceVerbsTest, AServiceOfAnotherProgramIsRefusedByName) {
  for (auto* const verb : {&Uninstall, &Start, &Stop}) {
    PutForeign();
    const absl::Status status = Do(verb);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("service flanneld belongs to another program: "
                                                  "\"C:\\k\\nssm.exe\" run"),
                                        HasSubstr("--service-name")));
  }
  EXPECT_THAT(DoInstall().message(), HasSubstr("belongs to another program"));
  EXPECT_THAT(manager_.calls, IsEmpty());
}

TEST_F(ServiceVerbsTest, AnUnquotedPathWithBlanksIsAnotherProgram) {
  PutForeign();
  for (const std::string& command : {std::string(kProgram) + " --ip-masq", std::string()}) {
    Installed().config.command = command;
    EXPECT_THAT(DoInstall().message(), HasSubstr("belongs to another program")) << command;
  }
}

TEST_F(ServiceVerbsTest, AForeignEventSourceStays) {
  manager_.sources["flanneld"] = R"(C:\other.dll)";
  ASSERT_TRUE(DoInstall().ok());
  EXPECT_THAT(out_.str(), HasSubstr(R"(event source flanneld belongs to C:\other.dll)"));
  ASSERT_TRUE(Do(&Uninstall).ok());
  EXPECT_EQ(manager_.sources.at("flanneld"), R"(C:\other.dll)");
}

TEST_F(ServiceVerbsTest, UninstallStopsFirstAndLeavesNothing) {
  ASSERT_TRUE(DoInstall().ok());
  Installed().status = {.state = State::kRunning, .process = 7};
  manager_.after_stop = {{.state = State::kStopPending}, {.state = State::kStopPending}, {}};
  manager_.calls.clear();
  ASSERT_TRUE(Do(&Uninstall).ok());
  EXPECT_THAT(manager_.calls,
              ElementsAre("stop flanneld", "delete flanneld", "no source flanneld"));
  EXPECT_THAT(manager_.services, IsEmpty());
  EXPECT_THAT(manager_.sources, IsEmpty());
  EXPECT_EQ(Do(&Uninstall).message(), "service flanneld is not installed");
}

TEST_F(ServiceVerbsTest, AStopWaitsForAServiceThatStarts) {
  ASSERT_TRUE(DoInstall().ok());
  Installed().next = {{.state = State::kStartPending},
                      {.state = State::kStartPending},
                      {.state = State::kRunning, .process = 7}};
  ASSERT_TRUE(Do(&Stop).ok());
  EXPECT_EQ(out_.str(), "service flanneld stopped\n");
}

TEST_F(ServiceVerbsTest, AStopDuringAStopWaitsWithoutAnother) {
  ASSERT_TRUE(DoInstall().ok());
  Installed().next = {{.state = State::kStopPending}, {.state = State::kStopPending}, {}};
  manager_.calls.clear();
  ASSERT_TRUE(Do(&Stop).ok());
  EXPECT_THAT(manager_.calls, IsEmpty());
}

TEST_F(ServiceVerbsTest, AStopOfAStoppedServiceIsDone) {
  ASSERT_TRUE(DoInstall().ok());
  ASSERT_TRUE(Do(&Stop).ok());
  EXPECT_EQ(out_.str(), "service flanneld was stopped already\n");
}

TEST_F(ServiceVerbsTest, AStopIsBoundedAndNamesTheProcess) {
  for (const State state : {State::kRunning, State::kStartPending, State::kStopPending}) {
    manager_.services.clear();
    ASSERT_TRUE(DoInstall().ok());
    Installed().status = {.state = state, .process = 4711};
    manager_.after_stop = {{.state = State::kStopPending, .process = 4711}};
    const control::TimePoint begin = clock_.Now();
    const absl::Status status = Do(&Uninstall);
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("after 30 s"), HasSubstr("taskkill /f /pid 4711")));
    EXPECT_LT(clock_.Now() - begin, std::chrono::seconds(31));
    EXPECT_TRUE(manager_.services.contains("flanneld")) << "it is not removed while it runs";
  }
}

TEST_F(ServiceVerbsTest, DependentsAreNamed) {
  ASSERT_TRUE(DoInstall().ok());
  Installed().status = {.state = State::kRunning, .process = 7};
  manager_.dependents = {"kube-proxy", "kubelet"};
  EXPECT_EQ(Do(&Stop).message(),
            "service flanneld is needed by kube-proxy, kubelet; stop that first");
}

TEST_F(ServiceVerbsTest, StartWaitsUntilItRuns) {
  ASSERT_TRUE(DoInstall().ok());
  manager_.after_start = {{.state = State::kStartPending, .process = 7},
                          {.state = State::kRunning, .process = 7}};
  ASSERT_TRUE(Do(&Start).ok());
  EXPECT_EQ(out_.str(), "service flanneld runs, process 7\n");
  ASSERT_TRUE(Do(&Start).ok());
  EXPECT_EQ(out_.str(), "service flanneld runs already, process 7\n");
}

TEST_F(ServiceVerbsTest, AServiceThatEndsAtOnceIsReportedWithItsExitStatus) {
  ASSERT_TRUE(DoInstall().ok());
  manager_.after_start = {{.state = State::kStartPending},
                          {.state = State::kStopped, .error = kServiceSpecific, .exit_status = 2}};
  EXPECT_THAT(Do(&Start).message(),
              AllOf(HasSubstr("ended at once, exit status 2"), HasSubstr("event log")));
  EXPECT_THAT(Do(&PrintStatus).message(), HasSubstr("does not run"));
  EXPECT_THAT(out_.str(), HasSubstr("stopped, last run ended with exit status 2"));
}

TEST_F(ServiceVerbsTest, AStartIsBounded) {
  ASSERT_TRUE(DoInstall().ok());
  manager_.after_start = {{.state = State::kStartPending, .process = 7}};
  EXPECT_THAT(Do(&Start).message(), HasSubstr("is still starting after 60 s, process 7"));
}

TEST_F(ServiceVerbsTest, StatusShowsStateAndSettings) {
  ASSERT_TRUE(DoInstall().ok());
  EXPECT_EQ(Do(&PrintStatus).message(), "service flanneld does not run");
  EXPECT_THAT(out_.str(), ::testing::StartsWith("service flanneld: stopped\n"));
  Installed().status = {.state = State::kRunning, .process = 7, .error = 1077};
  EXPECT_TRUE(Do(&PrintStatus).ok());
  EXPECT_EQ(out_.str(),
            "service flanneld: running, process 7\n"
            "  command:      \"C:\\Program Files\\weft\\flanneld.exe\" --ip-masq\n"
            "  start:        auto\n"
            "  account:      LocalSystem\n"
            "  depends on:   none\n"
            "  recovery:     restart after 5 s, 10 s, 60 s, also after an exit with an error; "
            "counted anew after 86400 s\n"
            "  event source: C:\\Program Files\\weft\\flanneld.exe\n");
}

TEST_F(ServiceVerbsTest, WhatIsNotInstalledIsSaidSo) {
  for (auto* const verb : {&Start, &Stop, &PrintStatus})
    EXPECT_THAT(Do(verb).message(), AllOf(HasSubstr("service flanneld is not installed"),
                                          HasSubstr("flanneld service install")));
}

TEST_F(ServiceVerbsTest, NotAnAdministrator) {
  manager_.failure = absl::PermissionDeniedError("this needs an administrator");
  EXPECT_THAT(DoInstall().message(), HasSubstr("service flanneld: this needs an administrator"));
  manager_.failure = absl::OkStatus();
  ASSERT_TRUE(DoInstall().ok());
  manager_.failure = absl::PermissionDeniedError("this needs an administrator");
  EXPECT_EQ(Do(&Uninstall).message(), "service flanneld: this needs an administrator");
}

TEST_F(ServiceVerbsTest, AServiceThatCannotBeReadIsNamed) {
  ASSERT_TRUE(DoInstall().ok());
  for (absl::Status* const refusal : {&manager_.unread, &manager_.unqueried}) {
    *refusal = absl::PermissionDeniedError("access is denied");
    for (auto* const verb : {&Uninstall, &Start, &Stop, &PrintStatus})
      EXPECT_EQ(Do(verb).message(), "service flanneld: access is denied");
    EXPECT_EQ(DoInstall().ok(), manager_.unread.ok()) << "it needs no state";
    *refusal = absl::OkStatus();
  }
}

TEST_F(ServiceVerbsTest, AServiceThatIsDeletedAlreadyLeavesItsEventSourceToBeRemoved) {
  ASSERT_TRUE(DoInstall().ok());
  for (const absl::StatusCode code :
       {absl::StatusCode::kNotFound, absl::StatusCode::kFailedPrecondition}) {
    manager_.failure = {code, "gone"};
    EXPECT_EQ(Do(&Uninstall).message(), "event source flanneld: gone");
  }
}

TEST_F(ServiceVerbsTest, AServiceThatAnotherProgramHoldsOpenIsMarkedForDeletion) {
  ASSERT_TRUE(DoInstall().ok());
  manager_.held_open = true;
  for (int run = 0; run < 2; ++run)
    EXPECT_THAT(Do(&Uninstall).message(),
                AllOf(HasSubstr("marked for deletion"), HasSubstr("close the Services console")));
  EXPECT_THAT(manager_.sources, IsEmpty());
  EXPECT_THAT(DoInstall({"-v=1"}).message(), HasSubstr("marked for deletion"));
}

// Killed before each change in turn: a second run completes.
TEST_F(ServiceVerbsTest, AnInstallThatWasKilledIsCompletedByAnother) {
  for (int step = 0;; ++step) {
    manager_.services.clear();
    manager_.sources.clear();
    manager_.changes = 0;
    manager_.die_at = step;
    const absl::Status status = DoInstall();
    const bool complete = status.ok();
    if (step == 0) EXPECT_EQ(status.message(), "service flanneld: killed at create flanneld");
    manager_.die_at = -1;
    ASSERT_TRUE(DoInstall().ok()) << step;
    EXPECT_THAT(Installed().config.description, HasSubstr("Kubernetes")) << step;
    EXPECT_EQ(Installed().config.recovery->restarts.size(), 3u) << step;
    EXPECT_EQ(manager_.sources.at("flanneld"), kProgram) << step;
    if (!complete) continue;
    EXPECT_EQ(step, 3);
    break;
  }
}

TEST_F(ServiceVerbsTest, AnUninstallThatWasKilledIsCompletedByAnother) {
  for (int step = 0;; ++step) {
    manager_.services.clear();
    manager_.sources.clear();
    ASSERT_TRUE(DoInstall().ok());
    Installed().status = {.state = State::kRunning, .process = 7};
    manager_.changes = 0;
    manager_.die_at = step;
    const bool complete = Do(&Uninstall).ok();
    manager_.die_at = -1;
    if (!complete) EXPECT_TRUE(Do(&Uninstall).ok()) << step;
    EXPECT_THAT(manager_.services, IsEmpty()) << step;
    EXPECT_THAT(manager_.sources, IsEmpty()) << step;
    if (!complete) continue;
    EXPECT_EQ(step, 3);
    break;
  }
}

}  // namespace
}  // namespace weft::service
