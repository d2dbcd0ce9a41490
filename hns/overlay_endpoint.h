// SPDX-License-Identifier: Apache-2.0
// Endpoints of overlay networks for `flannelctl hns endpoint`: a local pod's, or a remote one,
// which represents a pod of another node, as kube-proxy creates them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hns/document/endpoint.h"
#include "hns/document/network.h"

namespace weft::hns {

// Prefix of our endpoints' names: HNS does not store an endpoint's creator.
inline constexpr std::string_view kOwnEndpoint = "weft-";

struct OverlayEndpointSpec {
  std::string name = {};  // empty: "weft-ADDRESS"
  IpAddress address = {};
  std::optional<MacAddress> mac =
      {};  // empty: derived from the address, as CNI plugins and kube-proxy do
  bool remote = false;
  // Of a remote endpoint: address of its pod's node. Empty: taken from the network's routes.
  std::optional<IpAddress> provider_address = {};
};

// FailedPrecondition or InvalidArgument: why `network` cannot have such an endpoint.
absl::StatusOr<Endpoint> OverlayEndpoint(const Network& network, const OverlayEndpointSpec& spec);

// Why `endpoint` is deleted only with --force: a container uses it, or it is not ours. Continues a
// sentence whose subject is the endpoint. Empty: it may be deleted.
std::string WhyKept(const Endpoint& endpoint);

}  // namespace weft::hns
