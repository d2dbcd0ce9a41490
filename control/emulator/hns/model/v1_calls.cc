// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/v1_calls.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/emulator/hns/model/endpoints.h"
#include "control/emulator/hns/model/load_balancers.h"
#include "control/emulator/hns/model/namespaces.h"
#include "control/emulator/hns/model/networks.h"

namespace weft::hns::emulator {
namespace {

Reply Answer(std::string_view output) {
  Reply reply;
  reply.text = absl::StrCat(R"({"Success":true,"Output":)", output, "}");
  return reply;
}
Reply Done() {
  Reply reply;
  reply.text = R"({"Success":true})";
  return reply;
}

// The object that `made` created, in the form of `show`.
Reply AnswerWith(const Reply& made, auto show) {
  if (!made.ok()) return made;
  return Answer(show());
}

Json DnsFromV1(const Json& document) {
  Json dns = Json::object();
  Put(dns, "Domain", Field(document, "DNSSuffix"));
  Json servers = Json::array();
  const std::string list = TextOf(Field(document, "DNSServerList"));
  for (const auto server : absl::StrSplit(list, ',', absl::SkipWhitespace()))
    servers.push_back(std::string(server));
  Put(dns, "ServerList", std::move(servers));
  return dns;
}

Json SubnetFromV1(const Json& document) {
  Json subnet = Json::object();
  Put(subnet, "IpAddressPrefix", Field(document, "AddressPrefix"));
  const Json& gateway = Field(document, "GatewayAddress");
  if (!TextOf(gateway).empty()) {
    const bool v6 = absl::StrContains(TextOf(gateway), ':');
    subnet["Routes"] =
        Json::array({{{"NextHop", gateway}, {"DestinationPrefix", v6 ? "::/0" : "0.0.0.0/0"}}});
  }
  Json policies = Json::array();
  for (const auto& policy : ItemsOf(Field(document, "Policies"))) {
    if (!absl::EqualsIgnoreCase(TextOf(Field(policy, "Type")), "VSID")) {
      policies.push_back(policy);
    } else {
      policies.push_back(
          {{"Type", "VSID"}, {"Settings", {{"IsolationId", Field(policy, "VSID")}}}});
    }
  }
  Put(subnet, "Policies", std::move(policies));
  return subnet;
}

void AddPolicy(Json& policies, const char* type, const char* key, const Json& value) {
  if (!TextOf(value).empty()) policies.push_back({{"Type", type}, {"Settings", {{key, value}}}});
}

Json NetworkFromV1(const Json& document) {
  Json network = {{"ID", Field(document, "ID")},
                  {"Name", Field(document, "Name")},
                  {"Type", Field(document, "Type")},
                  {"Flags", Field(document, "Flags")},
                  {"Dns", DnsFromV1(document)}};
  Json subnets = Json::array();
  for (const auto& subnet : ItemsOf(Field(document, "Subnets")))
    subnets.push_back(SubnetFromV1(subnet));
  if (!subnets.empty()) network["Ipams"] = Json::array({{{"Subnets", std::move(subnets)}}});
  Json policies = Json::array();
  AddPolicy(policies, "NetAdapterName", "NetworkAdapterName",
            Field(document, "NetworkAdapterName"));
  AddPolicy(policies, "ProviderAddress", "ProviderAddress", Field(document, "ManagementIP"));
  for (const auto& policy : ItemsOf(Field(document, "Policies"))) policies.push_back(policy);
  network["Policies"] = std::move(policies);
  return network;
}

Json EndpointFromV1(const Json& document) {
  Json endpoint = {{"ID", Field(document, "ID")},
                   {"Name", Field(document, "Name")},
                   {"MacAddress", Field(document, "MacAddress")},
                   {"Policies", EndpointPoliciesFromV1(Field(document, "Policies"))},
                   {"Dns", DnsFromV1(document)}};
  const bool remote = Field(document, "IsRemoteEndpoint") == true;
  endpoint["Flags"] = remote ? Json(1) : Field(document, "Flags");
  Json configurations = Json::array();
  for (const char* key : {"IPAddress", "IPv6Address"}) {
    const Json& ip = Field(document, key);
    if (TextOf(ip).empty()) continue;
    const bool v4 = std::string_view(key) == "IPAddress";
    Json item = {{"IpAddress", ip}};
    Put(item, "PrefixLength", Field(document, v4 ? "PrefixLength" : "IPv6PrefixLength"));
    configurations.push_back(std::move(item));
  }
  endpoint["IpConfigurations"] = std::move(configurations);
  if (const Json& gateway = Field(document, "GatewayAddress"); !TextOf(gateway).empty()) {
    endpoint["Routes"] = Json::array({{{"NextHop", gateway}, {"DestinationPrefix", "0.0.0.0/0"}}});
  }
  return endpoint;
}

struct Request {
  std::string_view method;
  std::vector<std::string> path;  // "endpoints", id, "attach"
  Json body;
  bool is(std::string_view desired) const { return method == desired; }
  std::size_t depth() const { return path.size(); }
};

auto* Find(auto& objects, const std::string& id) {
  const auto guid = Guid::Parse(id);
  const auto found = guid ? objects.find(*guid) : objects.end();
  return found == objects.end() ? nullptr : &found->second;
}

Reply List(const auto& objects, auto show) {
  std::string items;
  for (const auto& [id, object] : objects)
    absl::StrAppend(&items, items.empty() ? "" : ",", show(object));
  return Answer(absl::StrCat("[", items, "]"));
}

// A list of objects, or one of them, as all kinds have it. `create` makes one from the body;
// `missing`: the code for an id that does not exist.
Reply Collection(const Request& request, auto& all, Hresult missing, auto show, auto create,
                 auto remove) {
  if (request.depth() == 1) {
    if (request.is("GET")) return List(all, show);
    if (!request.is("POST")) return Refuse(hresult::kRequestUnsupported);
    const Reply made = create();
    return AnswerWith(made, [&] { return show(*Find(all, made.text)); });
  }
  const auto* const object = Find(all, request.path[1]);
  if (object == nullptr) return Refuse(missing);
  if (request.is("GET")) return Answer(show(*object));
  if (!request.is("DELETE")) return Refuse(hresult::kRequestUnsupported);
  const Reply gone = remove(object->id);
  return gone.ok() ? Done() : gone;
}

Reply Networks(Core& core, const Request& request) {
  return Collection(
      request, core.state.networks,
      request.is("DELETE") ? hresult::kElementNotFound : hresult::kNetworkNotFound,
      [&](const NetworkObject& network) { return NetworkV1(core, network); },
      [&] { return CreateNetwork(core, Guid(), NetworkFromV1(request.body)); },
      [&](const Guid& id) { return DeleteNetwork(core, id); });
}

Reply CreateV1Endpoint(Core& core, const Json& body) {
  NetworkObject* const network = Find(core.state.networks, TextOf(Field(body, "VirtualNetwork")));
  if (network == nullptr) return Refuse(hresult::kNetworkNotFound);
  return CreateEndpoint(core, *network, Guid(), EndpointFromV1(body));
}

// attach, detach.
Reply Act(Core& core, EndpointObject& endpoint, const Request& request) {
  Reply reply = Refuse(hresult::kRequestUnsupported);
  if (request.path[2] == "attach") {
    const bool to_host = TextOf(Field(request.body, "SystemType")) != "Container";
    const auto compartment = NumberOf(Field(request.body, "CompartmentId"));
    const auto hosts = std::max<std::uint64_t>(1, compartment);
    reply = AttachEndpoint(core, endpoint, to_host ? static_cast<std::uint32_t>(hosts) : 0);
  } else if (request.path[2] == "detach") {
    reply = DetachEndpoint(core, endpoint);
  }
  return reply.ok() ? Done() : reply;
}

Reply Endpoints(Core& core, const Request& request) {
  auto& all = core.state.endpoints;
  const auto show = [&](const EndpointObject& endpoint) {
    return Dump(EndpointV1(core, endpoint));
  };
  EndpointObject* const endpoint = request.depth() == 1 ? nullptr : Find(all, request.path[1]);
  if (endpoint != nullptr && request.is("POST")) {
    if (request.depth() == 3) return Act(core, *endpoint, request);
    const Reply changed = UpdateEndpoint(core, *endpoint, EndpointFromV1(request.body));
    return AnswerWith(changed, [&] { return show(*endpoint); });
  }
  return Collection(
      request, all, hresult::kEndpointNotFound, show,
      [&] { return CreateV1Endpoint(core, request.body); },
      [&](const Guid& id) { return DeleteEndpoint(core, id); });
}

Reply Statistics(Core& core, const Request& request) {
  const EndpointObject* const endpoint =
      request.depth() == 2 ? Find(core.state.endpoints, request.path[1]) : nullptr;
  if (endpoint == nullptr) return Refuse(hresult::kEndpointNotFound);
  return Answer(Dump({{"EndpointId", endpoint->id.ToUpperString()},
                      {"BytesReceived", 0},
                      {"BytesSent", 0},
                      {"PacketsReceived", 0},
                      {"PacketsSent", 0}}));
}

Reply PolicyLists(Core& core, const Request& request) {
  return Collection(
      request, core.state.load_balancers, hresult::kElementNotFound,
      [](const LoadBalancerObject& list) { return Dump(LoadBalancerV1(list)); },
      [&] {
        const auto document = LoadBalancerFromV1(request.body);
        return document ? CreateLoadBalancer(core, Guid(), *document)
                        : Refuse(hresult::kInvalidPolicyType);
      },
      [&](const Guid& id) { return DeleteLoadBalancer(core, id); });
}

Reply Namespaces(Core& core, const Request& request) {
  auto& all = core.state.namespaces;
  const auto show = [](const NamespaceObject& space) { return Dump(NamespaceV1(space)); };
  NamespaceObject* const space = request.depth() == 3 ? Find(all, request.path[1]) : nullptr;
  if (space != nullptr) {
    const auto endpoint = Guid::Parse(TextOf(Field(Field(request.body, "Data"), "Id")));
    if (!endpoint) return Refuse(kGuidConversionFailure);
    Reply reply = Refuse(hresult::kRequestUnsupported);
    if (request.path[2] == "addresource") reply = AddToNamespace(core, *space, *endpoint);
    if (request.path[2] == "removeresource") reply = RemoveFromNamespace(core, *space, *endpoint);
    return AnswerWith(reply, [&] { return show(*space); });
  }
  return Collection(
      request, all, hresult::kElementNotFound, show,
      [&] { return CreateNamespace(core, Guid(), request.body); },
      [&](const Guid& id) { return DeleteNamespace(core, id); });
}

Reply Globals(Core& core, const Request& request) {
  if (request.depth() != 2 || request.path[1] != "version")
    return Refuse(hresult::kElementNotFound);
  const auto& [major, minor] = core.settings.version;
  return Answer(Dump({{"Major", major}, {"Minor", minor}}));
}

Reply Route(Core& core, const Request& request) {
  if (request.depth() == 0 || request.depth() > 3) return Refuse(hresult::kElementNotFound);
  const std::string& collection = request.path[0];
  if (collection == "networks" && request.depth() < 3) return Networks(core, request);
  if (collection == "endpoints") return Endpoints(core, request);
  if (collection == "endpointstats") return Statistics(core, request);
  if (collection == "policylists" && request.depth() < 3) return PolicyLists(core, request);
  if (collection == "namespaces") return Namespaces(core, request);
  if (collection == "globals") return Globals(core, request);
  return Refuse(hresult::kElementNotFound);
}

// Some failures are returned as a successful call with an error in its response.
Reply InV1Words(const Settings& settings, Reply reply) {
  if (reply.ok() || settings.v1_failures == V1Failures::kHresult) return reply;
  const bool as_text =
      settings.v1_failures == V1Failures::kText || reply.code == hresult::kEndpointNotFound;
  if (!as_text) return reply;
  Reply answer;
  answer.text = ErrorRecord(settings.language, reply.code, reply.text);
  return answer;
}

}  // namespace

Reply CallV1(Core& core, const std::string& method, const std::string& path,
             const std::string& text) {
  auto body = ParseDocument(text);
  if (!body) return InV1Words(core.settings, Refuse(hresult::kInvalidJson));
  const Request request{method, absl::StrSplit(path, '/', absl::SkipEmpty()), std::move(*body)};
  return InV1Words(core.settings, Route(core, request));
}

}  // namespace weft::hns::emulator
