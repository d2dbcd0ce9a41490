// SPDX-License-Identifier: Apache-2.0
// Reasons to refuse a packet, and the result type of every Parse.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace weft {

enum class Malformed : std::uint8_t {
  kTruncated,           // fewer bytes than the header or a length field requires
  kBadVersion,          // IP version is neither 4 nor 6, or not the expected one
  kBadHeaderLength,     // IPv4 IHL or TCP data offset below the minimum
  kBadTotalLength,      // IPv4 total length smaller than its own header
  kBadChecksum,         // IPv4 header checksum
  kBadUdpLength,        // UDP length below 8 or beyond the IP payload
  kBadUdpChecksum,      // UDP checksum present and wrong
  kNotUdp,              // the outer packet carries another protocol
  kFragment,            // a fragment where a whole datagram is required
  kTooManyExtensions,   // more than kMaxIpv6Extensions
  kNoVniFlag,           // VXLAN I flag clear
  kVlanTagged,          // 802.1Q or 802.1ad tag on the inner frame
  kNotIp,               // inner EtherType is neither IPv4 nor IPv6
  kEtherTypeMismatch,   // EtherType and IP version contradict each other
  kNotEthernetIpv4Arp,  // ARP for other hardware or protocol addresses
};
inline constexpr std::size_t kMalformedCount =
    static_cast<std::size_t>(Malformed::kNotEthernetIpv4Arp) + 1;

// "bad_version": lower case with underscores; a metric label, so it never changes.
[[nodiscard]] std::string_view Name(Malformed reason);
// One sentence for an operator.
[[nodiscard]] std::string_view Sentence(Malformed reason);

// A value, or the reason why there is none. Copying costs as much as copying T; never throws or
// allocates.
template <typename T>
class [[nodiscard]] Parsed {
 public:
  constexpr Parsed(T value) : value_(std::move(value)) {}  // NOLINT: implicit on purpose
  constexpr Parsed(Malformed reason) : reason_(reason) {}  // NOLINT: implicit on purpose

  constexpr explicit operator bool() const { return value_.has_value(); }
  constexpr bool ok() const { return value_.has_value(); }

  // There must be a value.
  constexpr const T& operator*() const { return *value_; }
  constexpr const T* operator->() const { return &*value_; }
  // Meaningful only if there is no value.
  constexpr Malformed error() const {
    assert(!ok());
    return reason_;
  }

  friend constexpr bool operator==(const Parsed&, const Parsed&) = default;

 private:
  std::optional<T> value_;
  Malformed reason_{};  // kTruncated if there is a value
};

}  // namespace weft
