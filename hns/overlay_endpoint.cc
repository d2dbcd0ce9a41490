// SPDX-License-Identifier: Apache-2.0
#include "hns/overlay_endpoint.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace weft::hns {
namespace {

// The formats of win-overlay (0E-2A) and kube-proxy (02-11).
std::string MacOf(const OverlayEndpointSpec& spec) {
  if (spec.mac) return spec.mac->ToString();
  const std::uint32_t v4 = spec.address.v4();
  return absl::StrFormat("%s-%02x-%02x-%02x-%02x", spec.remote ? "02-11" : "0E-2A", v4 >> 24,
                         v4 >> 16 & 0xff, v4 >> 8 & 0xff, v4 & 0xff);
}

// By longest prefix match; empty: no route covers `address`.
std::optional<IpAddress> ProviderOf(const Network& network, const IpAddress& address) {
  std::optional<RemoteSubnetRoute> best;
  for (const Policy& policy : network.policies) {
    const auto route = ReadRemoteSubnetRoute(policy);
    if (!route || !route->destination.Contains(address)) continue;
    if (!best || route->destination.length() > best->destination.length()) best = route;
  }
  return best ? std::optional(best->provider_address) : std::nullopt;
}

std::string SubnetsOf(const Network& network) {
  return absl::StrJoin(network.subnets, ", ", [](std::string* out, const Subnet& subnet) {
    out->append(subnet.prefix.ToString());
  });
}

}  // namespace

absl::StatusOr<Endpoint> OverlayEndpoint(const Network& network, const OverlayEndpointSpec& spec) {
  const std::string ip = spec.address.ToString();
  if (!network.IsOfType("Overlay")) {
    return absl::FailedPreconditionError(
        absl::StrCat("the network ", network.name, " is of type ", network.type,
                     ", not an overlay; \"flannelctl hns list\" lists the overlays"));
  }
  if (!spec.address.is_v4()) {
    return absl::InvalidArgumentError(
        absl::StrCat(ip, " is an IPv6 address; HNS's overlay networks carry IPv4 only"));
  }
  const auto subnet =
      std::find_if(network.subnets.begin(), network.subnets.end(),
                   [&](const Subnet& each) { return each.prefix.Contains(spec.address); });
  const bool here = subnet != network.subnets.end();
  if (here == spec.remote) {
    return absl::InvalidArgumentError(absl::StrCat(
        ip, here ? " is in " : " is not in ", network.name, "'s own subnet ", SubnetsOf(network),
        here ? ", of which other nodes have no pods; leave out --remote"
             : "; for a pod of another node add --remote"));
  }
  const std::optional<IpAddress> provider = !spec.remote ? network.provider_address()
                                            : spec.provider_address
                                                ? spec.provider_address
                                                : ProviderOf(network, spec.address);
  if (!provider) {
    return absl::FailedPreconditionError(
        spec.remote ? absl::StrCat("no route of ", network.name, " covers ", ip,
                                   "; name its node with --provider-address")
                    : absl::StrCat("HNS has not given ", network.name,
                                   " its management IP yet; try again in a minute"));
  }
  Endpoint endpoint;
  endpoint.name = spec.name.empty() ? absl::StrCat(kOwnEndpoint, ip) : spec.name;
  endpoint.network = network.id;
  endpoint.policies = {ProviderAddressPolicy(*provider)};
  endpoint.ip_configurations = {{spec.address, 0}};
  endpoint.mac = MacOf(spec);
  if (spec.remote) {
    endpoint.flags = kRemoteEndpoint;
  } else {
    endpoint.routes = subnet->routes;
  }
  return endpoint;
}

std::string WhyKept(const Endpoint& endpoint) {
  if (!endpoint.compartment_namespace.is_zero()) {
    return absl::StrCat("is in use by a container, in the namespace ",
                        endpoint.compartment_namespace.ToString());
  }
  if (!absl::StartsWith(endpoint.name, kOwnEndpoint)) {
    return absl::StrCat("is not weft's, whose names begin with \"", kOwnEndpoint,
                        "\": a CNI plugin or kube-proxy may need it");
  }
  return {};
}

}  // namespace weft::hns
