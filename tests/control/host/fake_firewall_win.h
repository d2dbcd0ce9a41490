// SPDX-License-Identifier: Apache-2.0
// Windows Firewall in memory, behind COM's own interfaces, as
// learn.microsoft.com/windows/win32/api/ netfw describes them: names are not unique; a found rule
// is live, each change of it takes effect at once; without such a rule Item returns
// ERROR_FILE_NOT_FOUND and Remove does nothing.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/host/firewall_win.h"

namespace weft::host {

struct FakeRule {
  std::wstring name, ports, remote_addresses = L"*", grouping, description;
  LONG protocol = 256, profiles = 0;  // 256: any
  NET_FW_RULE_DIRECTION direction = NET_FW_RULE_DIR_IN;
  NET_FW_ACTION action = NET_FW_ACTION_ALLOW;
  bool enabled = false;
  friend bool operator==(const FakeRule&, const FakeRule&) = default;
};

class FakeFirewall {
 public:
  FakeFirewall() = default;
  // Fails the test where an object was not released or COM not left.
  ~FakeFirewall();
  FakeFirewall(const FakeFirewall&) = delete;
  FakeFirewall& operator=(const FakeFirewall&) = delete;

  FirewallCom com();

  void Put(const FakeRule& rule) { rules_.push_back(std::make_shared<FakeRule>(rule)); }
  std::vector<FakeRule> rules() const;

  // Each call of this name returns this: "CoInitializeEx", "CoCreateInstance policy",
  // "CoCreateInstance rule", "get_Rules", "Item", "get__NewEnum", "Next", "Add", "Remove",
  // "put_Name", ...
  void Fail(const std::string& call, HRESULT code) { failures_[call] = code; }
  void Heal() { failures_.clear(); }
  int calls(const std::string& call) { return calls_[call]; }
  int apartments = 0;  // of COM, initialized and not released

  // What voids local rules, and the profiles that are current and those whose firewall is off.
  NET_FW_MODIFY_STATE modify_state = NET_FW_MODIFY_STATE_OK;
  LONG current_profiles = NET_FW_PROFILE2_DOMAIN, off_profiles = 0;

  // Remove deletes all rules of a name instead of the first: the documentation does not define
  // which.
  bool removes_all = false;

  // For the objects.
  HRESULT Enter(const std::string& call);
  std::vector<std::shared_ptr<FakeRule>>& stored() { return rules_; }
  int objects = 0;

 private:
  std::vector<std::shared_ptr<FakeRule>> rules_;
  std::map<std::string, HRESULT> failures_;
  std::map<std::string, int> calls_;
};

}  // namespace weft::host
