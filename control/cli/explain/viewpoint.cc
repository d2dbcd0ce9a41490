// SPDX-License-Identifier: Apache-2.0
#include "control/cli/explain/viewpoint.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/lease/peer_state.h"

namespace weft::cli {
namespace {

std::string_view Name(IpFamily family) { return family == IpFamily::kV4 ? "IPv4" : "IPv6"; }

}  // namespace

absl::StatusOr<Viewpoint> MakeViewpoint(const admin::LeaseList& list, IpFamily family) {
  Viewpoint view;
  bool found = false;
  for (const admin::LeaseRow& row : list.leases) {
    const std::optional<admin::LeaseHalf>& half = family == IpFamily::kV4 ? row.v4 : row.v6;
    if (!half) continue;
    if (half->state == lease::Name(lease::PeerState::kSelf)) {
      found = true;
      view.node = row.node;
      view.own = *half;
      continue;
    }
    NamedHalf peer{row.node, *half};
    // Nothing can be sent there, even if the document of another flanneld says "usable".
    if (!half->public_ip || !half->vtep_mac) peer.half.usable = false;
    if (peer.half.usable)
      view.remotes.push_back({row.node, half->subnet, *half->public_ip, *half->vtep_mac});
    view.peers.push_back(std::move(peer));
  }
  if (!found) {
    return absl::NotFoundError(absl::StrCat("no ", Name(family), " lease of this node is in ",
                                            list.source,
                                            "; with --from, name this node with --node-name"));
  }
  if (!view.own.vtep_mac) {
    return absl::FailedPreconditionError(
        absl::StrCat("node ", view.node, " has published no VTEP MAC for ", Name(family),
                     " yet, so nothing can be addressed to it; check its flanneld"));
  }
  // For display only: an unspecified address would be of the wrong family for the template.
  view.local.outer_source = view.own.public_ip.value_or(view.own.subnet.base());
  view.local.mac = *view.own.vtep_mac;
  if (view.own.vni) view.local.vni = Vni::From(*view.own.vni).value_or(kFlannelWindowsVni);
  return view;
}

const NamedHalf* Viewpoint::FindCovering(const IpAddress& address, bool usable) const {
  const NamedHalf* best = nullptr;
  for (const NamedHalf& peer : peers) {
    if (peer.half.usable != usable || !peer.half.subnet.Contains(address)) continue;
    if (best == nullptr || peer.half.subnet.length() > best->half.subnet.length()) best = &peer;
  }
  return best;
}

const NamedHalf* Viewpoint::FindByPublicIp(const IpAddress& address) const {
  for (const NamedHalf& peer : peers)
    if (peer.half.usable && peer.half.public_ip == address) return &peer;
  return nullptr;
}

const NamedHalf* Viewpoint::FindByMac(const MacAddress& mac) const {
  for (const NamedHalf& peer : peers)
    if (peer.half.vtep_mac == mac) return &peer;
  return nullptr;
}

}  // namespace weft::cli
