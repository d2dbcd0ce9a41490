// SPDX-License-Identifier: Apache-2.0
// A host behind a socket whose server stops and starts again.
#include "tests/emulated_host/remote_host.h"

#include "control/emulator/emulated_node.h"
#include "control/emulator/host/host_side.h"
#include "control/emulator/remote/remote_server.h"
#include "control/emulator/remote/served_host.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/calls.h"
#include "tests/support/emulator_clock.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/host_view.h"
#include "tests/support/lease_makers.h"
#include "tests/support/test_path.h"

namespace weft::emulator {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::weft::testing::Address;

class RemoteHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::AddEthernet(node_.host(), {Address("192.168.1.10"), 24}, Address("192.168.1.1"));
    Serve(weft::testing::TestSocket());
  }
  void Serve(const std::string& address, bool with_host = true) {
    auto server = hns::emulator::RemoteServer::Start(address, node_.hns(), nullptr,
                                                     with_host ? &served_ : nullptr);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    address_ = server_->path();
  }

  weft::testing::EmulatorClock clock_;
  EmulatedNode node_{clock_};
  ServedHost served_{node_.host()};
  std::unique_ptr<hns::emulator::RemoteServer> server_;
  std::string address_;
};

TEST_F(RemoteHostTest, ALostServerIsNamedAndTheNextOneIsUsed) {
  RemoteHost host(address_);
  EXPECT_EQ(host.Adapters()->size(), 1u);
  server_.reset();
  const absl::Status lost = host.Adapters().status();
  EXPECT_TRUE(absl::IsUnavailable(lost));
  EXPECT_EQ(lost.message(), "host emulator: no server at " + address_ +
                                "; start one: flannelctl hns emulate --listen " + address_);
  for (const absl::Status& status : host.PutRoutes({host::Route(), host::Route()}))
    EXPECT_EQ(status, lost);
  Serve(address_);
  EXPECT_EQ(host.Adapters()->size(), 1u);
}

TEST_F(RemoteHostTest, NameServersAreTheHosts) {
  host::HostState state = node_.host().state();
  state.name_servers = {Address("192.168.1.53")};
  node_.host().Replace(state);
  EXPECT_EQ(*RemoteHost(address_).NameServers(), state.name_servers);
}

TEST_F(RemoteHostTest, EveryCallNamesALostServer) {
  RemoteHost host(address_);
  server_.reset();
  const absl::Status lost = host.Adapters().status();
  ASSERT_TRUE(absl::IsUnavailable(lost)) << lost;
  EXPECT_EQ(host.Routes(IpFamily::kV4, 1).status(), lost);
  EXPECT_EQ(host.RouteTo(Address("192.0.2.1")).status(), lost);
  EXPECT_EQ(host.NameServers().status(), lost);
  EXPECT_EQ(host.Forwarding(1, IpFamily::kV4).status(), lost);
  EXPECT_EQ(host.FindFirewallRule("rule").status(), lost);
  EXPECT_EQ(host.SetLinkUp(1, 1500), lost);
  EXPECT_EQ(host.AddAddress(1, {Address("192.0.2.1"), 24}), lost);
  EXPECT_EQ(host.SetForwarding(1, IpFamily::kV4, true), lost);
  EXPECT_EQ(host.AllowUdpIn({"rule", 4789}).status(), lost);
  EXPECT_EQ(host.RemoveFirewallRule("rule"), lost);
}

TEST_F(RemoteHostTest, AWatchOutlivesItsServerAndItsHost) {
  weft::testing::Calls calls;
  std::unique_ptr<host::Watch> watch;
  {
    RemoteHost host(address_);
    auto made = host.WatchChanges([&] { calls.Add(); });
    ASSERT_TRUE(made.ok()) << made.status();
    watch = *std::move(made);
  }
  server_.reset();
  EXPECT_TRUE(calls.MoreThan(0)) << "the server stopped";
  int before = calls.count();
  Serve(address_);
  EXPECT_TRUE(calls.MoreThan(before)) << "it is back, and may differ";
  before = calls.count();
  node_.host().SetUp("Ethernet", false);
  EXPECT_TRUE(calls.MoreThan(before)) << "it changed";
}

TEST_F(RemoteHostTest, AWatchWithoutAServerIsRefused) {
  server_.reset();
  EXPECT_THAT(RemoteHost(address_).WatchChanges([] {}).status().message(),
              StartsWith("host emulator: no server at "));
}

TEST_F(RemoteHostTest, AnEmulatorWithoutAHostIsReported) {
  server_.reset();
  Serve(weft::testing::TestSocket(), /*with_host=*/false);
  RemoteHost host(address_);
  EXPECT_THAT(std::string(host.Adapters().status().message()),
              HasSubstr("serves no host; use programs of one version of weft"));
  EXPECT_FALSE(host.WatchChanges([] {}).ok());
}

// Answers all calls with success and nothing else.
class Terse final : public hns::emulator::HostFace {
 public:
  hns::Reply Answer(const std::string&) override {
    hns::Reply reply;
    reply.text = "{}";
    return reply;
  }
  std::shared_ptr<void> Watch(std::function<void()>) override { return nullptr; }
};

TEST_F(RemoteHostTest, AnAnswerThatLacksRoutesIsAnError) {
  Terse terse;
  const auto server = hns::emulator::RemoteServer::Start(weft::testing::TestSocket("2"),
                                                         node_.hns(), nullptr, &terse);
  ASSERT_TRUE(server.ok()) << server.status();
  RemoteHost host((*server)->path());
  const auto results = host.PutRoutes({host::Route(), host::Route()});
  ASSERT_EQ(results.size(), 2u);
  for (const absl::Status& status : results)
    EXPECT_THAT(std::string(status.message()), HasSubstr("answered for 0 routes of 2"));
  EXPECT_THAT(std::string(host.RouteTo(Address("192.0.2.1")).status().message()),
              HasSubstr("named 0 routes to 192.0.2.1"));
}

// A host that cannot be read or watched.
class Deaf final : public weft::testing::HostView {
 public:
  using HostView::HostView;
  absl::StatusOr<std::vector<host::Adapter>> Adapters() override {
    return absl::UnavailableError("it does not answer");
  }
  absl::StatusOr<std::unique_ptr<host::Watch>> WatchChanges(std::function<void()>) override {
    return absl::UnavailableError("it does not answer");
  }
};

TEST_F(RemoteHostTest, RefusalsOfTheServedHostArrive) {
  Deaf deaf(node_.host());
  ServedHost served(deaf);
  const auto server = hns::emulator::RemoteServer::Start(weft::testing::TestSocket("2"),
                                                         node_.hns(), nullptr, &served);
  ASSERT_TRUE(server.ok()) << server.status();
  RemoteHost host((*server)->path());
  EXPECT_EQ(host.Adapters().status(), absl::UnavailableError("it does not answer"));
  EXPECT_FALSE(host.WatchChanges([] {}).ok());
}

TEST_F(RemoteHostTest, ChangesOfTheHostByHnsAreVisible) {
  RemoteHost host(address_);
  weft::testing::Calls calls;
  const auto watch = host.WatchChanges([&] { calls.Add(); });
  ASSERT_TRUE(watch.ok()) << watch.status();
  hns::emulator::HostSide(node_.host()).AttachSwitch("Ethernet", "vEthernet (Ethernet)", {});
  EXPECT_TRUE(calls.MoreThan(0));
  const auto adapters = host.Adapters();
  ASSERT_TRUE(adapters.ok()) << adapters.status();
  ASSERT_EQ(adapters->size(), 2u);
  EXPECT_EQ((*adapters)[1].name, "vEthernet (Ethernet)");
  EXPECT_EQ((*adapters)[1].addresses.size(), 1u);
}

}  // namespace
}  // namespace weft::emulator
