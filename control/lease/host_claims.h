// SPDX-License-Identifier: Apache-2.0
// Address ranges that a lease's subnet or public IP must not be in, whatever the source of the
// lease.
#pragma once

#include <optional>
#include <vector>

#include "control/lease/own_identity.h"
#include "vxlan/ip_prefix.h"

namespace weft::lease {

// The reserved range that `subnet` overlaps: "this network", loopback, link-local, multicast,
// broadcast (RFC 6890). 100.64/10, 198.18/15 and 240/4 are not among them: they are in use as pod
// networks.
std::optional<IpPrefix> ReservedRange(const IpPrefix& subnet);

// Whether outer packets can be sent to `address`. Link-local IPv4 is accepted; link-local IPv6 is
// not, because it would need a link.
bool IsNodeAddress(const IpAddress& address);

// The first of `claims` that `subnet` equals or contains, or null. `claims` is ordered by prefix.
// O(log n).
const HostClaim* FindClaim(const std::vector<HostClaim>& claims, const IpPrefix& subnet);

}  // namespace weft::lease
