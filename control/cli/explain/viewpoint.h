// SPDX-License-Identifier: Apache-2.0
// A node's own half and its peers' of one address family: the input of a data plane.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/admin/schema.h"
#include "dataplane/remote_table.h"

namespace weft::cli {

// One lease's half with its node's name.
struct NamedHalf {
  std::string node;
  admin::LeaseHalf half;
};

struct Viewpoint {
  std::string node;                            // this node
  admin::LeaseHalf own;                        // has a MAC
  std::vector<NamedHalf> peers;                // other nodes, usable or not
  dataplane::LocalVtep local;                  // made of `own`
  std::vector<dataplane::RemoteSpec> remotes;  // of the usable peers

  // The peer whose subnet is the longest that covers `address`, among the usable ones or not.
  const NamedHalf* FindCovering(const IpAddress& address, bool usable) const;
  const NamedHalf* FindByPublicIp(const IpAddress& address) const;  // usable ones
  const NamedHalf* FindByMac(const MacAddress& mac) const;
};

// From the row whose state is "self". The error names what is missing and the flag for it.
absl::StatusOr<Viewpoint> MakeViewpoint(const admin::LeaseList& list, IpFamily family);

}  // namespace weft::cli
