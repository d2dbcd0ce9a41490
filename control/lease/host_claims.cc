// SPDX-License-Identifier: Apache-2.0
#include "control/lease/host_claims.h"

#include <algorithm>
#include <initializer_list>

namespace weft::lease {
namespace {

std::vector<IpPrefix> Parsed(std::initializer_list<const char*> texts) {
  std::vector<IpPrefix> prefixes;
  for (const char* const text : texts) prefixes.push_back(*IpPrefix::Parse(text));
  return prefixes;
}

const std::vector<IpPrefix>& ReservedRanges(IpFamily family) {
  static const std::vector<IpPrefix> kV4 =
      Parsed({"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32"});
  static const std::vector<IpPrefix> kV6 = Parsed({"::/127", "fe80::/10", "ff00::/8"});
  return family == IpFamily::kV4 ? kV4 : kV6;
}

}  // namespace

std::optional<IpPrefix> ReservedRange(const IpPrefix& subnet) {
  for (const IpPrefix& range : ReservedRanges(subnet.family()))
    if (range.Overlaps(subnet)) return range;
  return std::nullopt;
}

bool IsNodeAddress(const IpAddress& address) {
  const std::vector<IpPrefix>& ranges = ReservedRanges(address.family());
  return (address.is_v4() && address.IsLinkLocal()) ||
         std::none_of(ranges.begin(), ranges.end(),
                      [&](const IpPrefix& range) { return range.Contains(address); });
}

const HostClaim* FindClaim(const std::vector<HostClaim>& claims, const IpPrefix& subnet) {
  // A prefix whose base is inside `subnet` cannot be shorter than `subnet`, unless it has the same
  // base.
  const auto at = std::lower_bound(
      claims.begin(), claims.end(), subnet,
      [](const HostClaim& claim, const IpPrefix& sought) { return claim.prefix < sought; });
  return at != claims.end() && subnet.Contains(at->prefix) ? &*at : nullptr;
}

}  // namespace weft::lease
