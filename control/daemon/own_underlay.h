// SPDX-License-Identifier: Apache-2.0
// What our own Node adds to the choice of the interface, and whether peers were told what was
// chosen. Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "control/daemon/interface_choice.h"
#include "control/daemon/options.h"
#include "control/lease/own_node.h"
#include "control/net_conf.h"

namespace weft::daemon {

// ChooseInterface with the flags, over them the annotations of `node`, and where neither names an
// address the one of ours that `node` publishes.
absl::StatusOr<InterfaceChoice> ChooseUnderlay(const Options& options, const control::NetConf& conf,
                                               const std::optional<lease::OwnNode>& node,
                                               const HostFacts& host);

// One sentence when `node` publishes another address than the chosen one; empty when it does not.
// Nobody publishes for a file.
std::string PublicIpTrouble(const lease::OwnNode& node, const InterfaceChoice& choice);

}  // namespace weft::daemon
