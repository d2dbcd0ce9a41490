// SPDX-License-Identifier: Apache-2.0
// The routes to peers in the node's ledger.
#include "control/ledger/node_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "control/log.h"
#include "tests/support/lease_makers.h"
#include "tests/support/ledger_rows.h"
#include "tests/support/test_path.h"

namespace weft::ledger {
namespace {

using control::RouteKey;
using control::RouteKeys;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using ::weft::testing::Address;
using ::weft::testing::Prefix;

class NodeLedgerRoutesTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override {
    ledger_.reset();  // Windows does not remove an open file
    std::filesystem::remove_all(folder_);
  }
  // As flannelctl reads it.
  std::vector<Row> Entries() const { return weft::testing::RowsOnDisk(folder_.string()); }
  // Whether `step` writes the ledger's file.
  template <typename Step>
  bool Writes(const Step& step) const {
    std::filesystem::remove(folder_ / "ledger.json");
    step();
    return std::filesystem::exists(folder_ / "ledger.json");
  }

  const std::filesystem::path folder_ = weft::testing::TestPath();
  std::unique_ptr<NodeLedger> ledger_ = std::make_unique<NodeLedger>(folder_.string());
  const RouteKey a_{Prefix("10.244.2.0/24"), Address("192.0.2.2")};
  const RouteKey moved_{Prefix("10.244.2.0/24"), Address("192.0.2.22")};
  const RouteKey v6_{Prefix("fd00:244:2::/64"), Address("fd09::2")};
  const std::string boot_ = control::BootId();
  const Row entry_{"host-route", "10.244.2.0/24", "192.0.2.2", false, "", boot_};
  const Row entry_moved_{"host-route", "10.244.2.0/24", "192.0.2.22", false, "", boot_};
  const Row entry_v6_{"host-route", "fd00:244:2::/64", "fd09::2", false, "", boot_};
  const IpPrefix network_ = Prefix("10.244.0.0/16");
};

TEST_F(NodeLedgerRoutesTest, WithoutRoutesNoFolderIsTouched) {
  ledger_.reset();
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(NodeLedgerRoutesTest, ARouteIsEnteredBeforeItIsAddedAndForgottenWithIt) {
  ledger_->Intend(RouteKeys{a_, v6_});
  EXPECT_THAT(Entries(), UnorderedElementsAre(entry_, entry_v6_));
  ledger_->Forget(RouteKeys{a_});
  EXPECT_THAT(Entries(), ElementsAre(entry_v6_));
  EXPECT_EQ(ledger_->condition(), "");
}

TEST_F(NodeLedgerRoutesTest, AMoveIsTwoRoutesWhileItLasts) {
  ledger_->Intend(RouteKeys{a_});
  ledger_->Intend(RouteKeys{moved_});
  EXPECT_THAT(Entries(), UnorderedElementsAre(entry_, entry_moved_));
  ledger_->Forget(RouteKeys{a_});
  EXPECT_THAT(Entries(), ElementsAre(entry_moved_));
}

// A process that ends in between leaves what is needed to give it back.
TEST_F(NodeLedgerRoutesTest, ATakenOverRouteIsEnteredOnceAndStays) {
  host::Route was;
  was.destination = a_.first;
  was.gateway = a_.second;
  was.metric = 256;
  const auto log_of = [&](const std::vector<control::FormerRoute>& routes) {
    ::testing::internal::CaptureStderr();
    control::StartLog(control::LogFormat::kKlog, 0);  // Windows' handle of stderr is another now
    ledger_->IntendTakeover(routes);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(log_of({{was, "vEthernet (Ethernet)"}}),
              HasSubstr("are replaced by ours: 10.244.2.0/24 via 192.0.2.2 dev vEthernet "
                        "(Ethernet); \"flannelctl reset\" puts them back"));
  const Row entry{"former-route", "10.244.2.0/24", "192.0.2.2", true, "256 - vEthernet (Ethernet)"};
  EXPECT_THAT(Entries(), ElementsAre(entry));
  EXPECT_THAT(ledger_->Owned(network_), ElementsAre(a_));
  EXPECT_THAT(ledger_->Owned(Prefix("fd00:244::/48")), IsEmpty());
  was.metric = 1;
  EXPECT_FALSE(Writes([&] { EXPECT_EQ(log_of({{was, "Ethernet"}}), ""); })) << "as it was first";
  ledger_->Intend(RouteKeys{moved_, v6_});
  EXPECT_THAT(ledger_->Owned(network_), UnorderedElementsAre(a_, moved_));
  ledger_->Forget(RouteKeys{a_, moved_});
  EXPECT_THAT(Entries(), UnorderedElementsAre(entry, entry_v6_));
  std::vector<control::FormerRoute> six;
  for (int i = 0; i < 6; ++i) {
    was.destination = Prefix("10.244." + std::to_string(30 + i) + ".0/24");
    six.push_back({was, "Ethernet"});
  }
  EXPECT_THAT(log_of(six), HasSubstr("10.244.34.0/24 via 192.0.2.2 dev Ethernet and 1 more; "));
}

// Network may have been another one. What upstream's flanneld left outside of it is persistent.
TEST_F(NodeLedgerRoutesTest, OutsideOfNetworkOnlyWhatWasPutIsOwned) {
  host::Route was;
  was.destination = Prefix("10.99.3.0/24");
  was.gateway = Address("192.0.2.3");
  ledger_->IntendTakeover({{was, "Ethernet"}});
  was.destination = Prefix("10.244.3.0/24");
  was.gateway.reset();
  ledger_->IntendTakeover({{was, "Ethernet"}});
  const RouteKey put{Prefix("10.99.2.0/24"), Address("192.0.2.2")};
  ledger_->Intend(RouteKeys{put});
  EXPECT_THAT(ledger_->Owned(network_), ElementsAre(put));
  EXPECT_THAT(ledger_->Owned(Prefix("10.99.0.0/16")), SizeIs(2));
}

// Routes that we put end with the boot: a route like one of them is persistent.
TEST_F(NodeLedgerRoutesTest, ARouteOfAnEarlierBootIsForgotten) {
  ledger_->Intend(RouteKeys{a_});
  const Row unknown{"host-route", "10.244.9.0/24", "192.0.2.9"};  // an earlier version's
  ledger_->Use([&](Ledger& ledger) { return ledger.Confirm(EntryFrom(unknown)); });
  ledger_.reset();
  ledger_ = std::make_unique<NodeLedger>(folder_.string(), "");
  EXPECT_THAT(ledger_->Owned(network_), SizeIs(2)) << "which boot this is is not known";
  ledger_.reset();
  ledger_ = std::make_unique<NodeLedger>(folder_.string(), "another boot");
  EXPECT_THAT(ledger_->Owned(network_),
              ElementsAre(RouteKey{Prefix("10.244.9.0/24"), Address("192.0.2.9")}));
  EXPECT_THAT(Entries(), ElementsAre(unknown));
}

TEST_F(NodeLedgerRoutesTest, ForeignEntriesStay) {
  const Row network{"hns-network", "cbr0", "id", false};
  ledger_->Use([&](Ledger& ledger) { return ledger.Confirm(EntryFrom(network)); });
  ledger_->Intend(RouteKeys{a_});
  ledger_->Forget(RouteKeys{a_});
  EXPECT_THAT(Entries(), ElementsAre(network));
}

// Written by hand.
TEST_F(NodeLedgerRoutesTest, AnEntryThatIsNoRouteIsSkippedAndKept) {
  const Row broken[] = {{"host-route", "nonsense", "192.0.2.9"},
                        {"host-route", "10.244.9.0/24", "nonsense"}};
  for (const Row& row : broken)
    ledger_->Use([&](Ledger& ledger) { return ledger.Confirm(EntryFrom(row)); });
  ledger_->Intend(RouteKeys{a_});
  EXPECT_THAT(ledger_->Owned(network_), ElementsAre(a_));
  EXPECT_THAT(Entries(), ElementsAre(broken[0], broken[1], entry_));
  ledger_->Forget(RouteKeys{a_});
  EXPECT_THAT(Entries(), ElementsAre(broken[0], broken[1]));
}

// So that reset leaves it.
TEST_F(NodeLedgerRoutesTest, AnEntryEditedToAdoptedStaysAdopted) {
  const Row adopted{"host-route", "10.244.2.0/24", "192.0.2.2", true};
  ledger_->Use([&](Ledger& ledger) { return ledger.Confirm(EntryFrom(adopted)); });
  ledger_->Intend(RouteKeys{a_});
  EXPECT_THAT(Entries(), ElementsAre(adopted));
}

TEST_F(NodeLedgerRoutesTest, ABatchIsOneWriteAndAnUnchangedBatchNone) {
  RouteKeys many;
  for (int i = 0; i < 5000; ++i) {
    const std::string bytes = std::to_string(i / 250) + "." + std::to_string(i % 250);
    many.emplace(Prefix("10." + bytes + ".0/24"), Address("192.168." + bytes));
  }
  EXPECT_TRUE(Writes([&] { ledger_->Intend(many); }));
  EXPECT_THAT(Entries(), SizeIs(5000));
  EXPECT_FALSE(Writes([&] { ledger_->Intend(many); }));
  EXPECT_FALSE(Writes([&] { ledger_->Forget(RouteKeys{a_}); }));
  EXPECT_TRUE(Writes([&] { ledger_->Forget(many); }));
  EXPECT_THAT(Entries(), IsEmpty());
}

}  // namespace
}  // namespace weft::ledger
