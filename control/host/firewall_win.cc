// SPDX-License-Identifier: Apache-2.0
#include "control/host/firewall_win.h"

#include <oleauto.h>

#include <algorithm>
#include <cwchar>
#include <iterator>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/host/ip_helper_win.h"
#include "vxlan/text/utf16_win.h"

namespace weft::host {
namespace {

// A COM interface that is released with its owner.
template <typename Interface>
class Held {
 public:
  Held() = default;
  ~Held() {
    if (pointer_) pointer_->Release();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  Interface* operator->() const { return pointer_; }
  Interface* get() const { return pointer_; }
  Interface** out() { return &pointer_; }

 private:
  Interface* pointer_ = nullptr;
};

class Text {
 public:
  explicit Text(const std::wstring& text) : text_(::SysAllocString(text.c_str())) {}
  ~Text() { ::SysFreeString(text_); }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  BSTR get() const { return text_; }

 private:
  BSTR text_;
};

class ComForThisCall {
 public:
  explicit ComForThisCall(const FirewallCom& com) : com_(com), result_(com.enter()) {}
  ~ComForThisCall() {
    if (SUCCEEDED(result_)) com_.leave();
  }
  ComForThisCall(const ComForThisCall&) = delete;
  ComForThisCall& operator=(const ComForThisCall&) = delete;
  // A thread that is in another apartment can use COM too.
  bool ready() const { return SUCCEEDED(result_) || result_ == RPC_E_CHANGED_MODE; }
  HRESULT result() const { return result_; }

 private:
  const FirewallCom& com_;
  HRESULT result_;
};

// `what`: "make the firewall rule X".
absl::Status Refused(std::string_view what, std::string_view step, HRESULT code) {
  return absl::UnavailableError(absl::StrFormat(
      "cannot %s: %s: %s (0x%08x)%s", what, step,
      std::system_category().message(static_cast<int>(code)), static_cast<unsigned>(code),
      code == E_ACCESSDENIED ? "; run as administrator" : ""));
}

// Sets the protocol before the ports: a rule checks its ports against its protocol.
HRESULT Fill(INetFwRule& rule, const Text& name, const Text& ports) {
  HRESULT code = rule.put_Name(name.get());
  if (SUCCEEDED(code)) code = rule.put_Protocol(NET_FW_IP_PROTOCOL_UDP);
  if (SUCCEEDED(code)) code = rule.put_LocalPorts(ports.get());
  if (SUCCEEDED(code)) code = rule.put_Direction(NET_FW_RULE_DIR_IN);
  if (SUCCEEDED(code)) code = rule.put_Action(NET_FW_ACTION_ALLOW);
  if (SUCCEEDED(code)) code = rule.put_Profiles(NET_FW_PROFILE2_ALL);
  if (SUCCEEDED(code)) code = rule.put_Enabled(VARIANT_TRUE);
  return code;
}

class OwnedText {
 public:
  ~OwnedText() { ::SysFreeString(text_); }
  BSTR* out() { return &text_; }
  std::wstring text() const { return text_ ? std::wstring(text_, ::SysStringLen(text_)) : L""; }

 private:
  BSTR text_ = nullptr;
};

// Whether `ports` ("*", "4789", "80,4000-5000") contains `port`.
bool Names(const std::wstring& ports, std::uint16_t port) {
  for (std::size_t at = 0; at <= ports.size();) {
    const std::size_t end = std::min(ports.find(L',', at), ports.size());
    const std::wstring part = ports.substr(at, end - at);
    const std::size_t dash = part.find(L'-');
    const unsigned long low = std::wcstoul(part.c_str(), nullptr, 10);
    const unsigned long high =
        dash == std::wstring::npos ? low : std::wcstoul(part.c_str() + dash + 1, nullptr, 10);
    if (part == L"*" || (low <= port && port <= high)) return true;
    at = end + 1;
  }
  return false;
}

// Why `rule` does not allow inbound UDP to `port` from everywhere; empty: it does.
std::string Lacks(INetFwRule& rule, std::uint16_t port) {
  VARIANT_BOOL enabled = VARIANT_FALSE;
  NET_FW_RULE_DIRECTION direction = NET_FW_RULE_DIR_OUT;
  NET_FW_ACTION action = NET_FW_ACTION_BLOCK;
  LONG protocol = 0, profiles = 0;
  OwnedText ports, addresses;
  const HRESULT codes[] = {rule.get_Enabled(&enabled),
                           rule.get_Direction(&direction),
                           rule.get_Action(&action),
                           rule.get_Protocol(&protocol),
                           rule.get_Profiles(&profiles),
                           rule.get_LocalPorts(ports.out()),
                           rule.get_RemoteAddresses(addresses.out())};
  if (std::any_of(std::begin(codes), std::end(codes), [](HRESULT code) { return FAILED(code); }))
    return "it cannot be read";
  if (enabled == VARIANT_FALSE) return "it is disabled";
  if (direction != NET_FW_RULE_DIR_IN) return "it is an outbound rule";
  if (action != NET_FW_ACTION_ALLOW) return "it is a block rule";
  constexpr LONG kAnyProtocol = 256;  // NET_FW_IP_PROTOCOL_ANY, which mingw-w64 lacks
  const bool any = protocol == kAnyProtocol;
  if (!any && protocol != NET_FW_IP_PROTOCOL_UDP) return "it is not for UDP";
  if (!any && !Names(ports.text(), port)) return absl::StrCat("it is not for port ", port);
  constexpr LONG kEach = NET_FW_PROFILE2_DOMAIN | NET_FW_PROFILE2_PRIVATE | NET_FW_PROFILE2_PUBLIC;
  if ((profiles & kEach) != kEach) return "it is not for all profiles";
  if (addresses.text() != L"*") return "it is not for all addresses";
  return {};
}

// Why no local rule has an effect in the profiles of the networks that are connected; empty: it
// has, as far as the policy can be read.
std::string WhyVoid(INetFwPolicy2& policy) {
  NET_FW_MODIFY_STATE state = NET_FW_MODIFY_STATE_OK;
  LONG profiles = 0;
  if (FAILED(policy.get_LocalPolicyModifyState(&state)) || state == NET_FW_MODIFY_STATE_OK ||
      FAILED(policy.get_CurrentProfileTypes(&profiles)))
    return {};
  bool on = false;
  for (const auto each :
       {NET_FW_PROFILE2_DOMAIN, NET_FW_PROFILE2_PRIVATE, NET_FW_PROFILE2_PUBLIC}) {
    VARIANT_BOOL enabled = VARIANT_TRUE;
    if ((profiles & each) != 0 && (FAILED(policy.get_FirewallEnabled(each, &enabled)) || enabled))
      on = true;
  }
  if (!on) return {};
  return state == NET_FW_MODIFY_STATE_GP_OVERRIDE
             ? "group policy ignores this machine's own rules; allow the port in the policy"
             : "the firewall is set to block all incoming connections; switch that off";
}

// The firewall's rules, to do `what`.
class Rules {
 public:
  Rules(const FirewallCom& com, std::string_view what) : com_(com), status_(Open(com, what)) {}
  const absl::Status& status() const { return status_; }
  INetFwRules* operator->() const { return rules_.get(); }
  INetFwPolicy2& policy() const { return *policy_.get(); }

 private:
  absl::Status Open(const FirewallCom& com, std::string_view what) {
    if (!com_.ready()) return Refused(what, "COM", com_.result());
    HRESULT code = com.open_policy(policy_.out());
    if (FAILED(code) || !policy_.get()) return Refused(what, "the firewall's policy", code);
    code = policy_->get_Rules(rules_.out());
    if (FAILED(code) || !rules_.get()) return Refused(what, "its rules", code);
    return absl::OkStatus();
  }

  ComForThisCall com_;  // outlives the interfaces below
  Held<INetFwPolicy2> policy_;
  Held<INetFwRules> rules_;
  absl::Status status_;
};

bool IsNotThere(HRESULT code) { return code == HRESULT_FROM_WIN32(ERROR_FILE_NOT_FOUND); }

// Creates an object of `class_id` in this process.
template <typename Interface>
HRESULT Make(const CLSID& class_id, Interface** out) {
  return ::CoCreateInstance(class_id, nullptr, CLSCTX_INPROC_SERVER, __uuidof(Interface),
                            reinterpret_cast<void**>(out));
}

}  // namespace

FirewallCom FirewallCom::System() {
  return {.enter = [] { return ::CoInitializeEx(nullptr, COINIT_MULTITHREADED); },
          .leave = [] { ::CoUninitialize(); },
          .open_policy = [](auto** out) { return Make(__uuidof(NetFwPolicy2), out); },
          .make_rule = [](auto** out) { return Make(__uuidof(NetFwRule), out); }};
}

absl::Status AllowUdpInByFirewall(const FirewallCom& com, const std::string& rule,
                                  std::uint16_t port) {
  const std::string what = absl::StrCat("make the firewall rule ", rule);
  const Rules rules(com, what);
  if (!rules.status().ok()) return rules.status();

  const auto with_effect = [&] {
    const std::string why = WhyVoid(rules.policy());
    return why.empty() ? absl::OkStatus()
                       : absl::PermissionDeniedError(
                             absl::StrCat("the firewall rule ", rule, " has no effect: ", why));
  };
  const Text name(Utf16(rule)), ports(Utf16(absl::StrCat(port)));
  Held<INetFwRule> there;
  HRESULT code = rules->Item(name.get(), there.out());
  if (FAILED(code) && !IsNotThere(code)) return Refused(what, "querying it", code);
  if (there.get()) {
    const std::string lacks = Lacks(*there.get(), port);
    if (lacks.empty()) return with_effect();
    return absl::FailedPreconditionError(
        absl::StrCat("the firewall rule ", rule, " exists, but ", lacks));
  }
  Held<INetFwRule> made;
  code = com.make_rule(made.out());
  if (FAILED(code) || !made.get()) return Refused(what, "a new rule", code);
  code = Fill(*made.get(), name, ports);
  if (SUCCEEDED(code)) code = rules->Add(made.get());
  return SUCCEEDED(code) ? with_effect() : Refused(what, "adding it", code);
}

absl::StatusOr<bool> FirewallHas(const FirewallCom& com, const std::string& rule) {
  const std::string what = absl::StrCat("look up the firewall rule ", rule);
  const Rules rules(com, what);
  if (!rules.status().ok()) return rules.status();
  const Text name{Utf16(rule)};
  Held<INetFwRule> there;
  const HRESULT code = rules->Item(name.get(), there.out());
  if (FAILED(code) && !IsNotThere(code)) return Refused(what, "querying it", code);
  return there.get() != nullptr;
}

absl::Status RemoveFromFirewall(const FirewallCom& com, const std::string& rule) {
  const std::string what = absl::StrCat("remove the firewall rule ", rule);
  const Rules rules(com, what);
  if (!rules.status().ok()) return rules.status();
  const Text name{Utf16(rule)};
  const HRESULT code = rules->Remove(name.get());
  return SUCCEEDED(code) || IsNotThere(code) ? absl::OkStatus()
                                             : Refused(what, "removing it", code);
}

}  // namespace weft::host
