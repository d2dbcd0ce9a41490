// SPDX-License-Identifier: Apache-2.0
// A lease as one run of bytes, as the table keeps it: with a UUID and an IPv4 half 50 and the
// node's name.
//
//   bytes
//     1     reported in the current snapshot, Ready   set by the table:
//     1     PeerState of each half, judged alone      not part of the value
//     4     since when it is Ready or not
//     2     which fields are present
//     1     backend type, by number
//     5     created
//    19     IPv4: subnet 4 and 1, public IP 4, VNI 4, MAC 6      if there is such a half
//    43     IPv6: subnet 16 and 1, public IP 16, VNI 4, MAC 6    if there is such a half
//     8     since when, of each half that is kept
//    16     UID, a UUID; any other text: its length and itself
//           backend type without a number: its length and itself
//           name: its length and itself
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "control/lease/lease.h"
#include "control/lease/peer_state.h"

namespace weft::lease {

// A UID as the record stores it: a UUID in canonical, lower-case form as 16 bytes, any other text
// unchanged. Views the given text.
class PackedUid {
 public:
  explicit PackedUid(std::string_view text);
  PackedUid(const PackedUid&) = delete;
  PackedUid& operator=(const PackedUid&) = delete;

  bool is_uuid() const { return is_uuid_; }
  std::string_view bytes() const {
    return is_uuid_ ? std::string_view(uuid_, sizeof uuid_) : text_;
  }

 private:
  std::string_view text_;
  char uuid_[16];
  bool is_uuid_;
};

// Writes the lease's bytes to `out`, with the table's fields zero. `uid` is the node's; subnet and
// public IP of each half must be of its family.
void Pack(const Lease& lease, const PackedUid& uid, std::string& out);

// A view of bytes that Pack made. Offsets are computed on each access: most leases are read once or
// twice when they are reported, and never again.
class PackedLease {
 public:
  explicit PackedLease(const char* at) : at_(at) {}

  bool reported() const { return (at_[kFlags] & kReported) != 0; }
  // Unspecified if the half is absent.
  PeerState alone(IpFamily family) const {
    return static_cast<PeerState>(static_cast<unsigned char>(at_[kStates]) >> ShiftOf(family) & 15);
  }

  std::optional<Readiness> readiness() const;

  // Two leases are equal, but for their readiness, exactly if these bytes are.
  std::string_view value() const { return {at_ + kFields, size() - kFields}; }
  // Of the whole record, in bytes.
  std::size_t size() const {
    const std::string_view last = name();
    return static_cast<std::size_t>(last.data() - at_) + last.size();
  }

  bool has(IpFamily family) const { return Has(family, kHalf); }
  // The half must be present.
  FamilyLease half(IpFamily family) const;
  IpPrefix subnet(IpFamily family) const;
  // Identifies the subnet within its family; the last byte is its length.
  std::string_view subnet_bytes(IpFamily family) const {
    return {at_ + OffsetOf(family), AddressSize(family) + 1};
  }
  // The half of `other`'s family must be present.
  bool OverlapsSubnet(const IpPrefix& other) const;
  std::optional<IpAddress> public_ip(IpFamily family) const;
  bool has_public_ip(IpFamily family) const { return Has(family, kPublicIp); }
  bool has_vtep_mac(IpFamily family) const { return Has(family, kMac); }
  bool is_kept(IpFamily family) const { return (fields() & KeptBit(family)) != 0; }
  bool is_behind_nat(IpFamily family) const { return (fields() & BehindNatBit(family)) != 0; }
  bool is_node_address(IpFamily family) const { return (fields() & NodeAddressBit(family)) != 0; }
  std::optional<std::uint32_t> vni(IpFamily family) const {
    if (!Has(family, kVni)) return std::nullopt;
    return Load<std::uint32_t>(at_ + OffsetOfVni(family));
  }

  std::int64_t created() const {
    std::int64_t seconds = 0;
    std::memcpy(&seconds, at_ + kCreated, kCreatedSize);
    constexpr unsigned kUnused = 64 - 8 * kCreatedSize;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(seconds) << kUnused) >> kUnused;
  }
  std::string_view backend_type() const;
  std::string_view name() const { return Text(at_ + OffsetOfName()); }
  bool has_uuid() const { return (fields() & kUuid) != 0; }
  std::string_view uid_bytes() const {
    const char* const at = at_ + OffsetOfUid();
    return has_uuid() ? std::string_view(at, kUuidSize) : Text(at);
  }
  NodeKey node() const;

 private:
  friend void Pack(const Lease& lease, const PackedUid& uid, std::string& out);
  friend void SetReported(char* at, bool reported);
  friend bool SetReadiness(char* at, const std::optional<Readiness>& readiness);
  friend void SetAlone(char* at, IpFamily family, PeerState state);

  // Bits of one half's fields, those of IPv6 four bits higher; then the other bits.
  static constexpr unsigned kHalf = 1, kPublicIp = 2, kVni = 4, kMac = 8;
  static constexpr unsigned kUuid = 1u << 8, kOtherBackend = 1u << 9, kKeptV4 = 1u << 10,
                            kKeptV6 = 1u << 11, kBehindNatV4 = 1u << 12, kBehindNatV6 = 1u << 13,
                            kNodeAddressV4 = 1u << 14, kNodeAddressV6 = 1u << 15;
  // Bits of kFlags.
  static constexpr char kReported = 1, kHasReadiness = 2, kReady = 4;
  // Offsets.
  static constexpr std::size_t kFlags = 0, kStates = 1, kReadySince = 2, kFields = 6, kBackend = 8,
                               kCreated = 9, kCreatedSize = 5, kHalves = 14;
  static constexpr std::size_t kUuidSize = 16;
  static constexpr std::size_t kSinceSize = 8;
  // A text's length is one byte below this value; otherwise this byte and four more.
  static constexpr std::size_t kLongText = 255;

  template <typename T>
  static T Load(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  static constexpr unsigned ShiftOf(IpFamily family) { return family == IpFamily::kV4 ? 0 : 4; }
  static constexpr unsigned KeptBit(IpFamily family) {
    return family == IpFamily::kV4 ? kKeptV4 : kKeptV6;
  }
  static constexpr unsigned BehindNatBit(IpFamily family) {
    return family == IpFamily::kV4 ? kBehindNatV4 : kBehindNatV6;
  }
  static constexpr unsigned NodeAddressBit(IpFamily family) {
    return family == IpFamily::kV4 ? kNodeAddressV4 : kNodeAddressV6;
  }
  static constexpr std::size_t AddressSize(IpFamily family) {
    return family == IpFamily::kV4 ? 4 : 16;
  }
  static constexpr std::size_t HalfSize(IpFamily family) { return 2 * AddressSize(family) + 11; }
  static std::string_view Text(const char* at) {
    const auto first = static_cast<unsigned char>(*at);
    if (first < kLongText) return {at + 1, first};
    return {at + 5, Load<std::uint32_t>(at + 1)};
  }
  std::size_t OffsetAfter(std::string_view part) const {
    return static_cast<std::size_t>(part.data() - at_) + part.size();
  }

  bool Has(IpFamily family, unsigned field) const {
    return (fields() >> ShiftOf(family) & field) != 0;
  }
  unsigned fields() const { return Load<std::uint16_t>(at_ + kFields); }
  std::size_t OffsetOf(IpFamily family) const {
    return kHalves + (family == IpFamily::kV6 && has(IpFamily::kV4) ? HalfSize(IpFamily::kV4) : 0);
  }
  std::size_t OffsetOfVni(IpFamily family) const {
    return OffsetOf(family) + 2 * AddressSize(family) + 1;
  }
  // Of the first `since` field, whether present or not.
  std::size_t OffsetOfSince() const {
    return OffsetOf(IpFamily::kV6) + (has(IpFamily::kV6) ? HalfSize(IpFamily::kV6) : 0);
  }
  std::size_t OffsetOfUid() const {
    return OffsetOfSince() + (is_kept(IpFamily::kV4) ? kSinceSize : 0) +
           (is_kept(IpFamily::kV6) ? kSinceSize : 0);
  }
  std::size_t OffsetOfName() const {
    const std::size_t after_uid = OffsetAfter(uid_bytes());
    return (fields() & kOtherBackend) == 0 ? after_uid : OffsetAfter(Text(at_ + after_uid));
  }

  const char* at_;
};

// Set the table's fields in bytes that Pack made.
void SetReported(char* at, bool reported);
// Seconds before 1970 and after 2106 are not kept. False: it was the same.
bool SetReadiness(char* at, const std::optional<Readiness>& readiness);
void SetAlone(char* at, IpFamily family, PeerState state);

// Whether `a` is preferred to `b` where only one of them can be in use and neither is yet: the
// older Node, because it had the subnet before the other could claim it; then the lesser name, then
// the lesser UID.
bool Precedes(const PackedLease& a, const PackedLease& b);
// Of a lease whose public IP lies in the subnet of `around`: whether that one is not used; else
// `inside` is not. Only properties of the two Nodes decide.
bool Precludes(const PackedLease& inside, const PackedLease& around, IpFamily family);
// By name, then UID.
bool IsOfLesserNode(const PackedLease& a, const PackedLease& b);

}  // namespace weft::lease
