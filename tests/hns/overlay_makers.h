// SPDX-License-Identifier: Apache-2.0
// A node, its overlay and its peers, for the tests of hns.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "hns/overlay_plan.h"
#include "hns/route_plan.h"

namespace weft::hns {

inline IpPrefix Cidr(std::string_view text) { return IpPrefix::Parse(text).value(); }
inline IpAddress Ip(std::string_view text) { return IpAddress::Parse(text).value(); }
inline MacAddress Mac(std::string_view text) { return MacAddress::Parse(text).value(); }
inline IsolationId Vsid(std::uint32_t value) { return IsolationId::From(value).value(); }

inline OverlaySpec Spec() {
  return {.name = "flannel.4096",
          .subnet = Cidr("10.244.3.0/24"),
          .isolation_id = Vsid(4096),
          .adapter = "Ethernet",
          .node_address = Ip("192.168.1.10")};
}

// `text` is the destination; provider and MAC follow from its third byte, and from `mac`.
inline RemoteSubnetRoute RouteTo(std::string_view text,
                                 std::string_view mac = "0e:2a:00:00:00:01") {
  const IpPrefix destination = Cidr(text);
  const std::uint32_t node = (destination.base().v4() >> 8) & 0xffff;
  return {destination, Vsid(4096), IpAddress::V4(0xAC10'0000 | node), Mac(mac)};
}

inline RemoteSubnetRoutes RoutesTo(std::initializer_list<std::string_view> destinations) {
  RemoteSubnetRoutes routes;
  for (const std::string_view text : destinations) routes.emplace(Cidr(text), RouteTo(text));
  return routes;
}

template <typename Keeper>
void SetRoutes(Keeper& keeper, RemoteSubnetRoutes routes, bool may_remove) {
  keeper.routes().Set(std::move(routes), may_remove);
  keeper.RoutesChanged();
}

// 10.A.B.0/24, none of them of the default spec.
inline RemoteSubnetRoutes ManyRoutes(std::size_t count) {
  RemoteSubnetRoutes routes;
  for (std::uint32_t i = 0; i < count; ++i) {
    const IpPrefix destination = *IpPrefix::From(IpAddress::V4(0x0A00'0000 | i << 8), 24);
    routes.emplace(destination, RouteTo(destination.ToString()));
  }
  return routes;
}

}  // namespace weft::hns
