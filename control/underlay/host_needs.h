// SPDX-License-Identifier: Apache-2.0
// What this host must reach, so that no lease may contain it: its addresses and connected prefixes,
// its default gateways, its name servers, the API server.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "control/clock.h"
#include "control/lease/own_identity.h"
#include "control/underlay/interface_choice.h"

namespace weft::underlay {

// Adapters named in `own_devices` are our tunnels: they are skipped, as are ranges that no lease
// can have. Idle are addresses without neighbours (/32), and those of an adapter that is down, has
// no link, or is an internal switch; not if a default route leaves by it, or it is the underlay,
// which may have no link for a while.
std::vector<lease::HostClaim> ClaimsOf(const HostFacts& host,
                                       const std::vector<IpAddress>& name_servers,
                                       const std::vector<std::string>& own_devices,
                                       std::uint32_t underlay_index = 0);
// `what`: "the API server's address".
lease::HostClaim ClaimOf(const IpAddress& address, std::string_view what);

// Remembers claims for a while: an address that an adapter loses (HNS creates a vSwitch, DHCP)
// comes back, and until then no lease may contain it. One thread.
class HostNeeds {
 public:
  static constexpr control::Duration kMemory = std::chrono::minutes(10);

  // Completes `own`, whose subnets are known: by ClaimsOf and the API servers' addresses.
  void Fill(lease::OwnIdentity& own, std::vector<lease::HostClaim> of_host,
            const std::vector<IpAddress>& servers, control::TimePoint now);

  // `claims`: all present ones.
  void Update(const std::vector<lease::HostClaim>& claims, control::TimePoint now);
  // Of the family, in order.
  std::vector<lease::HostClaim> Claims(IpFamily family) const;

 private:
  struct Seen {
    std::string what;
    control::TimePoint last;
  };
  std::map<IpPrefix, Seen> seen_;
};

}  // namespace weft::underlay
