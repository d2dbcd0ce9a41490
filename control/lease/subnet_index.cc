// SPDX-License-Identifier: Apache-2.0
#include "control/lease/subnet_index.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "absl/hash/hash.h"

namespace weft::lease {
namespace {

// As a record stores it.
class SubnetBytes {
 public:
  explicit SubnetBytes(const IpPrefix& subnet) : size_(subnet.base().bytes().size() + 1) {
    std::memcpy(bytes_, subnet.base().bytes().data(), size_ - 1);
    bytes_[size_ - 1] = static_cast<char>(subnet.length());
  }
  std::string_view view() const { return {bytes_, size_}; }

 private:
  char bytes_[17];
  std::size_t size_;
};

}  // namespace

SubnetIndex::SubnetIndex(const RecordStore& store, IpFamily family)
    : store_(store), family_(family), holders_(store) {}

SubnetIndex::Key::Key(std::string_view subnet_bytes, IpFamily its_family)
    : bytes(subnet_bytes),
      family(its_family),
      hash(static_cast<std::uint32_t>(absl::HashOf(bytes))) {}

SubnetIndex::Key SubnetIndex::KeyOf(const PackedLease& lease) const {
  return Key(lease.subnet_bytes(family_), family_);
}

void SubnetIndex::Add(RecordId lease) {
  const PackedLease added = Read(lease);
  [[maybe_unused]] const auto& slot = holders_.FindOrAdd(KeyOf(added), [&] { return lease; });
  assert(slot.record == lease);
  CountLength(added, true);
  if (ordered_) ordered_->insert(added.subnet(family_));
}

void SubnetIndex::Remove(RecordId lease) {
  const PackedLease removed = Read(lease);
  holders_.Erase(KeyOf(removed));
  CountLength(removed, false);
  if (ordered_) ordered_->erase(removed.subnet(family_));
}

RecordId SubnetIndex::Holder(const IpPrefix& subnet) const {
  const SubnetBytes bytes(subnet);
  return holders_.Find(Key(bytes.view(), family_));
}

RecordId SubnetIndex::LongestHolder(const IpAddress& base, int from, int to) const {
  for (int length = from; length >= to; --length) {
    if (subnets_of_length_[static_cast<std::size_t>(length)] == 0) continue;
    const RecordId holder = Holder(*IpPrefix::From(base, length));
    if (holder != kNoRecord) return holder;
  }
  return kNoRecord;
}

RecordId SubnetIndex::Around(const IpPrefix& subnet, int least_length) const {
  return LongestHolder(subnet.base(), subnet.length() - 1, least_length);
}

RecordId SubnetIndex::Around(const IpAddress& address) const {
  return LongestHolder(address, address.bits(), 0);
}

bool SubnetIndex::HasLongerThan(int length) const {
  return std::any_of(subnets_of_length_.begin() + length + 1, subnets_of_length_.end(),
                     [](std::size_t count) { return count > 0; });
}

std::vector<RecordId> SubnetIndex::Inside(const IpPrefix& subnet) const {
  std::vector<RecordId> inside;
  if (!HasLongerThan(subnet.length())) return inside;
  // A prefix whose base is inside `subnet` is not shorter: the prefixes inside follow directly.
  for (auto at = ordered().upper_bound(subnet); at != ordered().end() && subnet.Contains(*at); ++at)
    inside.push_back(Holder(*at));
  return inside;
}

RecordId SubnetIndex::Nested(const IpPrefix& subnet) const {
  const auto own_length = static_cast<std::size_t>(subnet.length());
  if (lengths_in_use_ == (subnets_of_length_[own_length] == 0 ? 0 : 1)) return kNoRecord;
  if (const RecordId around = Around(subnet); around != kNoRecord) return around;
  if (!HasLongerThan(subnet.length())) return kNoRecord;
  const auto next = ordered().upper_bound(subnet);
  return next != ordered().end() && subnet.Contains(*next) ? Holder(*next) : kNoRecord;
}

void SubnetIndex::CountLength(const PackedLease& lease, bool added) {
  const auto length = static_cast<unsigned char>(lease.subnet_bytes(family_).back());
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
