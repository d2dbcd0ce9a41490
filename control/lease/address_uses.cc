// SPDX-License-Identifier: Apache-2.0
#include "control/lease/address_uses.h"

namespace weft::lease {
namespace {

std::array<std::uint64_t, 2> WordsOf(const IpAddress& v6) {
  const std::byte* const bytes = v6.bytes().data();
  return {LoadBe64(bytes), LoadBe64(bytes + 8)};
}

}  // namespace

void AddressUses::Add(const IpAddress& address) {
  const bool first =
      address.is_v4() ? v4_.insert(address.v4()).second : v6_.insert(WordsOf(address)).second;
  if (!first) ++more_[address];
}

void AddressUses::Remove(const IpAddress& address) {
  const auto at = more_.empty() ? more_.end() : more_.find(address);
  if (at != more_.end()) {
    if (--at->second == 0) more_.erase(at);
  } else if (address.is_v4()) {
    v4_.erase(address.v4());
  } else {
    v6_.erase(WordsOf(address));
  }
}

std::size_t AddressUses::Count(const IpAddress& address) const {
  if (const auto at = more_.find(address); at != more_.end()) return 1 + at->second;
  return address.is_v4() ? v4_.count(address.v4()) : v6_.count(WordsOf(address));
}

}  // namespace weft::lease
