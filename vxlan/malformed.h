// SPDX-License-Identifier: Apache-2.0
// Why bytes are not the packet they should be, and the result type of every Parse.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace weft {

enum class Malformed : std::uint8_t {
  kTruncated,           // fewer bytes than the header, or than a length field promises
  kBadVersion,          // IP version is neither 4 nor 6, or not the one asked for
  kBadHeaderLength,     // IPv4 IHL or TCP data offset below the minimum
  kBadTotalLength,      // IPv4 total length smaller than its own header
  kBadChecksum,         // IPv4 header checksum
  kBadUdpLength,        // UDP length below 8 or beyond the IP payload
  kBadUdpChecksum,      // UDP checksum present and wrong
  kNotUdp,              // the outer packet carries another protocol
  kFragment,            // a fragment where a whole datagram is required
  kTooManyExtensions,   // IPv6 extension headers beyond our bound
  kNoVniFlag,           // VXLAN I flag clear
  kVlanTagged,          // 802.1Q or 802.1ad tag on the inner frame
  kNotIp,               // inner EtherType is neither IPv4 nor IPv6
  kEtherTypeMismatch,   // EtherType and IP version contradict each other
  kNotEthernetIpv4Arp,  // ARP for other hardware or protocol addresses
};
inline constexpr std::size_t kMalformedCount =
    static_cast<std::size_t>(Malformed::kNotEthernetIpv4Arp) + 1;

// Lower case with underscores, stable: metric label and test text. "bad_version".
[[nodiscard]] std::string_view Name(Malformed reason);
// One sentence for people.
[[nodiscard]] std::string_view Sentence(Malformed reason);

// A value, or why there is none. Copying costs what T costs; nothing is thrown or allocated.
template <typename T>
class [[nodiscard]] Parsed {
 public:
  constexpr Parsed(T value) : value_(std::move(value)) {}  // NOLINT: implicit on purpose
  constexpr Parsed(Malformed reason) : reason_(reason) {}  // NOLINT: implicit on purpose

  constexpr explicit operator bool() const { return value_.has_value(); }
  constexpr bool ok() const { return value_.has_value(); }

  // The caller has checked that there is a value.
  constexpr const T& operator*() const { return *value_; }
  constexpr const T* operator->() const { return &*value_; }
  // Meaningful only without a value.
  constexpr Malformed error() const {
    assert(!ok());
    return reason_;
  }

  friend constexpr bool operator==(const Parsed&, const Parsed&) = default;

 private:
  std::optional<T> value_;
  Malformed reason_{};  // kTruncated where there is a value
};

}  // namespace weft
