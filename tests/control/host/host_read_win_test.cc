// SPDX-License-Identifier: Apache-2.0
// The reads of the Windows host, with IP Helper in memory: each kind of row that Windows has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "control/host/carried_routes.h"
#include "control/host/host_win.h"
#include "tests/control/host/fake_ip_helper_win.h"
#include "tests/support/lease_makers.h"
#include "vxlan/text/utf16_win.h"

namespace weft::host {
namespace {

using testing::Address;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Prefix;
using ::testing::StartsWith;

class WindowsReadTest : public ::testing::Test {
 protected:
  FakeIpHelper::Adapter& Add(NET_IFINDEX index, std::wstring name,
                             std::vector<FakeIpHelper::Address> addresses) {
    adapter_ = {};
    adapter_.index = index;
    adapter_.name = std::move(name);
    adapter_.addresses = std::move(addresses);
    return adapter_;
  }
  void AddUnderlay(NET_IFINDEX index, std::string_view network, ULONG metric) {
    Add(index, L"Ethernet " + std::to_wstring(index), {{Address(std::string(network) + ".1"), 24}});
    adapter_.metric_v4 = metric;
    fake_.AddAdapter(adapter_);
  }
  std::vector<Adapter> Adapters() {
    const auto adapters = host_->Adapters();
    EXPECT_TRUE(adapters.ok()) << adapters.status();
    return adapters.value_or(std::vector<Adapter>());
  }
  std::vector<Route> Routes(IpFamily family, std::uint32_t index = 0) {
    const auto routes = host_->Routes(family, index);
    EXPECT_TRUE(routes.ok()) << routes.status();
    std::vector<Route> found = routes.value_or(std::vector<Route>());
    std::erase_if(found, [](const Route& route) { return route.kind != RouteKind::kPlain; });
    return found;
  }

  FakeIpHelper fake_;
  FakeIpHelper::Adapter adapter_;
  std::unique_ptr<Host> host_ = MakeWindowsHost(fake_.functions(), FirewallCom::System());
};

// ---- Adapters

TEST_F(WindowsReadTest, AnAdapterHasOnlyItsOwnFacts) {
  Add(7, L"vEthernet (\u00c9thernet \u7f51)", {{Address("10.9.0.1"), 24}});
  adapter_.mac = {0x02, 0, 0, 0, 9, 1};
  adapter_.mtu = 1450;
  fake_.AddAdapter(adapter_);
  Add(1, L"Loopback Pseudo-Interface 1", {{Address("127.0.0.1"), 8}});
  adapter_.type = IF_TYPE_SOFTWARE_LOOPBACK;
  adapter_.up = false;
  fake_.AddAdapter(adapter_);
  Add(3, L"Wi-Fi", {});
  adapter_.type = IF_TYPE_IEEE80211;
  fake_.AddAdapter(adapter_);
  const std::vector<Adapter> adapters = Adapters();
  ASSERT_EQ(adapters.size(), 3u);
  EXPECT_EQ(adapters[0], (Adapter{.index = 7,
                                  .name = "vEthernet (\u00c9thernet \u7f51)",
                                  .mtu = 1450,
                                  .up = true,
                                  .loopback = false,
                                  .mac = testing::Mac("02:00:00:00:09:01"),
                                  .addresses = {{Address("10.9.0.1"), 24}}}));
  EXPECT_EQ(adapters[1].mac, MacAddress());
  EXPECT_TRUE(adapters[1].loopback);
  EXPECT_FALSE(adapters[1].up);
  EXPECT_FALSE(adapters[1].wireless);
  EXPECT_TRUE(adapters[2].wireless);
}

TEST_F(WindowsReadTest, AnAdapterWithoutIpv4HasTheIndexOfItsIpv6) {
  Add(7, L"six", {{Address("fd09::1"), 64}});
  adapter_.has_v4 = false;
  fake_.AddAdapter(adapter_);
  Add(8, L"four", {{Address("10.9.0.1"), 24}});
  adapter_.has_v6 = false;
  fake_.AddAdapter(adapter_);
  const std::vector<Adapter> adapters = Adapters();
  ASSERT_EQ(adapters.size(), 2u);
  EXPECT_EQ(adapters[0].index, 7u);
  EXPECT_EQ(adapters[1].index, 8u);
}

TEST_F(WindowsReadTest, AnAdapterWithoutANameHasAnEmptyOne) {
  Add(7, L"", {});
  fake_.AddAdapter(adapter_);
  EXPECT_EQ(Adapters()[0].name, "");
  EXPECT_EQ(Utf8(nullptr), "");
}

TEST_F(WindowsReadTest, AHardwareAddressOfAnotherLengthIsNoMac) {
  Add(7, L"infiniband", {});
  adapter_.mac = {1, 2, 3, 4, 5, 6, 7, 8};
  fake_.AddAdapter(adapter_);
  EXPECT_EQ(Adapters()[0].mac, MacAddress());
}

TEST_F(WindowsReadTest, TemporaryAddressesComeLastAndUnusableOnesAreLeftOut) {
  Add(7, L"Ethernet",
      {{Address("fd09::99"), 64, IpDadStatePreferred, IpSuffixOriginRandom},
       {Address("10.9.0.9"), 24, IpDadStateDeprecated},
       {Address("10.9.0.8"), 24, IpDadStateDuplicate},
       {Address("10.9.0.7"), 24, IpDadStateInvalid},
       {Address("10.9.0.6"), 24, IpDadStateTentative},
       {Address("fd09::1"), 64}});
  fake_.AddAdapter(adapter_);
  EXPECT_THAT(Adapters()[0].addresses, ElementsAre(AssignedAddress{Address("10.9.0.6"), 24},
                                                   AssignedAddress{Address("fd09::1"), 64},
                                                   AssignedAddress{Address("fd09::99"), 64},
                                                   AssignedAddress{Address("10.9.0.9"), 24, true}));
}

TEST_F(WindowsReadTest, NameServersAreThoseOfAllAdapters) {
  EXPECT_THAT(*host_->NameServers(), IsEmpty());
  Add(7, L"Ethernet", {{Address("10.9.0.1"), 24}});
  adapter_.name_servers = {Address("10.9.0.53"), Address("fd09::53")};
  fake_.AddAdapter(adapter_);
  Add(8, L"Wi-Fi", {});
  adapter_.name_servers = {Address("10.8.0.53")};
  fake_.AddAdapter(adapter_);
  EXPECT_THAT(*host_->NameServers(),
              ElementsAre(Address("10.9.0.53"), Address("fd09::53"), Address("10.8.0.53")));
  fake_.listing_grows_by = 100;
  EXPECT_EQ(host_->NameServers().status().code(), absl::StatusCode::kUnavailable);
  fake_.listing_grows_by = 0;
  fake_.Fail("GetAdaptersAddresses", ERROR_ACCESS_DENIED);
  EXPECT_THAT(std::string(host_->NameServers().status().message()),
              StartsWith("cannot list the name servers: "));
}

TEST_F(WindowsReadTest, WithoutAdaptersTheListIsEmpty) { EXPECT_THAT(Adapters(), IsEmpty()); }

TEST_F(WindowsReadTest, AListThatNeedsMoreRoomIsReadAgain) {
  for (NET_IFINDEX index = 1; index <= 200; ++index) {
    Add(index, std::wstring(100, L'n') + std::to_wstring(index),
        {{Address("10.9.0.1"), 24}, {Address("fd09::1"), 64}});
    fake_.AddAdapter(adapter_);
  }
  const std::vector<Adapter> adapters = Adapters();
  ASSERT_EQ(adapters.size(), 200u);
  EXPECT_EQ(adapters[199].index, 200u);
  EXPECT_EQ(adapters[199].addresses.size(), 2u);
  EXPECT_EQ(fake_.calls("GetAdaptersAddresses"), 2);
}

TEST_F(WindowsReadTest, AListThatGrowsEachTimeIsGivenUp) {
  AddUnderlay(7, "10.9.0", 25);
  fake_.listing_grows_by = 100;
  const absl::Status status = host_->Adapters().status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("changed each of the 4 times"));
  EXPECT_EQ(fake_.calls("GetAdaptersAddresses"), 4);
}

TEST_F(WindowsReadTest, AListThatIsRefusedIsNamed) {
  fake_.Fail("GetAdaptersAddresses", ERROR_NOT_ENOUGH_MEMORY);
  for (const absl::Status& status :
       {host_->Adapters().status(), host_->Routes(IpFamily::kV4).status()}) {
    EXPECT_THAT(std::string(status.message()), StartsWith("cannot list the adapters: "));
    EXPECT_THAT(std::string(status.message()), HasSubstr("(8)"));
  }
  EXPECT_EQ(fake_.calls("GetAdaptersAddresses"), 2) << "only a growing list is tried again";
}

// ---- Routes

TEST_F(WindowsReadTest, RoutesAreOfTheFamilyAndTheAdapterAndThoseOfAddressesDistinguished) {
  AddUnderlay(7, "10.9.0", 0);
  EXPECT_THAT(host_->Routes(IpFamily::kV4, 7).value(),
              ::testing::Each(::testing::Field(&Route::kind, RouteKind::kDerived)));
  AddUnderlay(8, "10.8.0", 0);
  fake_.PutRow(FakeRow(Prefix("10.244.7.0/24"), Address("10.9.0.2"), 7));
  fake_.PutRow(FakeRow(Prefix("10.244.8.0/24"), Address("10.8.0.2"), 8));
  fake_.PutRow(FakeRow(Prefix("10.244.9.0/24"), std::nullopt, 8, MIB_IPPROTO_OTHER));
  fake_.PutRow(FakeRow(Prefix("fd00:244::/64"), Address("fd09::2"), 8));
  EXPECT_EQ(Routes(IpFamily::kV4).size(), 3u);
  const std::vector<Route> of_8 = Routes(IpFamily::kV4, 8);
  ASSERT_EQ(of_8.size(), 2u);
  EXPECT_EQ(of_8[0].destination, Prefix("10.244.8.0/24"));
  EXPECT_EQ(of_8[0].gateway, Address("10.8.0.2"));
  EXPECT_EQ(of_8[0].adapter_index, 8u);
  EXPECT_TRUE(of_8[0].marked);
  EXPECT_EQ(of_8[1].destination, Prefix("10.244.9.0/24"));
  EXPECT_EQ(of_8[1].gateway, std::nullopt) << "0.0.0.0 is no gateway";
  EXPECT_FALSE(of_8[1].marked) << "not set by hand or program";
  EXPECT_TRUE(of_8[1].claimed);
  const std::vector<Route> v6 = Routes(IpFamily::kV6);
  ASSERT_EQ(v6.size(), 1u);
  EXPECT_EQ(v6[0].destination, Prefix("fd00:244::/64"));
}

TEST_F(WindowsReadTest, AFamilyWithoutRoutesHasNone) {
  EXPECT_THAT(Routes(IpFamily::kV6), IsEmpty());
  EXPECT_EQ(fake_.calls("GetIpForwardTable2"), 1);
  fake_.Fail("GetIpForwardTable2", ERROR_NOT_SUPPORTED);  // of a family that is switched off
  EXPECT_THAT(Routes(IpFamily::kV6), IsEmpty());
  fake_.Fail("GetIpForwardTable2", ERROR_NOT_ENOUGH_MEMORY);
  EXPECT_THAT(std::string(host_->Routes(IpFamily::kV4).status().message()),
              StartsWith("cannot list the routes: "));
}

// Windows chooses by the sum of the route's and its interface's metric, by family.
TEST_F(WindowsReadTest, TheTwoMetricsAreDistinguished) {
  AddUnderlay(7, "10.9.0", 25);
  AddUnderlay(8, "10.8.0", 5);
  adapter_.index = 9;
  adapter_.metric_v6 = 70;
  fake_.AddAdapter(adapter_);
  fake_.PutRow(FakeRow(Prefix("0.0.0.0/0"), Address("10.9.0.254"), 7, MIB_IPPROTO_NETMGMT, 1));
  fake_.PutRow(FakeRow(Prefix("0.0.0.0/0"), Address("10.8.0.254"), 8, MIB_IPPROTO_NETMGMT, 20));
  fake_.PutRow(FakeRow(Prefix("::/0"), Address("fd09::fe"), 9, MIB_IPPROTO_NETMGMT, 2));
  const std::vector<Route> v4 = Routes(IpFamily::kV4), v6 = Routes(IpFamily::kV6);
  ASSERT_EQ(v4.size(), 2u);
  ASSERT_EQ(v6.size(), 1u);
  for (const auto& [route, own, sum] :
       {std::tuple(v4[0], 1u, 26u), std::tuple(v4[1], 20u, 25u), std::tuple(v6[0], 2u, 72u)}) {
    EXPECT_EQ(route.metric, own);
    EXPECT_EQ(PrecedenceOf(route), sum);
  }
}

// A restored static route is the same each time, however often the vSwitch is created and deleted.
TEST_F(WindowsReadTest, ACarriedRouteKeepsItsMetric) {
  for (const NET_IFINDEX index : {7u, 8u}) {
    Add(index, index == 7 ? L"Ethernet" : L"vEthernet (Ethernet)", {{Address("10.9.0.1"), 24}});
    adapter_.mac = {0x02, 0, 0, 0, 9, 1};
    adapter_.metric_v4 = 25;
    fake_.AddAdapter(adapter_);
  }
  fake_.PutRow(FakeRow(Prefix("10.8.0.0/16"), Address("10.9.0.254"), 7, MIB_IPPROTO_NETMGMT, 3));
  CarriedRoutes carried;
  std::uint32_t from = 7;
  for (int move = 0; move < 4; ++move) {
    const std::vector<Adapter> adapters = Adapters();
    carried.Follow(*host_, adapters[from - 7], Routes(IpFamily::kV4, from));
    ASSERT_EQ(fake_.rows().size(), 1u);
    EXPECT_EQ(fake_.rows()[0].Metric, 3u) << "move " << move;
    const MIB_IPFORWARD_ROW2 swallowed = fake_.rows()[0];
    EXPECT_EQ(fake_.functions().delete_route(&swallowed), static_cast<DWORD>(NO_ERROR));
    from = from == 7 ? 8 : 7;
    carried.Follow(*host_, adapters[from - 7], {});
  }
}

// It would be a default route.
TEST_F(WindowsReadTest, ARowThatCannotBeReadIsNoRoute) {
  AddUnderlay(7, "10.9.0", 0);
  MIB_IPFORWARD_ROW2 too_long = FakeRow(Prefix("10.244.7.0/24"), Address("10.9.0.2"), 7);
  too_long.DestinationPrefix.PrefixLength = 33;
  IpHelper helper = fake_.functions();
  static MIB_IPFORWARD_ROW2 row;
  row = too_long;
  helper.forward_table = [](ADDRESS_FAMILY, PMIB_IPFORWARD_TABLE2* table) -> NETIO_STATUS {
    static MIB_IPFORWARD_TABLE2 one;
    one.NumEntries = 1;
    one.Table[0] = row;
    *table = &one;
    return NO_ERROR;
  };
  helper.free_table = [](PVOID) {};
  helper.best_route = nullptr;
  host_ = MakeWindowsHost(helper, FirewallCom::System());
  EXPECT_THAT(Routes(IpFamily::kV4), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(host_->RouteTo(Address("198.51.100.1")).status()));
  row.DestinationPrefix.PrefixLength = 24;
  row.DestinationPrefix.Prefix.si_family = AF_UNSPEC;
  EXPECT_THAT(Routes(IpFamily::kV4), IsEmpty());
}

// ---- The route to a destination

class WindowsRouteToTest : public WindowsReadTest {
 protected:
  void SetUp() override {
    AddUnderlay(7, "10.9.0", 25);
    AddUnderlay(8, "10.8.0", 5);
    fake_.PutRow(FakeRow(Prefix("0.0.0.0/0"), Address("10.9.0.254"), 7, MIB_IPPROTO_NETMGMT, 1));
    fake_.PutRow(FakeRow(Prefix("0.0.0.0/0"), Address("10.8.0.254"), 8, MIB_IPPROTO_NETMGMT, 20));
    fake_.PutRow(FakeRow(Prefix("10.244.0.0/16"), Address("10.9.0.2"), 7));
  }
  void ExpectWays(bool with_source) {
    struct Row {
      const char* to;
      const char* gateway;  // "": none
      std::uint32_t adapter;
      const char* source;
    };
    for (const Row& row :
         {Row{"198.51.100.1", "10.8.0.254", 8, "10.8.0.1"},
          Row{"10.244.7.1", "10.9.0.2", 7, "10.9.0.1"}, Row{"10.9.0.77", "", 7, "10.9.0.1"}}) {
      const auto way = host_->RouteTo(Address(row.to));
      ASSERT_TRUE(way.ok()) << way.status();
      EXPECT_EQ(way->adapter_index, row.adapter) << row.to;
      EXPECT_EQ(way->gateway ? way->gateway->ToString() : "", row.gateway) << row.to;
      if (with_source) EXPECT_EQ(way->source, Address(row.source)) << row.to;
    }
  }
};

TEST_F(WindowsRouteToTest, UsesTheLookupOfWindows) {
  ExpectWays(/*with_source=*/true);
  EXPECT_EQ(fake_.calls("GetIpForwardTable2"), 0);
}

// Also before the adapters were listed, and after they were listed with different values.
TEST_F(WindowsRouteToTest, HasTheMetricThatItsAdapterHasNow) {
  EXPECT_EQ(host_->RouteTo(Address("10.244.7.1")).value().adapter_metric, 25u);
  adapter_.index = 9;
  adapter_.metric_v4 = 40;
  adapter_.addresses = {{Address("10.7.0.1"), 24}};
  fake_.AddAdapter(adapter_);
  fake_.PutRow(FakeRow(Prefix("10.245.0.0/16"), Address("10.7.0.2"), 9));
  EXPECT_EQ(host_->RouteTo(Address("10.245.7.1")).value().adapter_metric, 40u);
}

// Wine's GetBestRoute2 is a stub.
TEST_F(WindowsRouteToTest, IsTheLongestPrefixThenTheLowestMetricWhereItFails) {
  fake_.Fail("GetBestRoute2", ERROR_NOT_SUPPORTED);
  ExpectWays(/*with_source=*/false);
}

TEST_F(WindowsRouteToTest, IsFoundWithoutTheFunction) {
  IpHelper helper = fake_.functions();
  helper.best_route = nullptr;
  host_ = MakeWindowsHost(helper, FirewallCom::System());
  ExpectWays(/*with_source=*/false);
}

TEST_F(WindowsRouteToTest, NoneIsNotFound) {
  const absl::Status status = host_->RouteTo(Address("2001:db8::1")).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_EQ(status.message(), "cannot find a route to 2001:db8::1: there is none");
  fake_.Fail("GetIpForwardTable2", ERROR_NOT_ENOUGH_MEMORY);
  EXPECT_THAT(std::string(host_->RouteTo(Address("2001:db8::1")).status().message()),
              StartsWith("cannot list the routes: "));
}

}  // namespace
}  // namespace weft::host
