// SPDX-License-Identifier: Apache-2.0
// The host's packet filter rules for pods, upstream v0.28.9's pkg/trafficmngr as values: packets to
// outside the cluster are masqueraded, and forwarding accepts the pods' packets. On Linux through
// nf_tables, and through the program iptables where the host still has legacy tables; on Windows
// the CNI plugins do it through HNS.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vxlan/ip_prefix.h"

namespace weft::host {

enum class FilterVerdict : std::uint8_t { kReturn, kAccept, kMasquerade };

// Matches a packet to which every given member applies. The verdict of the first matching rule
// counts.
struct FilterRule {
  struct Side {
    IpPrefix prefix;
    bool outside = false;  // matches addresses outside the prefix
    friend bool operator==(const Side&, const Side&) = default;
  };
  struct Mark {
    std::uint32_t value = 0, mask = 0;
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  IpFamily family = IpFamily::kV4;
  std::optional<Mark> mark;
  std::optional<Side> source, destination;
  FilterVerdict verdict = FilterVerdict::kReturn;
  bool fully_random = false;  // kMasquerade: fully random source ports
  friend bool operator==(const FilterRule&, const FilterRule&) = default;
};

// Of one address family.
struct PodNetwork {
  IpPrefix network;  // net-conf's
  IpPrefix subnet;   // our PodCIDR
};

struct MasqueradeOptions {
  // net-conf's EnableNFTables: upstream's two rule sets do not masquerade the same packets.
  bool nftables = false;
  bool fully_random = true;
};
std::vector<FilterRule> MasqueradeRules(const PodNetwork& pods, const MasqueradeOptions& options);
std::vector<FilterRule> ForwardRules(const IpPrefix& network);

enum class FilterPart : std::uint8_t {
  kMasquerade,  // the nf_tables table `inet weft`, ours alone
  kForward,  // rules with our comment at the end of chain FORWARD of nf_tables' `ip filter`, `ip6
             // filter`
  kForwardLegacy,  // the same in the tables of iptables-legacy
};

// One thread. Errors name the object, the cause and the next step.
class PacketFilter {
 public:
  virtual ~PacketFilter() = default;
  // Whether `part` is unchanged since the last Put of this object, and `rules` are those of that
  // Put: the rules of an earlier process are unknown. A missing FORWARD chain needs no rules.
  // kForwardLegacy is PermissionDenied where only root may read which tables there are.
  virtual absl::StatusOr<bool> Has(FilterPart part, const std::vector<FilterRule>& rules) = 0;
  // Replaces all our rules in `part` atomically; empty `rules` remove them.
  virtual absl::Status Put(FilterPart part, const std::vector<FilterRule>& rules) = 0;
};

// The packet filter of this process's network namespace. Null where the system has none.
std::unique_ptr<PacketFilter> OpenPacketFilter();

}  // namespace weft::host
