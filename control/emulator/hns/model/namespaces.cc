// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/namespaces.h"

#include <algorithm>
#include <array>

#include "control/emulator/hns/model/endpoints.h"

namespace weft::hns::emulator {
namespace {

constexpr std::array<const char*, 4> kNamespaceTypes = {"", "HostDefault", "Guest", "GuestDefault"};
constexpr std::uint32_t kHostCompartment = 1;

bool IsHosts(const NamespaceObject& space) { return space.type == "HostDefault"; }

// The host's own compartment is 1; those of pods start at 2.
std::uint32_t FreeCompartment(const HnsState& state) {
  std::uint32_t highest = kHostCompartment;
  for (const auto& [id, space] : state.namespaces) highest = std::max(highest, space.compartment);
  return highest + 1;
}

Json Resources(const NamespaceObject& space, bool upper_case) {
  Json resources = Json::array();
  for (const auto& container : space.containers) {
    resources.push_back({{"Type", "Container"}, {"Data", {{"Id", container}}}});
  }
  for (const Guid& id : space.endpoints) {
    resources.push_back({{"Type", "Endpoint"},
                         {"Data", {{"Id", upper_case ? id.ToUpperString() : id.ToString()}}}});
  }
  return resources;
}

}  // namespace

Reply CreateNamespace(Core& core, const Guid& desired_id, const Json& document) {
  NamespaceObject space;
  space.id = IdFor(core, desired_id, document);
  if (space.id.is_zero()) return Refuse(kGuidConversionFailure);
  if (core.state.namespaces.contains(space.id)) return Refuse(hresult::kObjectAlreadyExists);
  const auto type =
      WordOf(Field(document, "Type"), {"Host", "HostDefault", "Guest", "GuestDefault"});
  if (!type) return Refuse(hresult::kInvalidArgument);
  space.type = kNamespaceTypes.at(*type);
  space.compartment = IsHosts(space) ? kHostCompartment : FreeCompartment(core.state);
  Notify(core, Notification::kNamespaceCreate, space.id);
  Reply reply;
  reply.text = space.id.ToString();
  core.state.namespaces.emplace(space.id, std::move(space));
  return reply;
}

Reply ModifyNamespace(Core& core, NamespaceObject& space, const Json& request) {
  const auto resource = WordOf(Field(request, "ResourceType"), {"Container", "Endpoint"});
  const auto change = WordOf(Field(request, "RequestType"), {"Add", "Remove"});
  if (!resource || !change) return Refuse(hresult::kRequestUnsupported);
  const Json& settings = Field(request, "Settings");
  if (*resource == 0) {
    const std::string container = TextOf(Field(settings, "ContainerId"));
    std::erase(space.containers, container);
    if (*change == 0) space.containers.push_back(container);
    return {};
  }
  const auto endpoint = Guid::Parse(TextOf(Field(settings, "EndpointId")));
  if (!endpoint) return Refuse(kGuidConversionFailure);
  return *change == 0 ? AddToNamespace(core, space, *endpoint)
                      : RemoveFromNamespace(core, space, *endpoint);
}

Reply AddToNamespace(Core& core, NamespaceObject& space, const Guid& id) {
  const auto found = core.state.endpoints.find(id);
  if (found == core.state.endpoints.end()) return Refuse(hresult::kEndpointNotFound);
  EndpointObject& endpoint = found->second;
  if (!endpoint.compartment_namespace.is_zero())
    return Refuse(hresult::kEndpointNamespaceAlreadyExists);
  const Reply reply = AttachEndpoint(core, endpoint, IsHosts(space) ? kHostCompartment : 0);
  if (!reply.ok()) return reply;
  endpoint.compartment_namespace = space.id;
  space.endpoints.push_back(id);
  return {};
}

Reply RemoveFromNamespace(Core& core, NamespaceObject& space, Guid id) {
  const auto found = core.state.endpoints.find(id);
  if (found == core.state.endpoints.end()) return Refuse(hresult::kEndpointNotFound);
  if (std::erase(space.endpoints, id) == 0) return Refuse(kEndpointNotAttached);
  found->second.compartment_namespace = Guid();
  return DetachEndpoint(core, found->second);
}

Reply DeleteNamespace(Core& core, Guid id) {
  const auto found = core.state.namespaces.find(id);
  if (found == core.state.namespaces.end()) return Refuse(hresult::kElementNotFound);
  const std::vector<Guid> endpoints = found->second.endpoints;
  for (const Guid& endpoint : endpoints) RemoveFromNamespace(core, found->second, endpoint);
  core.state.namespaces.erase(found);
  Notify(core, Notification::kNamespaceDelete, id);
  return {};
}

std::string NamespaceV2(const NamespaceObject& space) {
  Json document = {{"ID", space.id.ToString()},
                   {"NamespaceId", space.compartment},
                   {"SchemaVersion", {{"Major", 2}, {"Minor", 0}}}};
  Put(document, "Type", space.type);
  Put(document, "Resources", Resources(space, false));
  return Dump(document);
}

Json NamespaceV1(const NamespaceObject& space) {
  return {{"ID", space.id.ToUpperString()},
          {"IsDefault", IsHosts(space)},
          {"CompartmentId", space.compartment},
          {"ResourceList", Resources(space, true)}};
}

}  // namespace weft::hns::emulator
