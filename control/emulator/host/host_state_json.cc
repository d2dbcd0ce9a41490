// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "control/emulator/host/host_state.h"
#include "control/emulator/host/values_json.h"

namespace weft::host {

std::string HostStateText(const HostState& state) {
  Json out;
  out["adapters"] = Json::array();
  for (const EmulatedAdapter& each : state.adapters) out["adapters"].push_back(JsonOf(each));
  out["routes"] = Json::array();
  for (const Route& each : state.routes) out["routes"].push_back(JsonOf(each));
  out["firewall"] = Json::array();
  for (const EmulatedFirewallRule& each : state.firewall) {
    out["firewall"].push_back(JsonOf(each));
    if (!each.group.empty()) out["firewall"].back()["group"] = each.group;
  }
  if (!state.name_servers.empty()) out["nameServers"] = JsonOf(state.name_servers);
  out["switches"] = Json::array();
  for (const auto& [adapter, host_adapter] : state.switches)
    out["switches"].push_back({{"adapter", adapter}, {"hostAdapter", host_adapter}});
  out["nextIndex"] = state.next_index;
  if (state.gap_until != Milliseconds(0)) out["gapUntil"] = state.gap_until.count();
  if (state.firewall_from != Milliseconds(0)) out["firewallFrom"] = state.firewall_from.count();
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<HostState> ParseHostState(std::string_view text) {
  const absl::StatusOr<Json> document = ParseHostDocument(text);
  if (!document.ok()) return document.status();
  absl::Status status;
  HostState state;
  MembersReader in(*document, "", status);
  in.List("adapters", [&](const Json& each, const std::string& at) {
    state.adapters.push_back(ReadAdapter(each, at, status));
  });
  in.List("routes", [&](const Json& each, const std::string& at) {
    state.routes.push_back(ReadRoute(each, at, status));
  });
  in.List("firewall", [&](const Json& each, const std::string& at) {
    MembersReader rule(each, at + ".", status);
    state.firewall.push_back({ReadFirewallRule(rule, status), rule.Text("group")});
  });
  state.name_servers = ReadAddresses(in, "nameServers", status);
  in.List("switches", [&](const Json& each, const std::string& at) {
    MembersReader one(each, at + ".", status);
    state.switches[one.Text("adapter")] = one.Text("hostAdapter");
  });
  std::uint32_t highest = 9;
  for (const EmulatedAdapter& each : state.adapters)
    highest = std::max(highest, each.adapter.index);
  state.next_index = in.U32("nextIndex", highest + 1);
  if (state.next_index <= highest) in.Refuse("nextIndex", "is not above every adapter's index");
  state.gap_until = in.Time("gapUntil");
  state.firewall_from = in.Time("firewallFrom");
  if (!status.ok()) return status;
  return state;
}

}  // namespace weft::host
