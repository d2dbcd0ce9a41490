// SPDX-License-Identifier: Apache-2.0
// The objects of HNS in the node's ledger.
#include "control/ledger/node_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "tests/support/ledger_rows.h"
#include "tests/support/test_path.h"

namespace weft::ledger {
namespace {

using hns::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NodeLedgerObjectsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    Restart();
  }
  void TearDown() override {
    End();  // Windows does not remove an open file
    std::filesystem::remove_all(folder_);
  }
  // As flannelctl reads it.
  std::vector<Row> Entries() const { return testing::RowsOnDisk(folder_); }
  void End() { ledger_.reset(); }
  // The process dies, and starts again.
  void Restart() {
    End();
    ledger_ = std::make_shared<NodeLedger>(folder_, boot_);
    ledger_->Open();
  }
  Row Entry(const std::string& id, bool adopted) const {
    return {"hns-network", "flannel.4096", id, adopted, network_.shape, adopted ? "" : boot_};
  }

  std::string boot_ = "this boot";

  const std::string folder_ = weft::testing::TestPath().string();
  const hns::LedgerObject network_{Kind::kNetwork, "flannel.4096",
                                   "Overlay 10.244.1.0/24 VSID 4096"};
  const hns::Guid id_ = *hns::Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804");
  const hns::Guid other_ = *hns::Guid::Parse("9dd95ece-4b11-4da4-8cd1-59970718a804");
  std::shared_ptr<NodeLedger> ledger_;
};

TEST_F(NodeLedgerObjectsTest, EnteredBeforeItIsMadeAndWithItsIdAfterwards) {
  ledger_->Intend(network_);
  EXPECT_THAT(Entries(), ElementsAre(Entry("", false)));
  ledger_->Confirm(network_, id_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), false)));
  const std::vector<hns::KnownObject> entries = ledger_->Objects(Kind::kNetwork);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].name, "flannel.4096");
  EXPECT_EQ(entries[0].id, id_);
  EXPECT_TRUE(entries[0].made);
  EXPECT_THAT(ledger_->Objects(Kind::kEndpoint), IsEmpty());
  EXPECT_EQ(ledger_->condition(), "");
}

TEST_F(NodeLedgerObjectsTest, AnExistingObjectIsAdopted) {
  ledger_->Confirm(network_, id_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), true)));
}

TEST_F(NodeLedgerObjectsTest, KilledDuringACreateItRecognizesItsObject) {
  ledger_->Intend(network_);
  Restart();
  ledger_->Confirm(network_, id_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), false)));
}

// Another program makes its like after a reboot: upstream does, by construction.
TEST_F(NodeLedgerObjectsTest, AfterARebootASimilarObjectIsNotTheIntendedOne) {
  for (const std::string& next : {std::string("the next boot"), std::string()}) {
    boot_ = "this boot";
    Restart();
    ledger_->Intend(network_);
    boot_ = next;  // empty: not known
    Restart();
    EXPECT_FALSE(ledger_->Objects(Kind::kNetwork).at(0).this_boot);
    ledger_->Confirm(network_, id_);
    EXPECT_TRUE(Entries().at(0).adopted);
    EXPECT_FALSE(ledger_->Objects(Kind::kNetwork).at(0).this_boot);
    ledger_->Forget(Kind::kNetwork, network_.name);
  }
}

TEST_F(NodeLedgerObjectsTest, AnIncompletelyShownObjectIsTheIntendedOne) {
  ledger_->Intend(network_);
  EXPECT_TRUE(ledger_->Objects(Kind::kNetwork).at(0).this_boot);
  hns::LedgerObject shown = network_;
  shown.shape = "Overlay 10.244.1.0/24";
  ledger_->Confirm(shown, id_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), false)));
  EXPECT_EQ(ledger_->Objects(Kind::kNetwork).at(0).shape, network_.shape);
}

TEST_F(NodeLedgerObjectsTest, AnotherShapeIsNotTheIntendedObject) {
  ledger_->Intend(network_);
  Restart();
  hns::LedgerObject foreign = network_;
  for (const char* shape :
       {"Overlay 192.168.0.0/24 VSID 4096", "Overlay", "Overlay 10.244.1.0/2"}) {
    foreign.shape = shape;
    ledger_->Confirm(foreign, id_);
    EXPECT_TRUE(Entries().at(0).adopted) << shape;
    ledger_->Forget(Kind::kNetwork, network_.name);
    ledger_->Intend(network_);
  }
}

// An operator may write this, so that reset does not delete it.
TEST_F(NodeLedgerObjectsTest, AnAdoptedOneWithoutIdStaysAdopted) {
  Row edited = Entry("", false);
  edited.adopted = true;
  ledger_->Use([&](Ledger& ledger) { return ledger.Confirm(EntryFrom(edited)); });
  ledger_->Confirm(network_, id_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), true)));
}

TEST_F(NodeLedgerObjectsTest, AfterARestartItIsKnownById) {
  ledger_->Intend(network_);
  ledger_->Confirm(network_, id_);
  Restart();
  ledger_->Confirm(network_, id_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), false)));
}

TEST_F(NodeLedgerObjectsTest, AForeignRecreatedObjectIsNotOurs) {
  ledger_->Intend(network_);
  ledger_->Confirm(network_, id_);
  ledger_->Confirm(network_, other_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(other_.ToString(), true)));
}

TEST_F(NodeLedgerObjectsTest, ARefusedCreateKeepsTheEarlierEntry) {
  ledger_->Intend(network_);
  ledger_->Forget(network_);
  EXPECT_THAT(Entries(), IsEmpty());

  // The name is in use by a network that HNS does not list for a while.
  ledger_->Intend(network_);
  ledger_->Confirm(network_, id_);
  ledger_->Intend(network_);
  for (int i = 0; i < 2; ++i) {
    ledger_->Forget(network_);
    EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), false)));
  }
}

// HNS did not list it for a while, and how the create ended is not known.
TEST_F(NodeLedgerObjectsTest, AnObjectThatAppearsAgainAfterACreateKeepsItsEntry) {
  ledger_->Confirm(network_, id_);
  ledger_->Intend(network_);
  EXPECT_THAT(Entries(), ElementsAre(Entry("", false)));
  ledger_->Confirm(network_, id_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), true)));
  ledger_->Intend(network_);
  ledger_->Confirm(network_, other_);
  EXPECT_THAT(Entries(), ElementsAre(Entry(other_.ToString(), false)));
}

TEST_F(NodeLedgerObjectsTest, MissingObjectsAreForgotten) {
  ledger_->Confirm(network_, id_);
  ledger_->Forget(Kind::kNetwork, network_.name);
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(NodeLedgerObjectsTest, ASecondDaemonOnTheFolderIsReported) {
  ledger_->Intend(network_);
  NodeLedger second(folder_);
  second.Confirm(network_, id_);
  EXPECT_THAT(second.condition(), HasSubstr("--state-dir"));
  EXPECT_THAT(Entries(), ElementsAre(Entry("", false)));
  End();
  second.Confirm(network_, id_);
  EXPECT_EQ(second.condition(), "");
}

TEST_F(NodeLedgerObjectsTest, AFolderThatCannotBeCreatedIsReported) {
  End();
  std::filesystem::remove_all(folder_);
  std::ofstream(folder_) << "a file";
  Restart();
  ledger_->Intend(network_);
  EXPECT_THAT(ledger_->condition(), HasSubstr("--state-dir"));
}

TEST_F(NodeLedgerObjectsTest, ABrokenLedgerIsReportedAndANewOneStarted) {
  std::ofstream(folder_ + "/ledger.json") << "garbage";
  Restart();
  ledger_->Confirm(network_, id_);
  EXPECT_THAT(ledger_->condition(), HasSubstr("ledger.json.broken"));
  EXPECT_THAT(Entries(), ElementsAre(Entry(id_.ToString(), true)));
}

}  // namespace
}  // namespace weft::ledger
