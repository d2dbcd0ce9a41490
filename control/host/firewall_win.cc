// SPDX-License-Identifier: Apache-2.0
#include "control/host/firewall_win.h"

#include <oleauto.h>

#include <algorithm>
#include <bit>
#include <cwchar>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "control/host/ip_helper_win.h"
#include "vxlan/text/utf16_win.h"

namespace weft::host {
namespace {

constexpr char kAnyAddress[] = "*";
// EPT_S_NOT_REGISTERED: the firewall's service, MpsSvc, does not run.
constexpr HRESULT kServiceDown = static_cast<HRESULT>(0x800706D9);
constexpr char kDescription[] =
    "Lets in VXLAN packets of other nodes. Made by weft's flanneld, which corrects it; removed by "
    "\"flannelctl reset\".";

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
  void Swap(Held& other) { std::swap(pointer_, other.pointer_); }

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

// `what`: "make the firewall rule X". Unavailable: the service does not run.
absl::Status Refused(std::string_view what, std::string_view step, HRESULT code) {
  const bool down = code == kServiceDown;
  return absl::Status(down ? absl::StatusCode::kUnavailable : absl::StatusCode::kUnknown,
                      absl::StrFormat("cannot %s: %s: %s (0x%08x)%s", what, step,
                                      std::system_category().message(static_cast<int>(code)),
                                      static_cast<unsigned>(code),
                                      down                     ? "; its service MpsSvc does not run"
                                      : code == E_ACCESSDENIED ? "; run as administrator"
                                                               : ""));
}

std::string SourcesText(const FirewallRule& wanted) {
  return wanted.sources ? absl::StrJoin(*wanted.sources, ",",
                                        [](std::string* out, const IpPrefix& source) {
                                          absl::StrAppend(out, source.ToString());
                                        })
                        : kAnyAddress;
}

HRESULT FillSources(INetFwRule& rule, const FirewallRule& wanted) {
  const Text sources(Utf16(SourcesText(wanted)));
  return rule.put_RemoteAddresses(sources.get());
}

// Sets the protocol before the ports: a rule checks its ports against its protocol.
HRESULT Fill(INetFwRule& rule, const FirewallRule& wanted) {
  const Text name(Utf16(wanted.name)), ports(Utf16(absl::StrCat(wanted.port)));
  const Text group(Utf16(kFirewallGroup)), description(Utf16(kDescription));
  HRESULT code = rule.put_Name(name.get());
  if (SUCCEEDED(code)) code = rule.put_Grouping(group.get());
  if (SUCCEEDED(code)) code = rule.put_Description(description.get());
  if (SUCCEEDED(code)) code = rule.put_Protocol(NET_FW_IP_PROTOCOL_UDP);
  if (SUCCEEDED(code)) code = rule.put_LocalPorts(ports.get());
  if (SUCCEEDED(code)) code = FillSources(rule, wanted);
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

// `rule` null: there is none.
absl::StatusOr<RuleOwner> OwnerOf(INetFwRule* rule, std::string_view what) {
  if (rule == nullptr) return RuleOwner::kNone;
  OwnedText group;
  if (const HRESULT code = rule->get_Grouping(group.out()); FAILED(code))
    return Refused(what, "reading its group", code);
  return group.text() == Utf16(kFirewallGroup) ? RuleOwner::kOurs : RuleOwner::kOther;
}

// The name of a rule of ours that is about to be removed: Remove does not say which of several
// rules of a name it takes.
Text LeavingName(const std::string& name) {
  return Text(Utf16(absl::StrCat(name, " (weft removes it)")));
}

// A netmask, or a length, as Windows writes either.
std::optional<IpPrefix> ParseSource(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto mask =
      slash == std::string::npos ? std::nullopt : IpAddress::Parse(text.substr(slash + 1));
  if (slash == std::string::npos || !mask) {
    const auto address = IpAddress::Parse(text);
    return address ? IpPrefix::From(*address, address->is_v4() ? 32 : 128) : IpPrefix::Parse(text);
  }
  const auto base = IpAddress::Parse(text.substr(0, slash));
  if (!base || !base->is_v4() || !mask->is_v4()) return std::nullopt;
  const int length = std::countl_one(mask->v4());
  return std::popcount(mask->v4()) == length ? IpPrefix::From(*base, length) : std::nullopt;
}

// The addresses that a rule allows.
struct Sources {
  bool any = false;
  bool complete = true;  // `prefixes` are all: there is no range or keyword
  std::vector<IpPrefix> prefixes;

  bool Cover(const IpPrefix& wanted) const {
    return std::ranges::any_of(prefixes,
                               [&](const IpPrefix& each) { return each.Contains(wanted); });
  }
  bool operator==(const FirewallRule& wanted) const {
    if (!wanted.sources) return any;
    return !any && complete && prefixes == *wanted.sources;
  }
};

Sources ReadSources(const std::wstring& text) {
  Sources sources;
  const std::string all = Utf8(text);
  for (const std::string_view part : absl::StrSplit(all, ',')) {
    const std::string source(absl::StripAsciiWhitespace(part));
    if (source == kAnyAddress) {
      sources.any = true;
    } else if (const auto prefix = ParseSource(source)) {
      sources.prefixes.push_back(*prefix);
    } else {
      sources.complete = false;
    }
  }
  std::ranges::sort(sources.prefixes);
  return sources;
}

// Why the rule does not allow inbound UDP to `port`, or, if `exactly`, allows more than that;
// empty: it does, from some address.
std::string Lacks(INetFwRule& rule, std::uint16_t port, bool exactly = false) {
  VARIANT_BOOL enabled = VARIANT_FALSE;
  NET_FW_RULE_DIRECTION direction = NET_FW_RULE_DIR_OUT;
  NET_FW_ACTION action = NET_FW_ACTION_BLOCK;
  LONG protocol = 0, profiles = 0;
  OwnedText ports;
  const HRESULT codes[] = {rule.get_Enabled(&enabled),   rule.get_Direction(&direction),
                           rule.get_Action(&action),     rule.get_Protocol(&protocol),
                           rule.get_Profiles(&profiles), rule.get_LocalPorts(ports.out())};
  if (std::any_of(std::begin(codes), std::end(codes), [](HRESULT code) { return FAILED(code); }))
    return "it cannot be read";
  if (enabled == VARIANT_FALSE) return "it is disabled";
  if (direction != NET_FW_RULE_DIR_IN) return "it is an outbound rule";
  if (action != NET_FW_ACTION_ALLOW) return "it is a block rule";
  constexpr LONG kAnyProtocol = 256;  // NET_FW_IP_PROTOCOL_ANY, which mingw-w64 lacks
  const bool any = protocol == kAnyProtocol && !exactly;
  if (!any && protocol != NET_FW_IP_PROTOCOL_UDP) return "it is not for UDP";
  if (!any && !Names(ports.text(), port)) return absl::StrCat("it is not for port ", port);
  if (exactly && ports.text() != std::to_wstring(port))
    return absl::StrCat("it is not for port ", port, " alone");
  constexpr LONG kEach = NET_FW_PROFILE2_DOMAIN | NET_FW_PROFILE2_PRIVATE | NET_FW_PROFILE2_PUBLIC;
  if ((profiles & kEach) != kEach) return "it is not for all profiles";
  return {};
}

// Corrects a rule of ours. Changes of the sources alone, which peers cause, are one call, so that
// no packet is refused meanwhile.
absl::StatusOr<std::string> Correct(INetFwRule& rule, const FirewallRule& wanted,
                                    std::string_view what) {
  std::string wrong = Lacks(rule, wanted.port, /*exactly=*/true);
  OwnedText addresses;
  HRESULT code = rule.get_RemoteAddresses(addresses.out());
  if (SUCCEEDED(code) && !wrong.empty()) {
    code = Fill(rule, wanted);
  } else if (SUCCEEDED(code) && ReadSources(addresses.text()) != wanted) {
    wrong = wanted.sources ? "it is for other addresses" : "it is not for all addresses";
    code = FillSources(rule, wanted);
  }
  return SUCCEEDED(code) ? absl::StatusOr<std::string>(std::move(wrong))
                         : Refused(what, "correcting it", code);
}

// Of a rule that another program made.
absl::Status Judge(INetFwRule& rule, const FirewallRule& wanted) {
  std::string lacks = Lacks(rule, wanted.port);
  OwnedText addresses;
  if (FAILED(rule.get_RemoteAddresses(addresses.out()))) lacks = "it cannot be read";
  const Sources sources = ReadSources(addresses.text());
  if (lacks.empty() && !sources.any &&
      !(wanted.sources && std::ranges::all_of(*wanted.sources, [&](const IpPrefix& each) {
          return sources.Cover(each);
        })))
    lacks = wanted.sources ? "it is not for all peers" : "it is not for all addresses";
  if (!lacks.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("the firewall rule ", wanted.name, " exists, but ", lacks));
  if (!wanted.sources || !sources.any) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("the firewall rule ", wanted.name, " of another program allows any address"));
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

// All rules, as IEnumVARIANT; `S_OK` alone means that `rule` is the next one.
class EachRule {
 public:
  explicit EachRule(const Rules& rules) {
    Held<IUnknown> list;
    opened_ = rules->get__NewEnum(list.out());
    if (SUCCEEDED(opened_))
      opened_ = list->QueryInterface(__uuidof(IEnumVARIANT), reinterpret_cast<void**>(all_.out()));
  }
  HRESULT Next(Held<INetFwRule>& rule) const {
    if (FAILED(opened_)) return opened_;
    VARIANT item;
    ::VariantInit(&item);
    HRESULT code = all_->Next(1, &item, nullptr);
    if (code == S_OK) {
      code = item.vt != VT_DISPATCH
                 ? E_UNEXPECTED
                 : item.pdispVal->QueryInterface(__uuidof(INetFwRule),
                                                 reinterpret_cast<void**>(rule.out()));
    }
    ::VariantClear(&item);
    return code;
  }

 private:
  HRESULT opened_ = S_OK;
  Held<IEnumVARIANT> all_;
};

// The rule of this name: ours if there is one, else the one that Item returns. Names are not
// unique, so if that is another program's, the others are searched.
absl::StatusOr<RuleOwner> FindRule(const Rules& rules, const std::string& name,
                                   std::string_view what, Held<INetFwRule>& found) {
  const std::wstring wide = Utf16(name);
  HRESULT code = rules->Item(Text(wide).get(), found.out());
  if (FAILED(code) && !IsNotThere(code)) return Refused(what, "querying it", code);
  const absl::StatusOr<RuleOwner> first = OwnerOf(found.get(), what);
  if (!first.ok() || *first != RuleOwner::kOther) return first;
  const EachRule all(rules);
  for (;;) {
    Held<INetFwRule> rule;
    code = all.Next(rule);
    if (FAILED(code)) return Refused(what, "listing all rules", code);
    if (code != S_OK) return RuleOwner::kOther;
    OwnedText its_name;
    if (FAILED(rule->get_Name(its_name.out())) || its_name.text() != wide) continue;
    const absl::StatusOr<RuleOwner> owner = OwnerOf(rule.get(), what);
    if (owner.ok() && *owner == RuleOwner::kOther) continue;
    found.Swap(rule);
    return owner;
  }
}

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

absl::StatusOr<std::string> AllowUdpInByFirewall(const FirewallCom& com, const FirewallRule& rule) {
  const std::string what = absl::StrCat("make the firewall rule ", rule.name);
  const Rules rules(com, what);
  if (!rules.status().ok()) return rules.status();

  std::string corrected;
  Held<INetFwRule> there;
  const absl::StatusOr<RuleOwner> owner = FindRule(rules, rule.name, what, there);
  if (!owner.ok()) return owner.status();
  (void)rules->Remove(LeavingName(rule.name).get());  // a removal that was cut short
  absl::Status judged;
  if (!there.get()) {
    Held<INetFwRule> made;
    HRESULT code = com.make_rule(made.out());
    if (FAILED(code) || !made.get()) return Refused(what, "a new rule", code);
    code = Fill(*made.get(), rule);
    if (SUCCEEDED(code)) code = rules->Add(made.get());
    if (FAILED(code)) return Refused(what, "adding it", code);
  } else if (*owner == RuleOwner::kOurs) {
    absl::StatusOr<std::string> wrong = Correct(*there.get(), rule, what);
    if (!wrong.ok()) return wrong;
    corrected = *std::move(wrong);
  } else if (judged = Judge(*there.get(), rule); absl::IsFailedPrecondition(judged)) {
    return judged;
  }
  if (const std::string why = WhyVoid(rules.policy()); !why.empty())
    return absl::PermissionDeniedError(
        absl::StrCat("the firewall rule ", rule.name, " has no effect: ", why));
  if (!judged.ok()) return judged;
  return corrected;
}

absl::StatusOr<RuleOwner> FindInFirewall(const FirewallCom& com, const std::string& name) {
  const std::string what = absl::StrCat("look up the firewall rule ", name);
  const Rules rules(com, what);
  if (!rules.status().ok()) return rules.status();
  Held<INetFwRule> there;
  return FindRule(rules, name, what, there);
}

// A removal that is cut short leaves a disabled rule under another name, which the next call
// removes.
absl::Status RemoveFromFirewall(const FirewallCom& com, const std::string& name) {
  const std::string what = absl::StrCat("remove the firewall rule ", name);
  const Rules rules(com, what);
  if (!rules.status().ok()) return rules.status();
  const Text leaving = LeavingName(name);
  Held<INetFwRule> there;
  const absl::StatusOr<RuleOwner> owner = FindRule(rules, name, what, there);
  if (!owner.ok()) return owner.status();
  if (*owner == RuleOwner::kOurs) {
    HRESULT code = there->put_Enabled(VARIANT_FALSE);
    if (SUCCEEDED(code)) code = there->put_Name(leaving.get());
    if (FAILED(code)) return Refused(what, "renaming it", code);
  }
  const HRESULT code = rules->Remove(leaving.get());  // also what an earlier call only renamed
  return SUCCEEDED(code) || IsNotThere(code) ? absl::OkStatus()
                                             : Refused(what, "removing it", code);
}

}  // namespace weft::host
