// SPDX-License-Identifier: Apache-2.0
// Windows Firewall through COM.
#pragma once

#include <winsock2.h>

#include <windows.h>

#include <netfw.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::host {

// The COM calls that lead to the firewall; tests replace them by fakes.
struct FirewallCom {
  std::function<HRESULT()> enter;  // initialises COM on the calling thread
  std::function<void()> leave;     // after each `enter` that succeeded
  std::function<HRESULT(INetFwPolicy2**)> open_policy;
  std::function<HRESULT(INetFwRule**)> make_rule;

  static FirewallCom System();
};

// Makes the inbound rule `rule`: UDP to `port`, all profiles, allowed, enabled. An existing rule of
// that name is not changed (host.h). PermissionDenied: the rule is there, but group policy, or a
// block of all incoming connections, voids it. Like the functions below, initialises COM on the
// calling thread for the duration of the call.
absl::Status AllowUdpInByFirewall(const FirewallCom& com, const std::string& rule,
                                  std::uint16_t port);
absl::StatusOr<bool> FirewallHas(const FirewallCom& com, const std::string& rule);
// Succeeds if the rule does not exist.
absl::Status RemoveFromFirewall(const FirewallCom& com, const std::string& rule);

}  // namespace weft::host
