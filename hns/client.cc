// SPDX-License-Identifier: Apache-2.0
#include "hns/client.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/api/response.h"
#include "hns/document/query.h"

namespace weft::hns {
namespace {

std::string_view NameOf(Kind kind) { return kind == Kind::kNetwork ? "network" : "endpoint"; }

std::string Object(Kind kind, const Guid& id, std::string_view name) {
  return absl::StrCat("the ", NameOf(kind), " ", name.empty() ? id.ToString() : std::string(name));
}

absl::Status StatusOf(std::string_view what, const Reply& reply) {
  return hns::StatusOf(what, reply.code, reply.error_record);
}

// Closes its handle.
class Opened {
 public:
  Opened(Api& api, Kind kind, Handle handle) : api_(api), kind_(kind), handle_(handle) {}
  ~Opened() {
    if (handle_ != Handle::kNone) api_.Close(kind_, handle_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  Handle get() const { return handle_; }
  Handle release() { return std::exchange(handle_, Handle::kNone); }

 private:
  Api& api_;
  const Kind kind_;
  Handle handle_;
};

// The document of the object `id`.
absl::StatusOr<std::string> Document(Api& api, Kind kind, const Guid& id,
                                     const std::string& query) {
  const std::string what = Object(kind, id, "");
  const Reply opened = api.Open(kind, id);
  const Opened handle(api, kind, opened.handle);
  if (auto status = StatusOf("open " + what, opened); !status.ok()) return status;
  Reply properties = api.Query(kind, handle.get(), query);
  if (auto status = StatusOf("read " + what, properties); !status.ok()) return status;
  return std::move(properties.text);
}

// Passes the document of every object that `query` finds to `parse`. An object that is deleted
// meanwhile is left out; one that cannot be read is appended to `unread`, unless that is null.
absl::Status ForEach(Api& api, Kind kind, const std::string& query, std::vector<Unread>* unread,
                     const std::function<absl::Status(std::string_view document)>& parse) {
  const std::string what = absl::StrCat("list the ", NameOf(kind), "s");
  const Reply list = api.Enumerate(kind, query);
  if (auto status = StatusOf(what, list); !status.ok()) return status;
  const auto ids = ParseIds(list.text);
  if (!ids.ok()) return Prefixed(what, ids.status());
  for (const Guid& id : *ids) {
    const auto document = Document(api, kind, id, query);
    if (absl::IsNotFound(document.status())) continue;
    absl::Status status = document.status();
    if (status.ok()) {
      status = parse(*document);
      if (status.ok()) continue;
      status = Prefixed(absl::StrCat("read ", Object(kind, id, "")), status);
    } else {
      status = Prefixed(what, status);
    }
    if (unread == nullptr || absl::IsUnavailable(status)) return status;
    unread->push_back({id, std::string(status.message())});
  }
  return absl::OkStatus();
}

absl::Status Delete(Api& api, Kind kind, const Guid& id, std::string_view name) {
  const Reply reply = api.Delete(kind, id);
  if (IsNotFound(reply.code)) return absl::OkStatus();
  return StatusOf("delete " + Object(kind, id, name), reply);
}

}  // namespace

OpenedNetwork::~OpenedNetwork() {
  if (handle_ != Handle::kNone) api_->Close(Kind::kNetwork, handle_);
}

OpenedNetwork::OpenedNetwork(OpenedNetwork&& other) noexcept
    : api_(other.api_),
      handle_(std::exchange(other.handle_, Handle::kNone)),
      name_(std::move(other.name_)) {}

OpenedNetwork& OpenedNetwork::operator=(OpenedNetwork&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(handle_, other.handle_);
  std::swap(name_, other.name_);
  return *this;
}

absl::StatusOr<Network> OpenedNetwork::Read() {
  const std::string what = "read the network " + name_;
  const Reply reply = api_->Query(Kind::kNetwork, handle_, QueryJson());
  if (auto status = StatusOf(what, reply); !status.ok()) return status;
  absl::StatusOr<Network> network = ParseNetwork(reply.text);
  if (!network.ok()) return Prefixed(what, network.status());
  return network;
}

absl::Status OpenedNetwork::Add(const std::vector<Policy>& policies) {
  return Modify("Add", policies);
}

absl::Status OpenedNetwork::Remove(const std::vector<Policy>& policies) {
  return Modify("Remove", policies);
}

absl::Status OpenedNetwork::Modify(std::string_view request, const std::vector<Policy>& policies) {
  if (policies.empty()) return absl::OkStatus();
  const Reply reply = api_->Modify(Kind::kNetwork, handle_, ModifyPoliciesJson(request, policies));
  const std::string several = policies.size() == 1
                                  ? " policy"
                                  : absl::StrCat(" and ", policies.size() - 1, " more policies");
  return StatusOf(absl::StrCat(request == "Add" ? "add the " : "remove the ", policies[0].type,
                               several, request == "Add" ? " to" : " of", " the network ", name_),
                  reply);
}

absl::StatusOr<Version> Client::ReadVersion() {
  const Reply reply = api_.Call("GET", "/globals/version", "");
  constexpr std::string_view kWhat = "read the version of HNS";
  if (auto response = ResponseOf(kWhat, reply); !response.ok()) return response.status();
  absl::StatusOr<Version> version = ParseVersion(reply.text);
  if (!version.ok()) return Prefixed(kWhat, version.status());
  return version;
}

bool Client::ServiceGone(const absl::Status& status) {
  const auto code = HresultOf(status);
  if (!code) return false;
  return IsServiceGone(*code) || (*code == hresult::kNotSupported && !ReadVersion().ok());
}

absl::StatusOr<std::vector<Network>> Client::Networks(std::string_view name,
                                                      std::vector<Unread>* unread,
                                                      std::vector<std::string>* documents) {
  std::vector<Network> networks;
  const std::string query = name.empty() ? QueryJson() : QueryJson("Name", name);
  const auto parse = [&](std::string_view document) {
    absl::StatusOr<Network> network = ParseNetwork(document);
    if (!network.ok()) return network.status();
    if (!name.empty() && network->name != name) return absl::OkStatus();
    networks.push_back(*std::move(network));
    if (documents) documents->emplace_back(document);
    return absl::OkStatus();
  };
  if (absl::Status status = ForEach(api_, Kind::kNetwork, query, unread, parse); !status.ok())
    return status;
  return networks;
}

absl::Status Client::ReadSchema1(Network& network) {
  const std::string what = absl::StrCat("read the network ", network.name, " in schema 1");
  const absl::StatusOr<Response> response = ResponseOf(
      what, api_.Call("GET", absl::StrCat("/networks/", network.id.ToUpperString()), ""));
  if (!response.ok()) return response.status();
  FillFromSchema1(response->output, network);
  return absl::OkStatus();
}

absl::StatusOr<OpenedNetwork> Client::Open(const Network& network) {
  const Reply reply = api_.Open(Kind::kNetwork, network.id);
  Opened handle(api_, Kind::kNetwork, reply.handle);
  const std::string what = "open " + Object(Kind::kNetwork, network.id, network.name);
  if (auto status = StatusOf(what, reply); !status.ok()) return status;
  return OpenedNetwork(api_, handle.release(), network.name);
}

absl::StatusOr<OpenedNetwork> Client::Create(const Network& spec) {
  const Reply reply = api_.Create(Kind::kNetwork, Handle::kNone, spec.id, NetworkJson(spec));
  Opened handle(api_, Kind::kNetwork, reply.handle);
  const std::string what = "create " + Object(Kind::kNetwork, spec.id, spec.name);
  if (auto status = StatusOf(what, reply); !status.ok()) return status;
  return OpenedNetwork(api_, handle.release(), spec.name);
}

absl::Status Client::DeleteNetwork(const Guid& id, std::string_view name) {
  return Delete(api_, Kind::kNetwork, id, name);
}

absl::StatusOr<std::vector<Endpoint>> Client::Endpoints(const Guid& network,
                                                        std::vector<Unread>* unread,
                                                        std::vector<std::string>* documents) {
  std::vector<Endpoint> endpoints;
  const std::string query =
      network.is_zero() ? QueryJson() : QueryJson("VirtualNetwork", network.ToString());
  const auto parse = [&](std::string_view document) {
    absl::StatusOr<Endpoint> endpoint = ParseEndpoint(document);
    if (!endpoint.ok()) return endpoint.status();
    if (!network.is_zero() && endpoint->network != network) return absl::OkStatus();
    endpoints.push_back(*std::move(endpoint));
    if (documents) documents->emplace_back(document);
    return absl::OkStatus();
  };
  if (absl::Status status = ForEach(api_, Kind::kEndpoint, query, unread, parse); !status.ok())
    return status;
  return endpoints;
}

absl::StatusOr<Endpoint> Client::CreateEndpoint(const Endpoint& spec) {
  const std::string object = Object(Kind::kEndpoint, spec.id, spec.name);
  const std::string what = "create " + object;
  const Reply parent = api_.Open(Kind::kNetwork, spec.network);
  const Opened network(api_, Kind::kNetwork, parent.handle);
  if (auto status =
          StatusOf(absl::StrCat(what, ": open its network ", spec.network.ToString()), parent);
      !status.ok()) {
    return status;
  }
  const Reply created = api_.Create(Kind::kEndpoint, network.get(), spec.id, EndpointJson(spec));
  const Opened endpoint(api_, Kind::kEndpoint, created.handle);
  if (auto status = StatusOf(what, created); !status.ok()) return status;
  const Reply properties = api_.Query(Kind::kEndpoint, endpoint.get(), QueryJson());
  if (auto status = StatusOf("read the new " + object.substr(4), properties); !status.ok())
    return status;
  absl::StatusOr<Endpoint> parsed = ParseEndpoint(properties.text);
  if (!parsed.ok()) return Prefixed("read the new " + object.substr(4), parsed.status());
  return parsed;
}

absl::Status Client::DeleteEndpoint(const Guid& id, std::string_view name) {
  return Delete(api_, Kind::kEndpoint, id, name);
}

}  // namespace weft::hns
