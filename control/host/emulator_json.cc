// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/host/emulator_state.h"
#include "nlohmann/json.hpp"

namespace weft::host {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxText = std::size_t{64} << 20;  // octets
constexpr int kMaxDepth = 16;                            // the document has six

// Members of one object; the first that cannot be read is remembered with its place.
class Reader {
 public:
  Reader(const Json& object, std::string place, absl::Status& status)
      : object_(object), place_(std::move(place)), status_(status) {
    if (!object.is_object()) Refuse("", "is not an object");
  }

  const Json* Find(const char* key) const {
    if (!object_.is_object()) return nullptr;
    const auto at = object_.find(key);
    return at == object_.end() || at->is_null() ? nullptr : &*at;
  }
  bool Bool(const char* key, bool otherwise) {
    const Json* value = Find(key);
    if (value && !value->is_boolean()) Refuse(key, "is not true or false");
    return value && value->is_boolean() ? value->get<bool>() : otherwise;
  }
  std::uint64_t Number(const char* key, std::uint64_t most, std::uint64_t otherwise = 0) {
    const Json* value = Find(key);
    if (!value) return otherwise;
    if (value->is_number_unsigned() && value->get<std::uint64_t>() <= most)
      return value->get<std::uint64_t>();
    Refuse(key, absl::StrCat("is not a whole number from 0 to ", most));
    return otherwise;
  }
  std::uint32_t U32(const char* key, std::uint32_t otherwise = 0) {
    return static_cast<std::uint32_t>(
        Number(key, std::numeric_limits<std::uint32_t>::max(), otherwise));
  }
  Milliseconds Time(const char* key) {
    return Milliseconds(
        static_cast<std::int64_t>(Number(key, std::numeric_limits<std::int64_t>::max())));
  }
  std::string Text(const char* key) {
    const Json* value = Find(key);
    if (value && !value->is_string()) Refuse(key, "is not a string");
    return value && value->is_string() ? value->get<std::string>() : "";
  }
  // Of a member that is there; `parse` from text to an optional.
  template <typename Parse>
  auto Parsed(const char* key, const Parse& parse) -> decltype(parse(std::string_view())) {
    if (!Find(key)) return std::nullopt;
    const std::string text = Text(key);
    auto value = parse(std::string_view(text));
    if (!value) Refuse(key, "cannot be read");
    return value;
  }
  template <typename Each>
  void List(const char* key, const Each& each) {
    const Json* value = Find(key);
    if (!value) return;
    if (!value->is_array()) return Refuse(key, "is not an array");
    for (std::size_t i = 0; i < value->size() && status_.ok(); ++i)
      each((*value)[i], absl::StrCat(place_, key, "[", i, "]"));
  }
  void Refuse(std::string_view key, std::string_view why) {
    if (!status_.ok()) return;
    std::string where = absl::StrCat(place_, key);
    if (!where.empty() && where.back() == '.') where.pop_back();
    status_ = absl::InvalidArgumentError(absl::StrCat(
        "host document: ", where, where.empty() ? "" : ": ", "it ", why, "; correct it"));
  }

 private:
  const Json& object_;
  std::string place_;  // "", "adapters[0]."
  absl::Status& status_;
};

std::string Text(const AssignedAddress& address) {
  return absl::StrCat(address.address.ToString(), "/", address.prefix_length);
}

// "192.168.1.10/24": an address, not a prefix.
std::optional<AssignedAddress> ParseAssigned(std::string_view text) {
  const auto prefix = IpPrefix::Parse(text);
  const auto address = IpAddress::Parse(text.substr(0, text.find('/')));
  if (!prefix || !address) return std::nullopt;
  return AssignedAddress{*address, prefix->length()};
}

Json JsonOf(const EmulatedAdapter& each) {
  const Adapter& adapter = each.adapter;
  Json out = {{"name", adapter.name},
              {"index", adapter.index},
              {"mac", adapter.mac.ToString()},
              {"mtu", adapter.mtu},
              {"up", adapter.up}};
  if (adapter.loopback) out["loopback"] = true;
  out["addresses"] = Json::array();
  for (const AssignedAddress& address : adapter.addresses)
    out["addresses"].push_back(Text(address));
  if (each.gone) out["gone"] = true;
  if (each.visible_from != Milliseconds(0)) out["visibleFrom"] = each.visible_from.count();
  if (!each.usable) out["usable"] = false;
  if (each.forwarding_v4) out["forwardingIPv4"] = true;
  if (each.forwarding_v6) out["forwardingIPv6"] = true;
  if (!each.endpoint.empty()) out["endpoint"] = each.endpoint;
  return out;
}

EmulatedAdapter ReadAdapter(const Json& json, const std::string& place, absl::Status& status) {
  Reader in(json, place + ".", status);
  EmulatedAdapter out;
  out.adapter.name = in.Text("name");
  out.adapter.index = in.U32("index");
  out.adapter.mac = in.Parsed("mac", MacAddress::Parse).value_or(MacAddress());
  out.adapter.mtu = in.U32("mtu", 1500);
  out.adapter.up = in.Bool("up", true);
  out.adapter.loopback = in.Bool("loopback", false);
  in.List("addresses", [&](const Json& each, const std::string& at) {
    const auto address = each.is_string() ? ParseAssigned(each.get<std::string>()) : std::nullopt;
    if (address)
      out.adapter.addresses.push_back(*address);
    else
      Reader(Json::object(), at, status).Refuse("", "is not an address with its prefix length");
  });
  out.gone = in.Bool("gone", false);
  out.visible_from = in.Time("visibleFrom");
  out.usable = in.Bool("usable", true);
  out.forwarding_v4 = in.Bool("forwardingIPv4", false);
  out.forwarding_v6 = in.Bool("forwardingIPv6", false);
  out.endpoint = in.Text("endpoint");
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
  Reader in(json, place + ".", status);
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

}  // namespace

std::string HostStateText(const HostState& state) {
  Json out;
  out["adapters"] = Json::array();
  for (const EmulatedAdapter& each : state.adapters) out["adapters"].push_back(JsonOf(each));
  out["routes"] = Json::array();
  for (const Route& each : state.routes) out["routes"].push_back(JsonOf(each));
  out["firewall"] = Json::array();
  for (const FirewallRule& each : state.firewall)
    out["firewall"].push_back({{"name", each.name}, {"udpPort", each.udp_port}});
  out["switches"] = Json::array();
  for (const auto& [adapter, host_adapter] : state.switches)
    out["switches"].push_back({{"adapter", adapter}, {"hostAdapter", host_adapter}});
  out["nextIndex"] = state.next_index;
  if (state.gap_until != Milliseconds(0)) out["gapUntil"] = state.gap_until.count();
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<HostState> ParseHostState(std::string_view text) {
  if (text.size() > kMaxText)
    return absl::InvalidArgumentError("host document: it is larger than 64 MiB");
  bool too_deep = false;
  const Json document = Json::parse(
      text,
      [&](int depth, Json::parse_event_t, Json&) {
        too_deep = too_deep || depth > kMaxDepth;
        return !too_deep;
      },
      false);
  if (too_deep || document.is_discarded())
    return absl::InvalidArgumentError(
        "host document: it is no JSON, or nests too deep; correct it");
  absl::Status status;
  HostState state;
  Reader in(document, "", status);
  in.List("adapters", [&](const Json& each, const std::string& at) {
    state.adapters.push_back(ReadAdapter(each, at, status));
  });
  in.List("routes", [&](const Json& each, const std::string& at) {
    state.routes.push_back(ReadRoute(each, at, status));
  });
  in.List("firewall", [&](const Json& each, const std::string& at) {
    Reader rule(each, at + ".", status);
    state.firewall.push_back(
        {rule.Text("name"), static_cast<std::uint16_t>(rule.Number(
                                "udpPort", std::numeric_limits<std::uint16_t>::max()))});
  });
  in.List("switches", [&](const Json& each, const std::string& at) {
    Reader one(each, at + ".", status);
    state.switches[one.Text("adapter")] = one.Text("hostAdapter");
  });
  std::uint32_t highest = 9;
  for (const EmulatedAdapter& each : state.adapters)
    highest = std::max(highest, each.adapter.index);
  state.next_index = in.U32("nextIndex", highest + 1);
  if (state.next_index <= highest) in.Refuse("nextIndex", "is not above every adapter's index");
  state.gap_until = in.Time("gapUntil");
  if (!status.ok()) return status;
  return state;
}

}  // namespace weft::host
