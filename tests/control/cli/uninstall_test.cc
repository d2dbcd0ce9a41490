// SPDX-License-Identifier: Apache-2.0
// flannelctl uninstall, with a service manager in memory.
#include "control/cli/uninstall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/process_lock.h"
#include "tests/control/cli/call.h"
#include "tests/control/cli/installed_node.h"
#include "tests/control/service/fake_service_manager.h"
#include "tests/support/manual_clock.h"

namespace weft::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kProgram[] = R"(C:\weft\flanneld.exe)";

class UninstallTest : public ::testing::Test {
 protected:
  void SetUp() override { InstallService(); }

  // As `flanneld service install` made it; it runs.
  void InstallService(const std::string& program = kProgram) {
    service::FakeServiceManager::Entry entry;
    entry.config.command = absl::StrCat("\"", program, "\"");
    for (const std::string& flag : node_.Flags())
      absl::StrAppend(&entry.config.command, " \"", flag, "\"");
    entry.status = {.state = service::State::kRunning, .process = 7};
    manager_->services["flanneld"] = entry;
    manager_->services["foreign"] = {};
    manager_->sources = {{"flanneld", program}, {"foreign", "x"}};
  }
  Outcome Uninstall(const UninstallOptions& given = {}) {
    UninstallOptions options = given;
    options.hns = node_.hns();
    options.admin = "none";
    std::istringstream in;
    std::ostringstream out, err;
    Io io{in, out, err};
    const ExitCode code = RunUninstall(
        options, {service_, clock_, [this](control::Duration time) { clock_.Advance(time); }}, io);
    return {static_cast<int>(code), out.str(), err.str()};
  }
  // For when the service, whose flags name them, is gone: else they are this machine's own.
  UninstallOptions Folders() {
    UninstallOptions options;
    options.files = {node_.At("run/subnet.env"), "", node_.At("vip.json"), node_.At("log"),
                     node_.At("state"),          {}};
    options.source_vip_store = node_.At("store");
    return options;
  }
  void ExpectGone() {
    EXPECT_THAT(node_.State(), ElementsAreArray(InstalledNode::Left()));
    EXPECT_FALSE(manager_->services.contains("flanneld"));
    EXPECT_TRUE(manager_->services.contains("foreign"));
    EXPECT_THAT(manager_->sources, ElementsAre(::testing::Pair("foreign", "x")));
  }
  void ExpectUntouched(const std::vector<std::string>& before) {
    EXPECT_EQ(node_.State(), before);
    EXPECT_THAT(manager_->calls, IsEmpty());
  }

  InstalledNode node_;
  weft::testing::ManualClock clock_;
  service::FakeServiceManager* manager_ = new service::FakeServiceManager;
  OwnService service_{std::unique_ptr<service::ServiceManager>(manager_), kProgram, ""};
};

TEST_F(UninstallTest, RemovesWhatFlanneldMadeWhereItsServiceSays) {
  const Outcome outcome = Uninstall();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  ExpectGone();
  EXPECT_THAT(outcome.out, ::testing::StartsWith("stopped service flanneld\ndeleted "));
  EXPECT_THAT(outcome.out, HasSubstr("left " + node_.At("log/foreign.log")));
  EXPECT_THAT(outcome.out, ::testing::EndsWith("deleted service flanneld and its event source\n"));
  EXPECT_THAT(manager_->calls,
              ElementsAre("stop flanneld", "delete flanneld", "no source flanneld"));
}

TEST_F(UninstallTest, ASecondRunHasNothingToDo) {
  ASSERT_EQ(Uninstall().code, 0);
  const Outcome outcome = Uninstall(Folders());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "left " + node_.At("log/foreign.log") + ": flanneld did not write it\nnothing to do\n");
  ExpectGone();
}

TEST_F(UninstallTest, ADryRunChangesNothingAndNamesWhatARunDoes) {
  const std::vector<std::string> before = node_.State();
  UninstallOptions options;
  options.undo.dry_run = true;
  const Outcome outcome = Uninstall(options);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  ExpectUntouched(before);
  EXPECT_THAT(outcome.out,
              AllOf(::testing::StartsWith("would stop service flanneld\n"),
                    HasSubstr("would delete " + node_.At("net.d/10-flannel.conf") + "\n"),
                    HasSubstr("would delete network flannel.4096"),
                    ::testing::EndsWith("would delete service flanneld\n")));
}

// Killed before each of the service manager's changes; uninstall_linux_test has the others.
TEST_F(UninstallTest, ASecondRunCompletesOneThatWasKilledAtTheServiceManager) {
  for (int killed_at = 0; killed_at < 3; ++killed_at) {
    node_.Sow();
    InstallService();
    manager_->changes = 0;
    manager_->die_at = killed_at;
    EXPECT_NE(Uninstall().code, 0) << killed_at;
    manager_->die_at = -1;
    const Outcome second = Uninstall(Folders());
    EXPECT_EQ(second.code, 0) << killed_at << second.err;
    if (killed_at < 2) ExpectGone();
    EXPECT_THAT(manager_->sources, ElementsAre(::testing::Pair("foreign", "x"))) << killed_at;
  }
}

TEST_F(UninstallTest, PodsRefuseItBeforeTheServiceIsStopped) {
  node_.StartPod("pod-a");
  const std::vector<std::string> before = node_.State();
  const Outcome outcome = Uninstall();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("1 pod runs in what would be deleted (pod-a)"));
  ExpectUntouched(before);
  UninstallOptions options;
  options.undo.dry_run = true;
  EXPECT_EQ(Uninstall(options).code, 1);
  options.undo.dry_run = false;
  options.undo.force = true;
  EXPECT_EQ(Uninstall(options).code, 0);
  ExpectGone();
}

TEST_F(UninstallTest, AServiceOfAnotherProgramRefusesIt) {
  InstallService(R"(C:\k\nssm.exe)");
  const std::vector<std::string> before = node_.State();
  const Outcome outcome = Uninstall();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("service flanneld belongs to another program: "));
  ExpectUntouched(before);
}

// Upstream's DaemonSet next to the service, or one that was started by hand.
TEST_F(UninstallTest, AFlanneldThatTheServiceDoesNotRunRefusesIt) {
  manager_->services.at("flanneld").status = {.state = service::State::kStopped};
  const auto lock = control::ProcessLock::TryTake(ledger::LedgerLockPath(node_.At("state")));
  ASSERT_TRUE(lock.ok()) << lock.status();
  const Outcome outcome = Uninstall();
  EXPECT_EQ(outcome.code, 2) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("flanneld runs ("));
  EXPECT_TRUE(manager_->services.contains("flanneld"));
  EXPECT_THAT(node_.State(), ::testing::Contains("network flannel.4096"));
}

TEST_F(UninstallTest, AnAccountThatMayNotChangeServicesChangesNothing) {
  manager_->failure = absl::PermissionDeniedError("access denied");
  const std::vector<std::string> before = node_.State();
  const Outcome outcome = Uninstall();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("access denied"));
  ExpectUntouched(before);
  manager_->unread = absl::PermissionDeniedError("access denied");
  EXPECT_EQ(FlagsOfService(service_, "flanneld").status(),
            absl::PermissionDeniedError("service flanneld: access denied"));
  manager_->unread = absl::OkStatus();
  manager_->services["flanneld"].config.command = "flanneld --no-such-flag";
  EXPECT_FALSE(FlagsOfService(service_, "flanneld").value().has_value());
}

TEST_F(UninstallTest, GivenPathsPrecedeThoseOfTheService) {
  UninstallOptions options;
  options.files.subnet_file = node_.At("elsewhere/subnet.env");
  options.source_vip_store = "";
  EXPECT_EQ(Uninstall(options).code, 0);
  EXPECT_THAT(node_.State(),
              AllOf(::testing::Contains(HasSubstr("run/subnet.env=")),
                    ::testing::Contains(HasSubstr("store/flannel.4096/10.244.1.2="))));
}

TEST_F(UninstallTest, WithoutAServiceTheGivenPathsAreEnough) {
  manager_->services.erase("flanneld");
  manager_->sources.erase("flanneld");
  const Outcome outcome = Uninstall(Folders());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  ExpectGone();
}

TEST_F(UninstallTest, WithoutANameNoServiceIsTouched) {
  manager_->services[""] = {};
  UninstallOptions options = Folders();
  options.service_name = "";
  EXPECT_EQ(Uninstall(options).code, 0);
  EXPECT_THAT(manager_->calls, IsEmpty());
}

}  // namespace
}  // namespace weft::cli
