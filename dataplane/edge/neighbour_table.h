// SPDX-License-Identifier: Apache-2.0
// The pods' MAC addresses by IP address, learnt from ARP and neighbour discovery. Bounded; entries
// expire.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "dataplane/packet.h"
#include "vxlan/ip_address.h"
#include "vxlan/mac_address.h"

namespace weft::dataplane {

// Set-associative by hash; a full set replaces its oldest entry, so that a pod that forges
// addresses displaces others but never grows the table. Times are those of the batches. One thread.
class NeighbourTable {
 public:
  // The rate of hosts (RFC 4861 RETRANS_TIMER, RFC 1122 section 2.3.2.1).
  static constexpr Timestamp kRequestInterval = std::chrono::seconds(1);

  // Has room for `capacity` addresses if they spread evenly. An address not seen for `lifetime`
  // expires.
  NeighbourTable(std::size_t capacity, Timestamp lifetime);

  void Learn(const IpAddress& address, const MacAddress& mac, Timestamp now);
  std::optional<MacAddress> Find(const IpAddress& address, Timestamp now) const;

  // Whether to request the MAC of `address`: it is unknown or past half its lifetime, and was not
  // requested within kRequestInterval. If true, `address` counts as requested now.
  bool ShouldRequest(const IpAddress& address, Timestamp now);

  // Known addresses, including expired ones until they are displaced.
  std::size_t size() const { return known_; }

 private:
  static constexpr std::size_t kWays = 8;

  struct Entry {
    IpAddress address;
    MacAddress mac;
    bool used = false;
    bool known = false;  // false: only requested
    bool requested = false;
    Timestamp seen{};
    Timestamp requested_at{};
  };

  Entry* SetOf(const IpAddress& address);
  const Entry* FindEntry(const IpAddress& address) const;
  // The address's entry, or a new one that replaces the lowest ranked of its set.
  Entry& FindOrReplace(const IpAddress& address);

  Timestamp lifetime_;
  std::vector<Entry> entries_;  // sets of kWays
  std::size_t known_ = 0;
};

}  // namespace weft::dataplane
