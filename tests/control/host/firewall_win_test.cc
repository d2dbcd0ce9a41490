// SPDX-License-Identifier: Apache-2.0
// Each path through the firewall's calls, with a firewall in memory.
#include "control/host/firewall_win.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
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
    rule.grouping = L"weft";
    rule.description =
        L"Lets in VXLAN packets of other nodes. Made by weft's flanneld, which corrects it; "
        L"removed by \"flannelctl reset\".";
    return rule;
  }
  static FakeRule Foreign() {
    FakeRule rule = Right();
    rule.grouping.clear();
    return rule;
  }
  static FakeRule Other() {
    FakeRule rule = Right();
    rule.name = L"OverlayTraffic8472UDP";
    return rule;
  }
  absl::StatusOr<std::string> Allow(std::initializer_list<const char*> sources = {}) {
    return Allow(firewall_, sources);
  }
  static absl::StatusOr<std::string> Allow(FakeFirewall& firewall,
                                           std::initializer_list<const char*> sources) {
    FirewallRule rule{kRule, 4789};
    if (sources.size() > 0) rule.sources.emplace();
    for (const char* const each : sources) rule.sources->push_back(*IpPrefix::Parse(each));
    return AllowUdpInByFirewall(firewall.com(), rule);
  }
  absl::StatusOr<RuleOwner> Find() { return FindInFirewall(firewall_.com(), kRule); }
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

// Each property by which a rule of that name would not allow the tunnel. Another program's is
// reported, and stays as it is; ours is corrected.
TEST_F(WindowsFirewallTest, OurRuleIsCorrectedAndAnotherProgramsIsNot) {
  struct Row {
    const char* what;  // empty: it allows the tunnel
    void (*spoil)(FakeRule&);
    const char* more = "";  // and nothing but the tunnel, as ours must
  };
  for (const Row& row :
       {Row{"", [](FakeRule&) {}},
        Row{"", [](FakeRule& rule) { rule.ports = L"53,4000-5000"; },
            "it is not for port 4789 alone"},
        Row{"", [](FakeRule& rule) { rule.ports = L"*"; }, "it is not for port 4789 alone"},
        Row{"", [](FakeRule& rule) { rule.protocol = 256, rule.ports.clear(); },
            "it is not for UDP"},
        Row{"it is not for UDP", [](FakeRule& rule) { rule.protocol = NET_FW_IP_PROTOCOL_TCP; }},
        Row{"it is not for port 4789", [](FakeRule& rule) { rule.ports = L"8472"; }},
        Row{"it is not for port 4789", [](FakeRule& rule) { rule.ports = L"478,47890-5"; }},
        Row{"it is an outbound rule", [](FakeRule& rule) { rule.direction = NET_FW_RULE_DIR_OUT; }},
        Row{"it is a block rule", [](FakeRule& rule) { rule.action = NET_FW_ACTION_BLOCK; }},
        Row{"it is not for all profiles",
            [](FakeRule& rule) { rule.profiles = NET_FW_PROFILE2_DOMAIN; }},
        Row{"it is not for all addresses",
            [](FakeRule& rule) { rule.remote_addresses = L"10.0.0.0/255.0.0.0"; }},
        Row{"it is disabled", [](FakeRule& rule) { rule.enabled = false; }}}) {
    for (const wchar_t* const group : {L"rke2", L"weft"}) {
      FakeFirewall firewall;
      FakeRule rule = Right();
      rule.grouping = group;
      row.spoil(rule);
      firewall.Put(rule);
      const absl::StatusOr<std::string> made = Allow(firewall, {});
      const bool ours = rule.grouping == L"weft";
      const char* const wrong = *row.what != '\0' ? row.what : row.more;
      if (*wrong != '\0' && ours) {
        ASSERT_TRUE(made.ok()) << made.status();
        EXPECT_EQ(*made, wrong);
        EXPECT_THAT(firewall.rules(), ElementsAre(Right())) << row.what;
        continue;
      }
      EXPECT_THAT(firewall.rules(), ElementsAre(rule)) << row.what;
      if (*row.what == '\0') {
        EXPECT_EQ(made.value_or("failed"), "") << made.status();
        continue;
      }
      EXPECT_TRUE(absl::IsFailedPrecondition(made.status())) << row.what;
      EXPECT_EQ(made.status().message(),
                std::string("the firewall rule OverlayTraffic4789UDP exists, but ") + row.what);
    }
  }
}

// One call for peers that come and go: nothing of the rule is ever without effect.
TEST_F(WindowsFirewallTest, TheSourcesOfOurRuleFollowThePeers) {
  ASSERT_TRUE(Allow({"192.168.1.11/32"}).ok());
  FakeRule rule = Right();
  rule.remote_addresses = L"192.168.1.11/255.255.255.255";
  EXPECT_THAT(firewall_.rules(), ElementsAre(rule));
  const int names = firewall_.calls("put_Name");
  EXPECT_EQ(*Allow({"192.168.1.11/32"}), "") << "netmasks are lengths";
  EXPECT_EQ(*Allow({"192.168.1.11/32", "192.168.1.64/26"}), "it is for other addresses");
  rule.remote_addresses = L"192.168.1.11/255.255.255.255,192.168.1.64/255.255.255.192";
  EXPECT_THAT(firewall_.rules(), ElementsAre(rule));
  EXPECT_EQ(*Allow(), "it is not for all addresses");
  EXPECT_THAT(firewall_.rules(), ElementsAre(Right()));
  EXPECT_EQ(firewall_.calls("put_Name"), names);
  EXPECT_EQ(firewall_.calls("put_RemoteAddresses"), 3);
  firewall_.Fail("put_RemoteAddresses", E_ACCESSDENIED);
  EXPECT_THAT(std::string(Allow({"10.0.0.1/32"}).status().message()),
              StartsWith("cannot make the firewall rule OverlayTraffic4789UDP: correcting it: "));
}

TEST_F(WindowsFirewallTest, AnotherProgramsSourcesMustContainThePeers) {
  struct Row {
    const wchar_t* theirs;
    const char* error;  // empty: none
  };
  constexpr char kNot[] =
      "the firewall rule OverlayTraffic4789UDP exists, but it is not for all peers";
  for (const Row& row :
       {Row{L"192.168.1.0/255.255.255.0", ""}, Row{L"10.9.9.9, 192.168.1.0/24", ""},
        Row{L"192.168.1.11,192.168.1.12", ""}, Row{L"192.168.1.11", kNot},
        Row{L"192.168.1.12/255.255.255.255", kNot}, Row{L"LocalSubnet", kNot}, Row{L"", kNot},
        Row{L"192.168.1.0/255.0.255.0", kNot}, Row{L"192.168.1.0/33", kNot},
        Row{L"192.168.1.1-192.168.1.99", kNot}, Row{L"::/0.0.0.0", kNot},
        Row{L"*",
            "the firewall rule OverlayTraffic4789UDP of another program allows any "
            "address"}}) {
    FakeFirewall firewall;
    FakeRule rule = Foreign();
    rule.remote_addresses = row.theirs;
    firewall.Put(rule);
    const absl::Status status = Allow(firewall, {"192.168.1.11/32", "192.168.1.12/32"}).status();
    EXPECT_EQ(status.message(), row.error);
    EXPECT_EQ(absl::IsAlreadyExists(status), rule.remote_addresses == L"*");
    EXPECT_THAT(firewall.rules(), ElementsAre(rule));
  }
}

// It would be forgotten, or taken for another program's, for good.
TEST_F(WindowsFirewallTest, ARuleWhoseGroupCannotBeReadIsNobodysYet) {
  firewall_.Put(Right(L"8472"));
  firewall_.Fail("get_Grouping", E_FAIL);
  EXPECT_THAT(std::string(Allow().status().message()), HasSubstr(": reading its group: "));
  EXPECT_FALSE(Find().ok());
  EXPECT_FALSE(Remove().ok());
  EXPECT_THAT(firewall_.rules(), ElementsAre(Right(L"8472")));
  firewall_.Heal();
  firewall_.Fail("get_RemoteAddresses", E_FAIL);
  EXPECT_FALSE(Allow().ok());
  firewall_.stored().clear();
  firewall_.Put(Foreign());
  EXPECT_EQ(Allow().status().message(),
            "the firewall rule OverlayTraffic4789UDP exists, but it cannot be read");
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
      const absl::Status status = Allow().status();
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
  EXPECT_TRUE(absl::IsPermissionDenied(Allow().status())) << "taken for on";
}

TEST_F(WindowsFirewallTest, ARuleIsFoundByItsNameAndItsOwnerByItsGroup) {
  firewall_.Put(Other());
  EXPECT_EQ(*Find(), RuleOwner::kNone);
  FakeRule disabled = Right(L"1");
  disabled.enabled = false;
  firewall_.Put(disabled);
  EXPECT_EQ(*Find(), RuleOwner::kOurs);
  firewall_.stored()[1]->grouping = L"Weft";
  EXPECT_EQ(*Find(), RuleOwner::kOther);
}

// Item returns the first one.
TEST_F(WindowsFirewallTest, OursIsFoundBehindAnotherProgramsRuleOfItsName) {
  firewall_.Put(Foreign());
  firewall_.Put(Other());
  firewall_.Put(Right(L"8472"));
  EXPECT_EQ(*Find(), RuleOwner::kOurs);
  EXPECT_EQ(*Allow(), "it is not for port 4789");
  EXPECT_THAT(firewall_.rules(), ElementsAre(Foreign(), Other(), Right()));
  EXPECT_TRUE(Remove().ok());
  EXPECT_THAT(firewall_.rules(), ElementsAre(Foreign(), Other()));
  EXPECT_EQ(*Find(), RuleOwner::kOther);
  for (const char* const call : {"get__NewEnum", "Next"}) {
    firewall_.Fail(call, E_ACCESSDENIED);
    EXPECT_THAT(std::string(Find().status().message()), HasSubstr(": listing all rules: ")) << call;
    EXPECT_FALSE(Remove().ok()) << "ours may be there: " << call;
    firewall_.Heal();
  }
  firewall_.Fail("get_Name", E_FAIL);
  EXPECT_EQ(*Find(), RuleOwner::kOther) << "a rule without a readable name is not ours";
  firewall_.Heal();
  firewall_.stored().erase(firewall_.stored().begin());
  const int lists = firewall_.calls("get__NewEnum");
  EXPECT_TRUE(Allow().ok());
  EXPECT_EQ(*Find(), RuleOwner::kOurs);
  EXPECT_EQ(firewall_.calls("get__NewEnum"), lists) << "only where Item returns another's";
}

TEST_F(WindowsFirewallTest, OurRuleIsRemovedEvenIfMissingAndNoOther) {
  for (const bool all : {false, true}) {
    firewall_.removes_all = all;
    firewall_.Put(Right());
    firewall_.Put(Other());
    firewall_.Put(Foreign());  // of the same name
    for (int round = 0; round < 2; ++round) {
      EXPECT_TRUE(Remove().ok());
      EXPECT_THAT(firewall_.rules(), ElementsAre(Other(), Foreign()));
    }
    firewall_.stored().clear();
  }
  firewall_.Fail("Remove", HRESULT_FROM_WIN32(ERROR_FILE_NOT_FOUND));
  EXPECT_TRUE(Remove().ok());
}

TEST_F(WindowsFirewallTest, ARemovalThatWasCutShortIsCompleted) {
  firewall_.Put(Right());
  firewall_.Fail("put_Name", E_ACCESSDENIED);
  EXPECT_THAT(std::string(Remove().message()), HasSubstr(": renaming it: "));
  firewall_.Heal();
  firewall_.Fail("Remove", E_ACCESSDENIED);
  const absl::Status removed = Remove();
  EXPECT_THAT(std::string(removed.message()), HasSubstr(": removing it: "));
  EXPECT_THAT(std::string(removed.message()), HasSubstr("; run as administrator"));
  EXPECT_EQ(*Find(), RuleOwner::kNone);
  ASSERT_EQ(firewall_.rules().size(), 1u);
  EXPECT_FALSE(firewall_.rules()[0].enabled) << "it lets nothing in";
  firewall_.Heal();
  const FakeRule left = *firewall_.stored()[0];
  EXPECT_TRUE(Remove().ok());
  EXPECT_THAT(firewall_.rules(), IsEmpty());
  firewall_.Put(left);
  EXPECT_TRUE(Allow().ok());
  EXPECT_THAT(firewall_.rules(), ElementsAre(Right())) << "by a new one, too";
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
    EXPECT_EQ(absl::IsUnavailable(status), code == "800706d9") << status;
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
  Expect(Allow().status(), "make the firewall rule", "800706d9");
  Expect(Find().status(), "look up the firewall rule", "800706d9");
  Expect(Remove(), "remove the firewall rule", "800706d9");
  EXPECT_THAT(std::string(Allow().status().message()),
              ::testing::EndsWith("; its service MpsSvc does not run"));
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
  Expect(Allow().status(), "make the firewall rule", "00000001");
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
  const absl::Status status = Allow().status();
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
                      Refusal{"put_Enabled", "adding it"}, Refusal{"put_Grouping", "adding it"},
                      Refusal{"put_Description", "adding it"},
                      Refusal{"put_RemoteAddresses", "adding it"}),
    CallName);

// A second rule of the name would be made where the first is not seen.
TEST_F(WindowsFirewallTest, WhereTheRuleCannotBeReadNoneIsAdded) {
  firewall_.Put(Right());
  firewall_.Fail("Item", E_OUTOFMEMORY);
  EXPECT_THAT(std::string(Allow().status().message()),
              StartsWith("cannot make the firewall rule OverlayTraffic4789UDP: querying it"));
  EXPECT_EQ(firewall_.calls("Add"), 0);
}

TEST_F(WindowsFirewallTest, AFailureThatIsNotAboutTheRuleIsNamed) {
  firewall_.Put(Right());
  firewall_.Fail("Item", E_OUTOFMEMORY);
  EXPECT_THAT(std::string(Find().status().message()),
              StartsWith("cannot look up the firewall rule OverlayTraffic4789UDP: querying it"));
  EXPECT_THAT(std::string(Remove().message()),
              StartsWith("cannot remove the firewall rule OverlayTraffic4789UDP: querying it"));
  EXPECT_THAT(firewall_.rules(), ElementsAre(Right()));
}

// A thread may have initialized COM for another apartment: that one is used and not uninitialized.
TEST_F(WindowsFirewallTest, AnotherApartmentIsUsedAndNotLeft) {
  firewall_.Fail("CoInitializeEx", RPC_E_CHANGED_MODE);
  EXPECT_TRUE(Allow().ok());
  EXPECT_EQ(firewall_.apartments, 0);
  EXPECT_THAT(firewall_.rules(), ElementsAre(Right()));
}

// The system's own firewall: COM is initialized on each thread separately. Wine's has rules, and no
// way to look one up.
TEST(WindowsFirewall, TheSystemsAnswers) {
  const bool is_wine =
      ::GetProcAddress(::GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr;
  for (const DWORD apartment : {COINIT_MULTITHREADED, COINIT_APARTMENTTHREADED}) {
    std::thread([&] {
      ASSERT_TRUE(SUCCEEDED(::CoInitializeEx(nullptr, apartment)));
      const auto owner = FindInFirewall(FirewallCom::System(), "weft-no-such-rule");
      if (is_wine) {
        EXPECT_THAT(std::string(owner.status().message()),
                    ::testing::AllOf(StartsWith("cannot look up the firewall rule "
                                                "weft-no-such-rule: querying it: "),
                                     HasSubstr("(0x80004001)")));
      } else {
        ASSERT_TRUE(owner.ok()) << owner.status();
        EXPECT_EQ(*owner, RuleOwner::kNone);
      }
      ::CoUninitialize();
    }).join();
  }
}

}  // namespace
}  // namespace weft::host
