// SPDX-License-Identifier: Apache-2.0
#include "dataplane/offload.h"

#include <algorithm>

namespace weft::dataplane {

bool CompleteChecksum(Packet& packet) {
  return CompleteChecksumFrom(packet, packet.checksum_start);
}

std::uint32_t SplitAggregate(const Packet& aggregate, std::uint32_t offset, Batch& out) {
  if (aggregate.segmentation != Segmentation::kDatagrams && !out.full()) {
    out.Add(aggregate);
    return aggregate.length;
  }
  const std::uint32_t step =
      aggregate.segment_size == 0 ? aggregate.length : aggregate.segment_size;
  while (offset < aggregate.length && !out.full()) {
    Packet& datagram = out.Add(aggregate);
    datagram.segmentation = Segmentation::kNone;
    datagram.segment_size = 0;
    datagram.data += offset;
    datagram.length = std::min(step, aggregate.length - offset);
    if (offset != 0) datagram.headroom = 0;
    offset += datagram.length;
    if (offset < aggregate.length) datagram.tailroom = 0;
  }
  return offset;
}

}  // namespace weft::dataplane
