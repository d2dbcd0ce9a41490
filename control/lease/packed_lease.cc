// SPDX-License-Identifier: Apache-2.0
#include "control/lease/packed_lease.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <utility>

namespace weft::lease {
namespace {

// Flannel's own backends; others are rare and stored as text. The number is the index.
constexpr std::array<std::string_view, 9> kBackends = {
    "vxlan", "host-gw", "alloc", "udp", "wireguard", "ipsec", "ipip", "extension", ""};

char* Store(char* to, const auto& value) {
  std::memcpy(to, &value, sizeof value);
  return to + sizeof value;
}

char* Store(char* to, Bytes bytes) {
  std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

char* Store(char* to, std::string_view text) { return std::copy(text.begin(), text.end(), to); }

IpAddress LoadAddress(IpFamily family, const char* at) {
  std::array<std::byte, 16> bytes;
  std::memcpy(bytes.data(), at, family == IpFamily::kV4 ? 4 : 16);
  return IpAddress::FromBytes(family, bytes.data());
}

// Parses eight digits 0-9 and a-f into four bytes at once. False if there is another character.
bool ParseEightDigits(const char* digits, char* bytes) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  std::uint64_t text;
  std::memcpy(&text, digits, sizeof text);
  const std::uint64_t letters = text >> 6 & kOnes;
  const std::uint64_t values = (text & kOnes * 0x0f) + letters * 9;
  const std::uint64_t wrong_column = (text ^ (kOnes + letters) * 0x30) & kOnes * 0xf0;
  // A letter's value is 10 to 15, a digit's less.
  const std::uint64_t wrong_value = (((values + kOnes * 6) ^ letters << 4) | values) & kOnes * 0x10;
  std::uint64_t packed = (values << 4 | values >> 8) & 0x00ff00ff00ff00ffU;
  packed = (packed | packed >> 8) & 0x0000ffff0000ffffU;
  packed |= packed >> 16;
  std::memcpy(bytes, &packed, 4);
  return (wrong_column | wrong_value) == 0;
}

// "01234567-89ab-cdef-0123-456789abcdef"
bool ParseUuid(std::string_view text, char* bytes) {
  if (text.size() != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-')
    return false;
  char split[16];  // the groups of four
  std::memcpy(split, &text[9], 4);
  std::memcpy(split + 4, &text[14], 4);
  std::memcpy(split + 8, &text[19], 4);
  std::memcpy(split + 12, &text[24], 4);
  return ParseEightDigits(text.data(), bytes) && ParseEightDigits(split, bytes + 4) &&
         ParseEightDigits(split + 8, bytes + 8) && ParseEightDigits(&text[28], bytes + 12);
}

// The offset of each byte's two digits in the text of a UUID.
constexpr std::array<std::uint8_t, 16> kUuidDigits = {0,  2,  4,  6,  9,  11, 14, 16,
                                                      19, 21, 24, 26, 28, 30, 32, 34};

std::string UuidText(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(36, '-');
  for (std::size_t i = 0; i < kUuidDigits.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text[kUuidDigits[i]] = kDigits[byte >> 4];
    text[kUuidDigits[i] + 1u] = kDigits[byte & 15];
  }
  return text;
}

}  // namespace

PackedUid::PackedUid(std::string_view text) : text_(text), is_uuid_(ParseUuid(text, uuid_)) {}

void Pack(const Lease& lease, const PackedUid& uid, std::string& out) {
  using P = PackedLease;
  constexpr std::size_t kMost = P::kHalves + P::HalfSize(IpFamily::kV4) +
                                P::HalfSize(IpFamily::kV6) + 2 * P::kSinceSize +
                                3 * 5;  // but for the texts
  out.resize(kMost + uid.bytes().size() + lease.backend_type.size() + lease.node.name.size());
  char* const begin = out.data();
  char* to = begin + P::kHalves;
  unsigned fields = 0;
  const auto store_half = [&](IpFamily family, const FamilyLease& half) {
    assert(half.subnet.family() == family);
    assert(!half.public_ip || half.public_ip->family() == family);
    const unsigned shift = P::ShiftOf(family);
    const std::size_t address_size = P::AddressSize(family);
    fields |= P::kHalf << shift;
    if (half.behind_nat) fields |= P::BehindNatBit(family);
    if (half.node_address) fields |= P::NodeAddressBit(family);
    std::memset(to, 0, P::HalfSize(family));
    to = Store(to, half.subnet.base().bytes());
    *to++ = static_cast<char>(half.subnet.length());
    if (half.public_ip) {
      fields |= P::kPublicIp << shift;
      Store(to, half.public_ip->bytes());
    }
    to += address_size;
    if (half.vni) {
      fields |= P::kVni << shift;
      Store(to, *half.vni);
    }
    to += sizeof(std::uint32_t);
    if (half.vtep_mac) {
      fields |= P::kMac << shift;
      Store(to, half.vtep_mac->bytes());
    }
    to += MacAddress::kSize;
  };
  const auto store_text = [&](std::string_view text) {
    if (text.size() < P::kLongText) {
      *to++ = static_cast<char>(text.size());
    } else {
      *to++ = static_cast<char>(P::kLongText);
      to = Store(to, static_cast<std::uint32_t>(text.size()));
    }
    to = Store(to, text);
  };

  if (lease.v4) store_half(IpFamily::kV4, *lease.v4);
  if (lease.v6) store_half(IpFamily::kV6, *lease.v6);
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    if (!lease.of(family) || !lease.of(family)->kept_since) continue;
    fields |= P::KeptBit(family);
    to = Store(to, *lease.of(family)->kept_since);
  }
  if (uid.is_uuid()) {
    fields |= P::kUuid;
    to = Store(to, uid.bytes());
  } else {
    store_text(uid.bytes());
  }
  const auto backend = std::find(kBackends.begin(), kBackends.end(), lease.backend_type);
  if (backend == kBackends.end()) {
    fields |= P::kOtherBackend;
    store_text(lease.backend_type);
  }
  store_text(lease.node.name);
  begin[P::kFlags] = begin[P::kStates] = 0;
  SetReadiness(begin, lease.readiness);
  Store(begin + P::kFields, static_cast<std::uint16_t>(fields));
  begin[P::kBackend] = static_cast<char>(backend - kBackends.begin());
  std::memcpy(begin + P::kCreated, &lease.created, P::kCreatedSize);  // of years below 17,000
  out.resize(static_cast<std::size_t>(to - begin));
}

FamilyLease PackedLease::half(IpFamily family) const {
  FamilyLease half;
  half.subnet = subnet(family);
  half.public_ip = public_ip(family);
  half.vni = vni(family);
  if (has_vtep_mac(family)) {
    std::array<std::byte, MacAddress::kSize> bytes;
    std::memcpy(bytes.data(), at_ + OffsetOfVni(family) + sizeof(std::uint32_t), bytes.size());
    half.vtep_mac = MacAddress::FromBytes(bytes.data());
  }
  half.behind_nat = is_behind_nat(family);
  half.node_address = is_node_address(family);
  if (is_kept(family)) {
    const bool second = family == IpFamily::kV6 && is_kept(IpFamily::kV4);
    half.kept_since = Load<std::int64_t>(at_ + OffsetOfSince() + (second ? kSinceSize : 0));
  }
  return half;
}

IpPrefix PackedLease::subnet(IpFamily family) const {
  const std::string_view bytes = subnet_bytes(family);
  return *IpPrefix::From(LoadAddress(family, bytes.data()),
                         static_cast<unsigned char>(bytes.back()));
}

bool PackedLease::OverlapsSubnet(const IpPrefix& other) const {
  const IpFamily family = other.family();
  if (family == IpFamily::kV6) return subnet(family).Overlaps(other);
  const std::string_view bytes = subnet_bytes(family);
  const std::uint32_t base = LoadBe32(std::as_bytes(std::span(bytes)).data());
  const int length = std::min<int>(static_cast<unsigned char>(bytes.back()), other.length());
  return length == 0 || (base ^ other.base().v4()) >> (32 - length) == 0;
}

std::optional<IpAddress> PackedLease::public_ip(IpFamily family) const {
  if (!has_public_ip(family)) return std::nullopt;
  return LoadAddress(family, at_ + OffsetOf(family) + AddressSize(family) + 1);
}

std::optional<Readiness> PackedLease::readiness() const {
  if ((at_[kFlags] & kHasReadiness) == 0) return std::nullopt;
  return Readiness{(at_[kFlags] & kReady) != 0, Load<std::uint32_t>(at_ + kReadySince)};
}

std::string_view PackedLease::backend_type() const {
  const auto number = static_cast<unsigned char>(at_[kBackend]);
  return number < kBackends.size() ? kBackends[number] : Text(at_ + OffsetAfter(uid_bytes()));
}

NodeKey PackedLease::node() const {
  const std::string_view uid = uid_bytes();
  return {std::string(name()), has_uuid() ? UuidText(uid) : std::string(uid)};
}

void SetReported(char* at, bool reported) {
  using P = PackedLease;
  char& flags = at[P::kFlags];
  flags = static_cast<char>(reported ? flags | P::kReported : flags & ~P::kReported);
}

bool SetReadiness(char* at, const std::optional<Readiness>& readiness) {
  using P = PackedLease;
  std::uint32_t since = 0;
  int flags = at[P::kFlags] & P::kReported;
  if (readiness) {
    flags |= P::kHasReadiness | (readiness->ready ? P::kReady : 0);
    if (std::in_range<std::uint32_t>(readiness->since))
      since = static_cast<std::uint32_t>(readiness->since);
  }
  const bool same = flags == at[P::kFlags] && P::Load<std::uint32_t>(at + P::kReadySince) == since;
  at[P::kFlags] = static_cast<char>(flags);
  Store(at + P::kReadySince, since);
  return !same;
}

void SetAlone(char* at, IpFamily family, PeerState state) {
  const unsigned shift = PackedLease::ShiftOf(family);
  char& states = at[PackedLease::kStates];
  const unsigned others = static_cast<unsigned char>(states) & ~(15u << shift);
  states = static_cast<char>(others | static_cast<unsigned>(state) << shift);
}

bool Precedes(const PackedLease& a, const PackedLease& b) {
  if (a.created() != b.created()) return a.created() < b.created();
  return IsOfLesserNode(a, b);
}

bool Precludes(const PackedLease& inside, const PackedLease& around, IpFamily family) {
  const bool real = inside.is_node_address(family);
  const bool mutual = inside.subnet(family).Contains(*around.public_ip(family));
  return mutual && real == around.is_node_address(family) ? Precedes(inside, around) : real;
}

bool IsOfLesserNode(const PackedLease& a, const PackedLease& b) {
  if (const int order = a.name().compare(b.name()); order != 0) return order < 0;
  return a.node() < b.node();
}

}  // namespace weft::lease
