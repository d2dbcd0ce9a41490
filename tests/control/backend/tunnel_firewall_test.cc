// SPDX-License-Identifier: Apache-2.0
#include "control/backend/tunnel_firewall.h"

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/emulator/host/emulated_host.h"
#include "control/log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host_view.h"
#include "tests/support/test_path.h"

namespace weft::backend {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

host::EmulatedFirewallRule Ours(std::uint16_t port,
                                std::optional<std::vector<IpPrefix>> sources = std::nullopt) {
  return {{FirewallRuleName(port), port, std::move(sources)}, host::kFirewallGroup};
}
host::EmulatedFirewallRule Other(const std::string& name, std::uint16_t port) {
  return {{name, port}, "Overlay Traffic"};
}

// A host whose firewall answers with `verdict`.
class Firewall final : public weft::testing::HostView {
 public:
  Firewall(host::Host& host, absl::Status verdict) : HostView(host), verdict_(std::move(verdict)) {}
  absl::StatusOr<std::string> AllowUdpIn(const host::FirewallRule&) override {
    ++asked;
    return verdict_;
  }
  int asked = 0;

 private:
  const absl::Status verdict_;
};

class TunnelFirewallTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  const std::string folder_ = weft::testing::TestPath().string();
  host::EmulatedHost host_;
  TunnelFirewall firewall_{host_};
};

constexpr control::TimePoint kStart{std::chrono::hours(1)};

TEST_F(TunnelFirewallTest, ARuleForEachPortOfTheTunnel) {
  firewall_.Allow(4789, {}, kStart);
  firewall_.Allow(4789, {}, kStart);
  firewall_.Allow(8472, {}, kStart);
  EXPECT_THAT(host_.state().firewall, ElementsAre(Ours(4789), Ours(8472)));
  EXPECT_EQ(firewall_.condition().text(), "");
}

TEST_F(TunnelFirewallTest, ARefusalIsReportedOnceAndAnUnsupportedFirewallIsNot) {
  Firewall refusing(host_, absl::PermissionDeniedError("access is denied"));
  TunnelFirewall firewall(refusing);
  firewall.Allow(4789, {}, kStart);
  firewall.Allow(4789, {}, kStart);
  EXPECT_EQ(refusing.asked, 1);
  EXPECT_EQ(firewall.condition().times(), 1u);
  EXPECT_EQ(firewall.condition().text(),
            "peers may not reach this node: access is denied; flanneld tries again; else allow "
            "inbound UDP port 4789 yourself");
  Firewall elsewhere(host_, absl::UnimplementedError("rules have no names here"));
  TunnelFirewall quiet(elsewhere);
  quiet.Allow(4789, {}, kStart);
  EXPECT_EQ(quiet.condition().text(), "");
}

// Made again and again it would be as void.
TEST_F(TunnelFirewallTest, ARuleThatAPolicyVoidsStaysEntered) {
  const auto ledger = std::make_shared<ledger::NodeLedger>(folder_);
  TunnelFirewall made(host_, ledger);
  made.Allow(4789, {}, kStart);
  Firewall voided(host_, absl::PermissionDeniedError("group policy ignores it"));
  TunnelFirewall firewall(voided, ledger);
  firewall.Allow(4789, {}, kStart);
  EXPECT_THAT(firewall.condition().text(), HasSubstr("group policy ignores it"));
  EXPECT_THAT(host_.state().firewall, ElementsAre(Ours(4789)));
}

// For good, as hardening guides and golden images have it. Nothing filters the tunnel then.
TEST_F(TunnelFirewallTest, AFirewallWhoseServiceIsOffIsNoConditionUnlessItShouldKeepPacketsOut) {
  host_.StopFirewall(std::chrono::hours(24));
  ::testing::internal::CaptureStderr();
  control::StartLog(control::LogFormat::kKlog, 0);
  firewall_.Allow(4789, {}, kStart);
  EXPECT_EQ(firewall_.condition().text(), "");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("0x800706d9"), HasSubstr("once it runs, flanneld makes its rule")));
  FirewallSources behind_nat;
  behind_nat.refusal = "node a is behind NAT";
  firewall_.Allow(4789, behind_nat, kStart);
  EXPECT_EQ(firewall_.condition().text(), "node a is behind NAT");
  FirewallSources peers;
  peers.prefixes = {*IpPrefix::Parse("192.168.1.11/32")};
  firewall_.Allow(4789, peers, kStart);
  EXPECT_THAT(firewall_.condition().text(),
              AllOf(HasSubstr("--firewall-sources=peers has no effect: "),
                    HasSubstr("its service is not running (0x800706d9); start it, or")));
}

// At boot flanneld may be earlier than the firewall's service.
TEST_F(TunnelFirewallTest, AFirewallThatIsNotUpYetIsRetriedWithBackOff) {
  Firewall refusing(host_, absl::UnavailableError("its service is not up"));
  TunnelFirewall firewall(refusing);
  int seconds = 0;
  for (; seconds < 3600; ++seconds)
    firewall.Allow(4789, {}, kStart + std::chrono::seconds(seconds));
  EXPECT_GE(refusing.asked, 3600 / 30);
  EXPECT_LE(refusing.asked, 3600 / 30 + 5);

  host::EmulatedHost host({}, [&] { return std::chrono::seconds(seconds); });
  seconds = 0;
  host.StopFirewall(std::chrono::seconds(20));
  TunnelFirewall late(host);
  late.Allow(4789, {}, kStart);
  for (; seconds < 40; ++seconds) late.Allow(4789, {}, kStart + std::chrono::seconds(seconds));
  EXPECT_EQ(host.state().firewall.size(), 1u);
  EXPECT_EQ(late.condition().text(), "");
}

TEST_F(TunnelFirewallTest, ARemovedRuleIsRestoredWithinFiveMinutes) {
  firewall_.Allow(4789, {}, kStart);
  ASSERT_TRUE(host_.RemoveFirewallRule("OverlayTraffic4789UDP").ok());
  firewall_.Allow(4789, {}, kStart + std::chrono::minutes(5) - std::chrono::seconds(1));
  EXPECT_EQ(host_.state().firewall.size(), 0u);
  firewall_.Allow(4789, {}, kStart + std::chrono::minutes(5));
  EXPECT_EQ(host_.state().firewall.size(), 1u);
}

TEST_F(TunnelFirewallTest, AnExistingRuleIsNotChanged) {
  host::HostState state = host_.state();
  state.firewall = {Other("OverlayTraffic4789UDP", 1)};
  host_.Replace(state);
  firewall_.Allow(4789, {}, kStart);
  EXPECT_EQ(host_.state().firewall, state.firewall);
  EXPECT_THAT(firewall_.condition().text(),
              HasSubstr("the firewall rule OverlayTraffic4789UDP exists, but it is not for port "
                        "4789"));
}

TEST_F(TunnelFirewallTest, ANewRuleIsEnteredAndAnExistingOneAsAdopted) {
  const auto ledger = std::make_shared<ledger::NodeLedger>(folder_);
  host::HostState state;
  state.firewall = {Other("OverlayTraffic8472UDP", 8472)};
  host_.Replace(state);
  TunnelFirewall firewall(host_, ledger);
  firewall.Allow(8472, {}, kStart);
  firewall.Allow(4789, {}, kStart);
  Firewall refusing(host_, absl::PermissionDeniedError("access is denied"));
  TunnelFirewall(refusing, ledger).Allow(4790, {}, kStart);
  TunnelFirewall(host_, ledger).Allow(4789, {}, kStart);  // the next process
  ledger->Use([](ledger::Ledger& entered) -> ledger::NodeLedger::Written {
    EXPECT_THAT(entered.All<ledger::FirewallRule>(),
                ElementsAre(ledger::FirewallRule{"OverlayTraffic8472UDP", 8472, true},
                            ledger::FirewallRule{"OverlayTraffic4789UDP", 4789, false}));
    return std::nullopt;
  });
}

// An administrator or a program altered it: others of that name are not ours to change.
TEST_F(TunnelFirewallTest, OurRuleIsCorrectedWhenItWasAlteredAndAForeignOneIsNot) {
  const auto ledger = std::make_shared<ledger::NodeLedger>(folder_);
  TunnelFirewall firewall(host_, ledger);
  firewall.Allow(4789, {}, kStart);
  host::HostState state = host_.state();
  state.firewall[0].port = 1;
  host_.Replace(state);
  firewall.Allow(4789, {}, kStart + std::chrono::minutes(5));
  EXPECT_THAT(host_.state().firewall, ElementsAre(Ours(4789)));
  EXPECT_EQ(firewall.condition().text(), "");

  state.firewall = {Ours(4789), Other("OverlayTraffic8472UDP", 1)};
  host_.Replace(state);
  TunnelFirewall(host_, ledger).Allow(8472, {}, kStart);
  EXPECT_EQ(host_.state().firewall, state.firewall) << "nothing until the new port is allowed";
}

TEST_F(TunnelFirewallTest, ANewPortReplacesOurRule) {
  const auto ledger = std::make_shared<ledger::NodeLedger>(folder_);
  host::HostState state;
  state.firewall = {Other("OverlayTraffic8472UDP", 8472), Other("Other", 1)};
  host_.Replace(state);
  TunnelFirewall(host_, ledger).Allow(8472, {}, kStart);
  TunnelFirewall(host_, ledger).Allow(4789, {}, kStart);
  // Another process, and a firewall that refuses the removal once.
  class Refusing final : public weft::testing::HostView {
   public:
    using HostView::HostView;
    absl::Status RemoveFirewallRule(const std::string& rule) override {
      if (refuse) return absl::PermissionDeniedError("access is denied");
      return HostView::RemoveFirewallRule(rule);
    }
    bool refuse = true;
  };
  Refusing refusing(host_);
  TunnelFirewall firewall(refusing, ledger);
  firewall.Allow(4790, {}, kStart);
  EXPECT_THAT(host_.state().firewall, ::testing::SizeIs(4));
  EXPECT_THAT(firewall.condition().text(), HasSubstr("access is denied"));
  refusing.refuse = false;
  firewall.Allow(4790, {}, kStart + std::chrono::seconds(1));
  EXPECT_THAT(host_.state().firewall,
              ElementsAre(state.firewall[0], state.firewall[1], Ours(4790)));
  EXPECT_EQ(firewall.condition().text(), "");
  ledger->Use([](ledger::Ledger& entered) -> ledger::NodeLedger::Written {
    EXPECT_EQ(entered.All<ledger::FirewallRule>().size(), 2u);
    return std::nullopt;
  });
}

// The answer was lost, not the call.
TEST_F(TunnelFirewallTest, AFailedRuleStaysEnteredUnlessItCertainlyDoesNotExist) {
  class Silent final : public weft::testing::HostView {
   public:
    using HostView::HostView;
    absl::StatusOr<std::string> AllowUdpIn(const host::FirewallRule& rule) override {
      EXPECT_TRUE(HostView::AllowUdpIn(rule).ok());
      tried = true;
      return absl::UnavailableError("it does not answer");
    }
    absl::StatusOr<host::RuleOwner> FindFirewallRule(const std::string& name) override {
      if (tried && !answers) return absl::UnavailableError("it does not answer");
      return HostView::FindFirewallRule(name);
    }
    bool tried = false, answers = true;
  };
  for (const bool answers : {true, false}) {
    const auto ledger = std::make_shared<ledger::NodeLedger>(folder_);
    host_.Replace({});
    Silent host(host_);
    host.answers = answers;
    TunnelFirewall(host, ledger).Allow(4789, {}, kStart);
    TunnelFirewall(host_, ledger).Allow(4789, {}, kStart);  // finds it there
    ledger->Use([](ledger::Ledger& entered) -> ledger::NodeLedger::Written {
      const ledger::FirewallRule rule{"OverlayTraffic4789UDP", 4789};
      EXPECT_THAT(entered.All<ledger::FirewallRule>(), ElementsAre(rule));
      return entered.Forget({rule});
    });
  }
}

// Its mark says whose it is, also where the ledger was lost, or another program put its own in the
// place of ours.
TEST_F(TunnelFirewallTest, TheMarkDecidesWhoseARuleIs) {
  const auto ledger = std::make_shared<ledger::NodeLedger>(folder_);
  const auto adopted = [&] {
    std::vector<bool> each;
    ledger->Use([&](ledger::Ledger& entered) -> ledger::NodeLedger::Written {
      for (const ledger::FirewallRule& rule : entered.All<ledger::FirewallRule>())
        each.push_back(rule.adopted);
      return std::nullopt;
    });
    return each;
  };
  TunnelFirewall(host_).Allow(4789, {}, kStart);  // not entered
  TunnelFirewall(host_, ledger).Allow(4789, {}, kStart);
  EXPECT_THAT(adopted(), ElementsAre(false));
  host::HostState state;
  state.firewall = {Other("OverlayTraffic4789UDP", 4789)};
  host_.Replace(state);
  TunnelFirewall(host_, ledger).Allow(4789, {}, kStart);
  EXPECT_THAT(adopted(), ElementsAre(true));
  TunnelFirewall(host_, ledger).Allow(4790, {}, kStart);
  EXPECT_THAT(host_.state().firewall, ElementsAre(state.firewall[0], Ours(4790)));
}

FirewallSources Of(std::initializer_list<const char*> prefixes) {
  FirewallSources sources{std::vector<IpPrefix>(), ""};
  for (const char* const prefix : prefixes) sources.prefixes->push_back(*IpPrefix::Parse(prefix));
  return sources;
}

TEST_F(TunnelFirewallTest, TheSourcesAreThePeersAndChangeAtOnce) {
  const auto ledger = std::make_shared<ledger::NodeLedger>(folder_);
  TunnelFirewall firewall(host_, ledger);
  firewall.Allow(4789, Of({}), kStart);
  EXPECT_THAT(host_.state().firewall, ElementsAre()) << "no peer";
  const FirewallSources one = Of({"192.168.1.11/32"}),
                        two = Of({"192.168.1.11/32", "192.168.1.14/32"});
  for (const FirewallSources& sources : {one, two, one, FirewallSources()}) {
    firewall.Allow(4789, sources, kStart);
    EXPECT_THAT(host_.state().firewall, ElementsAre(Ours(4789, sources.prefixes)));
    EXPECT_EQ(firewall.condition().text(), "");
  }
  firewall.Allow(4789, Of({}), kStart);
  EXPECT_THAT(host_.state().firewall, ElementsAre()) << "the last peer left";
  ledger->Use([](ledger::Ledger& entered) -> ledger::NodeLedger::Written {
    EXPECT_TRUE(entered.All<ledger::FirewallRule>().empty());
    return std::nullopt;
  });
}

TEST_F(TunnelFirewallTest, WhatCannotBeNarrowedIsReported) {
  FirewallSources any;
  any.refusal = "node a is behind NAT";
  firewall_.Allow(4789, any, kStart);
  EXPECT_THAT(host_.state().firewall, ElementsAre(Ours(4789)));
  EXPECT_EQ(firewall_.condition().text(), "node a is behind NAT");
  firewall_.Allow(4789, {}, kStart + std::chrono::minutes(5));
  EXPECT_EQ(firewall_.condition().text(), "");

  host::HostState state;
  state.firewall = {Other("OverlayTraffic4789UDP", 4789)};
  host_.Replace(state);
  firewall_.Allow(4789, Of({"192.168.1.11/32"}), kStart);
  EXPECT_EQ(firewall_.condition().text(),
            "--firewall-sources=peers has no effect: the firewall rule OverlayTraffic4789UDP of "
            "another program allows any address; remove that rule, and flanneld makes its own");
}

// The owner of a rule would be unknown.
TEST_F(TunnelFirewallTest, WhereTheFirewallCannotBeReadNoRuleIsMade) {
  class Unreadable final : public weft::testing::HostView {
   public:
    using HostView::HostView;
    absl::StatusOr<host::RuleOwner> FindFirewallRule(const std::string&) override {
      return absl::UnknownError("access is denied");
    }
  };
  Unreadable unreadable(host_);
  TunnelFirewall firewall(unreadable);
  firewall.Allow(4789, {}, kStart);
  EXPECT_EQ(host_.state().firewall.size(), 0u);
  EXPECT_THAT(firewall.condition().text(), HasSubstr("access is denied"));
}

}  // namespace
}  // namespace weft::backend
