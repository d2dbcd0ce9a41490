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

FirewallSources Of(std::initializer_list<const char*> prefixes) {
  FirewallSources sources{std::vector<IpPrefix>(), ""};
  for (const char* const prefix : prefixes) sources.prefixes->push_back(*IpPrefix::Parse(prefix));
  return sources;
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

std::vector<ledger::FirewallRule> Entered(ledger::NodeLedger& ledger) {
  std::vector<ledger::FirewallRule> rules;
  ledger.Use([&](ledger::Ledger& entered) -> ledger::NodeLedger::Written {
    rules = entered.All<ledger::FirewallRule>();
    return std::nullopt;
  });
  return rules;
}

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
  const auto ledger = std::make_shared<ledger::NodeLedger>(folder_);
  TunnelFirewall firewall(host_, ledger);
  firewall.Allow(4789, {}, kStart);
  EXPECT_EQ(host_.state().firewall, state.firewall);
  EXPECT_THAT(firewall.condition().text(),
              HasSubstr("the firewall rule OverlayTraffic4789UDP exists, but it is not for port "
                        "4789"));
  EXPECT_THAT(Entered(*ledger),
              ElementsAre(ledger::FirewallRule{"OverlayTraffic4789UDP", 4789, true}));
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
  EXPECT_THAT(Entered(*ledger),
              ElementsAre(ledger::FirewallRule{"OverlayTraffic8472UDP", 8472, true},
                          ledger::FirewallRule{"OverlayTraffic4789UDP", 4789, false}));
}

// As where it is listed late.
TEST_F(TunnelFirewallTest, ARuleThatWasMadeStaysEntered) {
  class Late final : public weft::testing::HostView {
   public:
    using HostView::HostView;
    absl::StatusOr<host::RuleOwner> FindFirewallRule(const std::string&) override {
      return host::RuleOwner::kNone;
    }
  };
  const auto ledger = std::make_shared<ledger::NodeLedger>(folder_);
  Late late(host_);
  TunnelFirewall(late, ledger).Allow(4789, {}, kStart);
  EXPECT_THAT(Entered(*ledger), ElementsAre(ledger::FirewallRule{"OverlayTraffic4789UDP", 4789}));
}

// An administrator or a program altered it: others of that name are not ours to change.
TEST_F(TunnelFirewallTest, OurRuleIsCorrectedWhenItWasAlteredAndAForeignOneIsNot) {
  const auto ledger = std::make_shared<ledger::NodeLedger>(folder_);
  TunnelFirewall firewall(host_, ledger);
  firewall.Allow(4789, {}, kStart);
  host::HostState state = host_.state();
  state.firewall[0].port = 1;
  const auto log_of_check = [](TunnelFirewall& of, int minutes) {
    ::testing::internal::CaptureStderr();
    control::StartLog(control::LogFormat::kKlog, 0);
    of.Allow(4789, {}, kStart + std::chrono::minutes(minutes));
    return ::testing::internal::GetCapturedStderr();
  };
  host_.Replace(state);
  TunnelFirewall next(host_, ledger);
  EXPECT_EQ(log_of_check(next, 0), "") << "another version of flanneld may have made it so";
  host_.Replace(state);
  EXPECT_THAT(log_of_check(firewall, 5),
              HasSubstr("the firewall rule OverlayTraffic4789UDP was altered: "));
  EXPECT_THAT(host_.state().firewall, ElementsAre(Ours(4789)));
  EXPECT_EQ(firewall.condition().text(), "");
  EXPECT_EQ(log_of_check(firewall, 10), "");

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
      return refusal.ok() ? HostView::RemoveFirewallRule(rule) : refusal;
    }
    absl::Status refusal = absl::PermissionDeniedError("access is denied");
  };
  Refusing refusing(host_);
  TunnelFirewall firewall(refusing, ledger);
  firewall.Allow(4790, {}, kStart);
  EXPECT_THAT(host_.state().firewall, ::testing::SizeIs(4));
  EXPECT_THAT(firewall.condition().text(), HasSubstr("access is denied"));
  refusing.refusal = absl::UnavailableError("its service is not running");
  TunnelFirewall down(refusing, ledger);
  down.Allow(4790, {}, kStart);
  EXPECT_EQ(down.condition().text(), "") << "nothing is filtered";
  refusing.refusal = absl::OkStatus();
  firewall.Allow(4790, {}, kStart + std::chrono::seconds(1));
  EXPECT_THAT(host_.state().firewall,
              ElementsAre(state.firewall[0], state.firewall[1], Ours(4790)));
  EXPECT_EQ(firewall.condition().text(), "");
  EXPECT_EQ(Entered(*ledger).size(), 2u);
  refusing.refusal = absl::UnavailableError("its service is not running");
  firewall.Allow(4791, Of({"192.168.1.11/32"}), kStart);
  EXPECT_EQ(
      firewall.condition().text(),
      "--firewall-sources=peers has no effect: its service is not running; start it, or leave "
      "the flag out");
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
    const ledger::FirewallRule rule{"OverlayTraffic4789UDP", 4789};
    TunnelFirewall(host, ledger).Allow(4789, {}, kStart);
    EXPECT_THAT(Entered(*ledger), ElementsAre(rule));
    TunnelFirewall(host_, ledger).Allow(4789, {}, kStart);  // finds it there
    EXPECT_THAT(Entered(*ledger), ElementsAre(rule));
    ledger->Use([&](ledger::Ledger& entered) { return entered.Forget({rule}); });
  }
}

// Its mark says whose it is, also where the ledger was lost, or another program put its own in the
// place of ours.
TEST_F(TunnelFirewallTest, TheMarkDecidesWhoseARuleIs) {
  const auto ledger = std::make_shared<ledger::NodeLedger>(folder_);
  const auto adopted = [&] {
    std::vector<bool> each;
    for (const ledger::FirewallRule& rule : Entered(*ledger)) each.push_back(rule.adopted);
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
  EXPECT_THAT(Entered(*ledger), ElementsAre());
}

TEST_F(TunnelFirewallTest, WhatCannotBeNarrowedIsReported) {
  FirewallSources any;
  any.refusal = "node a is behind NAT";
  firewall_.Allow(4789, any, kStart);
  EXPECT_THAT(host_.state().firewall, ElementsAre(Ours(4789)));
  EXPECT_EQ(firewall_.condition().text(), "node a is behind NAT");
  firewall_.Allow(4789, {}, kStart + std::chrono::minutes(5));
  EXPECT_EQ(firewall_.condition().text(), "");

  const auto ledger = std::make_shared<ledger::NodeLedger>(folder_);
  TunnelFirewall firewall(host_, ledger);
  firewall.Allow(4790, {}, kStart);
  host::HostState state = host_.state();
  state.firewall[0] = Other("OverlayTraffic4789UDP", 4789);
  host_.Replace(state);
  firewall.Allow(4789, Of({"192.168.1.11/32"}), kStart);
  EXPECT_THAT(host_.state().firewall, ElementsAre(state.firewall[0])) << "ours for 4790 went";
  EXPECT_EQ(firewall.condition().text(),
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
