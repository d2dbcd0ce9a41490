// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/hns_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "tests/support/test_path.h"

namespace weft::ledger {
namespace {

using hns::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HnsLedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    Restart();
  }
  void TearDown() override {
    End();  // Windows removes no file that somebody has open
    std::filesystem::remove_all(folder_);
  }
  // As flannelctl reads it.
  std::vector<LedgerEntry> Entries() const {
    Ledger ledger(folder_);
    EXPECT_TRUE(ledger.Load().ok());
    return ledger.entries();
  }
  void End() {
    ledger_.reset();
    node_.reset();
  }
  // The process dies, and starts again.
  void Restart() {
    End();
    node_ = std::make_shared<NodeLedger>(folder_);
    ledger_ = std::make_unique<HnsLedger>(node_, boot_);
  }
  LedgerEntry Entry(const std::string& id, bool adopted) const {
    return {"hns-network", "flannel.4096", id, adopted, network_.shape, adopted ? "" : boot_};
  }

  std::string boot_ = "this boot";

  const std::string folder_ = weft::testing::TestPath().string();
  const hns::JournalObject network_{Kind::kNetwork, "flannel.4096",
                                    "Overlay 10.244.1.0/24 VSID 4096"};
  const hns::Guid id_ = *hns::Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804");
  const hns::Guid other_ = *hns::Guid::Parse("9dd95ece-4b11-4da4-8cd1-59970718a804");
  std::shared_ptr<NodeLedger> node_;
  std::unique_ptr<HnsLedger> ledger_;
};

TEST_F(HnsLedgerTest, EnteredBeforeItIsMadeAndWithItsIdAfterwards) {
  ledger_->BeforeCreate(network_);
  EXPECT_THAT(Entries(), ElementsAre(Entry("", false)));
  ledger_->Stands(network_, id_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), false)));
  const std::vector<hns::JournalEntry> entries = ledger_->Entries(Kind::kNetwork);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].name, "flannel.4096");
  EXPECT_EQ(entries[0].id, id_);
  EXPECT_TRUE(entries[0].made);
  EXPECT_THAT(ledger_->Entries(Kind::kEndpoint), IsEmpty());
  EXPECT_EQ(node_->trouble(), "");
}

TEST_F(HnsLedgerTest, WhatWasThereBeforeUsIsAdopted) {
  ledger_->Stands(network_, id_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), true)));
}

TEST_F(HnsLedgerTest, WhoDiedAmidTheCreateKnowsItsOwn) {
  ledger_->BeforeCreate(network_);
  Restart();
  ledger_->Stands(network_, id_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), false)));
}

// Another program makes its like after a reboot: upstream does, by construction.
TEST_F(HnsLedgerTest, AfterARebootItsLikeIsNotWhatWasToBeMade) {
  for (const std::string& next : {std::string("the next boot"), std::string()}) {
    boot_ = "this boot";
    Restart();
    ledger_->BeforeCreate(network_);
    boot_ = next;  // empty: not known
    Restart();
    EXPECT_FALSE(ledger_->Entries(Kind::kNetwork).at(0).this_boot);
    ledger_->Stands(network_, id_);
    EXPECT_TRUE(Entries().at(0).adopted);
    ledger_->Gone(Kind::kNetwork, network_.name);
  }
}

TEST_F(HnsLedgerTest, WhatHnsShowsLessOfIsWhatWasMade) {
  ledger_->BeforeCreate(network_);
  EXPECT_TRUE(ledger_->Entries(Kind::kNetwork).at(0).this_boot);
  hns::JournalObject shown = network_;
  shown.shape = "Overlay 10.244.1.0/24";
  ledger_->Stands(shown, id_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), false)));
  EXPECT_EQ(ledger_->Entries(Kind::kNetwork).at(0).shape, network_.shape);
}

TEST_F(HnsLedgerTest, AnotherShapeIsNotWhatWasToBeMade) {
  ledger_->BeforeCreate(network_);
  Restart();
  hns::JournalObject stranger = network_;
  for (const char* shape :
       {"Overlay 192.168.0.0/24 VSID 4096", "Overlay", "Overlay 10.244.1.0/2"}) {
    stranger.shape = shape;
    ledger_->Stands(stranger, id_);
    EXPECT_TRUE(Entries().at(0).adopted) << shape;
    ledger_->Gone(Kind::kNetwork, network_.name);
    ledger_->BeforeCreate(network_);
  }
}

// An operator may write so, to keep reset away from it.
TEST_F(HnsLedgerTest, AnAdoptedOneWithoutIdStaysAdopted) {
  const LedgerEntry by_hand = Entry("", true);
  node_->Use([&](Ledger& ledger) { return ledger.Put(by_hand); });
  ledger_->Stands(network_, id_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), true)));
}

TEST_F(HnsLedgerTest, AfterARestartItIsKnownById) {
  ledger_->BeforeCreate(network_);
  ledger_->Stands(network_, id_);
  Restart();
  ledger_->Stands(network_, id_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), false)));
}

TEST_F(HnsLedgerTest, OneThatAnotherMadeAnewIsNotOurs) {
  ledger_->BeforeCreate(network_);
  ledger_->Stands(network_, id_);
  ledger_->Stands(network_, other_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(other_.ToString(), true)));
}

TEST_F(HnsLedgerTest, ARefusedCreateLeavesWhatWasKnownBefore) {
  ledger_->BeforeCreate(network_);
  ledger_->NotCreated(network_);
  EXPECT_THAT(Entries(), IsEmpty());

  // The name is taken by the one that HNS does not list for a while.
  ledger_->BeforeCreate(network_);
  ledger_->Stands(network_, id_);
  ledger_->BeforeCreate(network_);
  ledger_->NotCreated(network_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), false)));
}

// HNS did not list it for a while, and how the create ended is not known.
TEST_F(HnsLedgerTest, OneThatShowsUpAgainAfterACreateIsWhatItWas) {
  ledger_->Stands(network_, id_);
  ledger_->BeforeCreate(network_);
  EXPECT_THAT(Entries(), ElementsAre(Entry("", false)));
  ledger_->Stands(network_, id_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), true)));
  ledger_->BeforeCreate(network_);
  ledger_->Stands(network_, other_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(other_.ToString(), false)));
}

TEST_F(HnsLedgerTest, WhatIsGoneIsDropped) {
  ledger_->Stands(network_, id_);
  ledger_->Gone(Kind::kNetwork, network_.name);
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(HnsLedgerTest, ASecondDaemonOnTheFolderIsTold) {
  ledger_->BeforeCreate(network_);
  const auto second_node = std::make_shared<NodeLedger>(folder_);
  HnsLedger second(second_node);
  second.Stands(network_, id_);
  EXPECT_THAT(second_node->trouble(), HasSubstr("--state-dir"));
  EXPECT_THAT(Entries(), ElementsAre(Entry("", false)));
  End();
  second.Stands(network_, id_);
  EXPECT_EQ(second_node->trouble(), "");
}

TEST_F(HnsLedgerTest, AFolderThatCannotBeMadeIsTold) {
  End();
  std::filesystem::remove_all(folder_);
  std::ofstream(folder_) << "a file";
  Restart();
  ledger_->BeforeCreate(network_);
  EXPECT_THAT(node_->trouble(), HasSubstr("--state-dir"));
}

TEST_F(HnsLedgerTest, ABrokenLedgerIsToldAndANewOneBegun) {
  std::ofstream(folder_ + "/ledger.json") << "garbage";
  Restart();
  ledger_->Stands(network_, id_);
  EXPECT_THAT(node_->trouble(), HasSubstr("ledger.json.broken"));
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), true)));
}

}  // namespace
}  // namespace weft::ledger
