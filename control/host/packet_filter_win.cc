// SPDX-License-Identifier: Apache-2.0
#include "control/host/packet_filter.h"

namespace weft::host {

// The CNI plugin configures HNS according to subnet.env's FLANNEL_IPMASQ.
std::unique_ptr<PacketFilter> OpenPacketFilter() { return nullptr; }

}  // namespace weft::host
