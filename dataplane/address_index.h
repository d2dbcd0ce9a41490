// SPDX-License-Identifier: Apache-2.0
// Exact match on addresses or prefix bases of one family: a hash directory of small open-addressing
// buckets, so that a change copies one bucket and the directory, not the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/copy_on_write.h"
#include "vxlan/bytes.h"
#include "vxlan/ip_address.h"

namespace weft::dataplane {

// An address as two host-order words; IPv4 fills the low 32 bits.
struct AddressKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  static AddressKey V4(std::uint32_t host_order) { return {0, host_order}; }
  // 16 bytes in network order.
  static AddressKey V6(const std::byte* bytes) { return {LoadBe64(bytes), LoadBe64(bytes + 8)}; }
  static AddressKey From(const IpAddress& address) {
    return address.is_v4() ? V4(address.v4()) : V6(address.bytes().data());
  }
  // The IPv6 key with all but its first `length` bits cleared, 0..128.
  AddressKey First(int length) const {
    const auto keep = [](int bits) {
      return bits <= 0 ? 0 : bits >= 64 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} >> bits);
    };
    return {high & keep(length), low & keep(length - 64)};
  }
  friend bool operator==(const AddressKey&, const AddressKey&) = default;
};

// One published state, for readers. Any number of threads.
class AddressIndex : public SharedPage {
 public:
  // The value stored under `key`; 0: none.
  std::uint32_t Find(const AddressKey& key) const {
    const std::uint64_t hash = Hash(key);
    const Bucket& bucket = *buckets_[hash >> shift_];
    for (std::size_t i = hash & bucket.mask;; i = (i + 1) & bucket.mask) {
      const Slot& slot = bucket.slots[i];
      if (slot.value == 0 || slot.key == key) return slot.value;
    }
  }

 private:
  friend class AddressIndexWriter;
  struct Slot {
    AddressKey key;
    std::uint32_t value = 0;  // 0: free
  };
  struct Bucket : SharedPage {
    std::size_t count = 0;
    std::size_t mask = 0;     // slots.size() - 1
    std::vector<Slot> slots;  // a power of two; at least one is free
  };

  // Not keyed: the keys come from the cluster's own leases.
  static std::uint64_t Hash(const AddressKey& key) {
    std::uint64_t h = (key.high ^ 0x9e37'79b9'7f4a'7c15) * 0xff51'afd7'ed55'8ccd;
    h = (h ^ (h >> 32) ^ key.low) * 0xc4ce'b9fe'1a85'ec53;
    return h ^ (h >> 29) ^ (h << 35);
  }

  int shift_ = 63;  // hash bits that do not choose the bucket
  std::vector<Bucket*> buckets_;
};

// Changes the index, copying the buckets it touches. One control thread. The edition outlives it.
class AddressIndexWriter {
 public:
  explicit AddressIndexWriter(Edition& edition);
  ~AddressIndexWriter();
  AddressIndexWriter(const AddressIndexWriter&) = delete;
  AddressIndexWriter& operator=(const AddressIndexWriter&) = delete;

  std::uint32_t Find(const AddressKey& key) const { return index_->Find(key); }
  // Adds or replaces; `value` is not 0.
  void Set(const AddressKey& key, std::uint32_t value);
  // Does nothing if `key` does not exist.
  void Erase(const AddressKey& key);

  const AddressIndex* index() const { return index_; }
  std::size_t size() const { return size_; }

 private:
  using Bucket = AddressIndex::Bucket;
  using Slot = AddressIndex::Slot;

  static void Place(Bucket& bucket, const AddressKey& key, std::uint32_t value);
  static void Rebuild(Bucket& bucket, std::size_t slots);
  void Split();

  Edition& edition_;
  AddressIndex* index_;
  std::size_t size_ = 0;
};

}  // namespace weft::dataplane
