// SPDX-License-Identifier: Apache-2.0
// A small cluster for tests of the forwarder, and batches made from bytes.
//
// We are node `us` at 192.0.2.2, MAC 02:..:02, pods 10.244.2.0/24 and fd00:2::/64. Peers by
// default:
//   linux-1    192.0.2.1     02:..:01   10.244.1.0/24, fd00:1::/64   VxlanBuilder's default sender
//   linux-3    192.0.2.3     02:..:03   10.244.3.0/24
//   linux-3b   192.0.2.3     02:..:3b   10.244.33.0/24               shares linux-3's public IP
//   linux-6    2001:db8::6   02:..:06   10.244.6.0/24                IPv6 underlay
#pragma once

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/forwarder.h"
#include "dataplane/offload.h"
#include "tests/support/packet_builder.h"
#include "vxlan/inner_frame.h"

namespace weft::dataplane {

IpPrefix Prefix(std::string_view text);  // parse or abort
RemoteSpec Lease(std::string_view peer, std::string_view subnet, std::string_view vtep,
                 std::string_view mac);
std::vector<RemoteSpec> DefaultLeases();
ForwarderConfig DefaultConfig();

// Owns the bytes of the packets that it makes, each in a separate buffer with room on both sides.
class Buffers {
 public:
  explicit Buffers(std::size_t count = kMaxBatch) : slab_(count) {}
  Packet Make(const ByteVector& bytes);
  // A TCP or UDP superframe: `packet` is one large IP packet whose checksum field has the
  // pseudo-header's sum.
  Packet MakeSuperframe(const ByteVector& packet, Segmentation kind, std::uint16_t segment_size);

 private:
  PacketSlab slab_;
  std::size_t next_ = 0;
};

// The packet's bytes, for comparison.
ByteVector BytesOf(const Packet& packet);

// A forwarder with its surroundings.
class Node {
 public:
  explicit Node(const ForwarderConfig& config = DefaultConfig(),
                const std::vector<RemoteSpec>& leases = DefaultLeases());

  // One packet through Encapsulate (Decapsulate). The result lives as long as the node.
  Packet& Encapsulate(const Packet& packet);
  Packet& Encapsulate(const ByteVector& inner) { return Encapsulate(buffers.Make(inner)); }
  Packet& Decapsulate(const Packet& packet);
  Packet& Decapsulate(const ByteVector& outer) { return Decapsulate(buffers.Make(outer)); }
  PeerCounts CountsOf(std::string_view peer) const;  // empty name: packets without a peer

  Timestamp now{};
  Buffers buffers;
  PeerTable peers;
  Counters counters;
  RemoteTable remotes;
  Forwarder forwarder;
  Batch& batch() { return *batch_; }
  Batch& replies() { return *replies_; }

 private:
  std::unique_ptr<Batch> batch_ = std::make_unique<Batch>();
  std::unique_ptr<Batch> replies_ = std::make_unique<Batch>();
};

// What GoogleTest prints.
void PrintTo(Verdict verdict, std::ostream* out);

}  // namespace weft::dataplane
