// SPDX-License-Identifier: Apache-2.0
#include "control/lease/subnet_index.h"

#include <algorithm>
#include <string>

#include "absl/hash/hash.h"

namespace weft::lease {
namespace {

// As a record has it.
std::string OctetsOf(const IpPrefix& subnet) {
  std::string octets;
  for (const std::byte octet : subnet.base().octets()) octets += std::to_integer<char>(octet);
  return octets += static_cast<char>(subnet.length());
}

}  // namespace

SubnetIndex::SubnetIndex(const RecordStore& store, IpFamily family)
    : store_(store), family_(family), holders_(store) {}

SubnetIndex::Key::Key(std::string_view subnet_octets, IpFamily its_family)
    : octets(subnet_octets),
      family(its_family),
      hash(static_cast<std::uint32_t>(absl::HashOf(octets))) {}

SubnetIndex::Key SubnetIndex::KeyOf(const PackedLease& lease) const {
  return Key(lease.subnet_octets(family_), family_);
}

SubnetIndex::Change SubnetIndex::Add(RecordId lease) {
  const PackedLease added = Read(lease);
  const auto& slot = holders_.FindOrAdd(KeyOf(added), [&] { return lease; });
  if (slot.record == lease) {
    CountLength(added, true);
    if (ordered_) ordered_->insert(added.subnet(family_));
    return {kNoRecord, lease};
  }
  const RecordId before = slot.record;
  std::vector<RecordId>& claimants = contests_[added.subnet(family_)];
  if (claimants.empty()) claimants.push_back(before);
  const auto place =
      std::upper_bound(claimants.begin(), claimants.end(), lease,
                       [this](RecordId a, RecordId b) { return Precedes(Read(a), Read(b)); });
  claimants.insert(place, lease);
  slot.record = claimants.front();
  return {before, slot.record};
}

SubnetIndex::Change SubnetIndex::Remove(RecordId lease) {
  const PackedLease removed = Read(lease);
  const Key key = KeyOf(removed);
  const RecordId before = holders_.Find(key);
  const auto contest =
      contests_.empty() ? contests_.end() : contests_.find(removed.subnet(family_));
  if (contest == contests_.end()) {
    holders_.Erase(key);
    CountLength(removed, false);
    if (ordered_) ordered_->erase(removed.subnet(family_));
    return {before, kNoRecord};
  }
  std::vector<RecordId>& claimants = contest->second;
  std::erase(claimants, lease);
  const RecordId after = claimants.front();
  holders_.Replace(key, after);
  if (claimants.size() == 1) contests_.erase(contest);
  return {before, after};
}

RecordId SubnetIndex::Holder(const IpPrefix& subnet) const {
  const std::string octets = OctetsOf(subnet);
  return holders_.Find(Key(octets, family_));
}

RecordId SubnetIndex::Nested(const IpPrefix& subnet) const {
  const auto own_length = static_cast<std::size_t>(subnet.length());
  if (lengths_in_use_ == (subnets_of_length_[own_length] == 0 ? 0 : 1)) return kNoRecord;
  for (std::size_t length = own_length; length-- > 0;) {
    if (subnets_of_length_[length] == 0) continue;
    const RecordId around = Holder(*IpPrefix::Of(subnet.base(), static_cast<int>(length)));
    if (around != kNoRecord) return around;
  }
  const auto longer = subnets_of_length_.begin() + static_cast<std::ptrdiff_t>(own_length) + 1;
  if (std::all_of(longer, subnets_of_length_.end(), [](std::size_t count) { return count == 0; }))
    return kNoRecord;
  // A base inside `subnet` cannot carry a shorter length: the next entry lies inside, or none does.
  const auto next = ordered().upper_bound(subnet);
  return next != ordered().end() && subnet.Contains(*next) ? Holder(*next) : kNoRecord;
}

void SubnetIndex::CountLength(const PackedLease& lease, bool added) {
  const auto length = static_cast<unsigned char>(lease.subnet_octets(family_).back());
  std::size_t& count = subnets_of_length_[length];
  if (added && count++ == 0) ++lengths_in_use_;
  if (!added && --count == 0) --lengths_in_use_;
}

const SubnetIndex::Ordered& SubnetIndex::ordered() const {
  if (!ordered_) {
    ordered_.emplace();
    for (const auto& slot : holders_) ordered_->insert(Read(slot.record).subnet(family_));
  }
  return *ordered_;
}

}  // namespace weft::lease
