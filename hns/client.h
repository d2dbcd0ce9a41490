// SPDX-License-Identifier: Apache-2.0
// HNS with types: every handle is closed, every refusal is a Status with its HRESULT (hresult.h).
// As few calls as the functions allow; nothing is cached.
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

// An object that HNS lists and that cannot be read.
struct Unread {
  Guid id;
  std::string why;
};

// An open network: one call for each Read or change instead of three. The handle is invalid once
// the service restarts.
class OpenedNetwork {
 public:
  OpenedNetwork(Api& api, Handle handle, std::string name)
      : api_(&api), handle_(handle), name_(std::move(name)) {}
  ~OpenedNetwork();
  OpenedNetwork(OpenedNetwork&&) noexcept;
  OpenedNetwork& operator=(OpenedNetwork&&) noexcept;

  absl::StatusOr<Network> Read();
  // One HcnModifyNetwork each, whatever the number of policies; no call if there are none. HNS may
  // have applied a part of a refused batch: read before the next change.
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
  // Whether `status` means that the service does not run: by its number. ERROR_NOT_SUPPORTED may
  // also mean that the service lacks a function (WSL's WslCoreNetworkingSupport.h), so then the
  // version is read.
  bool ServiceGone(const absl::Status& status);

  // All networks, or those named `name` (HNS filters, and the names are compared here again). An
  // object that is deleted while the list is read is left out. One that cannot be read is appended
  // to `unread`; without `unread` it fails the list, as a stopped service does. `documents` gets
  // those of the result as HNS returned them, members that Network leaves out included.
  absl::StatusOr<std::vector<Network>> Networks(std::string_view name = "",
                                                std::vector<Unread>* unread = nullptr,
                                                std::vector<std::string>* documents = nullptr);
  // Completes `network` with what only schema 1 shows (FillFromSchema1).
  absl::Status ReadSchema1(Network& network);
  absl::StatusOr<OpenedNetwork> Open(const Network& network);
  absl::StatusOr<OpenedNetwork> Create(const Network& spec);
  // Ok if it does not exist.
  absl::Status DeleteNetwork(const Guid& id, std::string_view name);

  // The endpoints of `network`, or all if it is zero. `unread` and `documents` as above.
  absl::StatusOr<std::vector<Endpoint>> Endpoints(const Guid& network = Guid(),
                                                  std::vector<Unread>* unread = nullptr,
                                                  std::vector<std::string>* documents = nullptr);
  // Creates it on the network `spec.network` and returns it as HNS created it. If only reading it
  // back fails, the error says so and the endpoint exists.
  absl::StatusOr<Endpoint> CreateEndpoint(const Endpoint& spec);
  absl::Status DeleteEndpoint(const Guid& id, std::string_view name);

 private:
  Api& api_;
};

}  // namespace weft::hns
