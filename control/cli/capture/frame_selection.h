// SPDX-License-Identifier: Apache-2.0
// Which frames `flannelctl capture` keeps, as filters for libpcap; and where an outer frame has the
// pod's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/ports/pcapng.h"
#include "vxlan/bytes.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/vni.h"

namespace weft::cli {

struct FrameSelection {
  std::optional<Vni> vni;           // empty: every VNI
  std::uint16_t port = kVxlanPort;  // UDP
  // Of the peer; both empty: of every node.
  std::vector<IpAddress> peer_addresses;  // public
  std::vector<IpPrefix> peer_subnets;     // of its pods
  std::optional<IpAddress> pod;
  std::string filter;  // pcap-filter(7) of the pods' packets; empty: all
};

// Frames of the tunnel that the peer sent or gets. `pod` and `filter` are not part of it.
std::string OuterFilter(const FrameSelection& selection);
// Packets of pods, `filter` included; empty: all.
std::string PodFilter(const FrameSelection& selection);

// The IP packet of a frame; empty: there is none. Its end may be missing.
Bytes IpOf(Bytes frame, dataplane::LinkType link_type);
// The pod's Ethernet frame inside an outer frame that OuterFilter passed; empty: there is none.
Bytes PodFrameOf(Bytes outer, dataplane::LinkType link_type);
// Source and destination of a packet whose end may be missing.
std::optional<std::pair<IpAddress, IpAddress>> AddressesOf(Bytes ip);

}  // namespace weft::cli
