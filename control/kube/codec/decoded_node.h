// SPDX-License-Identifier: Apache-2.0
// What one Node says of leases, whatever its encoding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "control/lease/lease.h"
#include "control/lease/own_node.h"

namespace weft::kube {

struct DecodedNode {
  enum class Kind : std::uint8_t {
    kLease,
    kNotManaged,  // no kube-subnet-manager "true": no lease, and nothing wrong with it
    kRefused,
  };
  Kind kind = Kind::kNotManaged;
  lease::Lease lease;   // kLease: all of it; otherwise only `node`, its name empty where unreadable
  std::string refusal;  // kRefused: the reason; kNotManaged: what is missing
  std::optional<lease::OwnNode> own;  // when it is the Node we asked for, whatever `kind` is
};

}  // namespace weft::kube
