// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/policy_list.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weft::hns::emulator {
namespace {

std::string ContentKey(std::string_view type, std::string_view settings) {
  return absl::StrCat(absl::AsciiStrToLower(type), "\n", settings);
}

std::string SettingsText(const Json& settings) {
  return settings.is_object() ? Dump(settings) : "{}";
}

std::string DestinationOf(std::string_view type, const Json& settings) {
  if (!absl::EqualsIgnoreCase(type, "RemoteSubnetRoute")) return {};
  return TextOf(Field(settings, "DestinationPrefix"));
}

}  // namespace

void PolicyList::Add(std::string type, const Json& settings, Milliseconds shown_from) {
  Item item{std::move(type), SettingsText(settings), shown_from};
  by_content_.emplace(ContentKey(item.type, item.settings), next_);
  const std::string destination = DestinationOf(item.type, settings);
  if (!destination.empty()) ++routes_[destination];
  items_.emplace(next_++, std::move(item));
}

bool PolicyList::Remove(std::string_view type, const Json& settings) {
  const auto [begin, end] = by_content_.equal_range(ContentKey(type, SettingsText(settings)));
  if (begin == end) return false;
  const auto oldest =
      std::min_element(begin, end, [](auto& a, auto& b) { return a.second < b.second; });
  Erase(items_.find(oldest->second));
  return true;
}

void PolicyList::RemoveType(std::string_view type) {
  for (auto item = items_.begin(); item != items_.end();) {
    const auto next = std::next(item);
    if (absl::EqualsIgnoreCase(item->second.type, type)) Erase(item);
    item = next;
  }
}

void PolicyList::Erase(std::map<std::uint64_t, Item>::iterator item) {
  const auto& [type, settings, shown_from] = item->second;
  const auto [begin, end] = by_content_.equal_range(ContentKey(type, settings));
  by_content_.erase(
      std::find_if(begin, end, [&](auto& entry) { return entry.second == item->first; }));
  if (absl::EqualsIgnoreCase(type, "RemoteSubnetRoute")) {
    const auto route = routes_.find(DestinationOf(type, Json::parse(settings)));
    if (route != routes_.end() && --route->second == 0) routes_.erase(route);
  }
  items_.erase(item);
}

bool PolicyList::Has(std::string_view type, const Json& settings) const {
  return by_content_.contains(ContentKey(type, SettingsText(settings)));
}

}  // namespace weft::hns::emulator
