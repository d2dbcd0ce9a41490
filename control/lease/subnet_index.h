// SPDX-License-Identifier: Apache-2.0
// Maps each subnet to the lease that holds it, and finds nested subnets. One address family.
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

// Refers to records of a store that it does not own; a record's value must not change while it is
// in the index. One thread.
class SubnetIndex {
 public:
  SubnetIndex(const RecordStore& store, IpFamily family);

  // Add: a lease with a half of this family whose subnet has no holder. Remove: a lease that is in
  // the index. O(1); O(log n) after the first call of Inside or Nested that needed the order.
  void Add(RecordId lease);
  void Remove(RecordId lease);
  // Call shortly before Add; the lease need not be a record yet.
  void Prefetch(const PackedLease& lease) const { holders_.Prefetch(KeyOf(lease)); }

  // The holder of `subnet`, or kNoRecord.
  RecordId Holder(const IpPrefix& subnet) const;
  // The holder of the longest subnet that strictly contains `subnet` and has at least this length;
  // or kNoRecord. O(distinct lengths).
  RecordId Around(const IpPrefix& subnet, int least_length = 0) const;
  // The holder of the longest subnet that contains `address`, or kNoRecord.
  RecordId Around(const IpAddress& address) const;
  // The holders of the subnets strictly inside `subnet`, in order.
  std::vector<RecordId> Inside(const IpPrefix& subnet) const;
  // The holder of a subnet that strictly contains `subnet` or lies strictly inside it: the longest
  // around it, else the first inside; kNoRecord if there is none. `subnet` itself need not be in
  // the index. O(1) while all subnets have its length, else O(log n + distinct lengths).
  RecordId Nested(const IpPrefix& subnet) const;

  // Whether some subnet may lie in another.
  bool has_many_lengths() const { return lengths_in_use_ > 1; }
  std::size_t size() const { return holders_.size(); }
  // The holders, in no order.
  void ForEachHolder(const auto& visit) const {
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
  // Subnets ordered by base, then length: a subnet is followed by those inside it.
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
  mutable std::optional<Ordered> ordered_;  // built when first needed
};

}  // namespace weft::lease
