// SPDX-License-Identifier: Apache-2.0
#include "control/underlay/host_needs.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "control/lease/host_claims.h"

namespace weft::underlay {

lease::HostClaim ClaimOf(const IpAddress& address, std::string_view what) {
  return {*IpPrefix::From(address, address.bits()), absl::StrCat(what, " ", address.ToString())};
}

std::vector<lease::HostClaim> ClaimsOf(const HostFacts& host,
                                       const std::vector<IpAddress>& name_servers,
                                       const std::vector<std::string>& own_devices,
                                       std::uint32_t underlay_index) {
  std::vector<lease::HostClaim> claims;
  std::set<std::uint32_t> ways_out = {underlay_index};  // adapters with default routes, too
  for (const auto* const routes : {&host.routes_v4, &host.routes_v6}) {
    for (const host::Route& route : *routes) {
      if (route.destination.length() != 0) continue;
      ways_out.insert(route.adapter_index);
      if (route.gateway) claims.push_back(ClaimOf(*route.gateway, "the default gateway"));
    }
  }
  for (const host::Adapter& adapter : host.adapters) {
    if (std::ranges::find(own_devices, adapter.name) != own_devices.end()) continue;
    const bool unused = !adapter.up || !adapter.link ||
                        (!adapter.wireless && !ReasonAgainst(adapter, host.adapters).empty());
    for (const host::AssignedAddress& assigned : adapter.addresses) {
      const auto prefix = IpPrefix::From(assigned.address, assigned.prefix_length);
      const bool single = !prefix || prefix->length() == assigned.address.bits();
      const bool idle = !ways_out.contains(adapter.index) && (unused || single);
      lease::HostClaim& address =
          claims.emplace_back(ClaimOf(assigned.address, "this node's address"));
      absl::StrAppend(&address.what, " on ", adapter.name);
      address.own_address = true;
      address.idle = idle;
      if (idle || single) continue;
      claims.push_back({*prefix, absl::StrCat("the prefix ", prefix->ToString(), " connected to ",
                                              adapter.name)});
    }
  }
  for (const IpAddress& server : name_servers) claims.push_back(ClaimOf(server, "name server"));
  // No lease may overlap reserved ranges anyway, and each pod's veth has a link-local address.
  std::erase_if(claims, [](const lease::HostClaim& claim) {
    return lease::ReservedRange(claim.prefix).has_value();
  });
  return claims;
}

void HostNeeds::Update(const std::vector<lease::HostClaim>& claims, control::TimePoint now) {
  for (const lease::HostClaim& claim : claims) seen_[claim.prefix] = {claim.what, now};
  std::erase_if(seen_, [now](const auto& at) { return now - at.second.last > kMemory; });
}

std::vector<lease::HostClaim> HostNeeds::Claims(IpFamily family) const {
  std::vector<lease::HostClaim> claims;
  for (const auto& [prefix, seen] : seen_) {
    if (prefix.family() == family) claims.push_back({prefix, seen.what});
  }
  return claims;
}

void HostNeeds::Fill(lease::OwnIdentity& own, std::vector<lease::HostClaim> of_host,
                     const std::vector<IpAddress>& servers, control::TimePoint now) {
  const auto half = [&own](const lease::HostClaim& claim) -> lease::OwnFamily& {
    return claim.prefix.family() == IpFamily::kV4 ? own.v4 : own.v6;
  };
  std::ranges::sort(of_host, {}, &lease::HostClaim::prefix);
  for (const lease::HostClaim& claim : of_host)
    if (claim.own_address) half(claim).addresses.push_back(claim);
  for (const IpAddress& address : servers)
    of_host.push_back(ClaimOf(address, "the API server's address"));
  // Claims inside our own subnet: no other node has that subnet, and ours may change.
  std::erase_if(of_host, [&half](const lease::HostClaim& claim) {
    return claim.idle || (half(claim).subnet && half(claim).subnet->Contains(claim.prefix));
  });
  Update(of_host, now);
  own.v4.claims = Claims(IpFamily::kV4);
  own.v6.claims = Claims(IpFamily::kV6);
}

}  // namespace weft::underlay
