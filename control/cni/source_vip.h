// SPDX-License-Identifier: Apache-2.0
// The source VIP: an address of this node's PodCIDR that kube-proxy uses as the source of service
// traffic on an overlay network, and that no pod may have. It is reserved where the CNI plugin
// host-local keeps its reservations (containernetworking/plugins v1.9.1, backend/disk):
//
//   STORE/NETWORK/10.244.1.2   a reserved address: container id, CRLF, interface name
//   STORE/NETWORK/lock         held while addresses are given out or released
//   STORE/NETWORK/last_reserved_ip.0   where host-local goes on; left as it is
//
// The reservation has the ids that RKE2 uses, so that RKE2 and weft agree on one address, whichever
// runs first; those of Microsoft's scripts are adopted. No endpoint is made: kube-proxy does that.
// Paths are UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vxlan/ip_prefix.h"

namespace weft::cni {

// flanneld's default of --source-vip-store, which is host-local's own.
inline constexpr std::string_view kDefaultStore = "/var/lib/cni/networks";

struct SourceVipSpec {
  std::string store;    // folder
  std::string network;  // its name in HNS and in the CNI configuration
  IpPrefix subnet;      // this node's PodCIDR, IPv4
  friend bool operator==(const SourceVipSpec&, const SourceVipSpec&) = default;
};

// The reserved address; where there is none it reserves `preferred` if that is free, else the
// lowest free one, never the network's, the gateway's (the first) or the broadcast address. A
// reservation of ours outside the subnet, from an earlier PodCIDR, is released. Repeatable: what a
// killed run left is completed. FailedPrecondition: another process holds the lock, try again.
// ResourceExhausted: no address is free. Every error names the file or folder, the cause and the
// next step.
absl::StatusOr<IpAddress> ReserveSourceVip(
    const SourceVipSpec& spec, const std::optional<IpAddress>& preferred = std::nullopt);

// The reserved address, without a lock or a change; empty: there is none in the subnet, nor, with
// `or_former`, one of ours from an earlier PodCIDR.
absl::StatusOr<std::optional<IpAddress>> FindSourceVip(const SourceVipSpec& spec,
                                                       bool or_former = false);

// Whether `address` is reserved as source VIP now; reads one file.
bool IsSourceVip(const SourceVipSpec& spec, const IpAddress& address);

// Whether a file in host-local's store with this content is a source VIP's, ours, RKE2's or that of
// Microsoft's scripts, and no container's.
bool IsSourceVipContent(std::string_view content);

// sourceVip.json, in both shapes that scripts read: `.ip4.ip` and `.ips[0].address`.
std::string SourceVipJson(const IpAddress& address, const IpPrefix& subnet);

}  // namespace weft::cni
