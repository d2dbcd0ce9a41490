// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet.h"

namespace weft::dataplane {
namespace {

constexpr std::size_t kCacheLine = 64;
// An odd number of cache lines: otherwise all packets' headers would map to the same few cache
// sets, and a batch of headers would not fit into the cache.
constexpr std::size_t kPacketStride = (((kHeadroom + kMaxPacket) / kCacheLine) | 1) * kCacheLine;
static_assert(kPacketStride >= kHeadroom + kMaxPacket && (kPacketStride / kCacheLine) % 2 == 1);

}  // namespace

PacketSlab::PacketSlab(std::size_t count)
    : count_(count),
      bytes_(std::make_unique_for_overwrite<std::byte[]>(count * kPacketStride + kCacheLine)),
      first_(bytes_.get()) {
  std::size_t space = count * kPacketStride + kCacheLine;
  void* aligned = bytes_.get();
  first_ = static_cast<std::byte*>(std::align(kCacheLine, count * kPacketStride, aligned, space));
}

Packet PacketSlab::Lend(std::size_t index) {
  Packet packet;
  packet.data = first_ + index * kPacketStride + kHeadroom;
  packet.headroom = kHeadroom;
  packet.tailroom = kMaxPacket;
  return packet;
}

}  // namespace weft::dataplane
