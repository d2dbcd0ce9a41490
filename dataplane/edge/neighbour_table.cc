// SPDX-License-Identifier: Apache-2.0
#include "dataplane/edge/neighbour_table.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace weft::dataplane {
namespace {

std::size_t Hash(const IpAddress& address) {
  std::uint64_t hash = 0x9e37'79b9'7f4a'7c15;
  const Bytes bytes = address.bytes();
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    hash = (hash ^ LoadBe32(bytes.data() + i)) * 0xff51'afd7'ed55'8ccd;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

NeighbourTable::NeighbourTable(std::size_t capacity, Timestamp lifetime)
    : lifetime_(lifetime),
      entries_(std::bit_ceil(std::max<std::size_t>((capacity + kWays - 1) / kWays, 1)) * kWays) {}

NeighbourTable::Entry* NeighbourTable::SetOf(const IpAddress& address) {
  const std::size_t sets = entries_.size() / kWays;
  return entries_.data() + (Hash(address) & (sets - 1)) * kWays;
}

const NeighbourTable::Entry* NeighbourTable::FindEntry(const IpAddress& address) const {
  const Entry* set = const_cast<NeighbourTable*>(this)->SetOf(address);
  const Entry* found = std::find_if(set, set + kWays,
                                    [&](const Entry& e) { return e.used && e.address == address; });
  return found == set + kWays ? nullptr : found;
}

NeighbourTable::Entry& NeighbourTable::FindOrReplace(const IpAddress& address) {
  if (const Entry* entry = FindEntry(address)) return const_cast<Entry&>(*entry);
  Entry* set = SetOf(address);
  // Replaced first: free entries, then those without a MAC, then known ones; the oldest of each.
  const auto rank = [](const Entry& e) {
    return std::tuple(e.used, e.known, e.known ? e.seen : e.requested_at);
  };
  Entry& entry = *std::min_element(
      set, set + kWays, [&](const Entry& a, const Entry& b) { return rank(a) < rank(b); });
  if (entry.known) --known_;
  entry = Entry();
  entry.used = true;
  entry.address = address;
  return entry;
}

void NeighbourTable::Learn(const IpAddress& address, const MacAddress& mac, Timestamp now) {
  Entry& entry = FindOrReplace(address);
  if (!entry.known) ++known_;
  entry.known = true;
  entry.mac = mac;
  entry.seen = now;
  entry.requested = false;
}

std::optional<MacAddress> NeighbourTable::Find(const IpAddress& address, Timestamp now) const {
  const Entry* entry = FindEntry(address);
  if (entry == nullptr || !entry->known || now - entry->seen > lifetime_) return std::nullopt;
  return entry->mac;
}

bool NeighbourTable::ShouldRequest(const IpAddress& address, Timestamp now) {
  Entry& entry = FindOrReplace(address);
  if (entry.known && now - entry.seen <= lifetime_ / 2) return false;
  if (entry.requested && now - entry.requested_at < kRequestInterval) return false;
  entry.requested = true;
  entry.requested_at = now;
  return true;
}

}  // namespace weft::dataplane
