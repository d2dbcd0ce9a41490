// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/entry.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace weft::ledger {
namespace {

constexpr std::string_view kHnsNetwork = "hns-network", kHnsEndpoint = "hns-endpoint";
constexpr std::string_view kHostRoute = "host-route", kFormerRoute = "former-route";
constexpr std::string_view kFirewallRule = "firewall-rule";

struct FilterName {
  host::FilterPart part;
  std::string_view kind, name;
};
constexpr FilterName kFilterNames[] = {
    {host::FilterPart::kMasquerade, "filter-table", "inet weft"},
    {host::FilterPart::kForward, "forward-rules", "nftables"},
    {host::FilterPart::kForwardLegacy, "forward-rules", "iptables-legacy"},
};

std::string Text(const std::optional<IpAddress>& gateway) {
  return gateway ? gateway->ToString() : "";
}

struct ToRow {
  Row operator()(const HnsObject& entry) const {
    return {std::string(entry.kind == hns::Kind::kEndpoint ? kHnsEndpoint : kHnsNetwork),
            entry.name,
            entry.id ? entry.id->ToString() : "",
            entry.adopted,
            entry.shape,
            entry.boot};
  }
  Row operator()(const HostRoute& entry) const {
    return {std::string(kHostRoute),
            entry.destination.ToString(),
            entry.next_hop.ToString(),
            entry.adopted,
            "",
            entry.boot};
  }
  // `shape` has metric, "onlink" or "-", and the adapter's name, which may contain spaces.
  Row operator()(const FormerRoute& entry) const {
    return {std::string(kFormerRoute), entry.destination.ToString(), Text(entry.gateway), true,
            absl::StrCat(entry.metric, entry.onlink ? " onlink " : " - ", entry.adapter)};
  }
  Row operator()(const FirewallRule& entry) const {
    return {std::string(kFirewallRule), entry.name, absl::StrCat(entry.port), entry.adopted};
  }
  Row operator()(const FilterRules& entry) const {
    const FilterName& found =
        *std::find_if(std::begin(kFilterNames), std::end(kFilterNames),
                      [&](const FilterName& each) { return each.part == entry.part; });
    return {std::string(found.kind), std::string(found.name), "", entry.adopted};
  }
  // `shape` has MAC, adapter index, metric.
  Row operator()(const StaticRoute& entry) const {
    return {std::string(kStaticRoute),
            entry.destination.ToString(),
            Text(entry.gateway),
            true,
            absl::StrCat(entry.mac.ToString(), " ", entry.adapter_index, " ", entry.metric),
            entry.boot};
  }
  // `shape`: addresses; gateways; name servers; metric, each perhaps empty.
  Row operator()(const StaticIp& entry) const {
    std::vector<std::string> addresses;
    for (const host::AssignedAddress& each : entry.settings.addresses)
      addresses.push_back(each.ToString());
    const auto list = [](const std::vector<IpAddress>& each) {
      return absl::StrJoin(each, ",", [](std::string* out, const IpAddress& address) {
        absl::StrAppend(out, address.ToString());
      });
    };
    return {std::string(kStaticIp),
            entry.mac.ToString(),
            absl::StrCat(entry.adapter_index),
            true,
            absl::StrJoin({absl::StrJoin(addresses, ","), list(entry.gateways),
                           list(entry.settings.name_servers),
                           entry.settings.metric ? absl::StrCat(*entry.settings.metric) : ""},
                          ";"),
            entry.boot};
  }
  Row operator()(const Unknown& entry) const { return entry.row; }
};

// Empty: the row cannot be read.
using Read = std::optional<Entry>;

Read ReadHnsObject(const Row& row) {
  HnsObject entry{row.kind == kHnsEndpoint ? hns::Kind::kEndpoint : hns::Kind::kNetwork,
                  row.name,
                  hns::Guid::Parse(row.id),
                  row.adopted,
                  row.shape,
                  row.boot};
  if (!entry.id && !row.id.empty()) return std::nullopt;
  return entry;
}

Read ReadFilterRules(const Row& row) {
  for (const FilterName& each : kFilterNames) {
    if (each.kind == row.kind && each.name == row.name) return FilterRules{each.part, row.adopted};
  }
  return std::nullopt;
}

Read ReadFirewallRule(const Row& row) {
  std::uint32_t port = 0;
  if (!absl::SimpleAtoi(row.id, &port) || port > 0xFFFF) return std::nullopt;
  return FirewallRule{row.name, static_cast<std::uint16_t>(port), row.adopted};
}

Read ReadRoute(const Row& row) {
  const auto destination = IpPrefix::Parse(row.name);
  const auto gateway = IpAddress::Parse(row.id);
  if (!destination || (!gateway && !row.id.empty())) return std::nullopt;
  if (row.kind == kHostRoute) {
    if (!gateway) return std::nullopt;
    return HostRoute{*destination, *gateway, row.adopted, row.boot};
  }
  if (gateway && gateway->family() != destination->family()) return std::nullopt;
  const std::vector<std::string> words = absl::StrSplit(row.shape, absl::MaxSplits(' ', 2));
  if (words.size() != 3) return std::nullopt;
  if (row.kind == kFormerRoute) {
    FormerRoute entry{*destination, gateway, words[2], 0, words[1] == "onlink"};
    if (!absl::SimpleAtoi(words[0], &entry.metric)) return std::nullopt;
    return entry;
  }
  const auto mac = MacAddress::Parse(words[0]);
  if (!mac) return std::nullopt;
  StaticRoute entry{*destination, gateway, *mac, 0, 0, row.boot};
  if (!absl::SimpleAtoi(words[1], &entry.adapter_index) ||
      !absl::SimpleAtoi(words[2], &entry.metric))
    return std::nullopt;
  return entry;
}

// Addresses of one IPv4 host each, separated by commas. Empty: one of them is none.
std::optional<std::vector<IpAddress>> ReadHosts(std::string_view text) {
  std::vector<IpAddress> addresses;
  for (const std::string_view each : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const auto address = IpAddress::Parse(each);
    if (!address || !address->is_v4() || address->IsUnspecified() || address->IsLoopback() ||
        address->IsMulticast() || address->IsBroadcast())
      return std::nullopt;
    addresses.push_back(*address);
  }
  return addresses;
}

Read ReadStaticIp(const Row& row) {
  const auto mac = MacAddress::Parse(row.name);
  const std::vector<std::string> parts = absl::StrSplit(row.shape, ';');
  if (!mac || parts.size() != 4) return std::nullopt;
  StaticIp entry{*mac, 0, {}, {}, row.boot};
  if (!absl::SimpleAtoi(row.id, &entry.adapter_index)) return std::nullopt;
  for (const std::string_view each : absl::StrSplit(parts[0], ',', absl::SkipEmpty())) {
    const auto prefix = IpPrefix::Parse(each);
    const auto host = ReadHosts(each.substr(0, each.find('/')));
    if (!prefix || prefix->length() == 0 || !host || host->size() != 1) return std::nullopt;
    entry.settings.addresses.push_back({host->front(), prefix->length()});
  }
  const auto gateways = ReadHosts(parts[1]), servers = ReadHosts(parts[2]);
  std::uint32_t metric = 0;
  if (entry.settings.addresses.empty() || !gateways || !servers ||
      (!parts[3].empty() && !absl::SimpleAtoi(parts[3], &metric)))
    return std::nullopt;
  entry.gateways = *gateways;
  entry.settings.name_servers = *servers;
  if (!parts[3].empty()) entry.settings.metric = metric;
  return entry;
}

Read ReadRow(const Row& row) {
  if (row.kind == kStaticIp) return ReadStaticIp(row);
  if (row.kind == kHnsNetwork || row.kind == kHnsEndpoint) return ReadHnsObject(row);
  if (row.kind == kFirewallRule) return ReadFirewallRule(row);
  if (row.kind == kHostRoute || row.kind == kFormerRoute || row.kind == kStaticRoute)
    return ReadRoute(row);
  return ReadFilterRules(row);
}

}  // namespace

Row RowOf(const Entry& entry) { return std::visit(ToRow(), entry); }

Entry EntryFrom(Row row) {
  if (Read entry = ReadRow(row)) return *std::move(entry);
  return Unknown{std::move(row)};
}

std::string KeyOf(const Entry& entry) {
  const Row row = RowOf(entry);
  std::string key = absl::StrCat(absl::CEscape(row.kind), " \"", absl::CEscape(row.name), "\"");
  const bool unknown = std::holds_alternative<Unknown>(entry);
  const bool on_link = std::holds_alternative<StaticRoute>(entry);
  if (unknown || on_link || std::holds_alternative<HostRoute>(entry) ||
      std::holds_alternative<FormerRoute>(entry))
    absl::StrAppend(&key, " \"", absl::CEscape(row.id), "\"");
  if (unknown || on_link) absl::StrAppend(&key, " \"", absl::CEscape(row.shape), "\"");
  return key;
}

bool IsOfAnotherBoot(const HostRoute& entry, std::string_view boot) {
  return !entry.boot.empty() && !boot.empty() && entry.boot != boot;
}

bool MayBe(const HnsObject& entry, std::string_view shape, std::string_view boot) {
  if (boot.empty() || entry.boot != boot) return false;
  if (absl::EqualsIgnoreCase(shape, entry.shape)) return true;
  // "Overlay 10.244.1.0/24 port 8472" is a part of "Overlay 10.244.1.0/24 VSID 4096 port 8472":
  // every two words are one property.
  const std::vector<std::string> shown = absl::StrSplit(absl::AsciiStrToLower(shape), ' ');
  const std::vector<std::string> made = absl::StrSplit(absl::AsciiStrToLower(entry.shape), ' ');
  std::size_t at = 0;
  for (std::size_t i = 0; i + 1 < made.size() && at + 1 < shown.size(); i += 2)
    if (shown[at] == made[i] && shown[at + 1] == made[i + 1]) at += 2;
  return at > 0 && at == shown.size() && shown[1] == made[1];
}

}  // namespace weft::ledger
