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

// The calls of COM that lead to the firewall; tests put objects of their own behind them.
struct FirewallCom {
  std::function<HRESULT()> enter;  // initialises COM on the calling thread
  std::function<void()> leave;     // after each that succeeded
  std::function<HRESULT(INetFwPolicy2**)> open_policy;
  std::function<HRESULT(INetFwRule**)> make_rule;

  static FirewallCom System();
};

// Makes the inbound rule `rule`: UDP to `port`, all profiles, allowed, enabled. One of that name is
// left as it is (host.h). As the others, initialises COM on the calling thread for the time of the
// call.
absl::Status AllowUdpInByFirewall(const FirewallCom& com, const std::string& rule,
                                  std::uint16_t port);
absl::StatusOr<bool> FirewallHas(const FirewallCom& com, const std::string& rule);
// One that is not there is fine.
absl::Status RemoveFromFirewall(const FirewallCom& com, const std::string& rule);

}  // namespace weft::host
