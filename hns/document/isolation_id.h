// SPDX-License-Identifier: Apache-2.0
// A VNI in the range that HNS accepts for remote subnets.
#pragma once

#include <cstdint>
#include <optional>

#include "vxlan/vni.h"

namespace weft::hns {

// 4096..65535: HNS refuses lower ones; kube-proxy reads sixteen bits and fails on higher ones.
class IsolationId {
 public:
  static constexpr std::uint32_t kLeast = 4096, kMost = 65535;
  static constexpr std::optional<IsolationId> From(std::uint32_t value) {
    if (value < kLeast || value > kMost) return std::nullopt;
    return IsolationId(static_cast<std::uint16_t>(value));
  }
  constexpr std::uint16_t value() const { return value_; }
  friend constexpr auto operator<=>(IsolationId, IsolationId) = default;

 private:
  constexpr explicit IsolationId(std::uint16_t value) : value_(value) {}
  std::uint16_t value_;
};

}  // namespace weft::hns
