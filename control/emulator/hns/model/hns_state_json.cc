// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/hns_state_json.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/emulator/hns/model/network_settings.h"
#include "control/emulator/hns/model/settings_json.h"
#include "control/json_fields.h"

namespace weft::control {

template <>
inline constexpr std::string_view kTextValue<hns::Guid> = "a GUID";

}  // namespace weft::control

namespace weft::hns::emulator {
namespace {

struct SavedPolicy {
  std::string type;
  control::Json settings;
  Milliseconds shown_from{0};
};

void Fields(auto& visit, control::Is<SavedPolicy> auto& policy) {
  visit.Required("Type", policy.type);
  visit.Required("Settings", policy.settings);
  visit.Optional("shown_from_ms", policy.shown_from);
  if constexpr (control::kReads<decltype(visit)>)
    if (!policy.settings.is_object()) visit.Refuse("Settings", "is not an object");
}

void Policies(auto& visit, control::Is<PolicyList> auto& policies) {
  std::vector<SavedPolicy> saved;
  if constexpr (!control::kReads<decltype(visit)>) {
    policies.ForEach([&](const PolicyList::Item& item) {
      saved.push_back({item.type, *ParseDocument(item.settings), item.shown_from});
    });
  }
  visit.Always("policies", saved);
  if constexpr (control::kReads<decltype(visit)>) {
    for (const SavedPolicy& each : saved)
      policies.Add(each.type, Json(each.settings), each.shown_from);
  }
}

// An object or a list of HNS's documents.
void Part(auto& visit, const char* name, control::Is<Json> auto& part) {
  control::Json json = part;
  visit.Always(name, json, json);
  if constexpr (control::kReads<decltype(visit)>) {
    if (json.type() != part.type()) return visit.Refuse(name, "is of another type");
    part = json;
  }
}

template <class Map>
void Objects(auto& visit, const char* name, Map& objects) {
  if constexpr (control::kReads<decltype(visit)>) {
    std::vector<typename Map::mapped_type> list;
    visit.Always(name, list);
    for (auto& each : list) objects.emplace(each.id, std::move(each));
  } else {
    control::Json list = control::Json::array();
    for (const auto& [id, object] : objects) list.push_back(control::JsonWriter::Encode(object));
    visit.Always(name, list);
  }
}

}  // namespace

void Fields(auto& visit, control::Is<NetworkObject> auto& network) {
  visit.Required("id", network.id);
  visit.Always("name", network.name);
  visit.Required("type", network.type);
  visit.Always("flags", network.flags);
  Part(visit, "dns", network.dns);
  Part(visit, "ipams", network.ipams);
  Policies(visit, network.policies);
  visit.Always("dr_mac", network.dr_mac);
  visit.Always("dr_mac_from_ms", network.dr_mac_from);
  visit.Always("mac_block", network.mac_block);
  visit.Always("adapter", network.adapter);
  visit.Always("adapter_named", network.adapter_named);
  visit.Always("management_from_ms", network.management_from);
  visit.Always("first_management_ip", network.first_management_ip);
  visit.Always("link_local_until_ms", network.link_local_until);
  visit.Always("unbound", network.unbound);
  visit.Always("endpoints_made", network.endpoints_made);
  if constexpr (control::kReads<decltype(visit)>) {
    if (network.type.empty()) visit.Refuse("type", "is empty");
    const auto ipams = ReadIpams(network.ipams);
    if (!ipams) return visit.Refuse("ipams", "is none of HNS");
    network.ipams = *ipams;
  }
}

void Fields(auto& visit, control::Is<EndpointObject::Address> auto& address) {
  visit.Required("ip", address.ip);
  visit.Always("prefix_length", address.prefix_length);
  if constexpr (control::kReads<decltype(visit)>)
    if (!IpAddress::Parse(address.ip)) visit.Refuse("ip", "is not an IP address");
}

void Fields(auto& visit, control::Is<EndpointObject> auto& endpoint) {
  visit.Required("id", endpoint.id);
  visit.Required("network", endpoint.network);
  visit.Always("name", endpoint.name);
  visit.Always("addresses", endpoint.addresses);
  visit.Always("mac", endpoint.mac);
  visit.Always("flags", endpoint.flags);
  Part(visit, "dns", endpoint.dns);
  Part(visit, "routes", endpoint.routes);
  Policies(visit, endpoint.policies);
  visit.Required("namespace", endpoint.compartment_namespace);
  visit.Always("attached", endpoint.attached);
  visit.Always("compartment", endpoint.compartment);
  visit.Always("stale", endpoint.stale);
  visit.Always("detached", endpoint.detached);
}

void Fields(auto& visit, control::Is<NamespaceObject> auto& space) {
  visit.Required("id", space.id);
  visit.Always("type", space.type);
  visit.Always("compartment", space.compartment);
  visit.Always("endpoints", space.endpoints);
  visit.Always("containers", space.containers);
}

void Fields(auto& visit, control::Is<LoadBalancerObject> auto& balancer) {
  visit.Required("id", balancer.id);
  visit.Always("endpoints", balancer.endpoints);
  Part(visit, "document", balancer.document);
}

void Fields(auto& visit, control::Is<HnsState> auto& state) {
  visit.Always("running", state.running, true);
  visit.Always("back_at_ms", state.back_at);
  visit.Always("lives", state.lives);
  visit.Always("drawn", state.drawn);
  Objects(visit, "networks", state.networks);
  Objects(visit, "endpoints", state.endpoints);
  Objects(visit, "namespaces", state.namespaces);
  Objects(visit, "load_balancers", state.load_balancers);
  std::vector<std::string> switches(state.switches.begin(), state.switches.end());
  visit.Always("switches", switches);
  control::Json taken = control::Json::object();
  for (const auto& [name, until] : state.taken_names) taken[name] = until.count();
  visit.Always("taken_names_until_ms", taken, taken);
  visit.Always("settled_ms", state.settled);
  if constexpr (control::kReads<decltype(visit)>) {
    state.switches.insert(switches.begin(), switches.end());
    if (!taken.is_object()) return visit.Refuse("taken_names_until_ms", "is not an object");
    control::JsonReader names(taken, "taken_names_until_ms");
    for (const auto& [name, until] : taken.items())
      names.Required(name.c_str(), state.taken_names[name]);
    if (!names.status().ok()) visit.Refuse("taken_names_until_ms", "has a time that is none");
  }
}

std::string HnsStateText(const HnsState& state, const Settings& settings) {
  control::Json json = {{"settings", SettingsJson(settings)}};
  json.update(control::JsonWriter::Encode(state));
  return json.dump(2, ' ', false, control::Json::error_handler_t::replace) + "\n";
}

absl::Status ReadHnsState(std::string_view text, HnsState& state, Settings& settings) {
  const auto json = ParseDocument(text, kDeepestState);
  if (!json) return absl::InvalidArgumentError("HNS emulator's state is no JSON object");
  auto read = ReadSettings(Field(*json, "settings"));
  if (!read.ok()) return read.status();
  settings = *std::move(read);
  const control::Json document = *json;
  control::JsonReader visit(document, "");
  Fields(visit, state);
  if (visit.status().ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("HNS emulator's state: ", visit.status().message()));
}

}  // namespace weft::hns::emulator
