// SPDX-License-Identifier: Apache-2.0
// Lease sets for benches: N nodes with a subnet each, from a fixed seed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "dataplane/remote_table.h"

namespace weft::bench {

// kClustered: consecutive /24s from 10.0.0.0, like a cluster's PodCIDRs. kSpread: random /24s in
// 0.0.0.0/1, the worst case for the index. kMixed: /16 to /28, random there, longer ones within
// shorter ones; 2 % are the same as another, so there are fewer leases.
enum class Layout : std::uint8_t { kClustered, kSpread, kMixed };

inline MacAddress MacOf(std::uint32_t number) {
  std::byte bytes[6]{std::byte{2}};
  StoreBe32(bytes + 2, number);
  return MacAddress::FromBytes(bytes);
}

inline IpAddress VtepOf(std::uint32_t number) {
  return IpAddress::V4(0xac10'0000 + 2 + number);
}  // starting at 172.16.0.2

inline dataplane::RemoteSpec LeaseOf(std::uint32_t number, std::uint32_t slash24) {
  return {"node-" + std::to_string(number), *IpPrefix::From(IpAddress::V4(slash24 << 8), 24),
          VtepOf(number), MacOf(number)};
}

// Shuffled, so that neighbours in the table are not neighbours in memory.
inline std::vector<dataplane::RemoteSpec> MakeLeases(std::size_t count, Layout layout) {
  std::mt19937 random(20261120);
  std::vector<std::uint32_t> slash24s;
  const std::uint32_t space =
      layout == Layout::kClustered ? static_cast<std::uint32_t>(count) : 1u << 23;
  const std::uint32_t first = layout == Layout::kClustered ? 10u << 16 : 0;
  for (std::uint32_t i = 0; i < space; ++i) slash24s.push_back(first + i);
  std::shuffle(slash24s.begin(), slash24s.end(), random);
  slash24s.resize(count);
  std::vector<dataplane::RemoteSpec> leases;
  leases.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    leases.push_back(LeaseOf(static_cast<std::uint32_t>(i), slash24s[i]));
    if (layout == Layout::kMixed) {
      const int length = 16 + static_cast<int>(random() % 13);
      leases.back().subnet =
          *IpPrefix::From(IpAddress::V4(slash24s[i] << 8 | (random() & 0xff)), length);
    }
  }
  return leases;
}

}  // namespace weft::bench
