// SPDX-License-Identifier: Apache-2.0
// Why the forwarder decided as it did, with the frame's and the leases' own values.
#pragma once

#include <string>
#include <vector>

#include "control/cli/explain/frame.h"
#include "control/cli/explain/viewpoint.h"
#include "dataplane/forwarder.h"

namespace weft::cli {

// `packet` is the forwarder's result: verdict and bytes. Lines for people, the main reason first.
std::vector<std::string> OutboundReasons(const Viewpoint& view,
                                         const dataplane::ForwarderConfig& config,
                                         const FrameFacts& facts, const dataplane::Packet& packet);
std::vector<std::string> InboundReasons(const Viewpoint& view,
                                        const dataplane::ForwarderConfig& config,
                                        const FrameFacts& facts, const dataplane::Packet& packet);

}  // namespace weft::cli
