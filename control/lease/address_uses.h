// SPDX-License-Identifier: Apache-2.0
// Counts the uses of each address. An address with a single use, as nearly all have, costs only its
// own bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "vxlan/ip_address.h"

namespace weft::lease {

// One thread.
class AddressUses {
 public:
  void Add(const IpAddress& address);
  // Call shortly before Add.
  void Prefetch(const IpAddress& address) const {
    if (address.is_v4()) v4_.prefetch(address.v4());
  }
  // `address` must have been added.
  void Remove(const IpAddress& address);
  std::size_t Count(const IpAddress& address) const;
  // Whether any address is used more than once.
  bool any_shared() const { return !more_.empty(); }

 private:
  absl::flat_hash_set<std::uint32_t> v4_;
  absl::flat_hash_set<std::array<std::uint64_t, 2>> v6_;  // hashed faster than bytes are
  absl::flat_hash_map<IpAddress, std::size_t> more_;      // uses beyond the first
};

}  // namespace weft::lease
