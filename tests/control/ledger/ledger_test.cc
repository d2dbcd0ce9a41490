// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/files/foreign_file.h"
#include "tests/support/ledger_rows.h"
#include "tests/support/test_path.h"

namespace weft::ledger {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Rows;
using ::testing::UnorderedElementsAreArray;

const Row kMade{"hns-network", "flannel.4096", "55fedb88-4b11-4da4-8cd1-59970718a804", false};
const Row kFound{"hns-network", "External", "9dd95ece-4b11-4da4-8cd1-59970718a804", true};
const Row kRoute{"host-route", "10.244.1.0/24", "172.16.0.11", false};

class LedgerTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& text) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "ledger.json", std::ios::binary) << text;
  }
  // The content that a new process reads.
  std::vector<Row> Reread() const { return testing::RowsOnDisk(folder_.string()); }
  absl::Status Put(const Row& row) { return ledger_.Confirm(EntryFrom(row)); }
  absl::Status Remove(const Row& row) { return ledger_.Forget({EntryFrom(row)}); }

  const std::filesystem::path folder_ = weft::testing::TestPath();
  Ledger ledger_{folder_.string()};
};

TEST_F(LedgerTest, IsEmptyWhereThereIsNoFile) {
  EXPECT_TRUE(ledger_.Load().ok());
  EXPECT_THAT(Rows(ledger_), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_)) << "looking makes nothing";
}

TEST_F(LedgerTest, AnEntryIsOnDiskAtOnce) {
  ASSERT_TRUE(Put(kMade).ok());
  EXPECT_THAT(Reread(), ElementsAre(kMade));
  ASSERT_TRUE(Put(kFound).ok());
  EXPECT_THAT(Reread(), ElementsAre(kMade, kFound));
}

TEST_F(LedgerTest, AnyNameIsReadBack) {
  const Row odd{"hns-endpoint", "a \"b\" \\ c\n\t\x01 \xc3\xa4", "", false, "\xe2\x82\xac 1"};
  ASSERT_TRUE(Put(odd).ok());
  ASSERT_TRUE(Put(kMade).ok());
  EXPECT_THAT(Reread(), ElementsAre(odd, kMade));
  ASSERT_TRUE(Put({"hns-endpoint", "not UTF-8: \xff", "", false}).ok());
  EXPECT_EQ(Reread().size(), 3u);
  for (const char* name : {"line\nfeed", "quo\"te", "back\\slash", "\x7f", "\xc3\xa4"}) {
    const Row entry{"hns-endpoint", name, "", true, name};
    ASSERT_TRUE(Put(entry).ok());
    EXPECT_EQ(Reread().back(), entry);
  }
}

// People read it, too.
TEST_F(LedgerTest, ItsTextIsALineForEachEntry) {
  ASSERT_TRUE(Put(kRoute).ok());
  ASSERT_TRUE(Put(kFound).ok());
  std::ifstream in(folder_ / "ledger.json", std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}),
            R"({
 "format": "weft/ledger/v1",
 "version": 1,
 "entries": [
  {"kind":"host-route","name":"10.244.1.0/24","id":"172.16.0.11","adopted":false},
  {"kind":"hns-network","name":"External","id":"9dd95ece-4b11-4da4-8cd1-59970718a804","adopted":true}
 ]
}
)");
}

// Byte for byte as commit 0ac4ae1 wrote them, the last one whose files have no version: an entry of
// each kind, then changes.
TEST_F(LedgerTest, TheFilesOf0ac4ae1AreRead) {
  Write(R"json({
 "format": "weft/ledger/v1",
 "entries": [
  {"kind": "hns-network", "name": "flannel.4096", "id": "55fedb88-4b11-4da4-8cd1-59970718a804", "adopted": false},
  {"kind": "hns-network", "name": "External", "id": "9dd95ece-4b11-4da4-8cd1-59970718a804", "adopted": true},
  {"kind": "hns-endpoint", "name": "cbr0_ep", "id": "", "adopted": false, "shape": "10.244.1.2", "boot": "boot-1"},
  {"kind": "host-route", "name": "10.244.1.0/24", "id": "172.16.0.11", "adopted": false},
  {"kind": "host-route", "name": "10.244.2.0/24", "id": "172.16.0.12", "adopted": false},
  {"kind": "former-route", "name": "10.244.3.0/24", "id": "172.16.0.13", "adopted": true, "shape": "256 onlink vEthernet (Ethernet 2)"},
  {"kind": "firewall-rule", "name": "OverlayTraffic4789UDP", "id": "4789", "adopted": false},
  {"kind": "filter-table", "name": "inet weft", "id": "", "adopted": false},
  {"kind": "forward-rules", "name": "iptables-legacy", "id": "", "adopted": false},
  {"kind": "static-route", "name": "10.8.0.0/16", "id": "172.16.0.1", "adopted": true, "shape": "00:15:5d:00:00:04 7 256", "boot": "boot-1"},
  {"kind": "static-ip", "name": "00:15:5d:00:00:04", "id": "7", "adopted": true, "shape": "172.16.0.4/24;172.16.0.1;172.16.0.53,172.16.0.54;256", "boot": "boot-1"}
 ]
}
)json");
  std::ofstream(folder_ / "ledger.changes", std::ios::binary)
      << "- host-route \"10.244.2.0/24\" \"172.16.0.12\"\n"
      << R"(+ {"kind": "host-route", "name": "10.244.4.0/24", "id": "172.16.0.14", "adopted": false})"
      << "\n";
  EXPECT_THAT(
      Reread(),
      ElementsAre(kMade, kFound, Row{"hns-endpoint", "cbr0_ep", "", false, "10.244.1.2", "boot-1"},
                  kRoute,
                  Row{"former-route", "10.244.3.0/24", "172.16.0.13", true,
                      "256 onlink vEthernet (Ethernet 2)"},
                  Row{"firewall-rule", "OverlayTraffic4789UDP", "4789"},
                  Row{"filter-table", "inet weft", ""}, Row{"forward-rules", "iptables-legacy", ""},
                  Row{"static-route", "10.8.0.0/16", "172.16.0.1", true, "00:15:5d:00:00:04 7 256",
                      "boot-1"},
                  Row{"static-ip", "00:15:5d:00:00:04", "7", true,
                      "172.16.0.4/24;172.16.0.1;172.16.0.53,172.16.0.54;256", "boot-1"},
                  Row{"host-route", "10.244.4.0/24", "172.16.0.14"}));
  EXPECT_TRUE(ledger_.Load().ok());
  EXPECT_THAT(ledger_.All<Unknown>(), IsEmpty());
}

TEST_F(LedgerTest, ALedgerOfALaterVersionIsLeftAsItIs) {
  const std::pair<const char*, const char*> rows[] = {
      {"2", R"({"format": "weft/ledger/v1", "version": 2, "entries": [{"kind": "a new one"}]})"},
      {"3", R"({"format": "weft/ledger/v3", "version": 3, "rows": {}})"},
      {"2", "{\"format\": \"weft/ledger/v2\", \"version\": 2}\n{\"kind\": \"a line each\"}\n"},
      {R"("2")", R"({"version": "2", "entries": []})"},
      {"18446744073709551615", R"({"version": 18446744073709551615})"}};
  for (const auto& [version, text] : rows) {
    SCOPED_TRACE(text);
    Write(text);
    EXPECT_EQ(ledger_.Load().code(), absl::StatusCode::kUnimplemented);
    Ledger opened(folder_.string(), /*open=*/false);
    EXPECT_THAT(
        opened.Open("boot").message(),
        ::testing::AllOf(HasSubstr("ledger.json"), HasSubstr(std::string("has version ") + version),
                         HasSubstr("knows only 1")));
    EXPECT_TRUE(opened.Confirm(EntryFrom(kRoute)).ok()) << "in memory";
    EXPECT_THAT(Rows(opened), ElementsAre(kRoute));
    std::ifstream in(folder_ / "ledger.json", std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "no other";
  }
}

TEST_F(LedgerTest, AnEntryIsReplacedByKindAndName) {
  Row about_to_be = kMade;
  about_to_be.id = "";
  ASSERT_TRUE(Put(about_to_be).ok());
  ASSERT_TRUE(Put({"hns-endpoint", kMade.name, kFound.id, false}).ok());
  ASSERT_TRUE(Put(kMade).ok());
  EXPECT_THAT(Reread(), ElementsAre(kMade, Row{"hns-endpoint", kMade.name, kFound.id}));
  EXPECT_EQ(RowOf(*ledger_.Find(HnsObject{hns::Kind::kNetwork, "flannel.4096"})), kMade);
  EXPECT_EQ(ledger_.Find(HnsObject{hns::Kind::kNetwork, "flannel.4097"}), nullptr);
}

TEST_F(LedgerTest, AnEntryIsRemovedAndAMissingOneIsNoError) {
  ASSERT_TRUE(Put(kMade).ok());
  ASSERT_TRUE(Put(kFound).ok());
  ASSERT_TRUE(Remove(kMade).ok());
  ASSERT_TRUE(Remove(kMade).ok());
  EXPECT_THAT(Reread(), ElementsAre(kFound));
}

TEST_F(LedgerTest, RoutesOfOneDestinationAreTwoByTheirNextHops) {
  const Row other{"host-route", kRoute.name, "172.16.0.12"};
  ASSERT_TRUE(ledger_.Intend(testing::EntriesFrom({kRoute, kMade, other})).ok());
  ASSERT_TRUE(ledger_.Change(testing::EntriesFrom({kRoute}), testing::EntriesFrom({kFound})).ok());
  EXPECT_THAT(Reread(), ElementsAre(kMade, other, kFound));
}

TEST_F(LedgerTest, NothingIsWrittenWhereNothingChanges) {
  ASSERT_TRUE(Put(kMade).ok());
  std::filesystem::remove(folder_ / "ledger.json");
  ASSERT_TRUE(Put(kMade).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ledger.json"));
}

TEST_F(LedgerTest, AnInvalidLedgerIsSetAsideAndNothingIsLost) {
  std::vector<std::string> texts;
  for (const char* text :
       {"", "garbage", "{}", R"({"format":"weft/ledger/v2","entries":[]})",
        R"({"format":"weft/ledger/v1"})", R"({"format":"weft/ledger/v1","entries":[1]})",
        R"({"format":"weft/ledger/v1","entries":[{"kind":"a","name":"b","id":1,"adopted":true}]})",
        R"({"format":"weft/ledger/v1","entries":[{"kind":"a","name":"b","id":"c"}]})",
        R"({"format":"weft/ledger/v1","entries":[{"kind":"a","name":"b","id":"c","adopted":1}]})",
        R"({"format":"weft/ledger/v1","entries":[{"kind":"a","id":"c","adopted":true}]})",
        R"({"format":"weft/ledger/v1",
            "entries":[{"kind":"a","name":"b","id":"c","adopted":true,"shape":7}]})"}) {
    Write(text);
    EXPECT_THAT(Ledger(folder_.string(), /*open=*/false).Load().message(),
                HasSubstr("ledger.json is not a ledger of weft"))
        << "and it stays";
    const absl::Status status = ledger_.Load();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("ledger.json.broken-"));
    EXPECT_THAT(Rows(ledger_), IsEmpty());
    EXPECT_TRUE(ledger_.Load().ok()) << "the next one begins without it";
    texts.push_back(text);
  }
  std::vector<std::string> aside;
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    std::ifstream in(file.path(), std::ios::binary);
    aside.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  EXPECT_THAT(aside, UnorderedElementsAreArray(texts));
}

// By a path that is all but too long for the system: one with a few letters more is.
TEST_F(LedgerTest, ABrokenLedgerThatCannotBeRenamedIsNotOverwritten) {
  if (std::filesystem::path::preferred_separator != '/') GTEST_SKIP() << "of Linux's limit";
  constexpr std::size_t kLongest = 4095;
  std::string folder = folder_.string();
  while (folder.size() < kLongest - 20)
    folder += "/" + std::string(std::min<std::size_t>(200, kLongest - 19 - folder.size()), 'a');
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/ledger.json") << "garbage";
  Ledger ledger(folder, /*open=*/false);
  ASSERT_TRUE(ledger.Confirm(EntryFrom(kRoute)).ok());
  const absl::Status status = ledger.Open("boot");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot be renamed: "));
  EXPECT_THAT(Rows(ledger), ElementsAre(kRoute)) << "the next try may find it mended";
  std::ifstream in(folder + "/ledger.json");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "garbage");
  // Nor can what is understood of the changes be written.
  std::filesystem::rename(folder + "/ledger.json", folder + "/ledger.changes");
  std::ofstream(folder + "/ledger.changes", std::ios::app) << '\n';
  EXPECT_THAT(std::string(ledger.Open("boot").message()), HasSubstr("/ledger.json: "));
}

TEST_F(LedgerTest, AnUnreadableLedgerIsNamedAndKept) {
  std::filesystem::create_directories(folder_ / "ledger.json");
  const absl::Status status = ledger_.Load();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("ledger.json cannot be read: it "));
  EXPECT_TRUE(std::filesystem::is_directory(folder_ / "ledger.json"));
}

TEST_F(LedgerTest, AFailedWriteIsRetriedByTheNextCall) {
  std::ofstream(folder_) << "a file in the folder's place";
  const absl::Status status = Put(kMade);
  EXPECT_THAT(std::string(status.message()),
              ::testing::AllOf(HasSubstr("cannot make the folder"), HasSubstr("--state-dir")));
  EXPECT_FALSE(ledger_.written());
  EXPECT_FALSE(Put(kMade).ok()) << "nothing new, and still not on disk";
  EXPECT_FALSE(ledger_.Write().ok());
  std::filesystem::remove(folder_);
  ASSERT_TRUE(Put(kRoute).ok());
  EXPECT_TRUE(ledger_.written());
  EXPECT_THAT(Reread(), ElementsAre(kMade, kRoute));
}

TEST_F(LedgerTest, ALedgerWritableByOtherUsersIsNotTrusted) {
  ASSERT_TRUE(Put(kMade).ok());
  ASSERT_TRUE(testing::AllowOtherUsersToWrite((folder_ / "ledger.json").string()));
  Ledger ledger(folder_.string());
  const absl::Status status = ledger.Load();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("is not trusted"));
  EXPECT_THAT(Rows(ledger), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "ledger.json")) << "looking moves nothing";
}

// A process that could not read the file: the entries of file and process for one network.
TEST_F(LedgerTest, WhatIsEnteredBeforeItIsOpenIsMergedWithTheFile) {
  const Row begun{"hns-network", "flannel.4096", "", false, "Overlay 10.0.0.0/8", "boot"};
  Row made = begun, found = kMade, elsewhere = kMade;
  made.id = kMade.id;
  found.adopted = true;
  found.shape = begun.shape;
  elsewhere.id = kFound.id;
  Row made_alike = begun, edited = begun;
  made_alike.id = kFound.id;
  edited.adopted = true;
  const Row rule{"firewall-rule", "a rule", "4789"},
      found_rule{"firewall-rule", "a rule", "4789", true};
  const struct {
    const char* description;
    Row on_disk, entered, merged;
  } rows[] = {
      {"a rule of ours, another program's by now", rule, found_rule, found_rule},
      {"a rule that is made again by us", found_rule, rule, rule},
      {"found again", kMade, found, kMade},
      {"ours, made by a killed process", begun, found, made},
      {"another's by now", elsewhere, found, found},
      {"another's by now, made alike", made_alike, found, found},
      {"another's, by an operator's edit", edited, found, found},
      {"made again by us", found, kMade, kMade},
  };
  const auto merged = [&](const std::vector<Row>& on_disk, const std::vector<Row>& entered,
                          const char* boot) {
    std::filesystem::remove_all(folder_);
    EXPECT_TRUE(Ledger(folder_.string()).Intend(testing::EntriesFrom(on_disk)).ok());
    Ledger late(folder_.string(), /*open=*/false);
    EXPECT_TRUE(late.Intend(testing::EntriesFrom(entered)).ok());
    EXPECT_TRUE(late.Open(boot).ok());
    return Rows(late);
  };
  for (const auto& row : rows)
    EXPECT_THAT(merged({kFound, row.on_disk}, {row.entered}, "boot"),
                ElementsAre(kFound, row.merged))
        << row.description;
  EXPECT_THAT(merged({begun}, {found}, "the next boot"), ElementsAre(found));
  const Row moved{"host-route", kRoute.name, "172.16.0.12"};
  EXPECT_THAT(merged({kRoute}, {moved, kRoute}, ""), ElementsAre(kRoute, moved));

  std::filesystem::remove_all(folder_);
  ASSERT_TRUE(Put(kMade).ok());
  Ledger late(folder_.string(), /*open=*/false);
  ASSERT_TRUE(late.Intend({EntryFrom(kRoute)}).ok());
  ASSERT_TRUE(late.Confirm(EntryFrom(found)).ok());
  EXPECT_THAT(Reread(), ElementsAre(kMade)) << "it is not open yet";
  ASSERT_TRUE(late.Open("boot").ok());
  EXPECT_FALSE(late.written());
  ASSERT_TRUE(late.Write().ok());
  EXPECT_THAT(Reread(), ElementsAre(kMade, kRoute));
  ASSERT_TRUE(late.Forget({EntryFrom(kRoute)}).ok());
  EXPECT_THAT(Reread(), ElementsAre(kMade));
  Write("garbage");
  EXPECT_TRUE(late.Open("boot").ok()) << "once";
}

TEST_F(LedgerTest, AnEarlierVersionsLedgerIsMovedUnlessOtherUsersMayHaveWrittenIt) {
  const std::string former = (folder_ / "former").string(), now = (folder_ / "now").string();
  std::filesystem::create_directories(now);
  EXPECT_FALSE(MoveFormerLedger("", now).value());
  EXPECT_FALSE(MoveFormerLedger(former, now).value()) << "there is none";
  ASSERT_TRUE(Ledger(former).Confirm(EntryFrom(kMade)).ok());
  ASSERT_TRUE(testing::AllowOtherUsersToWrite(former + "/ledger.json"));
  const auto refused = MoveFormerLedger(former, now);
  EXPECT_TRUE(absl::IsPermissionDenied(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()),
              ::testing::AllOf(HasSubstr("is not trusted: "), HasSubstr("copy " + former)));
  std::filesystem::remove(former + "/ledger.json");

  ASSERT_TRUE(Ledger(former).Confirm(EntryFrom(kMade)).ok());
  ASSERT_TRUE(testing::GiveAway(former));
  EXPECT_TRUE(absl::IsPermissionDenied(MoveFormerLedger(former, now).status()));
  std::filesystem::remove_all(former);

  ASSERT_TRUE(Ledger(former).Confirm(EntryFrom(kMade)).ok());
  EXPECT_THAT(std::string(MoveFormerLedger(former, now + "/none").status().message()),
              HasSubstr("cannot be moved: "));
  EXPECT_TRUE(MoveFormerLedger(former, now).value());
  EXPECT_FALSE(std::filesystem::exists(former + "/ledger.json"));
  Ledger moved(now);
  ASSERT_TRUE(moved.Load().ok());
  EXPECT_THAT(Rows(moved), ElementsAre(kMade));
  ASSERT_TRUE(Ledger(former).Confirm(EntryFrom(kRoute)).ok());
  EXPECT_FALSE(MoveFormerLedger(former, now).value()) << "there is a newer one";
}

}  // namespace
}  // namespace weft::ledger
