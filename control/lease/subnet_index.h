// SPDX-License-Identifier: Apache-2.0
// Which leases claim which subnet, who holds it, and which subnets lie inside one another. One
// address family.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "control/lease/packed_lease.h"
#include "control/lease/record_set.h"
#include "control/lease/record_store.h"

namespace weft::lease {

// Names records of a store that it does not own; while they are in, their value does not change.
// One thread.
class SubnetIndex {
 public:
  SubnetIndex(const RecordStore& store, IpFamily family);

  // Who held the subnet before a change and who holds it after; kNoRecord: nobody.
  struct Change {
    RecordId before = kNoRecord;
    RecordId after = kNoRecord;
  };
  // A lease with a half of this family is added once; Remove takes one that is in. O(1), but for
  // O(claimants of the subnet) and, once anybody has asked what lies inside a subnet, O(log n).
  Change Add(RecordId lease);
  Change Remove(RecordId lease);
  // An Add of this lease follows soon; it need not be a record yet.
  void Prefetch(const PackedLease& lease) const { holders_.Prefetch(KeyOf(lease)); }

  // The first of the subnet's claimants, or kNoRecord.
  RecordId Holder(const IpPrefix& subnet) const;
  // Holder of another subnet of the index that strictly contains `subnet` or lies strictly inside
  // it: the longest around it, else the first inside; kNoRecord if there is none. `subnet` itself
  // need not be in. While all subnets have its length, that is known without a look; else
  // O(log n + distinct lengths).
  RecordId Nested(const IpPrefix& subnet) const;

  // Whether some subnet may have more than one claimant, or lie in another.
  bool has_contests() const { return !contests_.empty(); }
  bool has_many_lengths() const { return lengths_in_use_ > 1; }
  std::size_t size() const { return holders_.size(); }
  // The holders, in no order.
  template <typename Visit>
  void ForEachHolder(const Visit& visit) const {
    for (const auto& slot : holders_) visit(slot.record);
  }

 private:
  struct Key {
    Key(std::string_view subnet_octets, IpFamily its_family);
    bool Matches(const PackedLease& lease) const { return lease.subnet_octets(family) == octets; }
    std::string_view octets;
    IpFamily family;
    std::uint32_t hash;
  };
  // Subnets in order of base, then length: what is inside follows what is around.
  using Ordered = absl::btree_set<IpPrefix>;

  PackedLease Read(RecordId lease) const { return PackedLease(store_.At(lease)); }
  Key KeyOf(const PackedLease& lease) const;
  void CountLength(const PackedLease& lease, bool added);
  const Ordered& ordered() const;

  const RecordStore& store_;
  IpFamily family_;
  RecordSet<Key> holders_;
  // All claimants of the subnets that have more than one, the holder first.
  absl::flat_hash_map<IpPrefix, std::vector<RecordId>> contests_;
  std::array<std::size_t, 129> subnets_of_length_{};
  std::size_t lengths_in_use_ = 0;
  mutable std::optional<Ordered> ordered_;  // from the first question on
};

}  // namespace weft::lease
