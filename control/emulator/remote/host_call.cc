// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/remote/host_call.h"

#include <utility>

namespace weft::emulator {
namespace {

// The value, or the status if there is none.
template <typename Value>
absl::Status Take(absl::StatusOr<Value> from, Value& to) {
  if (!from.ok()) return from.status();
  to = *std::move(from);
  return absl::OkStatus();
}

}  // namespace

HostAnswer CarryOut(host::Host& host, const HostCall& call) {
  HostAnswer answer;
  switch (call.operation) {
    case HostOperation::kAdapters:
      answer.status = Take(host.Adapters(), answer.adapters);
      break;
    case HostOperation::kRoutes:
      answer.status = Take(host.Routes(call.family, call.adapter), answer.routes);
      break;
    case HostOperation::kRouteTo:
      answer.routes.emplace_back();
      answer.status = Take(host.RouteTo(call.address.address), answer.routes.front());
      break;
    case HostOperation::kNameServers:
      answer.status = Take(host.NameServers(), answer.name_servers);
      break;
    case HostOperation::kReadStaticIp:
      answer.status = Take(host.ReadStaticIp(call.adapter), answer.static_ip);
      break;
    case HostOperation::kPutStaticIp:
      answer.status = host.PutStaticIp(call.adapter, call.static_ip);
      break;
    case HostOperation::kSetLinkUp:
      answer.status = host.SetLinkUp(call.adapter, call.mtu);
      break;
    case HostOperation::kAddAddress:
      answer.status = host.AddAddress(call.adapter, call.address);
      break;
    case HostOperation::kPutRoutes:
      answer.results = host.PutRoutes(call.routes);
      break;
    case HostOperation::kReplaceRoutes:
      answer.results = host.ReplaceRoutes(call.routes);
      break;
    case HostOperation::kRemoveRoutes:
      answer.results = host.RemoveRoutes(call.routes);
      break;
    case HostOperation::kSetForwarding:
      answer.status = host.SetForwarding(call.adapter, call.family, call.on);
      break;
    case HostOperation::kForwarding:
      answer.status = Take(host.Forwarding(call.adapter, call.family), answer.on);
      break;
    case HostOperation::kAllowUdpIn:
      answer.status = Take(host.AllowUdpIn(call.rule), answer.corrected);
      break;
    case HostOperation::kFindFirewallRule:
      answer.status = Take(host.FindFirewallRule(call.rule.name), answer.owner);
      break;
    case HostOperation::kRemoveFirewallRule:
      answer.status = host.RemoveFirewallRule(call.rule.name);
      break;
  }
  return answer;
}

}  // namespace weft::emulator
