// SPDX-License-Identifier: Apache-2.0
// Each path through the firewall's calls, with a firewall in memory.
#include "control/host/firewall_win.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <thread>

#include "tests/control/host/fake_firewall_win.h"

namespace weft::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kRule[] = "OverlayTraffic4789UDP";
constexpr wchar_t kWideRule[] = L"OverlayTraffic4789UDP";
// EPT_S_NOT_REGISTERED, what each call returns while the firewall's service is down.
constexpr HRESULT kServiceDown = static_cast<HRESULT>(0x800706D9);

class WindowsFirewallTest : public ::testing::Test {
 protected:
  static FakeRule Right(const std::wstring& port = L"4789") {
    FakeRule rule;
    rule.name = kWideRule;
    rule.protocol = NET_FW_IP_PROTOCOL_UDP;
    rule.ports = port;
    rule.direction = NET_FW_RULE_DIR_IN;
    rule.action = NET_FW_ACTION_ALLOW;
    rule.profiles = NET_FW_PROFILE2_ALL;
    rule.enabled = true;
    return rule;
  }
  static FakeRule Other() {
    FakeRule rule = Right();
    rule.name = L"OverlayTraffic8472UDP";
    return rule;
  }
  absl::Status Allow(std::uint16_t port = 4789) {
    return AllowUdpInByFirewall(firewall_.com(), kRule, port);
  }
  absl::StatusOr<bool> Has() { return FirewallHas(firewall_.com(), kRule); }
  absl::Status Remove() { return RemoveFromFirewall(firewall_.com(), kRule); }

  FakeFirewall firewall_;
};

TEST_F(WindowsFirewallTest, ARuleIsMadeOnceAndLetsUdpToThePortIn) {
  firewall_.Put(Other());
  ASSERT_TRUE(Allow().ok());
  EXPECT_THAT(firewall_.rules(), ElementsAre(Other(), Right()));
  ASSERT_TRUE(Allow().ok());
  EXPECT_THAT(firewall_.rules(), ElementsAre(Other(), Right()));
  EXPECT_EQ(firewall_.calls("Add"), 1);
}

// Each property by which a rule of that name would not allow the tunnel. It may be another
// program's, or disabled on purpose: it is not changed, and reported.
TEST_F(WindowsFirewallTest, AnExistingRuleOfThatNameIsNotChanged) {
  struct Row {
    const char* what;  // empty: it allows the tunnel
    void (*spoil)(FakeRule&);
  };
  for (const Row& row :
       {Row{"", [](FakeRule&) {}}, Row{"", [](FakeRule& rule) { rule.ports = L"53,4000-5000"; }},
        Row{"", [](FakeRule& rule) { rule.ports = L"*"; }},
        Row{"", [](FakeRule& rule) { rule.protocol = 256, rule.ports.clear(); }},
        Row{"it is not for UDP", [](FakeRule& rule) { rule.protocol = NET_FW_IP_PROTOCOL_TCP; }},
        Row{"it is not for port 4789", [](FakeRule& rule) { rule.ports = L"8472"; }},
        Row{"it is not for port 4789", [](FakeRule& rule) { rule.ports = L"478,47890-5"; }},
        Row{"it is an outbound rule", [](FakeRule& rule) { rule.direction = NET_FW_RULE_DIR_OUT; }},
        Row{"it is a block rule", [](FakeRule& rule) { rule.action = NET_FW_ACTION_BLOCK; }},
        Row{"it is not for all profiles",
            [](FakeRule& rule) { rule.profiles = NET_FW_PROFILE2_DOMAIN; }},
        Row{"it is not for all addresses",
            [](FakeRule& rule) { rule.remote_addresses = L"10.0.0.0/8"; }},
        Row{"it is disabled", [](FakeRule& rule) { rule.enabled = false; }}}) {
    FakeFirewall firewall;
    FakeRule rule = Right();
    rule.grouping = L"rke2";
    row.spoil(rule);
    firewall.Put(rule);
    const absl::Status status = AllowUdpInByFirewall(firewall.com(), kRule, 4789);
    if (*row.what == '\0') {
      EXPECT_TRUE(status.ok()) << status;
    } else {
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << row.what;
      EXPECT_EQ(status.message(), std::string("the firewall rule OverlayTraffic4789UDP exists, "
                                              "but ") +
                                      row.what);
    }
    EXPECT_THAT(firewall.rules(), ElementsAre(rule)) << row.what;
  }
}

// The rule is there, and nothing comes through it.
TEST_F(WindowsFirewallTest, WhatVoidsTheRuleIsReported) {
  struct Row {
    NET_FW_MODIFY_STATE state;
    LONG current, off;
    const char* error;  // empty: none
  };
  constexpr LONG kDomain = NET_FW_PROFILE2_DOMAIN, kPublic = NET_FW_PROFILE2_PUBLIC;
  constexpr char kPolicy[] =
      "the firewall rule OverlayTraffic4789UDP has no effect: group policy ignores this machine's "
      "own rules; allow the port in the policy";
  for (const Row& row : {
           Row{NET_FW_MODIFY_STATE_OK, kDomain, 0, ""},
           Row{NET_FW_MODIFY_STATE_GP_OVERRIDE, kDomain, 0, kPolicy},
           Row{NET_FW_MODIFY_STATE_GP_OVERRIDE, kDomain | kPublic, kPublic, kPolicy},
           Row{NET_FW_MODIFY_STATE_GP_OVERRIDE, kDomain | kPublic, kPublic | kDomain, ""},
           Row{NET_FW_MODIFY_STATE_GP_OVERRIDE, 0, 0, ""},
           Row{NET_FW_MODIFY_STATE_INBOUND_BLOCKED, kPublic, kDomain,
               "the firewall rule OverlayTraffic4789UDP has no effect: the firewall is set to "
               "block all incoming connections; switch that off"},
       }) {
    firewall_.stored().clear();
    firewall_.modify_state = row.state;
    firewall_.current_profiles = row.current;
    firewall_.off_profiles = row.off;
    for (int i = 0; i < 2; ++i) {  // when it is made, and when it is there
      const absl::Status status = Allow();
      EXPECT_EQ(status.message(), row.error);
      EXPECT_EQ(absl::IsPermissionDenied(status), *row.error != '\0');
      EXPECT_THAT(firewall_.rules(), ElementsAre(Right()));
    }
  }
}

// An old system, or a policy that cannot be read: the rule is all that is known.
TEST_F(WindowsFirewallTest, AStateThatCannotBeReadIsNoFinding) {
  firewall_.modify_state = NET_FW_MODIFY_STATE_GP_OVERRIDE;
  for (const char* const call : {"get_LocalPolicyModifyState", "get_CurrentProfileTypes"}) {
    firewall_.Fail(call, E_NOTIMPL);
    EXPECT_TRUE(Allow().ok()) << call;
    firewall_.Heal();
  }
  firewall_.Fail("get_FirewallEnabled", E_FAIL);
  EXPECT_TRUE(absl::IsPermissionDenied(Allow())) << "taken for on";
}

TEST_F(WindowsFirewallTest, ARuleIsFoundByItsNameAlone) {
  firewall_.Put(Other());
  EXPECT_EQ(*Has(), false);
  FakeRule disabled = Right(L"1");
  disabled.enabled = false;
  firewall_.Put(disabled);
  EXPECT_EQ(*Has(), true);
}

TEST_F(WindowsFirewallTest, ARuleIsRemovedByItsNameEvenIfMissing) {
  for (const bool all : {false, true}) {
    firewall_.removes_all = all;
    firewall_.Put(Right());
    firewall_.Put(Other());
    EXPECT_TRUE(Remove().ok());
    EXPECT_THAT(firewall_.rules(), ElementsAre(Other()));
    EXPECT_TRUE(Remove().ok());
    EXPECT_THAT(firewall_.rules(), ElementsAre(Other()));
    firewall_.stored().clear();
  }
  firewall_.Fail("Remove", HRESULT_FROM_WIN32(ERROR_FILE_NOT_FOUND));
  EXPECT_TRUE(Remove().ok());
}

// ---- Refusals: what was to be done, at which step, the system's text, the code, what to do

struct Refusal {
  const char* call;
  const char* step;
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.call; }
std::string CallName(const ::testing::TestParamInfo<Refusal>& refusal) {
  std::string name = refusal.param.call;
  std::erase_if(name, [](char c) { return c == ' ' || c == '_'; });
  return name;
}
class RefusedRule : public WindowsFirewallTest, public ::testing::WithParamInterface<Refusal> {
 protected:
  void Expect(const absl::Status& status, const std::string& what, const std::string& code) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                StartsWith("cannot " + what + " " + kRule + ": " + GetParam().step + ": "));
    EXPECT_THAT(std::string(status.message()), HasSubstr("(0x" + code + ")"));
  }
};

// The steps that all three need.
class RefusedRules : public RefusedRule {};
TEST_P(RefusedRules, IsNamed) {
  firewall_.Put(Right());
  firewall_.Fail(GetParam().call, kServiceDown);
  Expect(Allow(), "make the firewall rule", "800706d9");
  Expect(Has().status(), "look up the firewall rule", "800706d9");
  Expect(Remove(), "remove the firewall rule", "800706d9");
  firewall_.Heal();
  EXPECT_TRUE(Allow().ok()) << "the service is up";
}
INSTANTIATE_TEST_SUITE_P(Calls, RefusedRules,
                         ::testing::Values(Refusal{"CoInitializeEx", "COM"},
                                           Refusal{"CoCreateInstance policy",
                                                   "the firewall's policy"},
                                           Refusal{"get_Rules", "its rules"}),
                         CallName);

// Success without an object, as of a stub \(Wine's\).
class NoObject : public RefusedRule {};
TEST_P(NoObject, IsARefusal) {
  firewall_.Fail(GetParam().call, S_FALSE);
  Expect(Allow(), "make the firewall rule", "00000001");
}
INSTANTIATE_TEST_SUITE_P(Calls, NoObject,
                         ::testing::Values(Refusal{"CoCreateInstance policy",
                                                   "the firewall's policy"},
                                           Refusal{"get_Rules", "its rules"},
                                           Refusal{"CoCreateInstance rule", "a new rule"}),
                         CallName);

class RefusedNewRule : public RefusedRule {};
TEST_P(RefusedNewRule, IsNamedAndNothingAdded) {
  firewall_.Fail(GetParam().call, E_ACCESSDENIED);
  const absl::Status status = Allow();
  Expect(status, "make the firewall rule", "80070005");
  EXPECT_THAT(std::string(status.message()), ::testing::EndsWith("; run as administrator"));
  EXPECT_THAT(firewall_.rules(), IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(
    Calls, RefusedNewRule,
    ::testing::Values(Refusal{"CoCreateInstance rule", "a new rule"}, Refusal{"Add", "adding it"},
                      Refusal{"put_Name", "adding it"}, Refusal{"put_Protocol", "adding it"},
                      Refusal{"put_LocalPorts", "adding it"}, Refusal{"put_Direction", "adding it"},
                      Refusal{"put_Action", "adding it"}, Refusal{"put_Profiles", "adding it"},
                      Refusal{"put_Enabled", "adding it"}),
    CallName);

// A second rule of the name would be made where the first is not seen.
TEST_F(WindowsFirewallTest, WhereTheRuleCannotBeReadNoneIsAdded) {
  firewall_.Put(Right());
  firewall_.Fail("Item", E_OUTOFMEMORY);
  EXPECT_THAT(std::string(Allow().message()),
              StartsWith("cannot make the firewall rule OverlayTraffic4789UDP: querying it"));
  EXPECT_EQ(firewall_.calls("Add"), 0);
}

TEST_F(WindowsFirewallTest, AFailureThatIsNotAboutTheRuleIsNamed) {
  firewall_.Put(Right());
  firewall_.Fail("Item", E_OUTOFMEMORY);
  const absl::Status found = Has().status();
  EXPECT_THAT(std::string(found.message()),
              StartsWith("cannot look up the firewall rule OverlayTraffic4789UDP: querying it"));
  firewall_.Fail("Remove", E_ACCESSDENIED);
  const absl::Status removed = Remove();
  EXPECT_THAT(std::string(removed.message()), HasSubstr("removing it"));
  EXPECT_THAT(std::string(removed.message()), HasSubstr("run as administrator"));
  EXPECT_THAT(firewall_.rules(), ElementsAre(Right()));
}

// A thread may have initialized COM for another apartment: that one is used and not uninitialized.
TEST_F(WindowsFirewallTest, AnotherApartmentIsUsedAndNotLeft) {
  firewall_.Fail("CoInitializeEx", RPC_E_CHANGED_MODE);
  EXPECT_TRUE(Allow().ok());
  EXPECT_EQ(firewall_.apartments, 0);
  EXPECT_THAT(firewall_.rules(), ElementsAre(Right()));
}

// The system's own firewall, here Wine's stub: COM is initialized on each thread separately.
TEST(WindowsFirewall, TheSystemsAnswersOrIsNamed) {
  for (const DWORD apartment : {COINIT_MULTITHREADED, COINIT_APARTMENTTHREADED}) {
    std::thread([&] {
      ASSERT_TRUE(SUCCEEDED(::CoInitializeEx(nullptr, apartment)));
      const auto has = FirewallHas(FirewallCom::System(), "weft-no-such-rule");
      if (has.ok()) {
        EXPECT_FALSE(*has);
      } else {
        EXPECT_THAT(std::string(has.status().message()),
                    StartsWith("cannot look up the firewall rule weft-no-such-rule: "));
        EXPECT_THAT(std::string(has.status().message()), ::testing::Not(HasSubstr(": COM: ")));
      }
      ::CoUninitialize();
    }).join();
  }
}

}  // namespace
}  // namespace weft::host
