// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/former_route.h"

#include <gtest/gtest.h>

#include "tests/support/lease_makers.h"

namespace weft::ledger {
namespace {

using testing::Address;
using testing::Prefix;

TEST(FormerRoute, IsReadAsItWasEntered) {
  for (const FormerRouteEntry& route :
       {FormerRouteEntry{Prefix("10.244.1.0/24"), Address("192.0.2.1"), "eth0", 0, false},
        FormerRouteEntry{Prefix("10.244.1.0/24"), Address("10.244.1.0"), "flannel.1", 0, true},
        FormerRouteEntry{Prefix("10.244.1.0/24"), std::nullopt, "vEthernet (Ethernet 2)", 256,
                         false},
        FormerRouteEntry{Prefix("fd00:244:1::/64"), Address("fd09::1"), "eth0", 1024, false}})
    EXPECT_EQ(FormerRouteOf(LedgerEntryOf(route)), route);
}

// Of another kind, or written by hand.
TEST(FormerRoute, WhatCannotBeReadIsNone) {
  for (const LedgerEntry& entry :
       {LedgerEntry{"host-route", "10.244.1.0/24", "192.0.2.1", true, "0 - eth0"},
        LedgerEntry{"former-route", "nonsense", "192.0.2.1", true, "0 - eth0"},
        LedgerEntry{"former-route", "10.244.1.0/24", "nonsense", true, "0 - eth0"},
        LedgerEntry{"former-route", "10.244.1.0/24", "fd09::1", true, "0 - eth0"},
        LedgerEntry{"former-route", "10.244.1.0/24", "192.0.2.1", true, "much - eth0"},
        LedgerEntry{"former-route", "10.244.1.0/24", "192.0.2.1", true, "0 eth0"},
        LedgerEntry{"former-route", "10.244.1.0/24", "192.0.2.1", true, ""}})
    EXPECT_EQ(FormerRouteOf(entry), std::nullopt) << entry.name << entry.id << entry.shape;
}

}  // namespace
}  // namespace weft::ledger
