// SPDX-License-Identifier: Apache-2.0
// An address block: base address and prefix length, host bits always zero.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "vxlan/ip_address.h"

namespace weft {

class IpPrefix {
 public:
  // 0.0.0.0/0
  constexpr IpPrefix() = default;

  // Host bits of `address` are cleared. Empty when `length` is outside 0..32 or 0..128.
  static std::optional<IpPrefix> From(const IpAddress& address, int length);
  // "10.244.3.0/24". Host bits set are accepted and cleared, as Go's ParseCIDR does.
  static std::optional<IpPrefix> Parse(std::string_view text);
  std::string ToString() const;

  const IpAddress& base() const {
    return base_;
  }  // flannel's VTEP device address: `.0` of the subnet
  int length() const { return length_; }
  IpFamily family() const { return base_.family(); }

  bool Contains(const IpAddress& address) const;
  bool Contains(const IpPrefix& inner) const;
  bool Overlaps(const IpPrefix& other) const;

  friend bool operator==(const IpPrefix&, const IpPrefix&) = default;
  friend auto operator<=>(const IpPrefix&, const IpPrefix&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const IpPrefix& p) {
    return H::combine(std::move(h), p.base_, p.length_);
  }

 private:
  IpAddress base_;
  int length_ = 0;
};

// The network mask as an address: Netmask(kV4, 24) is 255.255.255.0. `length` is within the
// family's range.
IpAddress Netmask(IpFamily family, int length);

}  // namespace weft
