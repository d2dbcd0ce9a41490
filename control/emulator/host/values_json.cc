// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/host/values_json.h"

#include "absl/strings/str_cat.h"

namespace weft::host {
namespace {

constexpr std::size_t kMaxText = std::size_t{64} << 20;  // bytes
constexpr int kMaxDepth = 16;                            // the document has six

}  // namespace

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

static Json JsonOf(const std::vector<AssignedAddress>& addresses) {
  Json out = Json::array();
  for (const AssignedAddress& address : addresses) out.push_back(AssignedText(address));
  return out;
}

Json JsonOf(const EmulatedAdapter& each) {
  const Adapter& adapter = each.adapter;
  Json out = {{"name", adapter.name},
              {"index", adapter.index},
              {"mac", adapter.mac.ToString()},
              {"mtu", adapter.mtu},
              {"up", adapter.up}};
  if (adapter.loopback) out["loopback"] = true;
  if (adapter.wireless) out["wireless"] = true;
  out["addresses"] = JsonOf(adapter.addresses);
  if (each.gone) out["gone"] = true;
  if (each.visible_from != Milliseconds(0)) out["visibleFrom"] = each.visible_from.count();
  if (each.link_local_until != Milliseconds(0))
    out["linkLocalUntil"] = each.link_local_until.count();
  if (!each.usable) out["usable"] = false;
  if (each.forwarding_v4) out["forwardingIPv4"] = true;
  if (each.forwarding_v6) out["forwardingIPv6"] = true;
  if (!each.endpoint.empty()) out["endpoint"] = each.endpoint;
  if (each.static_ip != StaticIp()) out["static"] = JsonOf(each.static_ip);
  if (!each.until_reboot.empty()) out["untilReboot"] = JsonOf(each.until_reboot);
  return out;
}

static std::vector<AssignedAddress> ReadAssigned(MembersReader& in, const char* key,
                                                 absl::Status& status) {
  std::vector<AssignedAddress> addresses;
  in.List(key, [&](const Json& each, const std::string& at) {
    const auto address = each.is_string() ? ParseAssigned(each.get<std::string>()) : std::nullopt;
    if (address)
      addresses.push_back(*address);
    else
      MembersReader(Json::object(), at, status)
          .Refuse("", "is not an address with its prefix length");
  });
  return addresses;
}

EmulatedAdapter ReadAdapter(const Json& json, const std::string& place, absl::Status& status) {
  MembersReader in(json, place + ".", status);
  EmulatedAdapter out;
  out.adapter.name = in.Text("name");
  out.adapter.index = in.U32("index");
  out.adapter.mac = in.Parsed("mac", MacAddress::Parse).value_or(MacAddress());
  out.adapter.mtu = in.U32("mtu", 1500);
  out.adapter.up = in.Bool("up", true);
  out.adapter.loopback = in.Bool("loopback", false);
  out.adapter.wireless = in.Bool("wireless", false);
  out.adapter.addresses = ReadAssigned(in, "addresses", status);
  out.gone = in.Bool("gone", false);
  out.visible_from = in.Time("visibleFrom");
  out.link_local_until = in.Time("linkLocalUntil");
  out.usable = in.Bool("usable", true);
  out.forwarding_v4 = in.Bool("forwardingIPv4", false);
  out.forwarding_v6 = in.Bool("forwardingIPv6", false);
  out.endpoint = in.Text("endpoint");
  if (const Json* const fixed = in.Find("static")) {
    MembersReader members(*fixed, place + ".static.", status);
    out.static_ip = ReadStaticIp(members, status);
  }
  out.until_reboot = ReadAssigned(in, "untilReboot", status);
  if (out.adapter.index == 0) in.Refuse("index", "is not a number from 1");
  if (out.adapter.name.empty()) in.Refuse("name", "is empty");
  return out;
}

Json JsonOf(const Route& route) {
  Json out = {{"destination", route.destination.ToString()}, {"adapter", route.adapter_index}};
  if (route.gateway) out["gateway"] = route.gateway->ToString();
  if (route.onlink) out["onlink"] = true;
  if (route.metric != 0) out["metric"] = route.metric;
  if (route.source) out["source"] = route.source->ToString();
  if (route.marked) out["marked"] = true;
  return out;
}

Route ReadRoute(const Json& json, const std::string& place, absl::Status& status) {
  MembersReader in(json, place + ".", status);
  Route out;
  const auto destination = in.Parsed("destination", IpPrefix::Parse);
  if (destination)
    out.destination = *destination;
  else
    in.Refuse("destination", "is absent");
  out.gateway = in.Parsed("gateway", IpAddress::Parse);
  out.adapter_index = in.U32("adapter");
  out.onlink = in.Bool("onlink", false);
  out.metric = in.U32("metric");
  out.source = in.Parsed("source", IpAddress::Parse);
  out.marked = in.Bool("marked", false);
  for (const auto& address : {out.gateway, out.source}) {
    if (address && address->family() != out.destination.family())
      in.Refuse("destination", "is of another family than the route's other addresses");
  }
  return out;
}

Json JsonOf(const std::vector<IpAddress>& addresses) {
  Json out = Json::array();
  for (const IpAddress& address : addresses) out.push_back(address.ToString());
  return out;
}

Json JsonOf(const StaticIp& settings) {
  Json out = Json::object();
  if (!settings.addresses.empty()) out["addresses"] = JsonOf(settings.addresses);
  if (!settings.name_servers.empty()) out["nameServers"] = JsonOf(settings.name_servers);
  if (settings.metric) out["metric"] = *settings.metric;
  return out;
}

StaticIp ReadStaticIp(MembersReader& in, absl::Status& status) {
  StaticIp settings;
  settings.addresses = ReadAssigned(in, "addresses", status);
  settings.name_servers = ReadAddresses(in, "nameServers", status);
  if (in.Find("metric")) settings.metric = in.U32("metric");
  return settings;
}

Json JsonOf(const FirewallRule& rule) {
  Json out = {{"name", rule.name}, {"udpPort", rule.port}};
  if (!rule.sources) return out;
  out["sources"] = Json::array();
  for (const IpPrefix& each : *rule.sources) out["sources"].push_back(each.ToString());
  return out;
}

FirewallRule ReadFirewallRule(MembersReader& in, absl::Status& status) {
  FirewallRule rule;
  rule.name = in.Text("name");
  rule.port =
      static_cast<std::uint16_t>(in.Number("udpPort", std::numeric_limits<std::uint16_t>::max()));
  in.List("sources", [&](const Json& each, const std::string& at) {
    const auto prefix = each.is_string() ? IpPrefix::Parse(each.get<std::string>()) : std::nullopt;
    if (!rule.sources) rule.sources.emplace();
    if (prefix)
      rule.sources->push_back(*prefix);
    else
      MembersReader(Json::object(), at, status).Refuse("", "is not an address block");
  });
  return rule;
}

std::vector<IpAddress> ReadAddresses(MembersReader& in, const char* key, absl::Status& status) {
  std::vector<IpAddress> addresses;
  in.List(key, [&](const Json& each, const std::string& at) {
    const auto address =
        each.is_string() ? IpAddress::Parse(each.get<std::string>()) : std::nullopt;
    if (address)
      addresses.push_back(*address);
    else
      MembersReader(Json::object(), at, status).Refuse("", "is not an address");
  });
  return addresses;
}

}  // namespace weft::host
