// SPDX-License-Identifier: Apache-2.0
// Where the underlay is a virtual link inside one machine (kind, containers on a bridge), no device
// finishes what a Linux peer's stack leaves to devices: checksums, and the segmentation of inner
// superframes. A kernel receiver learns that from the socket buffer, a UDP socket does not; here it
// is learnt from the octets. Nothing here allocates or keeps state.
#pragma once

#include "dataplane/packet.h"
#include "vxlan/mtu.h"

namespace weft::dataplane {

// The kernel delivers an inner UDP superframe with the inner segment size where an aggregate's
// datagram size stands. Makes such a packet (kDatagrams by its descriptor, beginning with the VXLAN
// header) kNone, and leaves segment_size as it is. What its first datagram says of its own length
// tells the two apart.
void TellSuperframeFromAggregate(Packet& packet);

// For decapsulated packets: one with an unfinished checksum becomes kPartial, and if it is longer
// than `mtu` (TCP) or has a segment_size (UDP) a superframe. The kernel does not tell the segment
// size of TCP: the largest that fits `mtu`, the pods', is as good as the sender's.
void AcceptUnfinished(Batch& batch, InnerMtu mtu);

}  // namespace weft::dataplane
