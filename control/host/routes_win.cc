// SPDX-License-Identifier: Apache-2.0
#include "control/host/routes_win.h"

#include "absl/strings/str_cat.h"

namespace weft::host {
namespace {

std::string TextOf(std::string_view verb, const Route& route) {
  return absl::StrCat(verb, " route ", route.destination.ToString(),
                      route.gateway ? absl::StrCat(" via ", route.gateway->ToString()) : "",
                      " on adapter ", route.adapter_index);
}

// InitializeIpForwardEntry sets infinite lifetimes, and invalid values for protocol and metric.
MIB_IPFORWARD_ROW2 RowOf(const IpHelper& helper, const Route& route) {
  MIB_IPFORWARD_ROW2 row{};
  helper.initialize_route(&row);
  row.InterfaceIndex = route.adapter_index;
  row.DestinationPrefix.Prefix = SocketAddressOf(route.destination.base());
  row.DestinationPrefix.PrefixLength = static_cast<UINT8>(route.destination.length());
  row.NextHop.si_family = FamilyNumber(route.destination.family());
  if (route.gateway) row.NextHop = SocketAddressOf(*route.gateway);
  row.Protocol = static_cast<NL_ROUTE_PROTOCOL>(MIB_IPPROTO_NETMGMT);
  row.Metric = route.metric;
  return row;
}

// "cannot set forwarding of adapter 7 (IPv4)"
std::string TextOf(std::string_view verb, std::uint32_t adapter_index, IpFamily family) {
  return absl::StrCat(verb, " forwarding of adapter ", adapter_index, " for ",
                      family == IpFamily::kV4 ? "IPv4" : "IPv6");
}

MIB_IPINTERFACE_ROW InterfaceRow(const IpHelper& helper, std::uint32_t adapter_index,
                                 IpFamily family) {
  MIB_IPINTERFACE_ROW row{};
  helper.initialize_interface(&row);
  row.Family = FamilyNumber(family);
  row.InterfaceIndex = adapter_index;
  return row;
}

}  // namespace

std::optional<Route> RouteOfRow(const MIB_IPFORWARD_ROW2& row) {
  const std::optional<IpAddress> base = AddressOf(row.DestinationPrefix.Prefix);
  const std::optional<IpPrefix> destination =
      base ? IpPrefix::From(*base, row.DestinationPrefix.PrefixLength) : std::nullopt;
  if (!destination) return std::nullopt;
  Route route;
  route.destination = *destination;
  const std::optional<IpAddress> gateway = AddressOf(row.NextHop);
  if (gateway && !gateway->IsUnspecified()) route.gateway = gateway;
  route.adapter_index = row.InterfaceIndex;
  route.metric = row.Metric;
  route.marked = row.Protocol == MIB_IPPROTO_NETMGMT;
  route.claimed = !route.marked;
  if (row.Protocol == MIB_IPPROTO_LOCAL) route.kind = RouteKind::kDerived;
  return route;
}

absl::Status PutRoute(const IpHelper& helper, const Route& route) {
  const std::string what = TextOf("put", route);
  if (!helper.can_write_routes()) return NotHere(what);
  const MIB_IPFORWARD_ROW2 row = RowOf(helper, route);
  const DWORD code = helper.create_route(&row);
  if (code == NO_ERROR) return absl::OkStatus();
  const absl::Status refused = Failure(what, code);
  return code == ERROR_OBJECT_ALREADY_EXISTS ? absl::AlreadyExistsError(refused.message())
                                             : refused;
}

absl::Status ReplaceRoute(const IpHelper& helper, const Route& route) {
  const absl::Status put = PutRoute(helper, route);
  if (!absl::IsAlreadyExists(put)) return put;
  const std::string what = TextOf("put", route);
  const MIB_IPFORWARD_ROW2 row = RowOf(helper, route);
  // The key is prefix, next hop and interface; protocol and metric may differ.
  MIB_IPFORWARD_ROW2 there = row;
  DWORD code = helper.get_route(&there);
  if (code != NO_ERROR) return Failure(what, code);
  if (there.Protocol == MIB_IPPROTO_NETMGMT && there.Metric == row.Metric) return absl::OkStatus();
  if (there.Protocol == MIB_IPPROTO_NETMGMT) {
    there.Metric = row.Metric;
    code = helper.set_route(&there);
    return code == NO_ERROR ? absl::OkStatus() : Failure(what, code);
  }
  code = helper.delete_route(&there);
  if (code == NO_ERROR || code == ERROR_NOT_FOUND) code = helper.create_route(&row);
  return code == NO_ERROR ? absl::OkStatus() : Failure(what, code);
}

absl::Status RemoveRoute(const IpHelper& helper, const Route& route) {
  const std::string what = TextOf("remove", route);
  if (!helper.can_write_routes()) return NotHere(what);
  const MIB_IPFORWARD_ROW2 row = RowOf(helper, route);
  const DWORD code = helper.delete_route(&row);
  return code == NO_ERROR || code == ERROR_NOT_FOUND ? absl::OkStatus() : Failure(what, code);
}

absl::Status WriteForwarding(const IpHelper& helper, std::uint32_t adapter_index, IpFamily family,
                             bool on) {
  const std::string what = TextOf("set", adapter_index, family);
  if (!helper.can_write_interfaces()) return NotHere(what);
  MIB_IPINTERFACE_ROW row = InterfaceRow(helper, adapter_index, family);
  DWORD code = helper.get_interface(&row);
  if (code != NO_ERROR) return Failure(what, code);
  if ((row.ForwardingEnabled != FALSE) == on) return absl::OkStatus();
  row.ForwardingEnabled = on ? TRUE : FALSE;
  // Get fills this in for IPv4, and Set refuses it as a wrong parameter.
  if (family == IpFamily::kV4) row.SitePrefixLength = 0;
  code = helper.set_interface(&row);
  return code == NO_ERROR ? absl::OkStatus() : Failure(what, code);
}

absl::StatusOr<bool> ReadForwarding(const IpHelper& helper, std::uint32_t adapter_index,
                                    IpFamily family) {
  const std::string what = TextOf("read", adapter_index, family);
  if (!helper.can_write_interfaces()) return NotHere(what);
  MIB_IPINTERFACE_ROW row = InterfaceRow(helper, adapter_index, family);
  const DWORD code = helper.get_interface(&row);
  if (code != NO_ERROR) return Failure(what, code);
  return row.ForwardingEnabled != FALSE;
}

}  // namespace weft::host
