// SPDX-License-Identifier: Apache-2.0
// A hash set of record numbers, searched by a key that the record contains.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "control/lease/packed_lease.h"
#include "control/lease/record_store.h"

namespace weft::lease {

// `Key` has a member `hash` and a function Matches(record). The set contains at most one record per
// key. The hash is stored next to the number, so that a search rarely reads a record in vain and a
// rehash reads none. The store outlives the set. One thread.
template <typename Key>
class RecordSet {
 public:
  struct Slot {
    std::uint32_t hash;
    mutable RecordId record;  // may be replaced by another record with the same key
  };

  explicit RecordSet(const RecordStore& store) : slots_(0, Hash(), Equal{&store}) {}

  // kNoRecord if there is none.
  RecordId Find(const Key& key) const {
    const auto at = slots_.find(key);
    return at == slots_.end() ? kNoRecord : at->record;
  }
  // Call shortly before a search for the key.
  void Prefetch(const Key& key) const { slots_.prefetch(key); }
  // The slot of the key; a new slot holds the record that `make` returns. Valid until the set
  // changes.
  const Slot& FindOrAdd(const Key& key, const auto& make) {
    return *slots_.lazy_emplace(key, [&](const auto& construct) {
      construct(Slot{key.hash, make()});
    });
  }
  void Erase(const Key& key) { slots_.erase(slots_.find(key)); }
  std::size_t size() const { return slots_.size(); }
  bool empty() const { return slots_.empty(); }
  // In no order.
  auto begin() const { return slots_.begin(); }
  auto end() const { return slots_.end(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Slot& slot) const { return slot.hash; }
    std::size_t operator()(const Key& key) const { return key.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Slot& a, const Slot& b) const { return a.record == b.record; }
    bool operator()(const Slot& slot, const Key& key) const {
      return slot.hash == key.hash && key.Matches(PackedLease(store->At(slot.record)));
    }
    const RecordStore* store;
  };

  absl::flat_hash_set<Slot, Hash, Equal> slots_;
};

}  // namespace weft::lease
