// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/own_underlay.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weft::daemon {
namespace {

bool HasAddress(const HostFacts& facts, const IpAddress& address) {
  return std::any_of(
      facts.adapters.begin(), facts.adapters.end(), [&](const host::Adapter& adapter) {
        return std::any_of(
            adapter.addresses.begin(), adapter.addresses.end(),
            [&](const host::AssignedAddress& assigned) { return assigned.address == address; });
      });
}

// The annotation wins over the flag. Nobody publishes for a file: what it says of us is where peers
// send to.
std::string PublicIp(const std::string& flag, const lease::OwnNodeFamily& own,
                     const HostFacts& host) {
  if (!own.node_public_ip.empty()) return own.node_public_ip;
  const std::optional<IpAddress>& published = own.published_public_ip;
  return flag.empty() && published && HasAddress(host, *published) ? published->ToString() : flag;
}

}  // namespace

absl::StatusOr<InterfaceChoice> ChooseUnderlay(const Options& options, const control::NetConf& conf,
                                               const std::optional<lease::OwnNode>& node,
                                               const HostFacts& host) {
  InterfaceRequest request{conf.enable_ipv4,    conf.enable_ipv6,        options.iface,
                           options.iface_regex, options.iface_can_reach, options.public_ip,
                           options.public_ipv6};
  if (node) {
    request.public_ip = PublicIp(options.public_ip, node->v4, host);
    request.public_ipv6 = PublicIp(options.public_ipv6, node->v6, host);
  }
  return ChooseInterface(request, host);
}

std::string PublicIpTrouble(const lease::OwnNode& node, const InterfaceChoice& choice) {
  std::string trouble;
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const lease::OwnNodeFamily& own = family == IpFamily::kV4 ? node.v4 : node.v6;
    const std::optional<ChosenFamily>& chosen = choice.of(family);
    const std::optional<IpAddress>& published = own.published_public_ip;
    if (!chosen || !published || !own.public_ip_overwrite.empty()) continue;
    if (*published == chosen->public_ip) continue;
    absl::StrAppend(&trouble, trouble.empty() ? "" : "; ", "peers send to ", published->ToString(),
                    " as the leases say of this node, but its address is ",
                    chosen->public_ip.ToString(), " on ", choice.name,
                    ": correct the public-ip annotation, or --iface");
  }
  return trouble;
}

}  // namespace weft::daemon
