// SPDX-License-Identifier: Apache-2.0
// The policies of an object, in order, each as it was sent. Indexed by their settings, so that
// twenty thousand of them stay fast.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "control/emulator/hns/model/clock.h"
#include "control/emulator/hns/model/document.h"

namespace weft::hns::emulator {

class PolicyList {
 public:
  struct Item {
    std::string type;      // as sent
    std::string settings;  // JSON object, keys sorted
    Milliseconds shown_from{0};
  };

  void Add(std::string type, const Json& settings, Milliseconds shown_from = Milliseconds(0));
  // Removes the oldest policy with equal settings. False if there is none.
  bool Remove(std::string_view type, const Json& settings);
  void RemoveType(std::string_view type);  // compared without case

  bool Has(std::string_view type, const Json& settings) const;
  // Whether there is a RemoteSubnetRoute with this DestinationPrefix.
  bool HasRouteTo(const std::string& prefix) const { return routes_.contains(prefix); }
  std::size_t size() const { return items_.size(); }
  void ForEach(auto see) const {
    for (const auto& [number, item] : items_) see(item);
  }

 private:
  void Erase(std::map<std::uint64_t, Item>::iterator item);

  std::map<std::uint64_t, Item> items_;
  std::uint64_t next_ = 0;
  std::unordered_multimap<std::string, std::uint64_t> by_content_;
  std::unordered_map<std::string, std::size_t> routes_;
};

}  // namespace weft::hns::emulator
