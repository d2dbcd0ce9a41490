// SPDX-License-Identifier: Apache-2.0
// Compares the desired state with the actual one; the difference is what remains to be done. After
// Felix's deltatracker.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"

namespace weft::lease {

// The maps are ordered, so that operations always come in the same order; a change invalidates
// references into them. `Same(desired, actual)` returns whether the actual value is acceptable. A
// key is pending until the owner reports the result through SetActual or EraseActual, so a failed
// operation stays pending. One thread.
template <typename Key, typename Value, typename Same = std::equal_to<Value>>
class DifferenceTracker {
 public:
  using Map = absl::btree_map<Key, Value>;

  void SetDesired(const Key& key, Value value) {
    desired_.insert_or_assign(key, std::move(value));
    Compare(key);
  }
  void EraseDesired(const Key& key) {
    desired_.erase(key);
    Compare(key);
  }
  void ReplaceDesired(Map desired) {
    desired_ = std::move(desired);
    CompareAll();
  }

  void SetActual(const Key& key, Value value) {
    actual_.insert_or_assign(key, std::move(value));
    Compare(key);
  }
  void EraseActual(const Key& key) {
    actual_.erase(key);
    Compare(key);
  }
  // Call after reading back everything that is ours.
  void ReplaceActual(Map actual) {
    actual_ = std::move(actual);
    CompareAll();
  }

  const Map& desired() const { return desired_; }
  const Map& actual() const { return actual_; }
  // Desired, but absent or different in the actual state.
  const absl::btree_set<Key>& pending_upserts() const { return pending_upserts_; }
  // Present in the actual state, but not desired.
  const absl::btree_set<Key>& pending_removals() const { return pending_removals_; }
  bool in_sync() const { return pending_upserts_.empty() && pending_removals_.empty(); }
  // The number of desired keys that are in sync.
  std::size_t applied() const { return desired_.size() - pending_upserts_.size(); }

 private:
  void Compare(const Key& key) {
    const auto desired_at = desired_.find(key);
    const auto actual_at = actual_.find(key);
    if (desired_at == desired_.end()) {
      pending_upserts_.erase(key);
      if (actual_at == actual_.end()) {
        pending_removals_.erase(key);
      } else {
        pending_removals_.insert(key);
      }
      return;
    }
    pending_removals_.erase(key);
    if (actual_at != actual_.end() && Same()(desired_at->second, actual_at->second)) {
      pending_upserts_.erase(key);
    } else {
      pending_upserts_.insert(key);
    }
  }

  void CompareAll() {
    pending_upserts_.clear();
    pending_removals_.clear();
    for (const auto& [key, value] : desired_) Compare(key);
    for (const auto& [key, value] : actual_) Compare(key);
  }

  Map desired_;
  Map actual_;
  absl::btree_set<Key> pending_upserts_;
  absl::btree_set<Key> pending_removals_;
};

}  // namespace weft::lease
