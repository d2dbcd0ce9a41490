// SPDX-License-Identifier: Apache-2.0
#include "control/lease/record_store.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace weft::lease {

RecordId RecordStore::Add(std::string_view bytes) {
  const RecordId record = Take(StepsOf(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), At(record));
  return record;
}

void RecordStore::Remove(RecordId record, std::size_t size) { GiveBack(record, StepsOf(size)); }

RecordId RecordStore::Replace(RecordId record, std::size_t size, std::string_view bytes) {
  if (StepsOf(size) != StepsOf(bytes.size())) {
    Remove(record, size);
    return Add(bytes);
  }
  std::copy(bytes.begin(), bytes.end(), At(record));
  return record;
}

RecordId RecordStore::Take(std::size_t steps) {
  if (steps > kPlaces) return NewChunk(steps);
  if (steps < free_.size() && free_[steps] != kNoRecord) {
    const RecordId record = free_[steps];
    std::memcpy(&free_[steps], At(record) + 1, sizeof(RecordId));
    return record;
  }
  if (steps > fresh_steps_) {
    if (fresh_steps_ > 0) GiveBack(fresh_, fresh_steps_);
    fresh_ = NewChunk(kPlaces);
    fresh_steps_ = kPlaces;
  }
  fresh_steps_ -= steps;
  return std::exchange(fresh_, fresh_ + static_cast<RecordId>(steps));
}

void RecordStore::GiveBack(RecordId record, std::size_t steps) {
  if (steps > kPlaces) {
    chunks_[record >> kPlaceBits].reset();
    no_chunks_.push_back(record >> kPlaceBits);
    return;
  }
  if (free_.size() <= steps) free_.resize(steps + 1, kNoRecord);
  char* const at = At(record);
  *at = static_cast<char>(kFree);
  std::memcpy(at + 1, &free_[steps], sizeof(RecordId));
  const auto count = static_cast<std::uint16_t>(steps);
  std::memcpy(at + 1 + sizeof(RecordId), &count, sizeof count);
  free_[steps] = record;
}

RecordId RecordStore::NewChunk(std::size_t steps) {
  std::size_t number = chunks_.size();
  if (no_chunks_.empty()) {
    chunks_.emplace_back();
  } else {
    number = no_chunks_.back();
    no_chunks_.pop_back();
  }
  assert(number < std::size_t{1} << (32 - kPlaceBits));  // 32 GiB
  chunks_[number] = std::make_unique_for_overwrite<char[]>(steps * kStep);
  return static_cast<RecordId>(number) << kPlaceBits;
}

}  // namespace weft::lease
