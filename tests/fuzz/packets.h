// SPDX-License-Identifier: Apache-2.0
// Input packets for targets of the packet path, each in a buffer of exact size, and the packets of
// a superframe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "dataplane/offload.h"
#include "dataplane/packet.h"
#include "tests/fuzz/input.h"
#include "tests/support/bytes.h"
#include "vxlan/inner_frame.h"
#include "vxlan/ipv4.h"
#include "vxlan/transport_checksum.h"

namespace weft::fuzz {

// Owns the bytes of the packets that it lends: a read past their room meets the sanitizer.
class ExactBuffers {
 public:
  dataplane::Packet Lend(Bytes bytes, std::uint32_t tailroom = 0) {
    auto& buffer = buffers_.emplace_back(dataplane::kHeadroom + bytes.size() + tailroom);
    std::copy(bytes.begin(), bytes.end(), buffer.begin() + dataplane::kHeadroom);
    dataplane::Packet packet;
    packet.data = buffer.data() + dataplane::kHeadroom;
    packet.length = static_cast<std::uint32_t>(bytes.size());
    packet.headroom = dataplane::kHeadroom;
    packet.tailroom = tailroom;
    return packet;
  }

 private:
  std::deque<ByteVector> buffers_;
};

inline ByteVector BytesOf(const dataplane::Packet& packet) {
  return {packet.data, packet.data + packet.length};
}

inline bool SameBytes(Bytes a, Bytes b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// The single packets that the cutter makes of a superframe, from the first byte of `data` on.
inline std::vector<ByteVector> CutUp(const dataplane::Packet& superframe, dataplane::PortKind wire,
                                     const dataplane::PortFeatures& features) {
  static dataplane::PacketSlab slab(1);
  static const auto batch = std::make_unique<dataplane::Batch>();
  static const auto datagrams = std::make_unique<dataplane::Batch>();
  std::vector<ByteVector> cut;
  dataplane::SuperframeCutter cutter(superframe, wire, features);
  while (!cutter.done()) {
    batch->clear();
    cutter.Cut(slab.Lend(0), *batch);
    Require(!batch->empty(), "a cut makes something");
    for (const dataplane::Packet& packet : *batch) {
      Require(packet.segmentation == dataplane::Segmentation::kNone ||
                  (packet.length <= features.max_aggregate &&
                   WirePackets(packet) <= features.max_segments),
              "an aggregate is what the port takes");
      for (std::uint32_t offset = 0; offset < packet.length;) {
        datagrams->clear();
        offset = SplitAggregate(packet, offset, *datagrams);
        for (const dataplane::Packet& datagram : *datagrams) cut.push_back(BytesOf(datagram));
      }
    }
  }
  return cut;
}

// A complete inner packet with correct checksums, and nothing after it.
inline void RequireRight(Bytes ip) {
  const auto inner = ParseInnerIp(ip);
  Require(inner.ok() && inner->total_length == ip.size(), "the IP packet is whole");
  Require(!inner->is_v4() || Ipv4ChecksumIsRight(ip), "the IPv4 checksum");
  Require(VerifyTransportChecksum(ip) == TransportChecksum::kRight, "the transport checksum");
}

}  // namespace weft::fuzz
