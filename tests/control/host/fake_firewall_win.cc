// SPDX-License-Identifier: Apache-2.0
#include "tests/control/host/fake_firewall_win.h"

#include <gtest/gtest.h>
#include <oleauto.h>

#include <algorithm>
#include <utility>

namespace weft::host {
namespace {

std::wstring TextOf(BSTR text) { return text ? std::wstring(text, ::SysStringLen(text)) : L""; }

// "10.0.0.0/8,10.1.2.3/32" as "10.0.0.0/255.0.0.0,10.1.2.3/255.255.255.255".
std::wstring WithNetmasks(const std::wstring& addresses) {
  std::wstring out;
  for (std::size_t at = 0; at <= addresses.size();) {
    const std::size_t end = std::min(addresses.find(L',', at), addresses.size());
    const std::wstring part = addresses.substr(at, end - at);
    const std::size_t slash = part.find(L'/');
    if (!out.empty()) out += L',';
    out += part.substr(0, slash);
    if (slash != std::wstring::npos) {
      const int length = std::stoi(part.substr(slash + 1));
      const unsigned long mask = length == 0 ? 0 : 0xfffffffful << (32 - length);
      for (int shift = 24; shift >= 0; shift -= 8)
        out += (shift == 24 ? L"/" : L".") + std::to_wstring(mask >> shift & 255);
    }
    at = end + 1;
  }
  return out;
}

#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"  // COM's interfaces have none

// IUnknown's counting.
template <typename Interface>
class Counted : public Interface {
 public:
  explicit Counted(FakeFirewall& firewall) : firewall_(firewall) { ++firewall_.objects; }
  virtual ~Counted() { --firewall_.objects; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID id, void** out) override {
    *out = nullptr;
    if (id != __uuidof(Interface)) return E_NOINTERFACE;
    *out = static_cast<Interface*>(this);
    AddRef();
    return S_OK;
  }
  ULONG STDMETHODCALLTYPE AddRef() override { return ++references_; }
  ULONG STDMETHODCALLTYPE Release() override {
    const ULONG left = --references_;
    if (left == 0) delete this;
    return left;
  }

 protected:
  FakeFirewall& firewall_;

 private:
  ULONG references_ = 1;
};

// With an IDispatch, which no C++ caller uses.
template <typename Interface>
class Object : public Counted<Interface> {
 public:
  using Counted<Interface>::Counted;

  HRESULT STDMETHODCALLTYPE GetTypeInfoCount(UINT*) override { return E_NOTIMPL; }
  HRESULT STDMETHODCALLTYPE GetTypeInfo(UINT, LCID, ITypeInfo**) override { return E_NOTIMPL; }
  HRESULT STDMETHODCALLTYPE GetIDsOfNames(REFIID, LPOLESTR*, UINT, LCID, DISPID*) override {
    return E_NOTIMPL;
  }
  HRESULT STDMETHODCALLTYPE Invoke(DISPID, REFIID, LCID, WORD, DISPPARAMS*, VARIANT*, EXCEPINFO*,
                                   UINT*) override {
    return E_NOTIMPL;
  }

 protected:
  using Counted<Interface>::firewall_;
};

// A test that needs one of these fails by the product's error.
#define NOT_USED(name, ...)                                                  \
  HRESULT STDMETHODCALLTYPE name(__VA_ARGS__) override { return E_NOTIMPL; } \
  static_assert(true)

class Rule final : public Object<INetFwRule> {
 public:
  Rule(FakeFirewall& firewall, std::shared_ptr<FakeRule> rule)
      : Object(firewall), rule_(std::move(rule)) {}
  const std::shared_ptr<FakeRule>& rule() const { return rule_; }

  HRESULT STDMETHODCALLTYPE put_Name(BSTR name) override {
    return Set("put_Name", rule_->name, TextOf(name));
  }
  HRESULT STDMETHODCALLTYPE get_Name(BSTR* name) override {
    *name = ::SysAllocString(rule_->name.c_str());
    return firewall_.Enter("get_Name");
  }
  HRESULT STDMETHODCALLTYPE put_Protocol(LONG protocol) override {
    return Set("put_Protocol", rule_->protocol, protocol);
  }
  // "The Protocol property must be set before, or an error will be returned."
  HRESULT STDMETHODCALLTYPE put_LocalPorts(BSTR ports) override {
    const bool has_ports =
        rule_->protocol == NET_FW_IP_PROTOCOL_UDP || rule_->protocol == NET_FW_IP_PROTOCOL_TCP;
    return has_ports ? Set("put_LocalPorts", rule_->ports, TextOf(ports)) : E_INVALIDARG;
  }
  HRESULT STDMETHODCALLTYPE put_Direction(NET_FW_RULE_DIRECTION direction) override {
    return Set("put_Direction", rule_->direction, direction);
  }
  HRESULT STDMETHODCALLTYPE put_Action(NET_FW_ACTION action) override {
    return Set("put_Action", rule_->action, action);
  }
  // Windows writes a block back with its netmask.
  HRESULT STDMETHODCALLTYPE put_RemoteAddresses(BSTR addresses) override {
    return Set("put_RemoteAddresses", rule_->remote_addresses, WithNetmasks(TextOf(addresses)));
  }
  HRESULT STDMETHODCALLTYPE put_Grouping(BSTR group) override {
    return Set("put_Grouping", rule_->grouping, TextOf(group));
  }
  HRESULT STDMETHODCALLTYPE put_Description(BSTR description) override {
    return Set("put_Description", rule_->description, TextOf(description));
  }
  HRESULT STDMETHODCALLTYPE get_Grouping(BSTR* group) override {
    *group = ::SysAllocString(rule_->grouping.c_str());
    return firewall_.Enter("get_Grouping");
  }
  HRESULT STDMETHODCALLTYPE put_Profiles(LONG profiles) override {
    return Set("put_Profiles", rule_->profiles, profiles);
  }
  HRESULT STDMETHODCALLTYPE put_Enabled(VARIANT_BOOL enabled) override {
    return Set("put_Enabled", rule_->enabled, enabled != VARIANT_FALSE);
  }
  HRESULT STDMETHODCALLTYPE get_Enabled(VARIANT_BOOL* enabled) override {
    *enabled = rule_->enabled ? VARIANT_TRUE : VARIANT_FALSE;
    return S_OK;
  }
  HRESULT STDMETHODCALLTYPE get_Protocol(LONG* protocol) override {
    *protocol = rule_->protocol;
    return S_OK;
  }
  HRESULT STDMETHODCALLTYPE get_LocalPorts(BSTR* ports) override {
    *ports = ::SysAllocString(rule_->ports.c_str());
    return S_OK;
  }
  HRESULT STDMETHODCALLTYPE get_RemoteAddresses(BSTR* addresses) override {
    *addresses = ::SysAllocString(rule_->remote_addresses.c_str());
    return firewall_.Enter("get_RemoteAddresses");
  }
  HRESULT STDMETHODCALLTYPE get_Direction(NET_FW_RULE_DIRECTION* direction) override {
    *direction = rule_->direction;
    return S_OK;
  }
  HRESULT STDMETHODCALLTYPE get_Action(NET_FW_ACTION* action) override {
    *action = rule_->action;
    return S_OK;
  }
  HRESULT STDMETHODCALLTYPE get_Profiles(LONG* profiles) override {
    *profiles = rule_->profiles;
    return S_OK;
  }
  NOT_USED(get_Description, BSTR*);
  NOT_USED(get_ApplicationName, BSTR*);
  NOT_USED(put_ApplicationName, BSTR);
  NOT_USED(get_ServiceName, BSTR*);
  NOT_USED(put_ServiceName, BSTR);
  NOT_USED(get_RemotePorts, BSTR*);
  NOT_USED(put_RemotePorts, BSTR);
  NOT_USED(get_LocalAddresses, BSTR*);
  NOT_USED(put_LocalAddresses, BSTR);
  NOT_USED(get_IcmpTypesAndCodes, BSTR*);
  NOT_USED(put_IcmpTypesAndCodes, BSTR);
  NOT_USED(get_Interfaces, VARIANT*);
  NOT_USED(put_Interfaces, VARIANT);
  NOT_USED(get_InterfaceTypes, BSTR*);
  NOT_USED(put_InterfaceTypes, BSTR);
  NOT_USED(get_EdgeTraversal, VARIANT_BOOL*);
  NOT_USED(put_EdgeTraversal, VARIANT_BOOL);

 private:
  template <typename T>
  HRESULT Set(const std::string& call, T& member, const T& value) {
    const HRESULT code = firewall_.Enter(call);
    if (SUCCEEDED(code)) member = value;
    return code;
  }
  const std::shared_ptr<FakeRule> rule_;
};

class EachRule final : public Counted<IEnumVARIANT> {
 public:
  using Counted::Counted;

  HRESULT STDMETHODCALLTYPE Next(ULONG count, VARIANT* items, ULONG* fetched) override {
    if (count != 1 || fetched != nullptr) return E_NOTIMPL;
    const HRESULT code = firewall_.Enter("Next");
    if (FAILED(code)) return code;
    if (next_ == firewall_.stored().size()) return S_FALSE;
    items->vt = VT_DISPATCH;
    items->pdispVal = new Rule(firewall_, firewall_.stored()[next_++]);
    return S_OK;
  }
  NOT_USED(Skip, ULONG);
  NOT_USED(Reset);
  NOT_USED(Clone, IEnumVARIANT**);

 private:
  std::size_t next_ = 0;
};

class Rules final : public Object<INetFwRules> {
 public:
  using Object::Object;

  HRESULT STDMETHODCALLTYPE get_Count(LONG* count) override {
    *count = static_cast<LONG>(firewall_.stored().size());
    return S_OK;
  }
  HRESULT STDMETHODCALLTYPE Add(INetFwRule* rule) override {
    const HRESULT code = firewall_.Enter("Add");
    if (SUCCEEDED(code)) firewall_.stored().push_back(static_cast<Rule*>(rule)->rule());
    return code;
  }
  HRESULT STDMETHODCALLTYPE Remove(BSTR name) override {
    const HRESULT code = firewall_.Enter("Remove");
    if (FAILED(code)) return code;
    auto& stored = firewall_.stored();
    const auto named = [&](const auto& rule) { return rule->name == TextOf(name); };
    if (firewall_.removes_all) {
      std::erase_if(stored, named);
    } else if (const auto found = std::find_if(stored.begin(), stored.end(), named);
               found != stored.end()) {
      stored.erase(found);
    }
    return S_OK;
  }
  HRESULT STDMETHODCALLTYPE Item(BSTR name, INetFwRule** out) override {
    *out = nullptr;
    const HRESULT code = firewall_.Enter("Item");
    if (FAILED(code)) return code;
    for (const auto& rule : firewall_.stored()) {
      if (rule->name != TextOf(name)) continue;
      *out = new Rule(firewall_, rule);
      return S_OK;
    }
    return HRESULT_FROM_WIN32(ERROR_FILE_NOT_FOUND);
  }
  HRESULT STDMETHODCALLTYPE get__NewEnum(IUnknown** out) override {
    *out = nullptr;
    const HRESULT code = firewall_.Enter("get__NewEnum");
    if (SUCCEEDED(code)) *out = new EachRule(firewall_);
    return code;
  }
};

class Policy final : public Object<INetFwPolicy2> {
 public:
  using Object::Object;

  HRESULT STDMETHODCALLTYPE get_Rules(INetFwRules** out) override {
    *out = nullptr;
    const HRESULT code = firewall_.Enter("get_Rules");
    if (code == S_OK) *out = new Rules(firewall_);
    return code;
  }
  HRESULT STDMETHODCALLTYPE get_LocalPolicyModifyState(NET_FW_MODIFY_STATE* out) override {
    *out = firewall_.modify_state;
    return firewall_.Enter("get_LocalPolicyModifyState");
  }
  HRESULT STDMETHODCALLTYPE get_CurrentProfileTypes(LONG* out) override {
    *out = firewall_.current_profiles;
    return firewall_.Enter("get_CurrentProfileTypes");
  }
  HRESULT STDMETHODCALLTYPE get_FirewallEnabled(NET_FW_PROFILE_TYPE2 profile,
                                                VARIANT_BOOL* out) override {
    *out = (firewall_.off_profiles & profile) != 0 ? VARIANT_FALSE : VARIANT_TRUE;
    return firewall_.Enter("get_FirewallEnabled");
  }
  NOT_USED(put_FirewallEnabled, NET_FW_PROFILE_TYPE2, VARIANT_BOOL);
  NOT_USED(get_ExcludedInterfaces, NET_FW_PROFILE_TYPE2, VARIANT*);
  NOT_USED(put_ExcludedInterfaces, NET_FW_PROFILE_TYPE2, VARIANT);
  NOT_USED(get_BlockAllInboundTraffic, NET_FW_PROFILE_TYPE2, VARIANT_BOOL*);
  NOT_USED(put_BlockAllInboundTraffic, NET_FW_PROFILE_TYPE2, VARIANT_BOOL);
  NOT_USED(get_NotificationsDisabled, NET_FW_PROFILE_TYPE2, VARIANT_BOOL*);
  NOT_USED(put_NotificationsDisabled, NET_FW_PROFILE_TYPE2, VARIANT_BOOL);
  NOT_USED(get_UnicastResponsesToMulticastBroadcastDisabled, NET_FW_PROFILE_TYPE2, VARIANT_BOOL*);
  NOT_USED(put_UnicastResponsesToMulticastBroadcastDisabled, NET_FW_PROFILE_TYPE2, VARIANT_BOOL);
  NOT_USED(get_ServiceRestriction, INetFwServiceRestriction**);
  NOT_USED(EnableRuleGroup, LONG, BSTR, VARIANT_BOOL);
  NOT_USED(IsRuleGroupEnabled, LONG, BSTR, VARIANT_BOOL*);
  NOT_USED(RestoreLocalFirewallDefaults);
  NOT_USED(get_DefaultInboundAction, NET_FW_PROFILE_TYPE2, NET_FW_ACTION*);
  NOT_USED(put_DefaultInboundAction, NET_FW_PROFILE_TYPE2, NET_FW_ACTION);
  NOT_USED(get_DefaultOutboundAction, NET_FW_PROFILE_TYPE2, NET_FW_ACTION*);
  NOT_USED(put_DefaultOutboundAction, NET_FW_PROFILE_TYPE2, NET_FW_ACTION);
  NOT_USED(get_IsRuleGroupCurrentlyEnabled, BSTR, VARIANT_BOOL*);
};

#undef NOT_USED

}  // namespace

FakeFirewall::~FakeFirewall() {
  EXPECT_EQ(objects, 0) << "objects that were not released";
  EXPECT_EQ(apartments, 0) << "COM that was not left";
}

FirewallCom FakeFirewall::com() {
  return {.enter =
              [this] {
                const HRESULT code = Enter("CoInitializeEx");
                if (SUCCEEDED(code)) ++apartments;
                return code;
              },
          .leave = [this] { --apartments; },
          .open_policy =
              [this](INetFwPolicy2** out) {
                const HRESULT code = Enter("CoCreateInstance policy");
                if (code == S_OK) *out = new Policy(*this);
                return code;
              },
          .make_rule =
              [this](INetFwRule** out) {
                const HRESULT code = Enter("CoCreateInstance rule");
                if (code == S_OK) *out = new Rule(*this, std::make_shared<FakeRule>());
                return code;
              }};
}

std::vector<FakeRule> FakeFirewall::rules() const {
  std::vector<FakeRule> rules;
  for (const auto& rule : rules_) rules.push_back(*rule);
  return rules;
}

HRESULT FakeFirewall::Enter(const std::string& call) {
  ++calls_[call];
  const auto due = failures_.find(call);
  return due == failures_.end() ? S_OK : due->second;
}

}  // namespace weft::host
