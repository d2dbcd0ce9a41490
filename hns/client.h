// SPDX-License-Identifier: Apache-2.0
// HNS in typed words: every handle closed, every refusal a Status with its number (hresult.h). As
// few calls as the functions allow; nothing is cached.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hns/api/api.h"
#include "hns/document/endpoint.h"
#include "hns/document/network.h"
#include "hns/version.h"

namespace weft::hns {

// Listed by HNS, and not to be read.
struct Unread {
  Guid id;
  std::string why;
};

// An open network: one call for each Read or change, instead of three. Ends with the service.
class OpenedNetwork {
 public:
  OpenedNetwork(Api& api, Handle handle, std::string name)
      : api_(&api), handle_(handle), name_(std::move(name)) {}
  ~OpenedNetwork();
  OpenedNetwork(OpenedNetwork&&) noexcept;
  OpenedNetwork& operator=(OpenedNetwork&&) noexcept;

  absl::StatusOr<Network> Read();
  // One HcnModifyNetwork each, whatever the number of policies; none for none. Whether a refused
  // batch was applied in part is not known: read before the next change.
  absl::Status Add(const std::vector<Policy>& policies);
  absl::Status Remove(const std::vector<Policy>& policies);
  Handle handle() const { return handle_; }

 private:
  absl::Status Modify(std::string_view request, const std::vector<Policy>& policies);
  Api* api_;
  Handle handle_;
  std::string name_;  // for messages
};

// One thread at a time. `api` outlives it and what it opened.
class Client {
 public:
  explicit Client(Api& api) : api_(api) {}

  // HNSCall GET /globals/version. Unavailable: the service does not run.
  absl::StatusOr<Version> ReadVersion();
  // Whether `status` is because the service is not there: by its number, and where that is
  // ERROR_NOT_SUPPORTED, which both a service that is not there and one that lacks a function may
  // answer (WSL's WslCoreNetworkingSupport.h), by asking for the version.
  bool ServiceGone(const absl::Status& status);

  // All, or those that HNS finds under `name`, compared here once more. An object that goes while
  // the list is read is left out. One that cannot be read fails the list, as does a service that
  // goes; with `unread` it is entered there instead.
  absl::StatusOr<std::vector<Network>> Networks(std::string_view name = "",
                                                std::vector<Unread>* unread = nullptr);
  // What schema 1 shows beyond what was read (FillFromSchema1).
  absl::Status AskSchema1(Network& network);
  absl::StatusOr<OpenedNetwork> Open(const Network& network);
  absl::StatusOr<OpenedNetwork> Create(const Network& spec);
  // One that is not there is fine.
  absl::Status DeleteNetwork(const Guid& id, std::string_view name);

  // Of `network`, or of all where it is zero. `unread` as above.
  absl::StatusOr<std::vector<Endpoint>> Endpoints(const Guid& network = Guid(),
                                                  std::vector<Unread>* unread = nullptr);
  // On the network `spec.network`; the endpoint as HNS made it. When only reading it back fails,
  // the error says so and the endpoint stands.
  absl::StatusOr<Endpoint> CreateEndpoint(const Endpoint& spec);
  absl::Status DeleteEndpoint(const Guid& id, std::string_view name);

 private:
  Api& api_;
};

}  // namespace weft::hns
