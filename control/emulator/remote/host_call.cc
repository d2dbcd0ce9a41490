// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/remote/host_call.h"

#include <utility>

#include "control/emulator/host/values_json.h"
#include "control/json_fields.h"

// Found by argument-dependent lookup.
namespace weft::control {

constexpr auto kHighestCode = static_cast<std::uint32_t>(absl::StatusCode::kUnauthenticated);

void Fields(auto& visit, Is<absl::Status> auto& status) {
  auto code = static_cast<std::uint32_t>(status.raw_code());
  std::string message(status.message());
  visit.Optional("code", code);
  visit.Optional("message", message);
  if constexpr (kReads<decltype(visit)>) {
    if (code > kHighestCode) visit.Refuse("code", absl::StrCat("exceeds ", kHighestCode));
    status = absl::Status(static_cast<absl::StatusCode>(code), message);
  }
}

}  // namespace weft::control

namespace weft::emulator {
namespace {

constexpr std::string_view kOperations[] = {"adapters",
                                            "routes",
                                            "route-to",
                                            "name-servers",
                                            "set-link-up",
                                            "add-address",
                                            "put-routes",
                                            "remove-routes",
                                            "set-forwarding",
                                            "forwarding",
                                            "allow-udp-in",
                                            "find-firewall-rule",
                                            "remove-firewall-rule",
                                            "replace-routes",
                                            "read-static-ip",
                                            "put-static-ip"};
constexpr std::string_view kOwners[] = {"", "ours", "other"};

std::string Text(const auto& value) {
  using control::Json;
  const Json json = control::JsonWriter::Encode(value);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The value, or the status if there is none.
template <typename Value>
absl::Status Take(absl::StatusOr<Value> from, Value& to) {
  if (!from.ok()) return from.status();
  to = *std::move(from);
  return absl::OkStatus();
}

}  // namespace

void Fields(auto& visit, control::Is<HostCall> auto& call) {
  control::Word(visit, "call", kOperations, call.operation);
  bool ipv6 = call.family == IpFamily::kV6;
  visit.Optional("ipv6", ipv6);
  if constexpr (control::kReads<decltype(visit)>)
    call.family = ipv6 ? IpFamily::kV6 : IpFamily::kV4;
  visit.Optional("adapter", call.adapter);
  visit.Optional("mtu", call.mtu);
  visit.Optional("address", call.address);
  visit.Optional("routes", call.routes);
  visit.Optional("on", call.on);
  visit.Optional("static", call.static_ip);
  visit.Optional("rule", call.rule);
}

void Fields(auto& visit, control::Is<HostAnswer> auto& answer) {
  Fields(visit, answer.status);
  visit.Optional("adapters", answer.adapters);
  visit.Optional("routes", answer.routes);
  visit.Optional("nameServers", answer.name_servers);
  visit.Optional("static", answer.static_ip);
  visit.Optional("results", answer.results);
  visit.Optional("on", answer.on);
  visit.Optional("corrected", answer.corrected);
  control::Word(visit, "owner", kOwners, answer.owner);
}

std::string Encode(const HostCall& call) { return Text(call); }
std::string Encode(const HostAnswer& answer) { return Text(answer); }

absl::StatusOr<HostCall> ParseHostCall(std::string_view text) {
  return host::ParseHostValue<HostCall>(text);
}
absl::StatusOr<HostAnswer> ParseHostAnswer(std::string_view text) {
  return host::ParseHostValue<HostAnswer>(text);
}

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
