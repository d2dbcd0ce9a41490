// SPDX-License-Identifier: Apache-2.0
// Where the underlay is a virtual link inside one machine (kind, containers on a bridge), no device
// finishes what a Linux peer's stack leaves to devices: checksums, and the segmentation of inner
// superframes. A kernel receiver learns that from the socket buffer, a UDP socket does not; here it
// is learnt from the bytes. Nothing here allocates or keeps state.
#pragma once

#include "dataplane/packet.h"
#include "dataplane/segment_sizes.h"
#include "vxlan/mtu.h"

namespace weft::dataplane {

// The kernel delivers an inner UDP superframe with the inner segment size where an aggregate's
// datagram size stands. Makes such a packet (kDatagrams by its descriptor, beginning with the VXLAN
// header) kNone, and leaves segment_size as it is. Only a superframe is one UDP packet with an
// unfinished checksum from its first byte to its last.
void TellSuperframeFromAggregate(Packet& packet);

// For decapsulated packets: one with an unfinished checksum becomes kPartial, and if it is longer
// than `mtu` (TCP) or has a segment_size (UDP) a superframe. The kernel does not tell the segment
// size of TCP: the largest that fits `mtu`, the pods', and that the receiver was seen to accept.
void AcceptUnfinished(Batch& batch, InnerMtu mtu, const SegmentSizes& sizes);

// What AcceptUnfinished makes of one packet, but for what receivers take.
Packet DescribeUnfinished(Packet packet, InnerMtu mtu);

}  // namespace weft::dataplane
