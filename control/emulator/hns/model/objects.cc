// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/objects.h"

#include "absl/strings/match.h"
#include "control/emulator/hns/model/endpoints.h"
#include "control/emulator/hns/model/load_balancers.h"
#include "control/emulator/hns/model/namespaces.h"
#include "control/emulator/hns/model/networks.h"
#include "control/emulator/hns/model/refusal.h"
#include "hns/document/guid.h"

namespace weft::hns::emulator {
namespace {

bool Equal(const Json& desired, const Json& actual) {
  if (!desired.is_string() || !actual.is_string()) return desired == actual;
  const auto& a = desired.get_ref<const std::string&>();
  const auto& b = actual.get_ref<const std::string&>();
  return a == b || (Guid::Parse(a) && absl::EqualsIgnoreCase(a, b));
}

struct ReadQuery {
  bool v2 = false;  // SchemaVersion is 2; otherwise HNS answers in v1's form
  Json filter = Json::object();
};

// Empty text is no filter. kInvalidJson: the document, or the filter (JSON in a string), is not
// JSON.
Reply ParseQuery(const std::string& text, ReadQuery& query) {
  const auto document = ParseDocument(text);
  if (!document) return Refuse(hresult::kInvalidJson);
  query.v2 = NumberOf(Field(Field(*document, "SchemaVersion"), "Major")) >= 2;
  const Json& filter = Field(*document, "Filter");
  if (filter.is_null()) return {};
  if (!filter.is_string()) return Refuse(hresult::kInvalidJson);
  auto read = ParseDocument(TextOf(filter));
  if (!read) return Refuse(hresult::kInvalidJson);
  query.filter = std::move(*read);
  return {};
}

// Compares v1's properties for equality; ids without case.
bool Matches(const Json& filter, const Json& v1_facts, UnknownFilter unknown) {
  for (auto it = filter.begin(); it != filter.end(); ++it) {
    const auto fact = v1_facts.find(it.key());
    if (fact == v1_facts.end()) {
      if (unknown == UnknownFilter::kMatchesNone) return false;
    } else if (!Equal(it.value(), *fact)) {
      return false;
    }
  }
  return true;
}

// The code for opening a missing object, or using a handle whose object was deleted.
Hresult NotFound(Kind kind) {
  switch (kind) {
    case Kind::kNetwork:
      return hresult::kNetworkNotFound;
    case Kind::kEndpoint:
      return hresult::kEndpointNotFound;
    default:
      return hresult::kElementNotFound;
  }
}

// The ids of the objects whose v1 facts match the filter.
Reply Ids(const Core& core, const auto& objects, const Json& filter, auto facts) {
  Json ids = Json::array();
  for (const auto& [id, object] : objects) {
    if (filter.empty() || Matches(filter, facts(object), core.settings.unknown_filter))
      ids.push_back(id.ToString());
  }
  Reply reply;
  reply.text = Dump(ids);
  return reply;
}

std::string Show(Core& core, Kind kind, const Guid& id, bool v2) {
  switch (kind) {
    case Kind::kNetwork: {
      const auto& network = core.state.networks.at(id);
      return v2 ? NetworkV2(core, network) : NetworkV1(core, network);
    }
    case Kind::kEndpoint: {
      const auto& endpoint = core.state.endpoints.at(id);
      return v2 ? EndpointV2(core, endpoint) : Dump(EndpointV1(core, endpoint));
    }
    case Kind::kNamespace: {
      const auto& space = core.state.namespaces.at(id);
      return v2 ? NamespaceV2(space) : Dump(NamespaceV1(space));
    }
    case Kind::kLoadBalancer: {
      const auto& balancer = core.state.load_balancers.at(id);
      return v2 ? LoadBalancerV2(balancer) : Dump(LoadBalancerV1(balancer));
    }
  }
  return {};
}

}  // namespace

Reply EnumerateObjects(Core& core, Kind kind, const std::string& text) {
  ReadQuery query;
  if (Reply reply = ParseQuery(text, query); !reply.ok()) return reply;
  switch (kind) {
    case Kind::kNetwork:
      return Ids(core, core.state.networks, query.filter,
                 [&](const auto& network) { return NetworkV1Facts(core, network); });
    case Kind::kEndpoint:
      return Ids(core, core.state.endpoints, query.filter,
                 [&](const auto& endpoint) { return EndpointV1Facts(core, endpoint); });
    case Kind::kNamespace:
      return Ids(core, core.state.namespaces, query.filter, NamespaceV1);
    case Kind::kLoadBalancer:
      return Ids(core, core.state.load_balancers, query.filter, LoadBalancerV1);
  }
  return Refuse(hresult::kInvalidArgument);
}

Reply CreateObject(Core& core, Kind kind, const Guid& network, const Guid& id,
                   const std::string& settings) {
  const auto document = ParseDocument(settings);
  if (!document || settings.empty()) return Refuse(hresult::kInvalidJson);
  switch (kind) {
    case Kind::kNetwork:
      return CreateNetwork(core, id, *document);
    case Kind::kNamespace:
      return CreateNamespace(core, id, *document);
    case Kind::kLoadBalancer:
      return CreateLoadBalancer(core, id, *document);
    case Kind::kEndpoint: {
      const auto found = core.state.networks.find(network);
      if (found == core.state.networks.end()) return Refuse(hresult::kNetworkNotFound);
      return CreateEndpoint(core, found->second, id, *document);
    }
  }
  return Refuse(hresult::kInvalidArgument);
}

Reply FindObject(Core& core, Kind kind, const Guid& id) {
  const HnsState& state = core.state;
  const bool there = (kind == Kind::kNetwork && state.networks.contains(id)) ||
                     (kind == Kind::kEndpoint && state.endpoints.contains(id)) ||
                     (kind == Kind::kNamespace && state.namespaces.contains(id)) ||
                     (kind == Kind::kLoadBalancer && state.load_balancers.contains(id));
  return there ? Reply() : Refuse(NotFound(kind));
}

Reply ModifyObject(Core& core, Kind kind, const Guid& id, const std::string& text) {
  if (Reply reply = FindObject(core, kind, id); !reply.ok()) return reply;
  const auto request = ParseDocument(text);
  if (!request || text.empty()) return Refuse(hresult::kInvalidJson);
  switch (kind) {
    case Kind::kNetwork:
      return ModifyNetwork(core, core.state.networks.at(id), *request);
    case Kind::kEndpoint:
      return ModifyEndpoint(core, core.state.endpoints.at(id), *request);
    case Kind::kNamespace:
      return ModifyNamespace(core, core.state.namespaces.at(id), *request);
    case Kind::kLoadBalancer:
      return ModifyLoadBalancer(core, core.state.load_balancers.at(id), *request);
  }
  return Refuse(hresult::kInvalidArgument);
}

Reply ShowObject(Core& core, Kind kind, const Guid& id, const std::string& text) {
  if (Reply reply = FindObject(core, kind, id); !reply.ok()) return reply;
  ReadQuery query;
  Reply reply = ParseQuery(text, query);
  if (reply.ok()) reply.text = Show(core, kind, id, query.v2);
  return reply;
}

Reply DeleteObject(Core& core, Kind kind, const Guid& id) {
  switch (kind) {
    case Kind::kNetwork:
      return DeleteNetwork(core, id);
    case Kind::kEndpoint:
      return DeleteEndpoint(core, id);
    case Kind::kNamespace:
      return DeleteNamespace(core, id);
    case Kind::kLoadBalancer:
      return DeleteLoadBalancer(core, id);
  }
  return Refuse(hresult::kInvalidArgument);
}

}  // namespace weft::hns::emulator
