// SPDX-License-Identifier: Apache-2.0
// Any bytes as an answer of HNS: a parsed value round-trips through our own document, and text for
// people is one bounded line.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hns/api/hresult.h"
#include "hns/bridge.h"
#include "hns/document/endpoint.h"
#include "hns/document/network.h"
#include "hns/document/query.h"
#include "hns/version.h"

namespace {

using namespace weft::hns;

void Promise(bool kept) {
  if (!kept) std::abort();
}

void ReadNetwork(std::string_view text) {
  const auto network = ParseNetwork(text);
  if (!network.ok()) return;
  const auto again = ParseNetwork(NetworkJson(*network));
  Promise(again.ok() && again->id == network->id && again->name == network->name);
  Promise(again->policies == network->policies && again->subnets == network->subnets);
  Promise(again->dns_servers == network->dns_servers && again->flags == network->flags);
  Promise(again->dr_mac() == network->dr_mac());
  Promise(again->provider_address() == network->provider_address());
  ModifyPoliciesJson("Remove", network->policies);
}

void ReadEndpoint(std::string_view text) {
  const auto endpoint = ParseEndpoint(text);
  if (!endpoint.ok()) return;
  const auto again = ParseEndpoint(EndpointJson(*endpoint));
  Promise(again.ok() && again->id == endpoint->id && again->network == endpoint->network);
  Promise(again->ip_configurations == endpoint->ip_configurations);
  Promise(again->policies == endpoint->policies && again->routes == endpoint->routes);
  Promise(again->mac == endpoint->mac && again->flags == endpoint->flags);
}

void ReadRoute(std::string_view text) {
  const auto route = ReadRemoteSubnetRoute({"RemoteSubnetRoute", std::string(text)});
  if (route) Promise(ReadRemoteSubnetRoute(RemoteSubnetRoutePolicy(*route)) == route);
}

void ReadBridges(std::string_view text) {
  const auto networks = ParseBridgeNetworks(text);
  if (networks.ok()) Promise(networks->size() * 36 <= text.size());
  const auto endpoints = ParseBridgeEndpoints(text);
  if (networks.ok() && endpoints.ok()) {
    (void)PlanBridge({"cbr0", *weft::IpPrefix::Parse("10.244.3.0/24"), "", "", {}}, *networks,
                     *endpoints);
  }
}

void ShowRecord(std::string_view text) {
  const absl::Status status = StatusOf("do it", hresult::kInvalidArgument, text);
  Promise(HresultOf(status) == hresult::kInvalidArgument);
  Promise(status.message().size() < 300);
  for (const char c : status.message()) Promise(static_cast<unsigned char>(c) >= ' ');
  Promise(StatusOf("do it", hresult::kOk, text).ok() == text.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReadNetwork(text);
  ReadEndpoint(text);
  ReadRoute(text);
  ReadBridges(text);
  ShowRecord(text);
  if (const auto ids = ParseIds(text); ids.ok()) Promise(ids->size() * 38 <= size);
  (void)ParseVersion(text);
  return 0;
}
