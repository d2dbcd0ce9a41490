// SPDX-License-Identifier: Apache-2.0
// MibWatch with IP Helper in memory: which changes are reported, and its end unregisters
// everything.
#include "control/host/watch_win.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "control/host/routes_win.h"
#include "tests/control/host/fake_ip_helper_win.h"
#include "tests/support/calls.h"
#include "tests/support/lease_makers.h"

namespace weft::host {
namespace {

using testing::Address;
using ::testing::HasSubstr;
using testing::Prefix;

constexpr NET_IFINDEX kAdapter = 9;

class WindowsWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FakeIpHelper::Adapter adapter;
    adapter.index = kAdapter;
    adapter.name = L"Ethernet";
    adapter.addresses = {{Address("10.9.0.1"), 24}};
    fake_.AddAdapter(adapter);
  }
  // Changes arrive on a thread that is joined, so no further one can arrive.
  int Since() {
    const int before = counted_;
    counted_ = calls_.count();
    return counted_ - before;
  }
  FakeIpHelper fake_;
  testing::Calls calls_;
  int counted_ = 0;
};

TEST_F(WindowsWatchTest, AdaptersAddressesAndDefaultRoutesOfBothFamiliesCount) {
  auto watch = MibWatch::Open(fake_.functions(), [&] { calls_.Add(); });
  ASSERT_TRUE(watch.ok()) << watch.status();
  EXPECT_EQ(Since(), 0) << "the beginning is no change";
  fake_.GiveAddress(kAdapter, {Address("10.9.0.7"), 24});
  EXPECT_EQ(Since(), 1) << "an IPv4 address";
  fake_.GiveAddress(kAdapter, {Address("fd09::7"), 64});
  EXPECT_EQ(Since(), 1) << "an IPv6 address";
  fake_.TakeAddress(kAdapter, Address("10.9.0.7"));
  EXPECT_EQ(Since(), 1) << "a removed address";
  fake_.SetUp(kAdapter, false);
  EXPECT_EQ(Since(), 2) << "an adapter that goes down, for both families";
  fake_.PutRow(FakeRow(Prefix("0.0.0.0/0"), Address("10.9.0.254"), kAdapter));
  EXPECT_EQ(Since(), 1) << "a default route";
  fake_.PutRow(FakeRow(Prefix("::/0"), Address("fd09::fe"), kAdapter));
  EXPECT_EQ(Since(), 1) << "a default route of IPv6";
  fake_.PutRow(FakeRow(Prefix("10.244.7.0/24"), Address("10.9.0.2"), kAdapter));
  EXPECT_EQ(Since(), 0) << "another route: ours would wake us";
  const MIB_IPFORWARD_ROW2 gone = fake_.rows()[0];
  EXPECT_EQ(fake_.functions().delete_route(&gone), static_cast<DWORD>(NO_ERROR));
  EXPECT_EQ(Since(), 1) << "a removed default route";
  watch->reset();
  EXPECT_EQ(fake_.registrations(), 0u);
  fake_.SetUp(kAdapter, true);
  EXPECT_EQ(Since(), 0);
}

// "Row is NULL" where Windows cannot say what changed.
TEST_F(WindowsWatchTest, ARouteChangeWithoutARowCounts) {
  IpHelper helper = fake_.functions();
  static PIPFORWARD_CHANGE_CALLBACK callback;
  static PVOID context;
  helper.notify_route = [](ADDRESS_FAMILY, PIPFORWARD_CHANGE_CALLBACK to, PVOID with, BOOLEAN,
                           HANDLE* handle) -> NETIO_STATUS {
    callback = to;
    context = with;
    *handle = nullptr;
    return NO_ERROR;
  };
  auto watch = MibWatch::Open(helper, [&] { calls_.Add(); });
  ASSERT_TRUE(watch.ok()) << watch.status();
  callback(context, nullptr, MibInitialNotification);
  EXPECT_EQ(Since(), 1);
}

TEST_F(WindowsWatchTest, AFailedRegistrationUndoesTheEarlierOnes) {
  for (const char* call :
       {"NotifyIpInterfaceChange", "NotifyUnicastIpAddressChange", "NotifyRouteChange2"}) {
    fake_.Fail(call, ERROR_NOT_ENOUGH_MEMORY);
    const absl::Status status = MibWatch::Open(fake_.functions(), [&] { calls_.Add(); }).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << call;
    EXPECT_THAT(std::string(status.message()), HasSubstr("(8)")) << call;
    EXPECT_EQ(fake_.registrations(), 0u) << call;
    fake_.Heal();
  }
  // The handle of a call that failed means nothing.
  IpHelper helper = fake_.functions();
  helper.notify_route = [](ADDRESS_FAMILY, PIPFORWARD_CHANGE_CALLBACK, PVOID, BOOLEAN,
                           HANDLE* handle) -> NETIO_STATUS {
    *handle = INVALID_HANDLE_VALUE;
    return ERROR_NOT_ENOUGH_MEMORY;
  };
  EXPECT_TRUE(absl::IsUnavailable(MibWatch::Open(helper, [] {}).status()));
}

TEST_F(WindowsWatchTest, EveryRouteIsReportedWithItsChange) {
  std::vector<std::string> seen;
  auto watch = MibRouteWatch::Open(fake_.functions(), [&](const RouteChanges& changes) {
    for (const RouteChange& each : changes)
      seen.push_back((each.gone ? "- " : "+ ") + each.route.destination.ToString());
    if (changes.empty()) seen.emplace_back("unknown");
  });
  ASSERT_TRUE(watch.ok()) << watch.status();
  fake_.PutRow(FakeRow(Prefix("10.244.7.0/24"), Address("10.9.0.2"), kAdapter));
  const MIB_IPFORWARD_ROW2 gone = fake_.rows()[0];
  EXPECT_EQ(fake_.functions().delete_route(&gone), static_cast<DWORD>(NO_ERROR));
  MIB_IPFORWARD_ROW2 strange = gone;
  strange.DestinationPrefix.PrefixLength = 99;
  EXPECT_EQ(RouteOfRow(strange), std::nullopt);
  watch->reset();
  EXPECT_EQ(fake_.registrations(), 0u);
  EXPECT_THAT(seen, ::testing::ElementsAre("+ 10.244.7.0/24", "- 10.244.7.0/24"));
  fake_.Fail("NotifyRouteChange2", ERROR_NOT_ENOUGH_MEMORY);
  const auto refused = MibRouteWatch::Open(fake_.functions(), [](const RouteChanges&) {});
  EXPECT_TRUE(absl::IsUnavailable(refused.status())) << refused.status();
}

TEST_F(WindowsWatchTest, AMissingFunctionIsNamed) {
  const auto without = [&](auto IpHelper::*member) {
    IpHelper helper = fake_.functions();
    helper.*member = nullptr;
    return helper;
  };
  for (const IpHelper& helper :
       {without(&IpHelper::notify_interface), without(&IpHelper::notify_address),
        without(&IpHelper::notify_route), without(&IpHelper::cancel_notify)}) {
    EXPECT_TRUE(absl::IsUnimplemented(MibWatch::Open(helper, [] {}).status()));
    EXPECT_EQ(fake_.registrations(), 0u);
  }
}

TEST_F(WindowsWatchTest, ItsEndWaitsForACallInProgress) {
  std::atomic<bool> running = false, over = false;
  auto watch = MibWatch::Open(fake_.functions(), [&] {
    running = true;
    while (!fake_.cancel_waits()) std::this_thread::yield();
    over = true;
  });
  ASSERT_TRUE(watch.ok()) << watch.status();
  std::thread change([&] { fake_.GiveAddress(kAdapter, {Address("10.9.0.7"), 24}); });
  while (!running) std::this_thread::yield();
  watch->reset();
  EXPECT_TRUE(over);
  change.join();
}

}  // namespace
}  // namespace weft::host
