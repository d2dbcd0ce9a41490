// SPDX-License-Identifier: Apache-2.0
// The undo of flanneld's changes on the host; reset_test.cc tests those in HNS.
#include "control/ledger/undo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <utility>

#include "control/emulator/hns/emulator.h"
#include "control/emulator/host/emulated_host.h"
#include "control/file_io.h"
#include "hns/api/api.h"
#include "hns/client.h"
#include "hns/overlay_plan.h"
#include "tests/hns/recording_api.h"
#include "tests/support/emulator_clock.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/fake_packet_filter.h"
#include "tests/support/host_view.h"
#include "tests/support/lease_makers.h"
#include "tests/support/ledger_rows.h"
#include "tests/support/test_path.h"

namespace weft::ledger {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::weft::testing::Address;
using ::weft::testing::Prefix;

constexpr char kGuid[] = "55fedb88-4b11-4da4-8cd1-59970718a804";

// Which keeps the routes into 10.244.3.0/24.
class Stubborn final : public weft::testing::HostView {
 public:
  using HostView::HostView;
  std::vector<absl::Status> RemoveRoutes(const std::vector<host::Route>& routes) override {
    std::vector<absl::Status> results;
    for (const host::Route& route : routes) {
      results.push_back(route.destination == Prefix("10.244.3.0/24")
                            ? absl::PermissionDeniedError("access is denied")
                            : HostView::RemoveRoutes({route})[0]);
    }
    return results;
  }
};

// A host whose routes cannot be read.
class Unreadable final : public weft::testing::HostView {
 public:
  using HostView::HostView;
  absl::StatusOr<std::vector<host::Route>> Routes(IpFamily, std::uint32_t) override {
    return absl::UnavailableError("it does not answer");
  }
};

// A node with 192.168.1.10/24 on "Ethernet".
class UndoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    host::Adapter nic;
    nic.name = "Ethernet";
    nic.up = true;
    nic.addresses = {{Address("192.168.1.10"), 24}, {Address("fd09::10"), 64}};
    nic_ = host_.AddAdapter(nic);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void PutRoute(const char* destination, const char* gateway) {
    host::Route route;
    route.destination = Prefix(destination);
    route.gateway = Address(gateway);
    route.adapter_index = nic_;
    ASSERT_TRUE(host_.PutRoutes({route})[0].ok());
  }
  void Enter(const Row& row) { ASSERT_TRUE(ledger_.Confirm(EntryFrom(row)).ok()); }
  std::vector<Row> Entries() const { return weft::testing::Rows(ledger_); }
  std::vector<std::string> Routes() const {
    std::vector<std::string> found;
    for (const host::Route& route : host_.state().routes)
      found.push_back(route.destination.ToString() + " via " + route.gateway->ToString());
    return found;
  }
  Undone Undo(bool dry_run = false) {
    return ledger::Undo({nullptr, &host_}, ledger_, {dry_run, false});
  }

  const std::string folder_ = weft::testing::TestPath().string();
  Ledger ledger_{folder_};
  host::EmulatedHost host_;
  std::uint32_t nic_ = 0;
};

TEST_F(UndoTest, DeletesOurRoutesAndNoOthersTwiceInARow) {
  PutRoute("10.244.2.0/24", "192.168.1.2");
  PutRoute("10.244.2.0/24", "192.168.1.3");  // another route there
  PutRoute("10.244.3.0/24", "192.168.1.3");  // was there before weft
  PutRoute("fd00:244:2::/64", "fd09::2");
  Enter({"host-route", "10.244.2.0/24", "192.168.1.2", false});
  Enter({"host-route", "fd00:244:2::/64", "fd09::2", false});
  Enter({"host-route", "10.244.9.0/24", "192.168.1.9", false});

  EXPECT_THAT(Undo(/*dry_run=*/true).lines,
              ElementsAre("would delete route 10.244.2.0/24 via 192.168.1.2",
                          "would delete route fd00:244:2::/64 via fd09::2",
                          "route 10.244.9.0/24 via 192.168.1.9 is gone already"));
  EXPECT_EQ(Routes().size(), 4u);
  EXPECT_EQ(Entries().size(), 3u);

  const Undone undone = Undo();
  EXPECT_THAT(undone.lines, ElementsAre("deleted route 10.244.2.0/24 via 192.168.1.2",
                                        "deleted route fd00:244:2::/64 via fd09::2",
                                        "route 10.244.9.0/24 via 192.168.1.9 is gone already"));
  EXPECT_THAT(undone.failed, IsEmpty());
  EXPECT_THAT(Routes(),
              ElementsAre("10.244.2.0/24 via 192.168.1.3", "10.244.3.0/24 via 192.168.1.3"));
  EXPECT_THAT(Entries(), IsEmpty());
  EXPECT_THAT(Undo().lines, IsEmpty());
}

// The vSwitch's making gave the link another index.
TEST_F(UndoTest, ARouteIsRecognizedOnAnyAdapter) {
  Enter({"host-route", "10.244.2.0/24", "192.168.1.2", false});
  host_.BindSwitch("Ethernet", "vEthernet (Ethernet)", {}, {});
  nic_ = host_.state().adapters[1].adapter.index;
  PutRoute("10.244.2.0/24", "192.168.1.2");
  EXPECT_THAT(Undo().lines, ElementsAre("deleted route 10.244.2.0/24 via 192.168.1.2"));
  EXPECT_THAT(Routes(), IsEmpty());
}

// On Linux, where ours have the mark: a foreign route in the place of ours.
TEST_F(UndoTest, ARouteWithoutTheMarkIsForeign) {
  PutRoute("10.244.2.0/24", "192.168.1.2");
  host::HostState state = host_.state();
  state.routes[0].marked = false;
  host_.Replace(state);
  Enter({"host-route", "10.244.2.0/24", "192.168.1.2", false});
  EXPECT_THAT(Undo().lines, ElementsAre("route 10.244.2.0/24 via 192.168.1.2 is gone already"));
  EXPECT_EQ(Routes().size(), 1u);
}

TEST_F(UndoTest, AFailedRemovalStaysInTheLedger) {
  PutRoute("10.244.2.0/24", "192.168.1.2");
  PutRoute("10.244.3.0/24", "192.168.1.3");
  const Row kept{"host-route", "10.244.3.0/24", "192.168.1.3", false};
  Enter({"host-route", "10.244.2.0/24", "192.168.1.2", false});
  Enter(kept);
  Stubborn host(host_);
  const Undone undone = ledger::Undo({nullptr, &host}, ledger_, {});
  EXPECT_THAT(undone.lines, ElementsAre("deleted route 10.244.2.0/24 via 192.168.1.2"));
  EXPECT_THAT(undone.failed, ElementsAre("route 10.244.3.0/24 via 192.168.1.3: access is denied"));
  EXPECT_THAT(Entries(), ElementsAre(kept));
}

TEST_F(UndoTest, OnlyOurFirewallRuleIsDeleted) {
  ASSERT_TRUE(host_.AllowUdpIn({"OverlayTraffic4789UDP", 4789}).ok());
  ASSERT_TRUE(host_.AllowUdpIn({"OverlayTraffic8472UDP", 8472}).ok());
  host::HostState state = host_.state();
  const host::EmulatedFirewallRule other{{"OverlayTraffic4790UDP", 4790}, ""};
  state.firewall.push_back(other);  // in the place of ours
  host_.Replace(state);
  Enter({"firewall-rule", "OverlayTraffic8472UDP", "8472", false});
  Enter({"firewall-rule", "OverlayTraffic4790UDP", "4790", false});
  Enter({"host-route", "10.244.2.0/24", "192.168.1.2", false});
  EXPECT_THAT(Undo(/*dry_run=*/true).lines,
              ElementsAre("route 10.244.2.0/24 via 192.168.1.2 is gone already",
                          "would delete firewall rule OverlayTraffic8472UDP",
                          "firewall rule OverlayTraffic4790UDP is gone already"));
  EXPECT_EQ(host_.state().firewall.size(), 3u);
  EXPECT_THAT(Undo().lines, ::testing::Contains("deleted firewall rule OverlayTraffic8472UDP"));
  EXPECT_THAT(host_.state().firewall, ElementsAre(state.firewall[0], other));
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(UndoTest, OurPacketFilterRulesAndTheirEntryAreDeleted) {
  weft::testing::FakePacketFilter filter;
  const auto rules = host::ForwardRules(Prefix("10.244.0.0/16"));
  filter.held = {{host::FilterPart::kMasquerade, rules},
                 {host::FilterPart::kForward, rules},
                 {host::FilterPart::kForwardLegacy, {}}};
  Enter({"filter-table", "inet weft", "", false});
  Enter({"forward-rules", "nftables", "", false});
  Enter({"forward-rules", "iptables-legacy", "", false});
  EXPECT_TRUE(NeedsFilter(ledger_));
  const auto undo = [&](bool dry_run) {
    return ledger::Undo({nullptr, &host_, &filter}, ledger_, {dry_run, false});
  };
  EXPECT_THAT(undo(true).lines,
              ElementsAre("would delete table inet weft of nftables",
                          "would delete accept rules in chain FORWARD of nftables",
                          "accept rules in chain FORWARD of iptables-legacy is gone already"));
  EXPECT_THAT(filter.puts, IsEmpty());
  EXPECT_EQ(Entries().size(), 3u);
  const Undone undone = undo(false);
  EXPECT_EQ(undone.lines[0], "deleted table inet weft of nftables");
  EXPECT_THAT(undone.failed, IsEmpty());
  for (const auto& [part, held] : filter.held) EXPECT_THAT(held, IsEmpty());
  EXPECT_THAT(Entries(), IsEmpty());
  EXPECT_FALSE(NeedsFilter(ledger_));
}

TEST_F(UndoTest, RulesThatThePacketFilterKeepsStayInTheLedger) {
  weft::testing::FakePacketFilter filter;
  filter.held[host::FilterPart::kMasquerade] = host::ForwardRules(Prefix("10.244.0.0/16"));
  filter.writable = absl::PermissionDeniedError("not permitted");
  const Row table{"filter-table", "inet weft", "", false};
  Enter(table);
  EXPECT_THAT(ledger::Undo({nullptr, &host_, &filter}, ledger_, {}).failed,
              ElementsAre("table inet weft of nftables: not permitted"));
  filter.readable = absl::PermissionDeniedError("not permitted");
  EXPECT_EQ(ledger::Undo({nullptr, &host_, &filter}, ledger_, {}).failed.size(), 1u);
  // The ledger of a Linux node on another system.
  EXPECT_EQ(ledger::Undo({nullptr, &host_}, ledger_, {}).failed.size(), 1u);
  EXPECT_THAT(Entries(), ElementsAre(table));
}

TEST_F(UndoTest, WhereRoutesCannotBeReadAllStayInTheLedger) {
  PutRoute("10.244.2.0/24", "192.168.1.2");
  Enter({"host-route", "10.244.2.0/24", "192.168.1.2", false});
  Enter({"host-route", "10.244.3.0/24", "192.168.1.3", true});
  Unreadable host(host_);
  const Undone undone = ledger::Undo({nullptr, &host}, ledger_, {});
  EXPECT_THAT(undone.failed,
              ElementsAre("route 10.244.2.0/24 via 192.168.1.2: it does not answer"));
  EXPECT_THAT(undone.lines,
              ElementsAre("left route 10.244.3.0/24 via 192.168.1.3: it existed before weft"));
  EXPECT_EQ(Entries().size(), 2u);
}

TEST_F(UndoTest, AnAdoptedRouteAndOneWithoutGatewayAreLeft) {
  PutRoute("10.244.2.0/24", "192.168.1.2");
  host::Route direct;
  direct.destination = Prefix("10.244.3.0/24");
  direct.adapter_index = nic_;
  ASSERT_TRUE(host_.PutRoutes({direct})[0].ok());
  const Row adopted{"host-route", "10.244.2.0/24", "192.168.1.2", true};
  Enter(adopted);
  EXPECT_THAT(Undo().lines,
              ElementsAre("left route 10.244.2.0/24 via 192.168.1.2: it existed before weft"));
  EXPECT_EQ(host_.state().routes.size(), 2u);
  EXPECT_THAT(ledger::Undo({}, ledger_, {}).lines, IsEmpty()) << "no host is needed for it";
  EXPECT_THAT(Entries(), ElementsAre(adopted));
}

// ---- the routes that ours replaced

TEST_F(UndoTest, ATakenOverRouteIsRestored) {
  PutRoute("10.244.2.0/24", "192.168.1.22");  // ours
  Enter({"host-route", "10.244.2.0/24", "192.168.1.22", false});
  Enter({"former-route", "10.244.2.0/24", "192.168.1.2", true, "256 - Ethernet"});
  Enter({"former-route", "10.244.3.0/24", "192.168.1.3", true, "0 - eth0 of old"});
  EXPECT_TRUE(NeedsHost(ledger_));
  EXPECT_THAT(Undo(/*dry_run=*/true).lines,
              ElementsAre("would delete route 10.244.2.0/24 via 192.168.1.22",
                          "would give back route 10.244.2.0/24 via 192.168.1.2",
                          "would give back route 10.244.3.0/24 via 192.168.1.3"));
  EXPECT_EQ(Entries().size(), 3u);
  EXPECT_THAT(Undo().lines, ElementsAre("deleted route 10.244.2.0/24 via 192.168.1.22",
                                        "gave back route 10.244.2.0/24 via 192.168.1.2",
                                        "gave back route 10.244.3.0/24 via 192.168.1.3"));
  EXPECT_THAT(Routes(),
              ElementsAre("10.244.2.0/24 via 192.168.1.2", "10.244.3.0/24 via 192.168.1.3"));
  EXPECT_EQ(host_.state().routes[0].metric, 256u);
  EXPECT_EQ(host_.state().routes[1].adapter_index, nic_) << "the one on whose link its gateway is";
  EXPECT_THAT(Entries(), IsEmpty());
  EXPECT_THAT(Undo().lines, IsEmpty());
}

// On Windows a restored route may equal ours: a reset that is killed then, and runs again, must not
// delete it.
TEST_F(UndoTest, OurRoutesAreForgottenBeforeAnyIsRestored) {
  class Checking final : public weft::testing::HostView {
   public:
    Checking(host::Host& host, std::string folder) : HostView(host), folder_(std::move(folder)) {}
    std::vector<absl::Status> PutRoutes(const std::vector<host::Route>& routes) override {
      on_disk = weft::testing::RowsOnDisk(folder_);
      return HostView::PutRoutes(routes);
    }
    std::vector<Row> on_disk;

   private:
    const std::string folder_;
  };
  PutRoute("10.244.2.0/24", "192.168.1.22");
  const Row former{"former-route", "10.244.2.0/24", "192.168.1.2", true, "256 - Ethernet"};
  Enter({"host-route", "10.244.2.0/24", "192.168.1.22"});
  Enter(former);
  Checking host(host_, folder_);
  EXPECT_THAT(ledger::Undo({nullptr, &host}, ledger_, {}).failed, IsEmpty());
  EXPECT_THAT(host.on_disk, ElementsAre(former));
}

TEST_F(UndoTest, NoChangesAreLeftNextToTheLedger) {
  std::vector<Entry> routes;
  for (int i = 0; i < 200; ++i)
    routes.emplace_back(
        HostRoute{Prefix("10.244." + std::to_string(i) + ".0/24"), Address("192.168.1.2"), true});
  ASSERT_TRUE(ledger_.Intend(routes).ok());
  Enter({"firewall-rule", "OverlayTraffic8472UDP", "8472"});
  ASSERT_TRUE(std::filesystem::exists(ledger_.changes_path()));
  Undo(/*dry_run=*/true);
  EXPECT_TRUE(std::filesystem::exists(ledger_.changes_path()));
  Undo();
  EXPECT_FALSE(std::filesystem::exists(ledger_.changes_path()));
  EXPECT_EQ(weft::testing::RowsOnDisk(folder_).size(), 200u);
}

// On Windows only the ledger identifies ours.
TEST_F(UndoTest, WhereOursStaysItsFormerRouteStaysInTheLedger) {
  PutRoute("10.244.3.0/24", "192.168.1.33");  // ours
  Enter({"host-route", "10.244.3.0/24", "192.168.1.33", false});
  Enter({"former-route", "10.244.3.0/24", "192.168.1.3", true, "256 - Ethernet"});
  const std::vector<Row> before = Entries();
  Stubborn host(host_);
  EXPECT_THAT(
      ledger::Undo({nullptr, &host}, ledger_, {}).failed,
      ElementsAre(
          "route 10.244.3.0/24 via 192.168.1.33: access is denied",
          "route 10.244.3.0/24 via 192.168.1.3: our route to that destination still exists"));
  EXPECT_THAT(Entries(), ::testing::UnorderedElementsAreArray(before));
  EXPECT_EQ(Undo().lines.back(), "gave back route 10.244.3.0/24 via 192.168.1.3");
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(UndoTest, BothOfTwoTakenOverRoutesAreRestored) {
  PutRoute("10.244.2.0/24", "192.168.1.22");  // ours
  Enter({"host-route", "10.244.2.0/24", "192.168.1.22", false});
  for (const char* gateway : {"192.168.1.2", "192.168.1.3"})
    Enter({"former-route", "10.244.2.0/24", gateway, true, "256 - Ethernet"});
  for (const bool dry_run : {true, false}) {
    const Undone undone = Undo(dry_run);
    EXPECT_EQ(undone.lines.size(), 3u);
    EXPECT_THAT(undone.lines, ::testing::Each(::testing::Not(HasSubstr("left"))));
    EXPECT_THAT(undone.failed, IsEmpty());
  }
  EXPECT_THAT(Routes(),
              ElementsAre("10.244.2.0/24 via 192.168.1.2", "10.244.2.0/24 via 192.168.1.3"));
}

// 5,000 routes of upstream's, and a host whose table takes a second to read.
TEST_F(UndoTest, TheHostIsReadOnceForAllFormerRoutes) {
  class Counting final : public weft::testing::HostView {
   public:
    using HostView::HostView;
    absl::StatusOr<std::vector<host::Route>> Routes(IpFamily family, std::uint32_t index) override {
      ++reads;
      return HostView::Routes(family, index);
    }
    int reads = 0;
  };
  for (int i = 0; i < 20; ++i)
    Enter({"former-route", "10.244." + std::to_string(i) + ".0/24", "192.168.1.2", true,
           "0 - Ethernet"});
  Counting host(host_);
  EXPECT_EQ(ledger::Undo({nullptr, &host}, ledger_, {}).lines.size(), 20u);
  EXPECT_LE(host.reads, 4) << "each family once for ours, once for upstream's";
  EXPECT_EQ(Routes().size(), 20u);
}

TEST_F(UndoTest, RoutesThatExistOrHaveNoAdapterAnyMoreAreNotRestored) {
  PutRoute("10.244.2.0/24", "192.168.1.2");    // taken over as it was
  PutRoute("10.244.4.0/24", "192.168.1.254");  // another program's, since
  Enter({"former-route", "10.244.2.0/24", "192.168.1.2", true, "0 - Ethernet"});
  Enter({"former-route", "10.244.3.0/24", "10.244.3.0", true, "0 onlink flannel.1"});
  Enter({"former-route", "10.244.4.0/24", "192.168.1.4", true, "0 - Ethernet"});
  const std::vector<std::string> before = Routes();
  const Undone undone = Undo();
  EXPECT_THAT(
      undone.lines,
      ElementsAre(
          "left route 10.244.2.0/24 via 192.168.1.2 as it is: it exists, as before weft",
          "left route 10.244.3.0/24 via 10.244.3.0 as it is: flannel.1 is gone",
          "left route 10.244.4.0/24 via 192.168.1.4 as it is: another route to that destination "
          "exists"));
  EXPECT_THAT(undone.failed, IsEmpty());
  EXPECT_EQ(Routes(), before);
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(UndoTest, ARouteThatCannotBeRestoredStaysInTheLedger) {
  Enter({"former-route", "10.244.2.0/24", "192.168.1.2", true, "0 - Ethernet"});
  Unreadable host(host_);
  EXPECT_THAT(ledger::Undo({nullptr, &host}, ledger_, {}).failed,
              ElementsAre("route 10.244.2.0/24 via 192.168.1.2: it does not answer"));
  EXPECT_EQ(Entries().size(), 1u);
  host_.SetAddresses("Ethernet", {{Address("172.16.0.10"), 24}});
  EXPECT_THAT(Undo().failed, ElementsAre(::testing::HasSubstr("its gateway is not on link")));
  EXPECT_EQ(Entries().size(), 1u);
}

// Of a later version, or edited: its object and place are unknown.
TEST_F(UndoTest, AnEntryThatIsNotUnderstoodStaysInTheLedger) {
  const Row rows[] = {{"hns-load-balancer", "a-vip", "id"},
                      {"former-route", "10.244.5.0/24", "nonsense", true, "0 - Ethernet"},
                      {"hns-network", "flannel.4096", "nonsense"}};
  for (const Row& row : rows) Enter(row);
  EXPECT_FALSE(ListsNothing(ledger_));
  for (const bool dry_run : {true, false}) {
    const Undone undone = ledger::Undo({}, ledger_, {dry_run, false});
    EXPECT_THAT(undone.lines, IsEmpty());
    const std::string why =
        ": not known to this version; use the one that made it, or correct the entry in " +
        ledger_.path();
    EXPECT_THAT(undone.failed,
                ElementsAre("hns-load-balancer a-vip" + why, "former-route 10.244.5.0/24" + why,
                            "hns-network flannel.4096" + why));
  }
  EXPECT_THAT(Entries(), ::testing::ElementsAreArray(rows));
}

TEST_F(UndoTest, AFirewallThatDoesNotAnswerIsNamedAndARuleThatIsGoneIsGone) {
  const Row rule{"firewall-rule", "OverlayTraffic8472UDP", "8472", false};
  Enter(rule);
  host_.StopFirewall(host::Milliseconds(60'000));
  EXPECT_THAT(Undo().failed,
              ElementsAre(::testing::StartsWith("firewall rule OverlayTraffic8472UDP: ")));
  EXPECT_THAT(Entries(), ElementsAre(rule));
  host_.StopFirewall(host::Milliseconds(0));
  EXPECT_THAT(Undo().lines, ElementsAre("firewall rule OverlayTraffic8472UDP is gone already"));
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(UndoTest, ARefusalOfHnsIsNamedAndStaysInTheLedger) {
  weft::testing::EmulatorClock clock;
  weft::testing::EthernetNode node(clock);
  hns::emulator::Emulator& hns = node.hns();
  hns::Client client(hns);
  const hns::Network overlay =
      hns::OverlayNetwork({"flannel.4096", Prefix("10.244.1.0/24"), *hns::IsolationId::From(4096),
                           4789, "Ethernet", Address("192.168.1.10"), false});
  auto network = client.Create(overlay);
  ASSERT_TRUE(network.ok()) << network.status();
  hns::Endpoint endpoint;
  endpoint.name = "ours";
  endpoint.network = network->Read()->id;
  const auto made = client.CreateEndpoint(endpoint);
  ASSERT_TRUE(made.ok()) << made.status();
  Enter({"hns-endpoint", "ours", made->id.ToString(), false, ""});
  Enter({"hns-network", "flannel.4096", endpoint.network.ToString(), false, ""});
  const struct {
    const char* function;
    std::vector<const char*> failed;  // how their lines begin
  } rows[] = {
      {"HcnEnumerateNetworks", {"network flannel.4096: "}},
      {"HcnEnumerateEndpoints", {"endpoint ours: ", "network flannel.4096: "}},
      {"HcnDelete", {"endpoint ours: ", "network flannel.4096: "}},
  };
  for (const auto& [function, failed] : rows) {
    SCOPED_TRACE(function);
    const bool deletes = std::string_view(function) == "HcnDelete";
    for (const char* name : {"Endpoint", "Network"}) {
      hns::emulator::Fault fault;
      fault.function = deletes ? function + std::string(name) : function;
      fault.count = hns::emulator::Fault::kAlways;
      fault.code = hns::hresult::kAccessDenied;
      hns.Add(fault);
    }
    const Undone undone = ledger::Undo({&client, nullptr}, ledger_, {.dry_run = !deletes});
    hns.ClearFaults();
    ASSERT_EQ(undone.failed.size(), failed.size());
    for (std::size_t i = 0; i < failed.size(); ++i)
      EXPECT_THAT(undone.failed[i], ::testing::StartsWith(failed[i]));
    EXPECT_EQ(Entries().size(), 2u);
  }
}

// An HNS on which one object cannot be opened.
class OneBroken final : public hns::Api {
 public:
  OneBroken(hns::Api& api, hns::Guid broken) : api_(api), broken_(broken) {}

  hns::Reply Make(const hns::ApiCall& call) override {
    const bool opens = call.operation == hns::Operation::kOpen && call.id == broken_;
    return opens ? hns::Reply{hns::hresult::kUnspecified} : api_.Make(call);
  }

 private:
  hns::Api& api_;
  const hns::Guid broken_;
};

class BrokenEndpointTest : public UndoTest {
 protected:
  BrokenEndpointTest() {
    ours_ = MakeNetwork("flannel.4096", "10.244.1.0/24");
    foreign_ = MakeNetwork("nat", "10.9.1.0/24");
    Enter({"hns-network", "flannel.4096", ours_.ToString(), false, ""});
  }
  hns::Guid MakeNetwork(const char* name, const char* subnet) {
    hns::Client client(emulator_);
    auto made =
        client.Create(hns::OverlayNetwork({name, Prefix(subnet), *hns::IsolationId::From(4096),
                                           4789, "Ethernet", Address("192.168.1.10"), false}));
    EXPECT_TRUE(made.ok()) << made.status();
    return made->Read()->id;
  }
  hns::Guid MakeEndpoint(const char* name, const hns::Guid& network) {
    hns::Endpoint endpoint;
    endpoint.name = name;
    endpoint.network = network;
    const auto made = hns::Client(emulator_).CreateEndpoint(endpoint);
    EXPECT_TRUE(made.ok()) << made.status();
    return made->id;
  }
  Undone UndoWith(const hns::Guid& broken, const UndoOptions& options = {}) {
    OneBroken api(emulator_, broken);
    hns::Client client(api);
    return ledger::Undo({&client, nullptr}, ledger_, options);
  }

  weft::testing::EmulatorClock clock_;
  weft::testing::EthernetNode node_{clock_};
  hns::emulator::Emulator& emulator_ = node_.hns();
  hns::Guid ours_, foreign_;
};

TEST_F(BrokenEndpointTest, AForeignOneFailsNothing) {
  const hns::Guid broken = MakeEndpoint("theirs", foreign_), own = MakeEndpoint("ours", ours_);
  Enter({"hns-endpoint", "ours", own.ToString(), false, ""});
  const Undone undone = UndoWith(broken);
  EXPECT_EQ(undone.refused, "");
  EXPECT_THAT(undone.failed, IsEmpty());
  EXPECT_THAT(undone.lines, ElementsAre("deleted endpoint ours (" + own.ToString() + ")",
                                        "deleted network flannel.4096 (" + ours_.ToString() + ")"));
  EXPECT_THAT(Entries(), IsEmpty());
}

// An object with an id in the ledger need not be read.
TEST_F(BrokenEndpointTest, OursIsDeletedByItsId) {
  const hns::Guid own = MakeEndpoint("ours", ours_);
  Enter({"hns-endpoint", "ours", own.ToString(), false, ""});
  const Undone undone = UndoWith(own);
  EXPECT_THAT(undone.failed, IsEmpty());
  EXPECT_EQ(undone.lines.front(), "deleted endpoint ours (" + own.ToString() + ")");
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(BrokenEndpointTest, OurBrokenNetworkIsDeletedByItsId) {
  const Undone undone = UndoWith(ours_);
  EXPECT_THAT(undone.failed, IsEmpty());
  EXPECT_THAT(undone.lines, ElementsAre("deleted network flannel.4096 (" + ours_.ToString() + ")"));
}

TEST_F(BrokenEndpointTest, OneInOurNetworkMayBeAPod) {
  const hns::Guid broken = MakeEndpoint("pod", ours_);
  const Undone refused = UndoWith(broken);
  EXPECT_THAT(refused.refused, ::testing::AllOf(HasSubstr("1 pod runs in what would be deleted (" +
                                                          broken.ToString()),
                                                HasSubstr("E_FAIL (0x80004005)")));
  EXPECT_THAT(refused.lines, IsEmpty());
  EXPECT_THAT(UndoWith(broken, {.force = true}).lines,
              ElementsAre("deleted network flannel.4096 (" + ours_.ToString() +
                          "), and with it 1 endpoint in it"));
}

// Its entry has no id: the unreadable endpoint may be it, so it is not forgotten.
TEST_F(BrokenEndpointTest, AnEntryWithoutIdStaysWhileOneCannotBeRead) {
  const hns::Guid broken = MakeEndpoint("theirs", foreign_);
  const Row entry{"hns-endpoint", "ours", "", false, "10.244.1.2", control::BootId()};
  Enter(entry);
  const Undone undone = UndoWith(broken);
  EXPECT_THAT(undone.failed, IsEmpty());
  EXPECT_THAT(undone.lines.front(),
              ::testing::StartsWith("left endpoint ours: HNS does not show 1 of"));
  EXPECT_THAT(Entries(), ElementsAre(entry));
}

// The vEthernet adapter is deleted with its network and its routes; the NIC returns later.
TEST_F(BrokenEndpointTest, RoutesAreRestoredAfterTheNetworkIsDeleted) {
  class DeletedWith final : public hns::Api {
   public:
    DeletedWith(hns::Api& api, std::function<void()> also) : api_(api), also_(std::move(also)) {}

    hns::Reply Make(const hns::ApiCall& call) override {
      if (call.function() == "HcnDeleteNetwork") also_();
      return api_.Make(call);
    }

   private:
    hns::Api& api_;
    const std::function<void()> also_;
  };
  const Row former{"former-route", "10.244.2.0/24", "192.168.1.2", true, "0 - Ethernet"};
  Enter(former);
  DeletedWith api(emulator_, [&] {
    EXPECT_THAT(Routes(), IsEmpty()) << "they would be lost";
    host_.Unplug("Ethernet");
  });
  hns::Client client(api);
  const Undone undone = ledger::Undo({&client, &host_}, ledger_, {});
  EXPECT_THAT(undone.failed,
              ElementsAre(::testing::StartsWith("route 10.244.2.0/24 via 192.168.1.2: Ethernet "
                                                "does not exist, perhaps until")));
  EXPECT_THAT(Entries(), ElementsAre(former));
  host_.Plug("Ethernet");
  host_.SetAddresses("Ethernet", {{Address("192.168.1.10"), 24}});
  EXPECT_THAT(Undo().lines, ElementsAre("gave back route 10.244.2.0/24 via 192.168.1.2"));
}

TEST_F(BrokenEndpointTest, WhetherPodsRunIsNeverGuessed) {
  hns::emulator::Fault fault;
  fault.function = "HcnEnumerateEndpoints";
  fault.code = hns::hresult::kUnspecified;
  emulator_.Add(fault);  // once: the read of the pods
  const Undone undone = UndoWith(hns::Guid());
  EXPECT_THAT(undone.refused, ::testing::StartsWith("it is unknown whether pods run here: "));
  EXPECT_THAT(undone.lines, IsEmpty());
  EXPECT_EQ(Entries().size(), 1u);
}

// As HNS shows one whose pod is not set up yet.
TEST_F(UndoTest, AnEndpointWithoutAddressIsRecognizedByItsIdOnly) {
  hns::RecordingApi api;
  const char* const id = "55fedb88-4b11-4da4-8cd1-59970718a804";
  for (int i = 0; i < 2; ++i) {
    api.AnswerText("HcnEnumerateEndpoints", std::string("[\"") + id + "\"]");
    api.AnswerText("HcnQueryEndpointProperties",
                   std::string(R"({"ID":")") + id + R"(","Name":"ours"})");
  }
  hns::Client client(api);
  Enter({"hns-endpoint", "ours", "", false, "10.244.1.7", control::BootId()});
  EXPECT_THAT(ledger::Undo({&client, nullptr}, ledger_, {}).lines,
              ElementsAre("endpoint ours is gone already"));
  Enter({"hns-endpoint", "ours", id, false, "10.244.1.7"});
  EXPECT_THAT(ledger::Undo({&client, nullptr}, ledger_, {}).lines,
              ElementsAre(std::string("deleted endpoint ours (") + id + ")"));
}

TEST_F(UndoTest, StaticRoutesAndIpSettingsAreTheAdministrators) {
  PutRoute("10.8.0.0/16", "192.168.1.254");
  Enter({"static-route", "10.8.0.0/16", "192.168.1.254", true, "00:15:5d:00:00:0a 10 0"});
  Enter({"static-route", "10.9.0.0/16", "192.168.1.254", true, "written by hand"});
  Enter({"static-ip", "00:15:5d:00:00:0a", "10", true, "192.168.1.10/24;;;"});
  Enter({"static-ip", "00:15:5d:00:00:0a", "10", true, "written by hand"});
  EXPECT_TRUE(ListsNothing(ledger_));
  const Undone undone = Undo();
  EXPECT_THAT(undone.lines, IsEmpty());
  EXPECT_THAT(undone.failed, IsEmpty());
  EXPECT_EQ(Routes().size(), 1u);
  EXPECT_EQ(Entries().size(), 4u) << "the next flanneld may have to restore them";
}

TEST_F(UndoTest, OnlyWhatIsNeededIsOpened) {
  EXPECT_FALSE(NeedsHns(ledger_) || NeedsHost(ledger_));
  Enter({"hns-network", "External", kGuid, true});
  EXPECT_FALSE(NeedsHns(ledger_) || NeedsHost(ledger_)) << "it is left";
  Enter({"firewall-rule", "OverlayTraffic8472UDP", "8472", false});
  EXPECT_FALSE(NeedsHns(ledger_));
  EXPECT_TRUE(NeedsHost(ledger_));
  ASSERT_TRUE(ledger_.Forget({FirewallRule{"OverlayTraffic8472UDP"}}).ok());
  Enter({"host-route", "10.244.2.0/24", "192.168.1.2", false});
  EXPECT_FALSE(NeedsHns(ledger_));
  EXPECT_TRUE(NeedsHost(ledger_));
  Enter({"hns-endpoint", "cbr0_ep", kGuid, false});
  EXPECT_TRUE(NeedsHns(ledger_));
}

}  // namespace
}  // namespace weft::ledger
