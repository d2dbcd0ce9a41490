// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/route_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "tests/support/lease_makers.h"
#include "tests/support/test_path.h"

namespace weft::ledger {
namespace {

using control::RouteKey;
using control::RouteKeys;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using ::weft::testing::Address;
using ::weft::testing::Prefix;

class RouteLedgerTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override {
    ledger_.reset();  // Windows removes no file that somebody has open
    node_.reset();
    std::filesystem::remove_all(folder_);
  }
  // As flannelctl reads it.
  std::vector<LedgerEntry> Entries() const {
    Ledger ledger(folder_.string());
    EXPECT_TRUE(ledger.Load().ok());
    return ledger.entries();
  }
  // Whether `step` writes the ledger's file.
  template <typename Step>
  bool Writes(const Step& step) const {
    std::filesystem::remove(folder_ / "ledger.json");
    step();
    return std::filesystem::exists(folder_ / "ledger.json");
  }

  const std::filesystem::path folder_ = weft::testing::TestPath();
  std::shared_ptr<NodeLedger> node_ = std::make_shared<NodeLedger>(folder_.string());
  std::unique_ptr<RouteLedger> ledger_ = std::make_unique<RouteLedger>(node_);
  const RouteKey a_{Prefix("10.244.2.0/24"), Address("192.0.2.2")};
  const RouteKey moved_{Prefix("10.244.2.0/24"), Address("192.0.2.22")};
  const RouteKey v6_{Prefix("fd00:244:2::/64"), Address("fd09::2")};
  const LedgerEntry entry_{"host-route", "10.244.2.0/24", "192.0.2.2", false};
  const LedgerEntry entry_moved_{"host-route", "10.244.2.0/24", "192.0.2.22", false};
  const LedgerEntry entry_v6_{"host-route", "fd00:244:2::/64", "fd09::2", false};
};

TEST_F(RouteLedgerTest, OneThatNeverPutsARouteTouchesNoFolder) {
  ledger_.reset();
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(RouteLedgerTest, ARouteIsEnteredBeforeItIsPutAndGoesWithIt) {
  ledger_->BeforePut({a_, v6_});
  EXPECT_THAT(Entries(), UnorderedElementsAre(entry_, entry_v6_));
  ledger_->Removed({a_});
  EXPECT_THAT(Entries(), ElementsAre(entry_v6_));
  EXPECT_EQ(node_->trouble(), "");
}

TEST_F(RouteLedgerTest, AMoveIsTwoRoutesWhileItLasts) {
  ledger_->BeforePut({a_});
  ledger_->BeforePut({moved_});
  EXPECT_THAT(Entries(), UnorderedElementsAre(entry_, entry_moved_));
  ledger_->Removed({a_});
  EXPECT_THAT(Entries(), ElementsAre(entry_moved_));
}

TEST_F(RouteLedgerTest, WhatIsNeitherThereNorWantedIsForgottenWithinItsFamily) {
  ledger_->BeforePut({a_, moved_, v6_});
  ledger_->KeepOnly(IpFamily::kV4, {moved_});
  EXPECT_THAT(Entries(), UnorderedElementsAre(entry_moved_, entry_v6_));
}

// A process that ends in between leaves what is needed to give it back.
TEST_F(RouteLedgerTest, WhatIsTakenOverIsEnteredOnceAndStays) {
  host::Route was;
  was.destination = a_.first;
  was.gateway = a_.second;
  was.metric = 256;
  ledger_->BeforeTakeover({{was, "vEthernet (Ethernet)"}});
  const LedgerEntry entry{"former-route", "10.244.2.0/24", "192.0.2.2", true,
                          "256 - vEthernet (Ethernet)"};
  EXPECT_THAT(Entries(), ElementsAre(entry));
  EXPECT_THAT(ledger_->Owned(IpFamily::kV4), ElementsAre(a_));
  EXPECT_THAT(ledger_->Owned(IpFamily::kV6), IsEmpty());
  was.metric = 1;
  EXPECT_FALSE(Writes([&] { ledger_->BeforeTakeover({{was, "Ethernet"}}); })) << "as it was first";
  ledger_->BeforePut({moved_, v6_});
  EXPECT_THAT(ledger_->Owned(IpFamily::kV4), UnorderedElementsAre(a_, moved_));
  ledger_->Removed({a_, moved_});
  ledger_->KeepOnly(IpFamily::kV4, {});
  EXPECT_THAT(Entries(), UnorderedElementsAre(entry, entry_v6_));
}

TEST_F(RouteLedgerTest, OthersEntriesStay) {
  const LedgerEntry network{"hns-network", "cbr0", "id", false};
  node_->Use([&](Ledger& ledger) { return ledger.Put(network); });
  ledger_->BeforePut({a_});
  ledger_->KeepOnly(IpFamily::kV4, {});
  EXPECT_THAT(Entries(), ElementsAre(network));
}

// Written by hand.
TEST_F(RouteLedgerTest, AnEntryThatIsNoRouteIsPassedOver) {
  const LedgerEntry broken[] = {{"host-route", "nonsense", "192.0.2.9", false},
                                {"host-route", "10.244.9.0/24", "nonsense", false}};
  for (const LedgerEntry& entry : broken) {
    node_->Use([&](Ledger& ledger) { return ledger.Put(entry); });
    ledger_->BeforePut({a_});
    EXPECT_THAT(Entries(), ::testing::Contains(entry_)) << entry.name;
    ledger_->Removed({a_});
    EXPECT_THAT(Entries(), IsEmpty()) << entry.name;
  }
}

TEST_F(RouteLedgerTest, ABatchIsOneWriteAndNothingNewIsNone) {
  RouteKeys many;
  for (int i = 0; i < 5000; ++i) {
    const std::string octets = std::to_string(i / 250) + "." + std::to_string(i % 250);
    many.emplace(Prefix("10." + octets + ".0/24"), Address("192.168." + octets));
  }
  EXPECT_TRUE(Writes([&] { ledger_->BeforePut(many); }));
  EXPECT_THAT(Entries(), SizeIs(5000));
  EXPECT_FALSE(Writes([&] { ledger_->BeforePut(many); }));
  EXPECT_FALSE(Writes([&] { ledger_->KeepOnly(IpFamily::kV4, many); }));
  EXPECT_FALSE(Writes([&] { ledger_->Removed({a_}); }));
  EXPECT_TRUE(Writes([&] { ledger_->Removed(many); }));
  EXPECT_THAT(Entries(), IsEmpty());
}

}  // namespace
}  // namespace weft::ledger
