// SPDX-License-Identifier: Apache-2.0
// What our own Node adds to the choice of the interface, and what of it is published. Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "control/config/options.h"
#include "control/kube/publication.h"
#include "control/lease/own_node.h"
#include "control/net_conf.h"
#include "control/own_facts.h"
#include "control/underlay/interface_choice.h"

namespace weft::underlay {

// ChooseInterface with the flags, and over them node-public-ip of `node`. Where neither names an
// address and this process does not publish (a file of leases), the address of ours that `node`
// has. Then public-ip-overwrite is what is published; it chooses nothing. FailedPrecondition: an
// annotation is wrong, and may be corrected while we wait. `standing`: the choice before, or null;
// where it has merely lost its address (StaysWith), Unavailable.
absl::StatusOr<InterfaceChoice> ChooseUnderlay(const config::Options& options,
                                               const control::NetConf& conf,
                                               const std::optional<lease::OwnNode>& node,
                                               const HostFacts& host,
                                               const InterfaceChoice* standing = nullptr,
                                               bool may_return = false);

// One sentence when `node` has another address than the chosen one and this process does not
// publish; empty otherwise.
std::string PublicIpCondition(const config::Options& options, const lease::OwnNode& node,
                              const InterfaceChoice& choice);

// One sentence when the chosen interface is down; empty otherwise.
std::string LinkCondition(const InterfaceChoice& choice, const HostFacts& host);
// One sentence when net-conf's MTU is over the interface's; empty otherwise.
std::string MtuCondition(const InterfaceChoice& choice, const control::NetConf& conf);

// What is to be published. `choice` has the addresses of every family of `facts`.
kube::Publication PublicationOf(const control::OwnFacts& facts, const control::NetConf& conf,
                                const InterfaceChoice& choice);

}  // namespace weft::underlay
