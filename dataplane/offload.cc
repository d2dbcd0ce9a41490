// SPDX-License-Identifier: Apache-2.0
#include "dataplane/offload.h"

#include <algorithm>

#include "vxlan/checksum.h"
#include "vxlan/udp.h"

namespace weft::dataplane {
namespace {

constexpr std::size_t kFew = 128;  // bytes

}  // namespace

bool CompleteChecksum(Packet& packet) {
  const std::uint32_t start = packet.checksum_start;
  const std::uint32_t field = start + packet.checksum_offset;
  if (field + 2 > packet.length) return false;
  // The sum includes the field, which contains the pseudo-header's sum. RFC 768 requires 0xffff for
  // a computed 0; for the other protocols the two are equivalent.
  const Bytes covered = packet.bytes().subspan(start);
  const std::uint16_t checksum = start >= 8 && covered.size() <= kFew
                                     ? ChecksumOfFew(covered.data(), covered.size())
                                     : Sum(covered).Checksum();
  StoreBe16(packet.data + field, NonZeroUdpChecksum(checksum));
  packet.checksum = ChecksumState::kOnWire;
  return true;
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
