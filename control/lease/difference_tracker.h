// SPDX-License-Identifier: Apache-2.0
// The desired state against the actual one: the difference is what remains to be done. After
// Felix's deltatracker.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"

namespace weft::lease {

// Ordered maps, so that operations come in the same order every time; a change invalidates
// references into them. `Same(desired, actual)` says whether the actual value will do. A key is
// pending until the owner has reported, through SetActual or EraseActual, what it did; so a failed
// operation stays pending by itself. One thread.
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
  // After reading back everything that is ours.
  void ReplaceActual(Map actual) {
    actual_ = std::move(actual);
    CompareAll();
  }

  const Map& desired() const { return desired_; }
  const Map& actual() const { return actual_; }
  // Desired, and absent or different in place.
  const absl::btree_set<Key>& pending_upserts() const { return pending_upserts_; }
  // In place, and not desired.
  const absl::btree_set<Key>& pending_removals() const { return pending_removals_; }
  bool in_sync() const { return pending_upserts_.empty() && pending_removals_.empty(); }
  // Desired and in place as desired.
  std::size_t applied() const { return desired_.size() - pending_upserts_.size(); }

 private:
  void Compare(const Key& key) {
    const auto wanted = desired_.find(key);
    const auto there = actual_.find(key);
    if (wanted == desired_.end()) {
      pending_upserts_.erase(key);
      if (there == actual_.end()) {
        pending_removals_.erase(key);
      } else {
        pending_removals_.insert(key);
      }
      return;
    }
    pending_removals_.erase(key);
    if (there != actual_.end() && Same()(wanted->second, there->second)) {
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
