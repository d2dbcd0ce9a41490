// SPDX-License-Identifier: Apache-2.0
#include "control/underlay/adapter_below.h"

#include <gtest/gtest.h>

namespace weft::underlay {
namespace {

host::Adapter Nic(std::uint32_t index, const char* name, const char* mac) {
  return {index, name, 1500, true, false, *MacAddress::Parse(mac), {}};
}

TEST(AdapterBelow, IsFoundByItsNameElseByTheMac) {
  constexpr char kMac[] = "00:15:5d:00:00:0a", kOther[] = "00:15:5d:00:00:0b";
  const struct {
    const char* description;
    const char* chosen;
    std::vector<host::Adapter> others;
    std::vector<std::string> iface;
    AdapterHint hint;
  } rows[] = {
      {"a NIC", "Ethernet", {Nic(2, "Ethernet 2", kOther)}, {}, {"Ethernet", "", ""}},
      {"its vNIC",
       "vEthernet (Ethernet)",
       {Nic(2, "Ethernet", kMac), Nic(3, "Ethernet 2", kOther)},
       {},
       {"Ethernet", "", ""}},
      {"a vNIC with a suffix",
       "vEthernet (Ethernet) 2",
       {Nic(2, "Ethernet", kMac), Nic(3, "Ethernet 2", kOther)},
       {},
       {"", "Ethernet", ""}},
      {"of a switch that Hyper-V named",
       "vEthernet (LAN)",
       {Nic(2, "Ethernet", kMac), Nic(3, "vEthernet (nat)", kMac)},
       {},
       {"", "Ethernet", ""}},
      {"a vNIC with an arbitrary name",
       "Host",
       {Nic(2, "Ethernet", kMac)},
       {},
       {"Host", "Ethernet", ""}},
      {"no NIC has the MAC: it may be hidden",
       "vEthernet (Ethernet)",
       {Nic(2, "Ethernet 2", kOther)},
       {},
       {"Ethernet", "", ""}},
      {"a hidden NIC that its vNIC's name does not contain",
       "vEthernet (Ethernet) 2",
       {Nic(2, "Ethernet 2", kOther)},
       {},
       {"", "", ""}},
      {"a team: several have it",
       "vEthernet (LAN)",
       {Nic(2, "Team", kMac), Nic(3, "NIC 1", kMac)},
       {},
       {"", "",
        "the physical adapter below vEthernet (LAN) is not known: Team and NIC 1 have its MAC "
        "00:15:5d:00:00:0a, as in a team; name the one to use with --iface"}},
      {"beside a virtual function of the NIC, as on Azure",
       "vEthernet (Ethernet 3)",
       {Nic(2, "Ethernet 4", kMac), Nic(3, "Ethernet 3", kMac), Nic(4, "vEthernet (nat)", kOther)},
       {},
       {"Ethernet 3", "", ""}},
      {"beside a virtual function that is named",
       "vEthernet (Ethernet 3)",
       {Nic(2, "Ethernet 4", kMac), Nic(3, "Ethernet 3", kMac)},
       {"Ethernet 4"},
       {"Ethernet 3", "Ethernet 4", ""}},
      {"a NIC with a virtual function: only where HNS refuses the NIC",
       "Ethernet 3",
       {Nic(2, "Ethernet 4", kMac)},
       {},
       {"Ethernet 3", "Ethernet 4", ""}},
      {"a team, and one is named",
       "vEthernet (LAN)",
       {Nic(2, "Team", kMac), Nic(3, "NIC 1", kMac)},
       {"NIC 1"},
       {"", "NIC 1", ""}},
  };
  for (const auto& row : rows) {
    InterfaceChoice underlay;
    underlay.index = 1;
    underlay.name = row.chosen;
    underlay.mac = *MacAddress::Parse(kMac);
    std::vector<host::Adapter> adapters = row.others;
    adapters.push_back(Nic(1, row.chosen, kMac));
    const AdapterHint hint = AdapterBelow(underlay, adapters, row.iface);
    EXPECT_EQ(hint.name, row.hint.name) << row.description;
    EXPECT_EQ(hint.by_mac, row.hint.by_mac) << row.description;
    EXPECT_EQ(hint.ambiguous, row.hint.ambiguous) << row.description;
  }
}

TEST(AdapterBelow, AmongOthersANicThatIsNotListedIsUnknown) {
  InterfaceChoice underlay;
  underlay.index = 1;
  underlay.name = "Ethernet";
  EXPECT_EQ(AdapterBelow(underlay, {Nic(2, "Ethernet 2", "00:15:5d:00:00:0b")}), AdapterHint());
  EXPECT_EQ(AdapterBelow(underlay, {}), (AdapterHint{"Ethernet", "", ""}));
}

TEST(AdapterBelow, WithoutAMacNothingIsTheSame) {
  InterfaceChoice underlay;
  underlay.index = 1;
  underlay.name = "LAN";
  constexpr char kNoMac[] = "00:00:00:00:00:00";
  EXPECT_EQ(AdapterBelow(underlay, {Nic(1, "LAN", kNoMac), Nic(2, "Tunnel", kNoMac)}),
            (AdapterHint{"LAN", "", ""}));
}

}  // namespace
}  // namespace weft::underlay
