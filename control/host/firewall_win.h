// SPDX-License-Identifier: Apache-2.0
// Windows Firewall through COM.
#pragma once

#include <winsock2.h>

#include <windows.h>

#include <netfw.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/host/host.h"

namespace weft::host {

// The COM calls that lead to the firewall; tests replace them by fakes.
struct FirewallCom {
  std::function<HRESULT()> enter;  // initialises COM on the calling thread
  std::function<void()> leave;     // after each `enter` that succeeded
  std::function<HRESULT(INetFwPolicy2**)> open_policy;
  std::function<HRESULT(INetFwRule**)> make_rule;

  static FirewallCom System();
};

// Host's AllowUdpIn, for all profiles. PermissionDenied: group policy, or a block of all incoming
// connections, voids the rule. Like the functions below, initialises COM on the calling thread for
// the duration of the call. Where several rules have the name, each sees ours.
absl::StatusOr<std::string> AllowUdpInByFirewall(const FirewallCom& com, const FirewallRule& rule);
absl::StatusOr<RuleOwner> FindInFirewall(const FirewallCom& com, const std::string& name);
absl::Status RemoveFromFirewall(const FirewallCom& com, const std::string& name);

}  // namespace weft::host
