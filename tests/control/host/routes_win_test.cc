// SPDX-License-Identifier: Apache-2.0
// Each path through PutRoute, RemoveRoute and forwarding, with IP Helper in memory.
#include "control/host/routes_win.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <ostream>

#include "tests/control/host/fake_ip_helper_win.h"
#include "tests/support/lease_makers.h"

namespace weft::host {
namespace {

using testing::Address;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Prefix;
using ::testing::StartsWith;

constexpr NET_IFINDEX kAdapter = 9;
constexpr char kPut[] = "cannot put route 10.244.2.0/24 via 10.9.0.2 on adapter 9: ";
constexpr char kRemove[] = "cannot remove route 10.244.2.0/24 via 10.9.0.2 on adapter 9: ";

class WindowsRoutesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FakeIpHelper::Adapter adapter;
    adapter.index = kAdapter;
    adapter.name = L"Ethernet";
    adapter.addresses = {{Address("10.9.0.1"), 24}, {Address("fd09::1"), 64}};
    adapter.metric_v4 = 25;
    adapter.metric_v6 = 35;
    fake_.AddAdapter(adapter);
  }
  static Route Ours(std::uint32_t metric = 0) {
    Route route;
    route.destination = Prefix("10.244.2.0/24");
    route.gateway = Address("10.9.0.2");
    route.adapter_index = kAdapter;
    route.metric = metric;
    return route;
  }
  // The route with the key of Ours(), made by another program.
  static MIB_IPFORWARD_ROW2 There(int protocol, ULONG metric) {
    return FakeRow(Prefix("10.244.2.0/24"), Address("10.9.0.2"), kAdapter, protocol, metric);
  }
  absl::Status Put(const Route& route) { return PutRoute(fake_.functions(), route); }
  absl::Status Replace(const Route& route) { return ReplaceRoute(fake_.functions(), route); }
  absl::Status Remove(const Route& route) { return RemoveRoute(fake_.functions(), route); }
  // "Create Get Set Delete"
  std::vector<int> Writes() {
    return {fake_.calls("CreateIpForwardEntry2"), fake_.calls("GetIpForwardEntry2"),
            fake_.calls("SetIpForwardEntry2"), fake_.calls("DeleteIpForwardEntry2")};
  }
  FakeIpHelper fake_;
};

// ---- PutRoute

TEST_F(WindowsRoutesTest, ARouteIsMadeWithEveryFieldThatWindowsNeeds) {
  ASSERT_TRUE(Put(Ours(7)).ok());
  ASSERT_EQ(fake_.rows().size(), 1u);
  const MIB_IPFORWARD_ROW2 row = fake_.rows()[0];
  EXPECT_EQ(AddressOf(row.DestinationPrefix.Prefix), Address("10.244.2.0"));
  EXPECT_EQ(row.DestinationPrefix.PrefixLength, 24);
  EXPECT_EQ(AddressOf(row.NextHop), Address("10.9.0.2"));
  EXPECT_EQ(row.InterfaceIndex, kAdapter);
  EXPECT_EQ(row.Metric, 7u) << "the interface's metric is added by Windows";
  EXPECT_EQ(row.Protocol, static_cast<NL_ROUTE_PROTOCOL>(MIB_IPPROTO_NETMGMT));
  EXPECT_EQ(row.ValidLifetime, ~ULONG{0});
  EXPECT_EQ(row.PreferredLifetime, ~ULONG{0});
  EXPECT_THAT(Writes(), ElementsAre(1, 0, 0, 0));
}

TEST_F(WindowsRoutesTest, ARouteWithoutAGatewayHasTheUnspecifiedNextHopOfItsFamily) {
  Route v4 = Ours(), v6 = Ours();
  v4.gateway = v6.gateway = std::nullopt;
  v6.destination = Prefix("fd00:244:2::/64");
  ASSERT_TRUE(Put(v4).ok());
  ASSERT_TRUE(Put(v6).ok());
  ASSERT_EQ(fake_.rows().size(), 2u);
  EXPECT_EQ(AddressOf(fake_.rows()[0].NextHop), Address("0.0.0.0"));
  EXPECT_EQ(AddressOf(fake_.rows()[1].NextHop), Address("::"));
  EXPECT_EQ(AddressOf(fake_.rows()[1].DestinationPrefix.Prefix), Address("fd00:244:2::"));
  fake_.Fail("DeleteIpForwardEntry2", ERROR_ACCESS_DENIED);
  EXPECT_THAT(std::string(Remove(v4).message()),
              StartsWith("cannot remove route 10.244.2.0/24 on adapter 9: "));
}

// Whichever program owns it.
TEST_F(WindowsRoutesTest, AnExistingRouteIsNotTouched) {
  for (const int protocol : {int{MIB_IPPROTO_NETMGMT}, int{MIB_IPPROTO_RIP}}) {
    fake_.PutRow(There(protocol, 99));
    const absl::Status status = Put(Ours());
    EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
    EXPECT_THAT(std::string(status.message()), StartsWith(kPut));
    ASSERT_EQ(fake_.rows().size(), 1u);
    EXPECT_EQ(fake_.rows()[0].Metric, 99u);
    ASSERT_TRUE(Remove(Ours()).ok());
  }
}

// ---- ReplaceRoute

TEST_F(WindowsRoutesTest, TheSameRouteAgainWritesNothing) {
  ASSERT_TRUE(Replace(Ours(7)).ok());
  ASSERT_TRUE(Replace(Ours(7)).ok());
  EXPECT_EQ(fake_.rows().size(), 1u);
  EXPECT_THAT(Writes(), ElementsAre(2, 1, 0, 0));
}

TEST_F(WindowsRoutesTest, AnotherMetricIsSetInPlace) {
  fake_.PutRow(There(MIB_IPPROTO_NETMGMT, 99));
  ASSERT_TRUE(Replace(Ours(7)).ok());
  ASSERT_EQ(fake_.rows().size(), 1u);
  EXPECT_EQ(fake_.rows()[0].Metric, 7u);
  EXPECT_THAT(Writes(), ElementsAre(1, 1, 1, 0)) << "never without a route";
}

TEST_F(WindowsRoutesTest, ARouteOfAnotherOriginIsReplaced) {
  fake_.PutRow(There(MIB_IPPROTO_RIP, 0));
  ASSERT_TRUE(Replace(Ours()).ok());
  ASSERT_EQ(fake_.rows().size(), 1u);
  EXPECT_EQ(fake_.rows()[0].Protocol, static_cast<NL_ROUTE_PROTOCOL>(MIB_IPPROTO_NETMGMT));
  EXPECT_THAT(Writes(), ElementsAre(2, 1, 0, 1));
}

TEST_F(WindowsRoutesTest, ARouteOfAnotherOriginThatVanishedIsNoFailure) {
  fake_.PutRow(There(MIB_IPPROTO_RIP, 0));
  fake_.rows_vanish_at = "DeleteIpForwardEntry2";
  ASSERT_TRUE(Replace(Ours()).ok());
  ASSERT_EQ(fake_.rows().size(), 1u);
  EXPECT_THAT(Writes(), ElementsAre(2, 1, 0, 1));
}

TEST_F(WindowsRoutesTest, ARouteByAnotherGatewayOrAdapterStays) {
  FakeIpHelper::Adapter other;
  other.index = 10;
  other.name = L"Storage";
  fake_.AddAdapter(other);
  fake_.PutRow(FakeRow(Prefix("10.244.2.0/24"), Address("10.9.0.3"), kAdapter));
  fake_.PutRow(FakeRow(Prefix("10.244.2.0/24"), Address("10.9.0.2"), 10));
  fake_.PutRow(FakeRow(Prefix("10.244.2.0/25"), Address("10.9.0.2"), kAdapter));
  ASSERT_TRUE(Put(Ours()).ok());
  EXPECT_EQ(fake_.rows().size(), 4u);
  ASSERT_TRUE(Remove(Ours()).ok());
  EXPECT_EQ(fake_.rows().size(), 3u);
}

struct RefusedRow {
  const char* call;
  int there;  // the protocol of the one that exists, 0: none
};
void PrintTo(const RefusedRow& row, std::ostream* out) { *out << row.call; }
class RefusedRoute : public WindowsRoutesTest, public ::testing::WithParamInterface<RefusedRow> {};

// Whichever call fails, its code is named, and a missing privilege names the next step.
TEST_P(RefusedRoute, IsNamedWithItsCode) {
  if (GetParam().there != 0) fake_.PutRow(There(GetParam().there, 99));
  fake_.Fail(GetParam().call, ERROR_ACCESS_DENIED);
  const absl::Status denied = Replace(Ours());
  EXPECT_TRUE(absl::IsPermissionDenied(denied)) << denied;
  EXPECT_THAT(std::string(denied.message()), StartsWith(kPut));
  EXPECT_THAT(std::string(denied.message()), HasSubstr("(5); run as administrator"));
  fake_.Fail(GetParam().call, ERROR_INVALID_PARAMETER);
  const absl::Status wrong = Replace(Ours());
  EXPECT_TRUE(absl::IsUnavailable(wrong)) << wrong;
  EXPECT_THAT(std::string(wrong.message()), StartsWith(kPut));
  EXPECT_THAT(std::string(wrong.message()), ::testing::EndsWith("(87)"));
  fake_.Heal();
  EXPECT_TRUE(Replace(Ours()).ok()) << "tried again";
  EXPECT_EQ(fake_.rows().size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Calls, RefusedRoute,
                         ::testing::Values(RefusedRow{"CreateIpForwardEntry2", 0},
                                           RefusedRow{"GetIpForwardEntry2", MIB_IPPROTO_NETMGMT},
                                           RefusedRow{"SetIpForwardEntry2", MIB_IPPROTO_NETMGMT},
                                           RefusedRow{"DeleteIpForwardEntry2", MIB_IPPROTO_RIP}),
                         [](const auto& row) { return std::string(row.param.call); });

TEST_F(WindowsRoutesTest, AMissingAdapterIsNotFound) {
  Route route = Ours();
  route.adapter_index = 4711;
  const absl::Status status = Put(route);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("on adapter 4711: "));
}

// ---- RemoveRoute

TEST_F(WindowsRoutesTest, RemovingAMissingRouteSucceeds) {
  fake_.PutRow(There(MIB_IPPROTO_NETMGMT, 99));
  EXPECT_TRUE(Remove(Ours()).ok()) << "another metric is no other route";
  EXPECT_THAT(fake_.rows(), IsEmpty());
  EXPECT_TRUE(Remove(Ours()).ok());
}

TEST_F(WindowsRoutesTest, ARemovalThatIsRefusedIsNamed) {
  fake_.PutRow(There(MIB_IPPROTO_NETMGMT, 0));
  fake_.Fail("DeleteIpForwardEntry2", ERROR_ACCESS_DENIED);
  const absl::Status status = Remove(Ours());
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), StartsWith(kRemove));
  EXPECT_EQ(fake_.rows().size(), 1u);
}

// ---- Forwarding

TEST_F(WindowsRoutesTest, ForwardingIsSetForOneFamilyAndChangesNothingElse) {
  const IpHelper helper = fake_.functions();
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const ADDRESS_FAMILY number = FamilyNumber(family);
    const MIB_IPINTERFACE_ROW before = fake_.interface_row(kAdapter, number);
    ASSERT_FALSE(before.ForwardingEnabled);
    ASSERT_TRUE(WriteForwarding(helper, kAdapter, family, true).ok());
    MIB_IPINTERFACE_ROW after = fake_.interface_row(kAdapter, number);
    EXPECT_EQ(after.ForwardingEnabled, TRUE);
    after.ForwardingEnabled = FALSE;
    EXPECT_EQ(std::memcmp(&after, &before, sizeof after), 0) << "metric, MTU, site prefix, ...";
    EXPECT_EQ(*ReadForwarding(helper, kAdapter, family), true);
    EXPECT_EQ(
        *ReadForwarding(helper, kAdapter, family == IpFamily::kV4 ? IpFamily::kV6 : IpFamily::kV4),
        family == IpFamily::kV6);
  }
  ASSERT_TRUE(WriteForwarding(helper, kAdapter, IpFamily::kV4, false).ok());
  EXPECT_EQ(*ReadForwarding(helper, kAdapter, IpFamily::kV4), false);
}

TEST_F(WindowsRoutesTest, CorrectForwardingIsNotWritten) {
  ASSERT_TRUE(WriteForwarding(fake_.functions(), kAdapter, IpFamily::kV4, false).ok());
  EXPECT_EQ(fake_.calls("SetIpInterfaceEntry"), 0);
  ASSERT_TRUE(WriteForwarding(fake_.functions(), kAdapter, IpFamily::kV4, true).ok());
  ASSERT_TRUE(WriteForwarding(fake_.functions(), kAdapter, IpFamily::kV4, true).ok());
  EXPECT_EQ(fake_.calls("SetIpInterfaceEntry"), 1);
}

TEST_F(WindowsRoutesTest, ForwardingThatIsRefusedIsNamed) {
  const IpHelper helper = fake_.functions();
  const absl::Status missing = WriteForwarding(helper, 4711, IpFamily::kV4, true);
  EXPECT_THAT(std::string(missing.message()),
              StartsWith("cannot set forwarding of adapter 4711 for IPv4: "));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("(2)")) << "ERROR_FILE_NOT_FOUND";
  fake_.Fail("GetIpInterfaceEntry", ERROR_NOT_ENOUGH_MEMORY, 1);
  EXPECT_TRUE(absl::IsUnavailable(WriteForwarding(helper, kAdapter, IpFamily::kV4, true)));
  EXPECT_EQ(fake_.calls("SetIpInterfaceEntry"), 0) << "nothing is written that was not read";
  fake_.Fail("SetIpInterfaceEntry", ERROR_ACCESS_DENIED);
  EXPECT_TRUE(absl::IsPermissionDenied(WriteForwarding(helper, kAdapter, IpFamily::kV6, true)));
  fake_.Fail("GetIpInterfaceEntry", ERROR_NOT_FOUND);
  const absl::Status read = ReadForwarding(helper, kAdapter, IpFamily::kV6).status();
  EXPECT_TRUE(absl::IsNotFound(read)) << read;
  EXPECT_THAT(std::string(read.message()),
              StartsWith("cannot read forwarding of adapter 9 for IPv6: "));
}

// ---- Where a function is missing, as on Wine, nothing is called

TEST_F(WindowsRoutesTest, AMissingFunctionIsNamedAndNoneCalled) {
  const auto without = [&](auto IpHelper::*member) {
    IpHelper helper = fake_.functions();
    helper.*member = nullptr;
    return helper;
  };
  for (const IpHelper& helper : {without(&IpHelper::initialize_route),
                                 without(&IpHelper::create_route), without(&IpHelper::delete_route),
                                 without(&IpHelper::get_route), without(&IpHelper::set_route)}) {
    for (const absl::Status& status : {PutRoute(helper, Ours()), RemoveRoute(helper, Ours())}) {
      EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("route 10.244.2.0/24 via 10.9.0.2"));
    }
    EXPECT_TRUE(WriteForwarding(helper, kAdapter, IpFamily::kV4, true).ok());
  }
  EXPECT_THAT(Writes(), ElementsAre(0, 0, 0, 0));
  for (const IpHelper& helper :
       {without(&IpHelper::initialize_interface), without(&IpHelper::get_interface),
        without(&IpHelper::set_interface)}) {
    EXPECT_TRUE(absl::IsUnimplemented(WriteForwarding(helper, kAdapter, IpFamily::kV4, false)));
    EXPECT_TRUE(absl::IsUnimplemented(ReadForwarding(helper, kAdapter, IpFamily::kV4).status()));
    EXPECT_TRUE(ReplaceRoute(helper, Ours()).ok());
  }
}

}  // namespace
}  // namespace weft::host
