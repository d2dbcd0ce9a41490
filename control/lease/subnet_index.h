// SPDX-License-Identifier: Apache-2.0
// Which lease holds which subnet, and which subnets lie inside one another. One address family.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"
#include "control/lease/packed_lease.h"
#include "control/lease/record_set.h"
#include "control/lease/record_store.h"

namespace weft::lease {

// Names records of a store that it does not own; while they are in, their value does not change.
// One thread.
class SubnetIndex {
 public:
  SubnetIndex(const RecordStore& store, IpFamily family);

  // A lease with a half of this family, whose subnet has no holder, is added; Remove takes one that
  // is in. O(1), and O(log n) once what lies inside a subnet was asked for.
  void Add(RecordId lease);
  void Remove(RecordId lease);
  // An Add of this lease follows soon; it need not be a record yet.
  void Prefetch(const PackedLease& lease) const { holders_.Prefetch(KeyOf(lease)); }

  // Or kNoRecord.
  RecordId Holder(const IpPrefix& subnet) const;
  // Holder of the longest subnet that strictly contains `subnet`, of at least this length; or
  // kNoRecord. O(distinct lengths).
  RecordId Around(const IpPrefix& subnet, int least_length = 0) const;
  // Holder of the longest subnet that `address` lies in, or kNoRecord.
  RecordId Around(const IpAddress& address) const;
  // Holders of the subnets that lie strictly inside `subnet`, in order.
  std::vector<RecordId> Inside(const IpPrefix& subnet) const;
  // Holder of another subnet of the index that strictly contains `subnet` or lies strictly inside
  // it: the longest around it, else the first inside; kNoRecord if there is none. `subnet` itself
  // need not be in. While all subnets have its length, that is known without a look; else
  // O(log n + distinct lengths).
  RecordId Nested(const IpPrefix& subnet) const;

  // Whether some subnet may lie in another.
  bool has_many_lengths() const { return lengths_in_use_ > 1; }
  std::size_t size() const { return holders_.size(); }
  // The holders, in no order.
  template <typename Visit>
  void ForEachHolder(const Visit& visit) const {
    for (const auto& slot : holders_) visit(slot.record);
  }

 private:
  struct Key {
    Key(std::string_view subnet_bytes, IpFamily its_family);
    bool Matches(const PackedLease& lease) const { return lease.subnet_bytes(family) == bytes; }
    std::string_view bytes;
    IpFamily family;
    std::uint32_t hash;
  };
  // Subnets in order of base, then length: what is inside follows what is around.
  using Ordered = absl::btree_set<IpPrefix>;

  PackedLease Read(RecordId lease) const { return PackedLease(store_.At(lease)); }
  Key KeyOf(const PackedLease& lease) const;
  // The first holder whose length is `from` or less, down to `to`.
  RecordId LongestHolder(const IpAddress& base, int from, int to) const;
  bool HasLongerThan(int length) const;
  void CountLength(const PackedLease& lease, bool added);
  const Ordered& ordered() const;

  const RecordStore& store_;
  IpFamily family_;
  RecordSet<Key> holders_;
  std::array<std::size_t, 129> subnets_of_length_{};
  std::size_t lengths_in_use_ = 0;
  mutable std::optional<Ordered> ordered_;  // from the first question on
};

}  // namespace weft::lease
