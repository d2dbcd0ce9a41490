// SPDX-License-Identifier: Apache-2.0
// Endpoints of overlay networks that a person asks for (`flannelctl hns endpoint`): a pod's here,
// or one that stands for a pod of another node, as kube-proxy makes them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hns/document/endpoint.h"
#include "hns/document/network.h"

namespace weft::hns {

// HNS keeps no mark of who made an endpoint; the beginning of its name is ours.
inline constexpr std::string_view kOwnEndpoint = "weft-";

struct OverlayEndpointSpec {
  std::string name = {};  // empty: "weft-ADDRESS"
  IpAddress address = {};
  std::optional<MacAddress> mac =
      {};  // empty: made of the address, as CNI plugins and kube-proxy do
  bool remote = false;
  // Of a remote one: the node where its pod lives. Empty: as the network's routes say.
  std::optional<IpAddress> provider_address = {};
};

// FailedPrecondition or InvalidArgument: `network` takes no such endpoint, and why.
absl::StatusOr<Endpoint> OverlayEndpoint(const Network& network, const OverlayEndpointSpec& spec);

// Why `endpoint` is not to be deleted unasked: a container uses it, or it is not one of ours. The
// end of a sentence about it; empty: nothing speaks against it.
std::string WhyKept(const Endpoint& endpoint);

}  // namespace weft::hns
