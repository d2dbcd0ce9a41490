// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "control/emulator/host/host_state.h"
#include "control/emulator/host/values_json.h"
#include "hns/document/document_json.h"

namespace weft::host {
namespace {

constexpr std::size_t kMaxText = std::size_t{64} << 20;  // bytes
constexpr int kMaxDepth = 16;                            // the document has six

struct Binding {
  std::string adapter, host_adapter;
};

void Fields(auto& visit, control::Is<Binding> auto& binding) {
  visit.Always("adapter", binding.adapter);
  visit.Always("hostAdapter", binding.host_adapter);
}

}  // namespace

void Fields(auto& visit, control::Is<EmulatedAdapter> auto& each) {
  Fields(visit, each.adapter);
  visit.Optional("gone", each.gone);
  visit.Optional("visibleFrom", each.visible_from);
  visit.Optional("linkLocalUntil", each.link_local_until);
  visit.Optional("usable", each.usable, true);
  visit.Optional("forwardingIPv4", each.forwarding_v4);
  visit.Optional("forwardingIPv6", each.forwarding_v6);
  visit.Optional("endpoint", each.endpoint);
  visit.Optional("static", each.static_ip);
  visit.Optional("untilReboot", each.until_reboot);
}

void Fields(auto& visit, control::Is<HostState> auto& state) {
  visit.Always("adapters", state.adapters);
  visit.Always("routes", state.routes);
  visit.Always("firewall", state.firewall);
  visit.Optional("nameServers", state.name_servers);
  std::vector<Binding> switches;
  for (const auto& [adapter, host_adapter] : state.switches)
    switches.push_back({adapter, host_adapter});
  visit.Always("switches", switches);
  std::uint32_t highest = 9;
  for (const EmulatedAdapter& each : state.adapters)
    highest = std::max(highest, each.adapter.index);
  visit.Always("nextIndex", state.next_index, highest + 1);
  visit.Optional("gapUntil", state.gap_until);
  visit.Optional("firewallFrom", state.firewall_from);
  if constexpr (control::kReads<decltype(visit)>) {
    for (const Binding& each : switches) state.switches[each.adapter] = each.host_adapter;
    if (state.next_index <= highest)
      visit.Refuse("nextIndex", "is not above every adapter's index");
  }
}

absl::StatusOr<Json> ParseHostDocument(std::string_view text) {
  if (text.size() > kMaxText)
    return absl::InvalidArgumentError("host document: it is larger than 64 MiB");
  Json document(Json::value_t::discarded);
  if (hns::DepthOf(text) <= kMaxDepth) document = Json::parse(text, nullptr, false);
  if (document.is_discarded())
    return absl::InvalidArgumentError(
        "host document: it is no JSON, or nests too deep; correct it");
  return document;
}

std::string HostStateText(const HostState& state) {
  const Json json = control::JsonWriter::Encode(state);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<HostState> ParseHostState(std::string_view text) {
  return ParseHostValue<HostState>(text);
}

}  // namespace weft::host
