// SPDX-License-Identifier: Apache-2.0
// The router of pods on an Ethernet segment: turns a port of frames (kPodL2) into one of IP packets
// (kPodL3). Answers ARP and neighbour discovery for the gateway addresses and resolves the pods'
// MACs.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/edge/neighbour_message.h"
#include "dataplane/edge/neighbour_table.h"
#include "dataplane/packet_port.h"
#include "vxlan/arp.h"
#include "vxlan/ethernet.h"
#include "vxlan/inner_frame.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/mtu.h"

namespace weft::dataplane {

struct EdgeOptions {
  MacAddress mac;                     // ours on this segment
  std::vector<IpAddress> gateways;    // our addresses, the pods' next hops
  std::vector<IpPrefix> pod_subnets;  // addresses outside them are neither learnt nor resolved
  std::size_t max_neighbours = 4096;
  Timestamp neighbour_lifetime = std::chrono::minutes(10);
  // The pods' MTU, for ports that capture frames as a sender left them to its device, and do not
  // mark them (libpcap, Npcap): an unfinished checksum is recognized and completed, and a TCP
  // packet above this MTU that has one is a superframe.
  std::optional<InnerMtu> unmarked_offloads{};
};

// A router's hop in both directions: decrements TTL or hop limit and drops packets that have none
// left. Thread and lifetime as for any port; owns the port below.
class Edge final : public PacketPort {
 public:
  Edge(std::unique_ptr<PacketPort> frames, EdgeOptions options);

  PortKind kind() const override { return PortKind::kPodL3; }
  const PortFeatures& features() const override { return frames_->features(); }

  // Also delivers the frames that are not pod packets, each with its drop verdict (kOwnFrame,
  // kVlanTagged, kNotIp, kInnerMalformed, kTtlExpired; kForeignMac for another destination MAC,
  // kGroupDestination; of ARP and neighbour discovery kConsumed, kForgedGateway and
  // kForeignNeighbour), so that they are counted like other drops.
  std::size_t Receive(Batch& batch) override;

  // A packet to a pod whose MAC is not known gets kNoNeighbour; a request for the MAC is sent, at
  // most once a second. Packets need 14 bytes of headroom.
  void Send(Batch& batch) override;

  std::span<const WaitHandle> wait_handles() const override { return frames_->wait_handles(); }
  // The frame port's, and "neighbours", "neighbours-asked", "neighbours-answered". With
  // unmarked_offloads "unmarked-checksums" and "unmarked-superframes": those that were found.
  std::vector<NamedCount> Counts() const override;

 private:
  // Removes the Ethernet header, or returns a drop verdict.
  Verdict Admit(Packet& packet, Timestamp now);
  // Learn the sender and answer it. The verdict of the frame, as Claim judges the sender.
  Verdict AnswerArp(Bytes payload, Timestamp now);
  Verdict AnswerNeighbour(const NeighbourMessage& message, Timestamp now);
  // A message says that `address` is at `mac`.
  Verdict Claim(const IpAddress& address, const MacAddress& mac, Timestamp now);
  void Learn(const IpAddress& address, const MacAddress& mac, Timestamp now);
  void Ask(const IpAddress& address);

  // Adds the Ethernet header, or returns a drop verdict.
  Verdict Address(Packet& packet, Timestamp now);

  bool IsGateway(const IpAddress& address) const;
  bool IsPod(const IpAddress& address) const;

  // Queues a frame of ours and returns the room after its Ethernet header. Empty if too many are
  // queued.
  MutableBytes NewFrame(const MacAddress& destination, EtherType type, std::size_t payload);
  void SendQueued(Timestamp now);

  static constexpr std::size_t kFrameRoom = 128;  // bytes; the longest, an advertisement, has 86

  std::unique_ptr<PacketPort> frames_;
  const EdgeOptions options_;
  NeighbourTable neighbours_;
  Batch queued_;
  std::vector<std::byte> queued_bytes_;  // kHeadroom + kFrameRoom for each
  std::bitset<kMaxBatch> pushed_;
  std::atomic<std::uint64_t> neighbour_count_{0};
  std::atomic<std::uint64_t> requests_sent_{0};
  std::atomic<std::uint64_t> requests_answered_{0};
  std::atomic<std::uint64_t> unmarked_checksums_{0};
  std::atomic<std::uint64_t> unmarked_superframes_{0};
};

}  // namespace weft::dataplane
