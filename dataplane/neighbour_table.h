// SPDX-License-Identifier: Apache-2.0
// Which pod address has which MAC address, as ARP and neighbour discovery have shown: bounded and
// aging.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "dataplane/packet.h"
#include "vxlan/ip_address.h"
#include "vxlan/mac_address.h"

namespace weft::dataplane {

// Addresses share small sets by hash; a full set gives up its oldest member, so that a pod
// inventing addresses displaces others but never grows the table. Times are the batches'. One
// thread.
class NeighbourTable {
 public:
  // Our own choice; hosts ask no more often (RFC 4861 RETRANS_TIMER, RFC 1122 section 2.3.2.1).
  static constexpr Timestamp kAskInterval = std::chrono::seconds(1);

  // At least `capacity` addresses if they spread evenly. An address not seen for `lifetime` is
  // forgotten.
  NeighbourTable(std::size_t capacity, Timestamp lifetime);

  void Learn(const IpAddress& address, const MacAddress& mac, Timestamp now);
  std::optional<MacAddress> Find(const IpAddress& address, Timestamp now) const;

  // Whether `address` is unknown or past half its lifetime and was not asked for within
  // kAskInterval. The caller then asks: it is remembered as asked for.
  bool ShouldAsk(const IpAddress& address, Timestamp now);

  // Known addresses, forgotten ones included until they are displaced.
  std::size_t size() const { return known_; }

 private:
  static constexpr std::size_t kWays = 8;

  struct Entry {
    IpAddress address;
    MacAddress mac;
    bool used = false;
    bool known = false;  // false: only asked for
    bool asked = false;
    Timestamp seen{};
    Timestamp asked_at{};
  };

  Entry* SetOf(const IpAddress& address);
  const Entry* FindEntry(const IpAddress& address) const;
  // The address's entry, or a new one in the place of the set's least worthy.
  Entry& FindOrReplace(const IpAddress& address);

  Timestamp lifetime_;
  std::vector<Entry> entries_;  // sets of kWays
  std::size_t known_ = 0;
};

}  // namespace weft::dataplane
