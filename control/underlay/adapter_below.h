// SPDX-License-Identifier: Apache-2.0
// The physical adapter below the chosen one, which may belong to a virtual switch. Pure.
#pragma once

#include <string>
#include <vector>

#include "control/host/host.h"
#include "control/underlay/interface_choice.h"

namespace weft::underlay {

// For HNS, which builds networks on physical adapters only.
struct AdapterHint {
  std::string name;       // empty: unknown
  std::string by_mac;     // the one other adapter with the MAC; empty: there is none, or several
  std::string ambiguous;  // why there is none, for people: several have it
  friend bool operator==(const AdapterHint&, const AdapterHint&) = default;
};
// `iface`: the names of --iface; one of them may resolve an ambiguity.
AdapterHint AdapterBelow(const InterfaceChoice& underlay,
                         const std::vector<host::Adapter>& adapters,
                         const std::vector<std::string>& iface = {});

}  // namespace weft::underlay
