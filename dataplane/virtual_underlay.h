// SPDX-License-Identifier: Apache-2.0
// If the underlay is a virtual link inside one machine (kind, containers on a bridge), no device
// completes what a Linux peer's stack leaves to devices: checksums, and the segmentation of inner
// superframes. A kernel receiver knows this from the socket buffer, a UDP socket does not, so it is
// detected from the bytes here. Nothing here allocates or keeps state.
#pragma once

#include "dataplane/packet.h"
#include "dataplane/segment_sizes.h"
#include "vxlan/mtu.h"

namespace weft::dataplane {

// The kernel delivers an inner UDP superframe with the inner segment size in place of an
// aggregate's datagram size. Such a packet (kDatagrams in its descriptor, beginning with the VXLAN
// header) becomes kNone and keeps its segment_size. It is recognized as one UDP packet that fills
// the whole buffer and has an unfinished checksum.
void DetectSuperframe(Packet& packet);

// For decapsulated packets. A packet with an unfinished checksum becomes kPartial, and a superframe
// if it is longer than `mtu` (TCP) or has a segment_size (UDP). The kernel does not report TCP's
// segment size, so the largest that fits `mtu`, the pods', and the receiver's limit is used.
void AcceptUnfinished(Batch& batch, InnerMtu mtu, const SegmentSizes& sizes);

// AcceptUnfinished for one packet, without receivers' limits.
Packet DescribeUnfinished(Packet packet, InnerMtu mtu);

}  // namespace weft::dataplane
