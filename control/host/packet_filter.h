// SPDX-License-Identifier: Apache-2.0
// What the host's packet filter does for pods, upstream v0.28.9's pkg/trafficmngr restated as
// values: their source is masqueraded on the way out of the cluster, and forwarding accepts them.
// Linux through nf_tables, and through the program iptables where the host still has the tables
// before it; Windows' CNI plugins do it through HNS.
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

// Matches a packet that fits every member given. Of the first rule that matches, the verdict
// counts.
struct FilterRule {
  struct Side {
    IpPrefix prefix;
    bool outside = false;  // not in it
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
  bool fully_random = false;  // source ports of kMasquerade
  friend bool operator==(const FilterRule&, const FilterRule&) = default;
};

// One family's.
struct PodNetwork {
  IpPrefix network;  // net-conf's
  IpPrefix subnet;   // our PodCIDR
};

struct MasqueradeOptions {
  // net-conf's EnableNFTables: upstream's two ways do not masquerade the same packets.
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
  // Whether `part` is as the last Put of this object left it and `rules` are what that put: an
  // earlier process's are not known. A FORWARD chain that does not exist needs no rules.
  virtual absl::StatusOr<bool> Has(FilterPart part, const std::vector<FilterRule>& rules) = 0;
  // Replaces all of ours in `part`, at once; without `rules` nothing of ours is left there.
  virtual absl::Status Put(FilterPart part, const std::vector<FilterRule>& rules) = 0;
};

// Of this process's network namespace. Null where the system has none.
std::unique_ptr<PacketFilter> OpenPacketFilter();

}  // namespace weft::host
