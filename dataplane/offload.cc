// SPDX-License-Identifier: Apache-2.0
#include "dataplane/offload.h"

#include <algorithm>

#include "vxlan/checksum.h"
#include "vxlan/udp.h"

namespace weft::dataplane {
namespace {

// Of few bytes, for which a call of the CPU's own loop costs more than the sum.
PartialSum SumFew(Bytes bytes) {
  std::uint64_t words = 0;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    const std::uint64_t eight = LoadBe64(at);
    words += (eight >> 32) + (eight & 0xffff'ffff);
  }
  if (left >= 4) {
    words += LoadBe32(at);
    at += 4;
    left -= 4;
  }
  if (left >= 2) {
    words += LoadBe16(at);
    at += 2;
    left -= 2;
  }
  if (left != 0) words += std::uint64_t{Load8(at)} << 8;
  return PartialSum(words);
}

constexpr std::size_t kFew = 128;  // bytes

}  // namespace

bool CompleteChecksum(Packet& packet) {
  const std::uint32_t start = packet.checksum_start;
  const std::uint32_t field = start + packet.checksum_offset;
  if (field + 2 > packet.length) return false;
  // The sum includes the field, which contains the pseudo-header's sum. RFC 768 requires 0xffff for
  // a computed 0; for the other protocols the two are equivalent.
  const Bytes covered = packet.bytes().subspan(start);
  const PartialSum sum = covered.size() <= kFew ? SumFew(covered) : Sum(covered);
  StoreBe16(packet.data + field, NonZeroUdpChecksum(sum.Checksum()));
  packet.checksum = ChecksumState::kOnWire;
  return true;
}

std::uint32_t SplitAggregate(const Packet& aggregate, std::uint32_t offset, Batch& out) {
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
