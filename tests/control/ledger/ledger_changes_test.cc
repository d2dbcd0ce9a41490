// SPDX-License-Identifier: Apache-2.0
// ledger.changes: the cost of a change of a large ledger, and the two files after a crash, a full
// disk and foreign changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "control/ledger/ledger.h"
#include "control/ledger/node_ledger.h"
#include "tests/support/files/foreign_file.h"
#include "tests/support/lease_makers.h"
#include "tests/support/ledger_rows.h"
#include "tests/support/test_path.h"

namespace weft::ledger {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class LedgerChangesTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  static HostRoute Route(int number) {
    const std::string bytes = std::to_string(number / 250) + "." + std::to_string(number % 250);
    return {testing::Prefix("10." + bytes + ".0/24"), testing::Address("192.168." + bytes)};
  }
  void Fill(Ledger& ledger, int count) const {
    std::vector<Entry> routes;
    for (int i = 0; i < count; ++i) routes.emplace_back(Route(i));
    ASSERT_TRUE(ledger.Intend(routes).ok());
  }
  std::string Text(const char* name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Append(const std::string& text) const {
    std::ofstream(folder_ / "ledger.changes", std::ios::binary | std::ios::app) << text;
  }
  bool HasChanges() const { return fs::exists(folder_ / "ledger.changes"); }
  std::vector<Row> OnDisk() const { return testing::RowsOnDisk(folder_.string()); }
  static Row RowOfRoute(int number) { return RowOf(Route(number)); }

  const fs::path folder_ = weft::testing::TestPath();
  Ledger ledger_{folder_.string()};
};

TEST_F(LedgerChangesTest, OneRouteAmong5000IsOneLine) {
  Fill(ledger_, 5000);
  const std::string whole = Text("ledger.json");
  EXPECT_FALSE(HasChanges());
  ASSERT_TRUE(ledger_.Intend({Route(5000)}).ok());
  EXPECT_EQ(Text("ledger.changes"),
            "+ {\"kind\":\"host-route\",\"name\":\"10.20.0.0/24\",\"id\":\"192.168.20.0\","
            "\"adopted\":false}\n");
  ASSERT_TRUE(ledger_.Forget({Route(7)}).ok());
  EXPECT_THAT(Text("ledger.changes"),
              ::testing::EndsWith("\n- host-route \"10.0.7.0/24\" \"192.168.0.7\"\n"));
  EXPECT_EQ(Text("ledger.json"), whole) << "not one byte of it is written again";
  const std::vector<Row> rows = OnDisk();
  EXPECT_THAT(rows, SizeIs(5000));
  EXPECT_THAT(rows, AllOf(Contains(RowOfRoute(5000)), Not(Contains(RowOfRoute(7)))));
}

// Bytes written, counted by what the files show after each change.
TEST_F(LedgerChangesTest, AChangeCostsTwoLinesHoweverManyThereAre) {
  constexpr int kRoutes = 500, kChanges = 1500;
  constexpr std::uintmax_t kLine = 100;
  Fill(ledger_, kRoutes);
  const std::uintmax_t whole = fs::file_size(folder_ / "ledger.json");
  std::uintmax_t written = 0, before = 0, most = 0;
  for (int i = 0; i < kChanges; ++i) {
    const Entry route = Route(i / 2 * 7 % kRoutes);
    ASSERT_TRUE((i % 2 == 0 ? ledger_.Forget({route}) : ledger_.Intend({route})).ok());
    const std::uintmax_t now = HasChanges() ? fs::file_size(folder_ / "ledger.changes") : 0;
    written += now > before ? now - before : kLine + fs::file_size(folder_ / "ledger.json");
    before = now;
    most = std::max(most, now);
  }
  EXPECT_LT(written, 2 * kLine * kChanges) << "a whole ledger is " << whole << " bytes";
  EXPECT_LT(most, 2 * whole) << "the changes are folded when they outgrow the ledger";
  EXPECT_THAT(OnDisk(), SizeIs(kRoutes));
}

// People read it, and an older flanneld.
TEST_F(LedgerChangesTest, AFewEntriesAreWrittenWhole) {
  Fill(ledger_, 60);
  ASSERT_TRUE(ledger_.Forget({Route(3)}).ok());
  EXPECT_FALSE(HasChanges());
  EXPECT_THAT(Text("ledger.json"), Not(HasSubstr("10.0.3.0/24")));
}

TEST_F(LedgerChangesTest, ManyOfManyAreWrittenWhole) {
  Fill(ledger_, 200);
  std::vector<Entry> most;
  for (int i = 0; i < 101; ++i) most.emplace_back(Route(i));
  ASSERT_TRUE(ledger_.Forget(most).ok());
  EXPECT_FALSE(HasChanges());
}

TEST_F(LedgerChangesTest, AProcessThatEndsLeavesAllInOneFile) {
  {
    NodeLedger node(folder_.string());
    node.Use([&](Ledger& ledger) -> NodeLedger::Written {
      Fill(ledger, 100);
      return ledger.Forget({Route(3)});
    });
    EXPECT_TRUE(HasChanges());
  }
  EXPECT_FALSE(HasChanges());
  EXPECT_THAT(Text("ledger.json"), Not(HasSubstr("10.0.3.0/24")));
  EXPECT_THAT(OnDisk(), SizeIs(99));
}

TEST_F(LedgerChangesTest, ChangesOfAKilledProcessAreMergedAtOpen) {
  Fill(ledger_, 100);
  ASSERT_TRUE(ledger_.Forget({Route(3)}).ok());
  { NodeLedger unused(folder_.string()); }
  ASSERT_TRUE(HasChanges());
  NodeLedger node(folder_.string());
  node.Open();
  EXPECT_EQ(node.condition(), "");
  EXPECT_FALSE(HasChanges());
  EXPECT_THAT(OnDisk(), SizeIs(99));
}

// A power cut within the last line: it was not yet there.
TEST_F(LedgerChangesTest, ATornLastLineIsIgnored) {
  Fill(ledger_, 100);
  ASSERT_TRUE(ledger_.Forget({Route(3)}).ok());
  ASSERT_TRUE(ledger_.Intend({Route(100)}).ok());
  const std::string text = Text("ledger.changes");
  const std::size_t first = text.find('\n') + 1;
  for (std::size_t size = 0; size < text.size(); ++size) {
    SCOPED_TRACE(size);
    fs::resize_file(folder_ / "ledger.changes", size);
    Ledger ledger(folder_.string());
    ASSERT_TRUE(ledger.Load().ok());
    EXPECT_EQ(ledger.entries().size(), size < first ? 100u : 99u);
    // The next line replaces it.
    ASSERT_TRUE(ledger.Intend({Route(200)}).ok());
    EXPECT_TRUE(HasChanges());
    const std::vector<Row> rows = OnDisk();
    EXPECT_EQ(rows.size(), size < first ? 101u : 100u);
    EXPECT_EQ(rows.back(), RowOfRoute(200));
    std::ofstream(folder_ / "ledger.changes", std::ios::binary) << text;
  }
}

// Zeros, as after a crash in which the file's length was written and its data not.
TEST_F(LedgerChangesTest, ATailOfZerosIsTorn) {
  Fill(ledger_, 100);
  ASSERT_TRUE(ledger_.Forget({Route(3)}).ok());
  Append(std::string(4096, '\0'));
  EXPECT_THAT(OnDisk(), SizeIs(99));
}

// Killed between the rename of ledger.json and the end of ledger.changes.
TEST_F(LedgerChangesTest, ChangesThatTheLedgerContainsChangeNothing) {
  Fill(ledger_, 100);
  ASSERT_TRUE(ledger_.Forget({Route(3), Route(4)}).ok());
  ASSERT_TRUE(ledger_.Intend({Route(3)}).ok());
  ASSERT_TRUE(ledger_.Forget({Route(5)}).ok());
  const std::string changes = Text("ledger.changes");
  ASSERT_TRUE(ledger_.Fold().ok());
  ASSERT_FALSE(HasChanges());
  const std::vector<Row> rows = OnDisk();
  EXPECT_THAT(rows, AllOf(SizeIs(98), Contains(RowOfRoute(3))));
  Append(changes);
  EXPECT_THAT(OnDisk(), ::testing::UnorderedElementsAreArray(rows));
}

// A change that could not be appended is in no file: merging without it would let older changes
// override it after a crash.
TEST_F(LedgerChangesTest, AfterAFailedAppendNothingIsMerged) {
  Fill(ledger_, 100);
  ASSERT_TRUE(ledger_.Forget({Route(3)}).ok());
  const std::string whole = Text("ledger.json"), changes = Text("ledger.changes");
  fs::remove(folder_ / "ledger.changes");
  fs::create_directories(folder_ / "ledger.changes" / "in the way");
  std::vector<Entry> most = {Route(3)};
  for (int i = 100; i < 300; ++i) most.emplace_back(Route(i));
  const absl::Status status = ledger_.Intend(most);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("ledger.changes: "), HasSubstr("--state-dir")));
  EXPECT_FALSE(ledger_.written());
  EXPECT_FALSE(ledger_.Fold().ok());
  EXPECT_EQ(Text("ledger.json"), whole);
  fs::remove_all(folder_ / "ledger.changes");
  Append(changes);
  ASSERT_TRUE(ledger_.Write().ok());
  EXPECT_TRUE(ledger_.written());
  EXPECT_THAT(OnDisk(), AllOf(SizeIs(300), Contains(RowOfRoute(3))));
}

TEST_F(LedgerChangesTest, WhenAFileWasRemovedAllIsWrittenAgain) {
  for (const char* name : {"ledger.json", "ledger.changes"}) {
    SCOPED_TRACE(name);
    fs::remove_all(folder_);
    Ledger ledger(folder_.string());
    Fill(ledger, 100);
    ASSERT_TRUE(ledger.Forget({Route(3)}).ok());
    fs::remove(folder_ / name);
    ASSERT_TRUE(ledger.Forget({Route(4)}).ok());
    EXPECT_THAT(OnDisk(), SizeIs(98));
  }
  ASSERT_FALSE(HasChanges());
  fs::remove_all(folder_);
  Ledger ledger(folder_.string());
  Fill(ledger, 100);
  fs::remove(folder_ / "ledger.json");
  fs::create_directories(folder_ / "ledger.changes" / "in the way");
  ASSERT_TRUE(ledger.Forget({Route(4)}).ok());
  fs::remove_all(folder_ / "ledger.changes");
  EXPECT_THAT(OnDisk(), SizeIs(99)) << "also where there were no changes";
}

TEST_F(LedgerChangesTest, WithoutALedgerTheChangesAreUsed) {
  fs::create_directories(folder_);
  Append(
      "+ {\"kind\": \"host-route\", \"name\": \"10.0.7.0/24\", \"id\": \"192.168.0.7\", "
      "\"adopted\": false}\n- host-route \"10.0.8.0/24\" \"192.168.0.8\"\n");
  EXPECT_THAT(OnDisk(), ::testing::ElementsAre(RowOfRoute(7)));
  std::ofstream(folder_ / "ledger.json") << "garbage";
  EXPECT_TRUE(absl::IsDataLoss(ledger_.Load()));
  EXPECT_THAT(testing::Rows(ledger_), ::testing::ElementsAre(RowOfRoute(7)));
}

TEST_F(LedgerChangesTest, ForeignLinesAreSetAsideAndTheRestIsUsed) {
  for (const char* line : {"garbage", "", "+ ", "+ {}", "+ 7", "+{}", "-x", "* host-route",
                           R"(+ {"kind": "a", "name": "b", "id": "c", "adopted": 1})"}) {
    SCOPED_TRACE(line);
    fs::remove_all(folder_);
    Ledger ledger(folder_.string());
    Fill(ledger, 100);
    ASSERT_TRUE(ledger.Forget({Route(3)}).ok());
    Append(std::string(line) + "\n- host-route \"10.0.4.0/24\" \"192.168.0.4\"\n");
    const std::string text = Text("ledger.changes");
    Ledger next(folder_.string(), /*open=*/false);
    EXPECT_TRUE(next.Load().ok()) << "and the file stays";
    EXPECT_EQ(next.entries().size(), 98u);
    const absl::Status status = next.Open("boot");
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_TRUE(next.is_open());
    EXPECT_THAT(std::string(status.message()), HasSubstr("ledger.changes.broken-"));
    EXPECT_EQ(next.entries().size(), 98u);
    EXPECT_FALSE(HasChanges());
    EXPECT_THAT(OnDisk(), SizeIs(98)) << "ledger.json has what was understood";
    std::vector<std::string> aside;
    for (const auto& file : fs::directory_iterator(folder_)) {
      if (file.path().filename().string().starts_with("ledger.changes.broken-"))
        aside.push_back(Text(file.path().filename().string().c_str()));
    }
    EXPECT_THAT(aside, ::testing::ElementsAre(text)) << "nothing is lost";
  }
}

TEST_F(LedgerChangesTest, AnEntryOfALaterVersionIsKept) {
  Fill(ledger_, 100);
  const Row later{"hns-load-balancer", "a-vip", "id", false, "a\nshape", "boot"};
  ASSERT_TRUE(ledger_.Confirm(EntryFrom(later)).ok());
  ASSERT_TRUE(HasChanges());
  EXPECT_EQ(OnDisk().back(), later);
  ASSERT_TRUE(ledger_.Forget({EntryFrom(later)}).ok());
  EXPECT_THAT(OnDisk(), Not(Contains(later)));
}

TEST_F(LedgerChangesTest, ChangesWritableByOtherUsersAreNotTrusted) {
  Fill(ledger_, 100);
  ASSERT_TRUE(ledger_.Forget({Route(3)}).ok());
  ASSERT_TRUE(testing::AllowOtherUsersToWrite((folder_ / "ledger.changes").string()));
  Ledger ledger(folder_.string());
  const absl::Status status = ledger.Load();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("ledger.changes may be written by "));
  EXPECT_THAT(ledger.entries(), SizeIs(0));
  NodeLedger node(folder_.string());
  node.Open();
  EXPECT_THAT(node.condition(), HasSubstr("ledger.changes may be written by "));
  EXPECT_THAT(OnDisk(), SizeIs(100)) << "set aside";
}

TEST_F(LedgerChangesTest, UnreadableChangesAreNamedAndKept) {
  Fill(ledger_, 100);
  fs::create_directories(folder_ / "ledger.changes" / "full");
  Ledger ledger(folder_.string());
  const absl::Status status = ledger.Load();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("ledger.changes cannot be read"));
  EXPECT_THAT(ledger.entries(), SizeIs(0));
}

}  // namespace
}  // namespace weft::ledger
