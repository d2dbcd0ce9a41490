// SPDX-License-Identifier: Apache-2.0
#include "tests/dataplane/support.h"

#include <cstdlib>
#include <cstring>

#include "vxlan/checksum.h"

namespace weft::dataplane {

IpPrefix Prefix(std::string_view text) {
  const auto prefix = IpPrefix::Parse(text);
  if (!prefix) std::abort();
  return *prefix;
}

RemoteSpec Lease(std::string_view peer, std::string_view subnet, std::string_view vtep,
                 std::string_view mac) {
  return {std::string(peer), Prefix(subnet), Ip(vtep), Mac(mac)};
}

std::vector<RemoteSpec> DefaultLeases() {
  return {
      Lease("linux-1", "10.244.1.0/24", "192.0.2.1", "02:00:00:00:00:01"),
      Lease("linux-1", "fd00:1::/64", "192.0.2.1", "02:00:00:00:00:01"),
      Lease("linux-3", "10.244.3.0/24", "192.0.2.3", "02:00:00:00:00:03"),
      Lease("linux-3b", "10.244.33.0/24", "192.0.2.3", "02:00:00:00:00:3b"),
      Lease("linux-6", "10.244.6.0/24", "2001:db8::6", "02:00:00:00:00:06"),
  };
}

ForwarderConfig DefaultConfig() {
  ForwarderConfig config;
  config.local.outer_source = Ip("192.0.2.2");
  config.local.mac = Mac("02:00:00:00:00:02");
  config.own_subnets = {Prefix("10.244.2.0/24"), Prefix("fd00:2::/64")};
  config.own_addresses = {Ip("10.244.2.0"), Ip("fd00:2::")};
  config.wire = PortKind::kWirePacket;
  return config;
}

Packet Buffers::Make(const ByteVector& bytes) {
  Packet packet = slab_.Lend(next_++ % slab_.count());
  std::memcpy(packet.data, bytes.data(), bytes.size());
  packet.length = static_cast<std::uint32_t>(bytes.size());
  packet.tailroom -= packet.length;
  return packet;
}

Packet Buffers::MakeSuperframe(const ByteVector& bytes, Segmentation kind,
                               std::uint16_t segment_size) {
  Packet packet = Make(bytes);
  const auto inner = ParseInnerIp(bytes);
  if (!inner) std::abort();
  packet.segmentation = kind;
  packet.segment_size = segment_size;
  packet.checksum = ChecksumState::kPartial;
  packet.checksum_start = static_cast<std::uint16_t>(inner->header_length);
  packet.checksum_offset = kind == Segmentation::kTcp ? 16 : 6;
  const std::uint32_t field = std::uint32_t{packet.checksum_start} + packet.checksum_offset;
  if (field + 2 <= packet.length) {
    StoreBe16(packet.data + field,
              PseudoHeader(inner->source(), inner->destination(), inner->protocol,
                           inner->total_length - inner->header_length)
                  .Fold());
  }
  return packet;
}

ByteVector BytesOf(const Packet& packet) {
  return ByteVector(packet.data, packet.data + packet.length);
}

Node::Node(const ForwarderConfig& config, const std::vector<RemoteSpec>& leases)
    : remotes(config.local, peers), forwarder(config, remotes, peers, counters) {
  remotes.Resync(leases);
  forwarder.Refresh();
}

Packet& Node::Encapsulate(const Packet& packet) {
  batch_->clear();
  replies_->clear();
  batch_->now = now;
  Packet& result = batch_->Add(packet);
  forwarder.Encapsulate(*batch_, *replies_);
  return result;
}

Packet& Node::Decapsulate(const Packet& packet) {
  batch_->clear();
  batch_->now = now;
  Packet& result = batch_->Add(packet);
  forwarder.Decapsulate(*batch_);
  return result;
}

PeerCounts Node::CountsOf(std::string_view peer) const {
  for (const PeerTable::Row& row : peers.Read()) {
    if (row.name == peer) return row.counts;
  }
  return {};
}

void PrintTo(Verdict verdict, std::ostream* out) { *out << Name(verdict); }

}  // namespace weft::dataplane
