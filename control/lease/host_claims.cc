// SPDX-License-Identifier: Apache-2.0
#include "control/lease/host_claims.h"

#include <algorithm>

namespace weft::lease {
namespace {

constexpr const char* kReserved[] = {
    "0.0.0.0/8",          "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4",
    "255.255.255.255/32", "::/127",      "fe80::/10",      "ff00::/8"};

}  // namespace

std::optional<IpPrefix> ReservedRange(const IpPrefix& subnet) {
  static const std::vector<IpPrefix> kRanges = [] {
    std::vector<IpPrefix> parsed;
    for (const char* const range : kReserved) parsed.push_back(*IpPrefix::Parse(range));
    return parsed;
  }();
  for (const IpPrefix& range : kRanges) {
    if (range.Overlaps(subnet)) return range;
  }
  return std::nullopt;
}

bool IsNodeAddress(const IpAddress& address) {
  return (address.is_v4() && address.IsLinkLocal()) ||
         !ReservedRange(*IpPrefix::Of(address, address.bits()));
}

const HostClaim* FindClaim(const std::vector<HostClaim>& claims, const IpPrefix& subnet) {
  // A base inside `subnet` cannot carry a shorter length, unless it is the subnet's own base.
  const auto at = std::lower_bound(
      claims.begin(), claims.end(), subnet,
      [](const HostClaim& claim, const IpPrefix& sought) { return claim.prefix < sought; });
  return at != claims.end() && subnet.Contains(at->prefix) ? &*at : nullptr;
}

}  // namespace weft::lease
