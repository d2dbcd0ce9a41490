// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "control/emulator/host/host_state.h"
#include "control/emulator/host/members_json.h"

namespace weft::host {
namespace {

constexpr std::size_t kMaxText = std::size_t{64} << 20;  // bytes
constexpr int kMaxDepth = 16;                            // the document has six

struct Binding {
  std::string adapter, host_adapter;
  friend bool operator==(const Binding&, const Binding&) = default;
};

}  // namespace

template <class V>
void Fields(V& visit, Described<V, Binding>& binding) {
  visit.Always("adapter", binding.adapter);
  visit.Always("hostAdapter", binding.host_adapter);
}

template <class V>
void Fields(V& visit, Described<V, EmulatedAdapter>& each) {
  Fields(visit, each.adapter);
  visit("gone", each.gone);
  visit("visibleFrom", each.visible_from);
  visit("linkLocalUntil", each.link_local_until);
  visit("usable", each.usable, true);
  visit("forwardingIPv4", each.forwarding_v4);
  visit("forwardingIPv6", each.forwarding_v6);
  visit("endpoint", each.endpoint);
  visit("static", each.static_ip);
  visit("untilReboot", each.until_reboot);
}

template <class V>
void Fields(V& visit, Described<V, EmulatedFirewallRule>& rule) {
  Fields(visit, static_cast<Described<V, FirewallRule>&>(rule));
  visit("group", rule.group);
}

template <class V>
void Fields(V& visit, Described<V, HostState>& state) {
  visit.Always("adapters", state.adapters);
  visit.Always("routes", state.routes);
  visit.Always("firewall", state.firewall);
  visit("nameServers", state.name_servers);
  std::vector<Binding> switches;
  for (const auto& [adapter, host_adapter] : state.switches)
    switches.push_back({adapter, host_adapter});
  visit.Always("switches", switches);
  std::uint32_t highest = 9;
  for (const EmulatedAdapter& each : state.adapters)
    highest = std::max(highest, each.adapter.index);
  visit.Always("nextIndex", state.next_index, highest + 1);
  visit("gapUntil", state.gap_until);
  visit("firewallFrom", state.firewall_from);
  if constexpr (V::kReads) {
    for (const Binding& each : switches) state.switches[each.adapter] = each.host_adapter;
    if (state.next_index <= highest)
      visit.Refuse("nextIndex", "is not above every adapter's index");
  }
}

absl::StatusOr<Json> ParseHostDocument(std::string_view text) {
  if (text.size() > kMaxText)
    return absl::InvalidArgumentError("host document: it is larger than 64 MiB");
  bool too_deep = false;
  Json document = Json::parse(
      text,
      [&](int depth, Json::parse_event_t, Json&) {
        too_deep = too_deep || depth > kMaxDepth;
        return !too_deep;
      },
      false);
  if (too_deep || document.is_discarded())
    return absl::InvalidArgumentError(
        "host document: it is no JSON, or nests too deep; correct it");
  return document;
}

std::string AssignedText(const AssignedAddress& address) {
  return absl::StrCat(address.address.ToString(), "/", address.prefix_length);
}

std::optional<AssignedAddress> ParseAssigned(std::string_view text) {
  const auto prefix = IpPrefix::Parse(text);
  const auto address = IpAddress::Parse(text.substr(0, text.find('/')));
  if (!prefix || !address) return std::nullopt;
  return AssignedAddress{*address, prefix->length()};
}

std::string HostStateText(const HostState& state) {
  return MembersWriter::Encode(state).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<HostState> ParseHostState(std::string_view text) {
  return ParseHostValue<HostState>(text);
}

}  // namespace weft::host
