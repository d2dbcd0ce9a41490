// SPDX-License-Identifier: Apache-2.0
// What can be said of the options without looking at the host.
#pragma once

#include "absl/status/status.h"
#include "control/daemon/flags.h"
#include "control/daemon/options.h"
#include "control/net_conf.h"

namespace weft::daemon {

// Contradictions, parts that are not built yet, what this system cannot do: the error names flag
// and remedy. Fills in defaults that depend on the system, and who we are: the node's name, or the
// pod whose node it is.
absl::Status CheckOptions(Options& options, const Environment& environment);

// What net-conf means where it names no VNI or port. `options` are checked: HNS has its own
// defaults, and what runs on Linux those of its kernel, weft's own data plane included.
control::VxlanDefaults DefaultsFor(const Options& options);

// Whether the chosen data plane can do what net-conf asks for. `options` are checked; userspace
// becomes routes where net-conf has no tunnel (host-gw), and HNS leaves IPv6 out beside IPv4.
absl::Status CheckForDataplane(Options& options, control::NetConf& conf);

}  // namespace weft::daemon
