// SPDX-License-Identifier: Apache-2.0
// Which addresses an adapter reaches without a router.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "control/host/host.h"

namespace weft::control {

// As of a look at the host: the prefixes of the adapter's addresses, and of its routes that name no
// gateway.
class OnLink {
 public:
  OnLink() = default;  // nothing
  // `routes` of the host, of the family in question, as they are now. NotFound: no such adapter, or
  // it is down.
  static absl::StatusOr<OnLink> Of(std::uint32_t adapter_index,
                                   const std::vector<host::Adapter>& adapters,
                                   const std::vector<host::Route>& routes);

  bool Reaches(const IpAddress& address) const;

 private:
  std::vector<IpPrefix> prefixes_;
};

}  // namespace weft::control
