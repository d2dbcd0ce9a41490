// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/hns_state_json.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/emulator/hns/model/network_settings.h"
#include "control/emulator/hns/model/policy_rules.h"
#include "control/emulator/hns/model/settings_json.h"

namespace weft::hns::emulator {
namespace {

Json Write(const PolicyList& policies) {
  Json items = Json::array();
  policies.ForEach([&](const PolicyList::Item& item) {
    Json written = {{"Type", item.type}, {"Settings", *ParseDocument(item.settings)}};
    if (item.shown_from > Milliseconds(0)) written["shown_from_ms"] = item.shown_from.count();
    items.push_back(std::move(written));
  });
  return items;
}

Json Write(const NetworkObject& network) {
  return {{"id", network.id.ToString()},
          {"name", network.name},
          {"type", network.type},
          {"flags", network.flags},
          {"dns", network.dns},
          {"ipams", network.ipams},
          {"policies", Write(network.policies)},
          {"dr_mac", network.dr_mac},
          {"dr_mac_from_ms", network.dr_mac_from.count()},
          {"mac_block", network.mac_block},
          {"adapter", network.adapter},
          {"adapter_named", network.adapter_named},
          {"management_from_ms", network.management_from.count()},
          {"first_management_ip", network.first_management_ip},
          {"link_local_until_ms", network.link_local_until.count()},
          {"unbound", network.unbound},
          {"endpoints_made", network.endpoints_made}};
}

Json Write(const EndpointObject& endpoint) {
  Json addresses = Json::array();
  for (const auto& [ip, prefix_length] : endpoint.addresses) {
    addresses.push_back({{"ip", ip}, {"prefix_length", prefix_length}});
  }
  return {{"id", endpoint.id.ToString()},
          {"network", endpoint.network.ToString()},
          {"name", endpoint.name},
          {"addresses", std::move(addresses)},
          {"mac", endpoint.mac},
          {"flags", endpoint.flags},
          {"dns", endpoint.dns},
          {"routes", endpoint.routes},
          {"policies", Write(endpoint.policies)},
          {"namespace", endpoint.compartment_namespace.ToString()},
          {"attached", endpoint.attached},
          {"compartment", endpoint.compartment},
          {"stale", endpoint.stale},
          {"detached", endpoint.detached}};
}

Json WriteIds(const std::vector<Guid>& ids) {
  Json items = Json::array();
  for (const Guid& id : ids) items.push_back(id.ToString());
  return items;
}

Json Write(const NamespaceObject& space) {
  return {{"id", space.id.ToString()},
          {"type", space.type},
          {"compartment", space.compartment},
          {"endpoints", WriteIds(space.endpoints)},
          {"containers", space.containers}};
}

Json Write(const LoadBalancerObject& balancer) {
  return {{"id", balancer.id.ToString()},
          {"endpoints", WriteIds(balancer.endpoints)},
          {"document", balancer.document}};
}

template <typename Objects>
Json WriteAll(const Objects& objects) {
  Json items = Json::array();
  for (const auto& [id, object] : objects) items.push_back(Write(object));
  return items;
}

// Reading: a member of the wrong type counts as absent; an error if the result is not valid.
std::uint32_t Number32(const Json& value) { return static_cast<std::uint32_t>(NumberOf(value)); }
bool Flag(const Json& value) { return value == true; }
Json ObjectOr(const Json& value, Json otherwise) {
  return value.type() == otherwise.type() ? value : otherwise;
}
bool ReadId(const Json& value, Guid& id) {
  const auto guid = Guid::Parse(TextOf(value));
  if (guid) id = *guid;
  return guid.has_value();
}
bool ReadIds(const Json& value, std::vector<Guid>& ids) {
  for (const auto& item : ItemsOf(value)) {
    if (!ReadId(item, ids.emplace_back())) return false;
  }
  return true;
}
bool Read(const Json& value, PolicyList& policies) {
  const auto specs = ReadPolicies(value);
  if (!specs) return false;
  for (std::size_t at = 0; at < specs->size(); ++at) {
    const PolicySpec& spec = (*specs)[at];
    policies.Add(spec.type, spec.settings,
                 Milliseconds(NumberOf(Field(value[at], "shown_from_ms"))));
  }
  return true;
}

bool Read(const Json& json, NetworkObject& network) {
  network.name = TextOf(Field(json, "name"));
  network.type = TextOf(Field(json, "type"));
  network.flags = Number32(Field(json, "flags"));
  network.dns = ObjectOr(Field(json, "dns"), Json::object());
  const auto ipams = ReadIpams(Field(json, "ipams"));
  if (ipams) network.ipams = *ipams;
  network.dr_mac = TextOf(Field(json, "dr_mac"));
  network.dr_mac_from = Milliseconds(NumberOf(Field(json, "dr_mac_from_ms")));
  network.mac_block = TextOf(Field(json, "mac_block"));
  network.adapter = TextOf(Field(json, "adapter"));
  network.adapter_named = Flag(Field(json, "adapter_named"));
  network.management_from = Milliseconds(NumberOf(Field(json, "management_from_ms")));
  network.first_management_ip = TextOf(Field(json, "first_management_ip"));
  network.link_local_until = Milliseconds(NumberOf(Field(json, "link_local_until_ms")));
  network.unbound = Flag(Field(json, "unbound"));
  network.endpoints_made = NumberOf(Field(json, "endpoints_made"));
  return ipams && !network.type.empty() && Read(Field(json, "policies"), network.policies);
}

bool Read(const Json& json, EndpointObject& endpoint) {
  endpoint.name = TextOf(Field(json, "name"));
  for (const auto& item : ItemsOf(Field(json, "addresses"))) {
    const std::string ip = TextOf(Field(item, "ip"));
    if (!IpAddress::Parse(ip)) return false;
    endpoint.addresses.push_back({ip, Number32(Field(item, "prefix_length"))});
  }
  endpoint.mac = TextOf(Field(json, "mac"));
  endpoint.flags = Number32(Field(json, "flags"));
  endpoint.dns = ObjectOr(Field(json, "dns"), Json::object());
  endpoint.routes = ObjectOr(Field(json, "routes"), Json::array());
  endpoint.attached = Flag(Field(json, "attached"));
  endpoint.compartment = Number32(Field(json, "compartment"));
  endpoint.stale = Flag(Field(json, "stale"));
  endpoint.detached = Flag(Field(json, "detached"));
  return ReadId(Field(json, "network"), endpoint.network) &&
         ReadId(Field(json, "namespace"), endpoint.compartment_namespace) &&
         Read(Field(json, "policies"), endpoint.policies);
}

bool Read(const Json& json, NamespaceObject& space) {
  space.type = TextOf(Field(json, "type"));
  space.compartment = Number32(Field(json, "compartment"));
  for (const auto& item : ItemsOf(Field(json, "containers"))) {
    space.containers.push_back(TextOf(item));
  }
  return ReadIds(Field(json, "endpoints"), space.endpoints);
}

bool Read(const Json& json, LoadBalancerObject& balancer) {
  balancer.document = ObjectOr(Field(json, "document"), Json::object());
  return ReadIds(Field(json, "endpoints"), balancer.endpoints);
}

template <typename Objects>
absl::Status ReadAll(const Json& json, const char* name, Objects& objects) {
  for (const auto& item : ItemsOf(Field(json, name))) {
    typename Objects::mapped_type object;
    if (!ReadId(Field(item, "id"), object.id) || !Read(item, object)) {
      return absl::InvalidArgumentError(
          absl::StrCat("HNS emulator's state: one of `", name, "` cannot be read: ", Dump(item)));
    }
    objects.emplace(object.id, std::move(object));
  }
  return absl::OkStatus();
}

absl::Status ReadObjects(const Json& json, HnsState& state) {
  absl::Status status = ReadAll(json, "networks", state.networks);
  status.Update(ReadAll(json, "endpoints", state.endpoints));
  status.Update(ReadAll(json, "namespaces", state.namespaces));
  status.Update(ReadAll(json, "load_balancers", state.load_balancers));
  return status;
}

}  // namespace

std::string HnsStateText(const HnsState& state, const Settings& settings) {
  Json taken = Json::object();
  for (const auto& [name, until] : state.taken_names) taken[name] = until.count();
  return Json{{"settings", SettingsJson(settings)},
              {"running", state.running},
              {"back_at_ms", state.back_at.count()},
              {"lives", state.lives},
              {"drawn", state.drawn},
              {"networks", WriteAll(state.networks)},
              {"endpoints", WriteAll(state.endpoints)},
              {"namespaces", WriteAll(state.namespaces)},
              {"load_balancers", WriteAll(state.load_balancers)},
              {"switches", state.switches},
              {"taken_names_until_ms", std::move(taken)},
              {"settled_ms", state.settled.count()}}
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

absl::Status ReadHnsState(std::string_view text, HnsState& state, Settings& settings) {
  const auto json = ParseDocument(text, kDeepestState);
  if (!json) return absl::InvalidArgumentError("HNS emulator's state is no JSON object");
  auto read = ReadSettings(Field(*json, "settings"));
  if (!read.ok()) return read.status();
  settings = *std::move(read);
  state.running = Field(*json, "running") != false;
  state.back_at = Milliseconds(NumberOf(Field(*json, "back_at_ms")));
  state.lives = NumberOf(Field(*json, "lives"));
  state.drawn = NumberOf(Field(*json, "drawn"));
  state.settled = Milliseconds(NumberOf(Field(*json, "settled_ms")));
  for (const auto& item : ItemsOf(Field(*json, "switches"))) {
    state.switches.insert(TextOf(item));
  }
  const Json& taken = Field(*json, "taken_names_until_ms");
  if (!taken.is_object() && !taken.is_null()) {
    return absl::InvalidArgumentError(
        "HNS emulator's state: `taken_names_until_ms` is no JSON object");
  }
  for (auto it = taken.begin(); it != taken.end(); ++it) {
    state.taken_names[it.key()] = Milliseconds(NumberOf(it.value()));
  }
  return ReadObjects(*json, state);
}

}  // namespace weft::hns::emulator
