// SPDX-License-Identifier: Apache-2.0
// The ledger of a running flanneld on a disk that fails, and in a folder that another user made.
#include "control/ledger/node_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "control/own_files.h"
#include "control/process_lock.h"
#include "tests/support/files/foreign_file.h"
#include "tests/support/ledger_rows.h"
#include "tests/support/test_path.h"

namespace weft::ledger {
namespace {

namespace fs = std::filesystem;

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const Row kNetwork{"hns-network", "flannel.4096", "55fedb88-4b11-4da4-8cd1-59970718a804"};
const Row kRoute{"host-route", "10.244.1.0/24", "172.16.0.11", false};
const Row kRule{"firewall-rule", "OverlayTraffic4789UDP", "4789", false};

class NodeLedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override {
    ledger_.reset();  // Windows does not remove an open file
    fs::remove_all(root_);
  }
  void Put(const Row& entry) {
    ledger_->Use([&](Ledger& ledger) { return ledger.Confirm(EntryFrom(entry)); });
  }
  // As flannelctl reads it.
  std::vector<Row> OnDisk() const { return weft::testing::RowsOnDisk(folder_); }
  void Start() { ledger_ = std::make_unique<NodeLedger>(folder_, "boot"); }
  // The folder cannot be had.
  void Block() { std::ofstream(folder_) << "a file"; }
  void Unblock() { fs::remove(folder_); }

  const fs::path root_ = weft::testing::TestPath();
  const std::string folder_ = (root_ / "state").string();
  NodeLedger::TimePoint now_{};
  std::unique_ptr<NodeLedger> ledger_;
};

TEST_F(NodeLedgerTest, EntriesMadeWhileItCannotBeOpenedAreWrittenLater) {
  Block();
  Start();
  Put(kNetwork);
  Put(kRoute);
  EXPECT_THAT(ledger_->condition(), HasSubstr("flannelctl reset will not know what is made now: "));
  ledger_->Use([](Ledger& ledger) -> NodeLedger::Written {
    EXPECT_EQ(ledger.entries().size(), 2u) << "this process knows it";
    return std::nullopt;
  });
  Unblock();
  for (int i = 0; i < 3; ++i) ledger_->Retry(now_ += seconds(1));
  EXPECT_EQ(ledger_->condition(), "");
  EXPECT_THAT(OnDisk(), ElementsAre(kNetwork, kRoute));
}

TEST_F(NodeLedgerTest, AnEmptyOneIsOpenedLaterToo) {
  Block();
  Start();
  ledger_->Open();
  Unblock();
  for (int i = 0; i < 3; ++i) ledger_->Retry(now_ += seconds(1));
  EXPECT_EQ(ledger_->condition(), "");
}

TEST_F(NodeLedgerTest, ALedgerOfALaterVersionIsNamedAndKept) {
  const std::string text = R"({"format": "weft/ledger/v1", "version": 3, "entries": []})";
  fs::create_directories(folder_);
  std::ofstream(folder_ + "/ledger.json") << text;
  Start();
  Put(kRoute);
  ASSERT_TRUE(weft::testing::AllowOtherUsersToWrite(folder_ + "/lock"));  // which is held
  for (int i = 0; i < 3; ++i) ledger_->Retry(now_ += seconds(60));
  EXPECT_THAT(ledger_->condition(), AllOf(HasSubstr(folder_), HasSubstr("a later weft wrote it")));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(control::ProcessLock::TryTake(LedgerLockPath(folder_)).status()))
      << "this process runs";
  ledger_.reset();
  std::ifstream in(folder_ + "/ledger.json");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
}

// Each try merges all entries, of which there may be thousands.
TEST_F(NodeLedgerTest, ALaterVersionIsReadAgainByRetryAlone) {
  fs::create_directories(folder_);
  std::ofstream(folder_ + "/ledger.json") << R"({"version": 3})";
  Start();
  Put(kNetwork);
  fs::remove(folder_ + "/ledger.json");
  Put(kRoute);
  EXPECT_THAT(ledger_->condition(), HasSubstr("a later weft wrote it"));
  EXPECT_THAT(OnDisk(), IsEmpty());
  for (int i = 0; i < 3; ++i) ledger_->Retry(now_ += seconds(1));
  EXPECT_EQ(ledger_->condition(), "");
  EXPECT_THAT(OnDisk(), ElementsAre(kNetwork, kRoute));
}

TEST_F(NodeLedgerTest, WhatAKilledProcessLeftIsRemoved) {
  fs::create_directories(folder_);
  for (const char* const name :
       {"journal.json.weft-0123456789abcdef", "ledger.json.weft-0123456789abcdef",
        "cni.json.weft-0123456789abcdef", "journal.json.backup"})
    std::ofstream(folder_ + "/" + name) << "half";
  Start();
  ledger_->Open();
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(folder_))
    names.push_back(file.path().filename().string());
  EXPECT_THAT(names,
              UnorderedElementsAre("cni.json.weft-0123456789abcdef", "journal.json.backup", "lock"))
      << "cni install may run now";
}

TEST_F(NodeLedgerTest, AFailedWriteIsRetriedUntilItSucceeds) {
  Start();
  Put(kNetwork);
  fs::remove(folder_ + "/ledger.json");
  fs::create_directories(folder_ + "/ledger.json/full");  // nothing is renamed over it
  Put(kRoute);
  EXPECT_THAT(ledger_->condition(), HasSubstr("ledger.json: "));
  for (int i = 0; i < 10; ++i) ledger_->Retry(now_ += seconds(1));
  EXPECT_THAT(ledger_->condition(), HasSubstr("ledger.json: "));
  fs::remove_all(folder_ + "/ledger.json");
  ledger_->Use([](Ledger&) -> NodeLedger::Written { return std::nullopt; });
  EXPECT_THAT(ledger_->condition(), HasSubstr("ledger.json: ")) << "looking mends nothing";
  for (int i = 0; i < 60; ++i) ledger_->Retry(now_ += seconds(1));
  EXPECT_EQ(ledger_->condition(), "");
  EXPECT_THAT(OnDisk(), ElementsAre(kNetwork, kRoute));
}

TEST_F(NodeLedgerTest, RetriesBackOffUntilASuccess) {
  Block();
  Start();
  Put(kNetwork);
  // A retry succeeds whenever the file is writable, so it is writable for one second only.
  const auto succeeds_at = [&](int second) {
    Unblock();
    ledger_->Retry(now_ + seconds(second));
    return ledger_->condition().empty();
  };
  for (int second = 0; second <= 300; ++second) ledger_->Retry(now_ + seconds(second));
  EXPECT_FALSE(succeeds_at(301)) << "a minute passes between two";
  EXPECT_TRUE(succeeds_at(361));
  ledger_->Retry(now_ + seconds(362));
  fs::remove(folder_ + "/ledger.json");
  fs::create_directories(folder_ + "/ledger.json/full");
  Put(kRoute);
  fs::remove_all(folder_ + "/ledger.json");
  for (const int second : {363, 364}) ledger_->Retry(now_ + seconds(second));
  EXPECT_EQ(ledger_->condition(), "") << "it begins again with a second";
}

TEST_F(NodeLedgerTest, AnUnusedLedgerTouchesNoFolder) {
  Start();
  for (int i = 0; i < 10; ++i) ledger_->Retry(now_ += seconds(1));
  EXPECT_FALSE(fs::exists(folder_));
}

// It may have files of others: it is neither used nor renamed.
TEST_F(NodeLedgerTest, AnotherUsersFolderStaysAndIsReported) {
  fs::create_directories(folder_);
  ASSERT_TRUE(Ledger(folder_).Confirm(EntryFrom(kRule)).ok());
  ASSERT_TRUE(weft::testing::GiveAway(folder_));
  Start();
  Put(kNetwork);
  EXPECT_THAT(OnDisk(), ElementsAre(kRule));
  EXPECT_THAT(ledger_->condition(),
              AllOf(HasSubstr(folder_ + " belongs to "), HasSubstr("name another folder")));
}

TEST_F(NodeLedgerTest, AFileWritableByOtherUsersIsSetAsideAndReported) {
  fs::create_directories(folder_);
  ASSERT_TRUE(Ledger(folder_).Confirm(EntryFrom(kRule)).ok());
  std::ofstream(folder_ + "/lock") << "";
  for (const char* name : {"/ledger.json", "/lock"})
    ASSERT_TRUE(weft::testing::AllowOtherUsersToWrite(folder_ + name));
  Start();
  Put(kNetwork);
  EXPECT_THAT(OnDisk(), ElementsAre(kNetwork));
  EXPECT_TRUE(control::CheckOwn(folder_ + "/lock").ok());
  EXPECT_THAT(ledger_->condition(), AllOf(HasSubstr("/ledger.json may be written by "),
                                          HasSubstr("/lock may be written by "),
                                          ::testing::Not(::testing::StartsWith("; "))));
}

TEST_F(NodeLedgerTest, WithoutAFolderItIsTheDefault) {
  const NodeLedger ledger("");
  EXPECT_EQ(ledger.folder(), control::DefaultStateFolder());
  EXPECT_EQ(NodeLedger(folder_).folder(), folder_);
  EXPECT_EQ(NodeLedger(folder_ + "/").folder(), folder_) << "names are made of it";
}

}  // namespace
}  // namespace weft::ledger
