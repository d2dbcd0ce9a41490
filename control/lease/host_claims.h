// SPDX-License-Identifier: Apache-2.0
// What a lease's subnet and public IP must not be, from any source.
#pragma once

#include <optional>
#include <vector>

#include "control/lease/own_identity.h"
#include "vxlan/ip_prefix.h"

namespace weft::lease {

// The range of no network's addresses that `subnet` overlaps: "this network", loopback, link-local,
// multicast, broadcast (RFC 6890). 100.64/10, 198.18/15 and 240/4 are in use as pod networks.
std::optional<IpPrefix> ReservedRange(const IpPrefix& subnet);

// Whether outer packets can be sent to it. Link-local IPv4 can; IPv6 would need to name a link.
bool IsNodeAddress(const IpAddress& address);

// The first of `claims`, which are in the order of their prefixes, that `subnet` equals or
// contains, or null. O(log n).
const HostClaim* FindClaim(const std::vector<HostClaim>& claims, const IpPrefix& subnet);

}  // namespace weft::lease
