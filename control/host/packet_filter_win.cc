// SPDX-License-Identifier: Apache-2.0
#include "control/host/packet_filter.h"

namespace weft::host {

// The CNI plugin has HNS do what subnet.env's FLANNEL_IPMASQ asks for.
std::unique_ptr<PacketFilter> OpenPacketFilter() { return nullptr; }

}  // namespace weft::host
