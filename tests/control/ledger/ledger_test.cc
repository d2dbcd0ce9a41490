// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/foreign_file.h"
#include "tests/support/test_path.h"

namespace weft::ledger {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

const LedgerEntry kMade{"hns-network", "flannel.4096", "55fedb88-4b11-4da4-8cd1-59970718a804",
                        false};
const LedgerEntry kFound{"hns-network", "External", "9dd95ece-4b11-4da4-8cd1-59970718a804", true};
const LedgerEntry kRoute{"host-route", "10.244.1.0/24", "172.16.0.11", false};

class LedgerTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& text) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "ledger.json", std::ios::binary) << text;
  }
  // What a process that starts now reads.
  std::vector<LedgerEntry> Reread() const {
    Ledger ledger(folder_.string());
    EXPECT_TRUE(ledger.Load().ok());
    return ledger.entries();
  }

  const std::filesystem::path folder_ = weft::testing::TestPath();
  Ledger ledger_{folder_.string()};
};

TEST_F(LedgerTest, IsEmptyWhereThereIsNoFile) {
  EXPECT_TRUE(ledger_.Load().ok());
  EXPECT_THAT(ledger_.entries(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_)) << "looking makes nothing";
}

TEST_F(LedgerTest, WhatIsPutInIsOnDisk) {
  ASSERT_TRUE(ledger_.Put(kMade).ok());
  EXPECT_THAT(Reread(), ElementsAre(kMade));
  ASSERT_TRUE(ledger_.Put(kFound).ok());
  EXPECT_THAT(Reread(), ElementsAre(kMade, kFound));
}

TEST_F(LedgerTest, AnyNameIsReadBack) {
  const LedgerEntry odd{"hns-endpoint", "a \"b\" \\ c\n\t\x01 \xc3\xa4", "", false,
                        "\xe2\x82\xac 1"};
  ASSERT_TRUE(ledger_.Put(odd).ok());
  ASSERT_TRUE(ledger_.Put(kMade).ok());
  EXPECT_THAT(Reread(), ElementsAre(odd, kMade));
  ASSERT_TRUE(ledger_.Put({"hns-endpoint", "not UTF-8: \xff", "", false}).ok());
  EXPECT_EQ(Reread().size(), 3u);
  for (const char* name : {"line\nfeed", "quo\"te", "back\\slash", "\x7f", "\xc3\xa4"}) {
    const LedgerEntry entry{"hns-endpoint", name, name, true};
    ASSERT_TRUE(ledger_.Replace("hns-endpoint", {entry}).ok());
    EXPECT_THAT(Reread(), ElementsAre(kMade, entry));
  }
}

// People read it, too.
TEST_F(LedgerTest, ItsTextIsALineForEachEntry) {
  ASSERT_TRUE(ledger_.Put(kRoute).ok());
  ASSERT_TRUE(ledger_.Put(kFound).ok());
  std::ifstream in(folder_ / "ledger.json", std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}),
            R"({
 "format": "weft/ledger/v1",
 "entries": [
  {"kind": "host-route", "name": "10.244.1.0/24", "id": "172.16.0.11", "adopted": false},
  {"kind": "hns-network", "name": "External", "id": "9dd95ece-4b11-4da4-8cd1-59970718a804", "adopted": true}
 ]
}
)");
}

TEST_F(LedgerTest, AnEntryIsReplacedByKindAndName) {
  LedgerEntry about_to_be = kMade;
  about_to_be.id = "";
  ASSERT_TRUE(ledger_.Put(about_to_be).ok());
  ASSERT_TRUE(ledger_.Put({"hns-endpoint", kMade.name, "x", false}).ok());
  ASSERT_TRUE(ledger_.Put(kMade).ok());
  EXPECT_THAT(Reread(), ElementsAre(kMade, LedgerEntry{"hns-endpoint", kMade.name, "x", false}));
  EXPECT_EQ(*ledger_.Find("hns-network", "flannel.4096"), kMade);
  EXPECT_EQ(ledger_.Find("hns-network", "flannel.4097"), nullptr);
}

TEST_F(LedgerTest, AnEntryIsRemovedAndOneThatIsNotThereIsFine) {
  ASSERT_TRUE(ledger_.Put(kMade).ok());
  ASSERT_TRUE(ledger_.Put(kFound).ok());
  ASSERT_TRUE(ledger_.Remove("hns-network", "flannel.4096").ok());
  ASSERT_TRUE(ledger_.Remove("hns-network", "flannel.4096").ok());
  EXPECT_THAT(Reread(), ElementsAre(kFound));
}

TEST_F(LedgerTest, AllOfAKindAreReplacedAtOnce) {
  ASSERT_TRUE(ledger_.Put(kRoute).ok());
  ASSERT_TRUE(ledger_.Put(kMade).ok());
  const LedgerEntry other{"host-route", "10.244.2.0/24", "172.16.0.12", false};
  ASSERT_TRUE(ledger_.Replace("host-route", {other}).ok());
  EXPECT_THAT(Reread(), ElementsAre(kMade, other));
  ASSERT_TRUE(ledger_.Replace("host-route", {}).ok());
  EXPECT_THAT(Reread(), ElementsAre(kMade));
}

TEST_F(LedgerTest, NothingIsWrittenWhereNothingChanges) {
  ASSERT_TRUE(ledger_.Put(kMade).ok());
  std::filesystem::remove(folder_ / "ledger.json");
  ASSERT_TRUE(ledger_.Put(kMade).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ledger.json"));
}

TEST_F(LedgerTest, AnythingElseIsPutAsideAndNothingIsLost) {
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
    const absl::Status status = ledger_.Load();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("ledger.json.broken-"));
    EXPECT_THAT(ledger_.entries(), IsEmpty());
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
TEST_F(LedgerTest, ABrokenOneThatCannotBeRenamedIsNotWrittenOver) {
  if (std::filesystem::path::preferred_separator != '/') GTEST_SKIP() << "of Linux's limit";
  constexpr std::size_t kLongest = 4095;
  std::string folder = folder_.string();
  while (folder.size() < kLongest - 20)
    folder += "/" + std::string(std::min<std::size_t>(200, kLongest - 19 - folder.size()), 'a');
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/ledger.json") << "garbage";
  Ledger ledger(folder, /*open=*/false);
  ASSERT_TRUE(ledger.Put(kRoute).ok());
  const absl::Status status = ledger.Open("boot");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot be renamed: "));
  EXPECT_THAT(ledger.entries(), ElementsAre(kRoute)) << "the next try may find it mended";
  std::ifstream in(folder + "/ledger.json");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "garbage");
}

TEST_F(LedgerTest, OneThatCannotBeReadIsNamedAndLeft) {
  std::filesystem::create_directories(folder_ / "ledger.json");
  const absl::Status status = ledger_.Load();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("ledger.json cannot be read"));
  EXPECT_TRUE(std::filesystem::is_directory(folder_ / "ledger.json"));
}

TEST_F(LedgerTest, WhatCannotBeWrittenStaysInAndIsWrittenByTheNextCall) {
  std::ofstream(folder_) << "a file in the folder's place";
  const absl::Status status = ledger_.Put(kMade);
  EXPECT_THAT(std::string(status.message()),
              ::testing::AllOf(HasSubstr("cannot make the folder"), HasSubstr("--state-dir")));
  EXPECT_FALSE(ledger_.written());
  EXPECT_FALSE(ledger_.Put(kMade).ok()) << "nothing new, and still not on disk";
  EXPECT_FALSE(ledger_.Write().ok());
  std::filesystem::remove(folder_);
  ASSERT_TRUE(ledger_.Put(kRoute).ok());
  EXPECT_TRUE(ledger_.written());
  EXPECT_THAT(Reread(), ElementsAre(kMade, kRoute));
}

TEST_F(LedgerTest, OneThatOthersMayWriteIsNotBelieved) {
  ASSERT_TRUE(ledger_.Put(kMade).ok());
  ASSERT_TRUE(testing::LetOthersWrite((folder_ / "ledger.json").string()));
  Ledger ledger(folder_.string());
  const absl::Status status = ledger.Load();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("is not trusted"));
  EXPECT_THAT(ledger.entries(), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "ledger.json")) << "looking moves nothing";
}

TEST(LedgerEntryTest, MayBeWhatHnsShowsLessOf) {
  const LedgerEntry entry{"hns-network", "n", "", false, "Overlay 10.0.0.0/24 VSID 4096 port 8472",
                          "boot"};
  for (const char* shape :
       {"Overlay 10.0.0.0/24", "overlay 10.0.0.0/24 VSID 4096", "Overlay 10.0.0.0/24 port 8472",
        "Overlay 10.0.0.0/24 VSID 4096 port 8472"}) {
    EXPECT_TRUE(MayBe(entry, shape, "boot")) << shape;
    EXPECT_FALSE(MayBe(entry, shape, "another boot")) << shape;
    EXPECT_FALSE(MayBe(entry, shape, "")) << shape;
  }
  for (const char* shape :
       {"", "Overlay", "VSID 4096", "Overlay 10.0.0.0/2", "Overlay 10.0.1.0/24",
        "L2Bridge 10.0.0.0/24", "Overlay 10.0.0.0/24 VSID 8472", "Overlay 10.0.0.0/24 VSID",
        "Overlay 10.0.0.0/24 port 8472 VSID 4096", "Overlay 10.0.0.0/24 VSID 4096 port 8472 more"})
    EXPECT_FALSE(MayBe(entry, shape, "boot")) << shape;
  const LedgerEntry endpoint{"hns-endpoint", "e", "", false, "10.0.0.2", "boot"};
  EXPECT_TRUE(MayBe(endpoint, "10.0.0.2", "boot"));
  EXPECT_FALSE(MayBe(endpoint, "10.0.0.3", "boot"));
}

// A process that could not read the disk's: what each of the two says of one network.
TEST_F(LedgerTest, WhatIsEnteredBeforeItIsOpenIsMergedWithTheFile) {
  const LedgerEntry begun{"hns-network", "flannel.4096", "", false, "Overlay 10.0.0.0/8", "boot"};
  LedgerEntry made = begun, found = kMade, elsewhere = kMade;
  made.id = kMade.id;
  found.adopted = true;
  found.shape = begun.shape;
  elsewhere.id = "another";
  const struct {
    const char* description;
    LedgerEntry on_disk, entered, merged;
  } rows[] = {
      {"found again", kMade, found, kMade},
      {"ours, made by a process that died", begun, found, made},
      {"another's by now", elsewhere, found, found},
      {"made again by us", found, kMade, kMade},
  };
  for (const auto& row : rows)
    EXPECT_THAT(Merged({kFound, row.on_disk}, {row.entered}, "boot"),
                ElementsAre(kFound, row.merged))
        << row.description;
  EXPECT_THAT(Merged({begun}, {found}, "the next boot"), ElementsAre(found));
  const LedgerEntry moved{"host-route", kRoute.name, "172.16.0.12", false};
  EXPECT_THAT(Merged({kRoute}, {moved, kRoute}, ""), ElementsAre(kRoute, moved));

  ASSERT_TRUE(ledger_.Put(kMade).ok());
  Ledger late(folder_.string(), /*open=*/false);
  ASSERT_TRUE(late.Put(kRoute).ok());
  ASSERT_TRUE(late.Put(found).ok());
  EXPECT_THAT(Reread(), ElementsAre(kMade)) << "it is not open yet";
  ASSERT_TRUE(late.Open("boot").ok());
  EXPECT_FALSE(late.written());
  ASSERT_TRUE(late.Write().ok());
  EXPECT_THAT(Reread(), ElementsAre(kMade, kRoute));
  ASSERT_TRUE(late.Remove(kRoute.kind, kRoute.name).ok());
  ASSERT_TRUE(late.Open("boot").ok()) << "once";
  EXPECT_THAT(Reread(), ElementsAre(kMade));
}

TEST_F(LedgerTest, AnEarlierVersionsIsMovedUnlessOthersMayHaveWrittenIt) {
  const std::string former = (folder_ / "former").string(), now = (folder_ / "now").string();
  std::filesystem::create_directories(now);
  EXPECT_FALSE(MoveFormerLedger("", now).value());
  EXPECT_FALSE(MoveFormerLedger(former, now).value()) << "there is none";
  ASSERT_TRUE(Ledger(former).Put(kMade).ok());
  ASSERT_TRUE(testing::LetOthersWrite(former + "/ledger.json"));
  const auto refused = MoveFormerLedger(former, now);
  EXPECT_TRUE(absl::IsPermissionDenied(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()),
              ::testing::AllOf(HasSubstr("is not trusted: "), HasSubstr("copy " + former)));
  std::filesystem::remove(former + "/ledger.json");

  ASSERT_TRUE(Ledger(former).Put(kMade).ok());
  ASSERT_TRUE(testing::GiveAway(former));
  EXPECT_TRUE(absl::IsPermissionDenied(MoveFormerLedger(former, now).status()));
  std::filesystem::remove_all(former);

  ASSERT_TRUE(Ledger(former).Put(kMade).ok());
  EXPECT_TRUE(MoveFormerLedger(former, now).value());
  EXPECT_FALSE(std::filesystem::exists(former + "/ledger.json"));
  Ledger moved(now);
  ASSERT_TRUE(moved.Load().ok());
  EXPECT_THAT(moved.entries(), ElementsAre(kMade));
  ASSERT_TRUE(Ledger(former).Put(kRoute).ok());
  EXPECT_FALSE(MoveFormerLedger(former, now).value()) << "there is a newer one";
}

}  // namespace
}  // namespace weft::ledger
