// SPDX-License-Identifier: Apache-2.0
#include "dataplane/address_index.h"

#include <bit>

namespace weft::dataplane {
namespace {

// A copy of a bucket of 64 keys has about 3 KiB; 100,000 keys then need a directory of 16 KiB.
constexpr std::size_t kKeysPerBucket = 64;
constexpr std::size_t kMinSlots = 8;

// A bucket grows when more than three quarters of its slots are used.
bool IsCrowded(std::size_t keys, std::size_t slots) { return keys * 4 > slots * 3; }

}  // namespace

AddressIndexWriter::AddressIndexWriter(Edition& edition)
    : edition_(edition), index_(edition.Make<AddressIndex>()) {
  for (int i = 0; i < 2; ++i) {
    Bucket* const bucket = edition.Make<Bucket>();
    Rebuild(*bucket, kMinSlots);
    index_->buckets_.push_back(bucket);
  }
}

AddressIndexWriter::~AddressIndexWriter() {
  for (const Bucket* bucket : index_->buckets_) delete bucket;
  delete index_;
}

void AddressIndexWriter::Set(const AddressKey& key, std::uint32_t value) {
  AddressIndex& index = edition_.Writable(index_);
  const std::uint64_t hash = AddressIndex::Hash(key);
  Bucket& bucket = edition_.Writable(index.buckets_[hash >> index.shift_]);
  const std::size_t before = bucket.count;
  Place(bucket, key, value);
  size_ += bucket.count - before;
  if (IsCrowded(bucket.count, bucket.slots.size())) Rebuild(bucket, bucket.slots.size() * 2);
  if (size_ > kKeysPerBucket * index.buckets_.size()) Split();
}

void AddressIndexWriter::Erase(const AddressKey& key) {
  if (index_->Find(key) == 0) return;
  AddressIndex& index = edition_.Writable(index_);
  const std::uint64_t hash = AddressIndex::Hash(key);
  Bucket& bucket = edition_.Writable(index.buckets_[hash >> index.shift_]);
  for (Slot& slot : bucket.slots) {
    if (slot.value != 0 && slot.key == key) slot = {};
  }
  --bucket.count;
  --size_;
  // A free slot in the middle of a probe sequence would hide the keys behind it.
  Rebuild(bucket, std::max(kMinSlots, std::bit_ceil(bucket.count * 2)));
}

void AddressIndexWriter::Place(Bucket& bucket, const AddressKey& key, std::uint32_t value) {
  std::size_t i = AddressIndex::Hash(key) & bucket.mask;
  while (bucket.slots[i].value != 0 && !(bucket.slots[i].key == key)) i = (i + 1) & bucket.mask;
  if (bucket.slots[i].value == 0) ++bucket.count;
  bucket.slots[i] = {key, value};
}

void AddressIndexWriter::Rebuild(Bucket& bucket, std::size_t slots) {
  const std::vector<Slot> old = std::exchange(bucket.slots, std::vector<Slot>(slots));
  bucket.mask = slots - 1;
  bucket.count = 0;
  for (const Slot& slot : old)
    if (slot.value != 0) Place(bucket, slot.key, slot.value);
}

// Doubles the directory and splits every bucket in two.
void AddressIndexWriter::Split() {
  AddressIndex& index = edition_.Writable(index_);
  --index.shift_;
  std::vector<Bucket*> old = std::exchange(index.buckets_, {});
  for (Bucket* bucket : old) {
    for (const std::uint64_t half : {0, 1}) {
      Bucket* const made = edition_.Make<Bucket>();
      Rebuild(*made, bucket->slots.size());
      for (const Slot& slot : bucket->slots) {
        if (slot.value != 0 && (AddressIndex::Hash(slot.key) >> index.shift_ & 1) == half)
          Place(*made, slot.key, slot.value);
      }
      index.buckets_.push_back(made);
    }
    edition_.Drop(bucket);
  }
}

}  // namespace weft::dataplane
