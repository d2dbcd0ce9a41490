// SPDX-License-Identifier: Apache-2.0
// Which leases claim which subnet, who holds it, and which subnets lie inside one another. One
// address family.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <vector>

#include "control/lease/lease.h"

namespace weft::lease {

// Whether `a` goes before `b` in the contest for one subnet: the newer, then the lesser name, then
// the lesser UID.
bool Precedes(const Lease& a, const Lease& b);

// Points at leases that it does not own and that must not change or move while they are in. One
// thread.
class SubnetIndex {
 public:
  // Who held the subnet before a change and who holds it after; null: nobody.
  struct Change {
    const Lease* before = nullptr;
    const Lease* after = nullptr;
  };
  // O(log n) each. A lease is added once; Remove takes one that is in.
  Change Add(const IpPrefix& subnet, const Lease& lease);
  Change Remove(const IpPrefix& subnet, const Lease& lease);

  // The first of the subnet's claimants, or null.
  const Lease* Holder(const IpPrefix& subnet) const;
  // Another subnet of the index that strictly contains `subnet` or lies strictly inside it: the
  // longest around it, else the first inside; null if there is none. `subnet` itself need not be
  // in. O(log n × distinct lengths).
  const Lease* Nested(const IpPrefix& subnet) const;

  // Subnet → claimants, the holder first.
  const std::map<IpPrefix, std::vector<const Lease*>>& all() const { return claims_; }

 private:
  std::map<IpPrefix, std::vector<const Lease*>>
      claims_;  // ordered by base, then length: what is inside follows what is around
  std::array<std::size_t, 129> subnets_of_length_{};
};

}  // namespace weft::lease
