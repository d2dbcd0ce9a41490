// SPDX-License-Identifier: Apache-2.0
#include "control/underlay/adapter_below.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hns/overlay_plan.h"

namespace weft::underlay {
namespace {

bool IsSwitchAdapter(std::string_view adapter) { return adapter.starts_with("vEthernet ("); }

}  // namespace

AdapterHint AdapterBelow(const InterfaceChoice& underlay,
                         const std::vector<host::Adapter>& adapters,
                         const std::vector<std::string>& iface) {
  AdapterHint hint;
  // "vEthernet (X) 2" and names that Hyper-V chose contain no NIC's name.
  const std::string physical = hns::PhysicalAdapter(underlay.name);
  const bool listed = std::ranges::find(adapters, physical, &host::Adapter::name) != adapters.end();
  std::vector<std::string> same;  // the vNIC's MAC is its NIC's
  for (const host::Adapter& adapter : adapters) {
    if (adapter.index == underlay.index || adapter.mac != underlay.mac ||
        adapter.mac == MacAddress() || IsSwitchAdapter(adapter.name))
      continue;
    same.push_back(adapter.name);
  }
  // Windows may not list a NIC that is bound to a switch and has no IP any more: the vNIC's name
  // contains its name.
  const bool hidden = physical != underlay.name && same.empty();
  if (listed || hidden || adapters.empty()) hint.name = physical;
  if (IsSwitchAdapter(hint.name)) hint.name.clear();
  const auto given = std::find_first_of(same.begin(), same.end(), iface.begin(), iface.end());
  if (given != same.end())
    same = {*given};
  else if (std::ranges::count(same, physical) != 0)  // besides it a virtual function, as on Azure
    same = {physical};
  if (same.size() == 1 && same.front() != hint.name) hint.by_mac = same.front();
  if (same.size() > 1) {
    hint.ambiguous =
        absl::StrCat("the physical adapter below ", underlay.name,
                     " is not known: ", absl::StrJoin(same, " and "), " have its MAC ",
                     underlay.mac.ToString(), ", as in a team; name the one to use with --iface");
  }
  return hint;
}

}  // namespace weft::underlay
