// SPDX-License-Identifier: Apache-2.0
// The choice of the interface with our own Node's annotations, and the publication made of it.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "control/config/options.h"
#include "control/kube/publication.h"
#include "control/lease/own_node.h"
#include "control/net_conf.h"
#include "control/own_facts.h"
#include "control/underlay/underlay_keeper.h"

namespace weft::underlay {

// `keeper`'s Keep with the flags, which node-public-ip of `node` overrides; null: ChooseInterface.
// Where neither names an address and this process does not publish (a file of leases), the address
// of this host that `node` has. public-ip-overwrite then replaces the published address; it chooses
// no interface. FailedPrecondition: an annotation is wrong, and may be corrected while we wait.
absl::StatusOr<InterfaceChoice> ChooseUnderlay(const config::Options& options,
                                               const control::NetConf& conf,
                                               const std::optional<lease::OwnNode>& node,
                                               const HostFacts& host,
                                               UnderlayKeeper* keeper = nullptr,
                                               const InterfaceChoice* current = nullptr,
                                               control::TimePoint now = {});

// A sentence when the kubelet reports an address of pods, or `node` has another address than the
// chosen one and this process does not publish; else empty.
std::string PublicIpCondition(const config::Options& options, const lease::OwnNode& node,
                              const InterfaceChoice& choice);

// A sentence when the chosen interface is down or has no link; else empty.
std::string LinkCondition(const InterfaceChoice& choice, const HostFacts& host);
// A sentence when net-conf's MTU exceeds the interface's; else empty.
std::string MtuCondition(const InterfaceChoice& choice, const control::NetConf& conf);

// What to publish. `choice` has the addresses of every family of `facts`.
kube::Publication PublicationOf(const control::OwnFacts& facts, const control::NetConf& conf,
                                const InterfaceChoice& choice);

}  // namespace weft::underlay
