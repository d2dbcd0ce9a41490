// SPDX-License-Identifier: Apache-2.0
// Shared by the two directions of the forwarder. Private to dataplane/forwarder*.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/forwarder.h"
#include "dataplane/icmp_budget.h"
#include "dataplane/own_subnets.h"
#include "dataplane/remote_snapshot.h"
#include "dataplane/usual_headers.h"
#include "vxlan/bytes.h"
#include "vxlan/ecn.h"
#include "vxlan/encapsulation.h"
#include "vxlan/inner_frame.h"

namespace weft::dataplane {

// Number of packets between a packet's look-up and its finish: enough for the prefetches to
// complete, few enough that descriptors, headers and remotes stay in the L1 cache. Packets are not
// prefetched: their port has just written them.
inline constexpr std::size_t kStride = 16;

// As a minimum length: the fast loop takes no packet.
inline constexpr std::uint32_t kNeverTaken = ~std::uint32_t{0};

inline constexpr auto kPayloadSize =
    static_cast<std::uint32_t>(EncapsulationTemplate::kPayloadSize);

// Always inline, and so are its callers: GCC removes calls of a function that only prefetches, as
// it has no side effect.
[[gnu::always_inline]] inline void Prefetch(const void* at) { __builtin_prefetch(at); }

// The ECN field for the outer header of an IPv4 packet.
inline std::uint8_t OuterEcnV4(const Packet& packet) {
  return static_cast<std::uint8_t>(EncapsulationEcn(EcnOf(Load8(packet.data + 1))));
}

struct Forwarder::Impl {
  Impl(const ForwarderConfig& desired, const RemoteTable& table, PeerTable& peer_table,
       Counters& counts);

  // Calls look_up(i) and, kStride packets later, finish(i) for every packet. look_up sets found[i]
  // to a remote, never null, and prefetches it; half a stride later its peer's slot is prefetched.
  template <typename LookUp, typename Finish>
  void Walk(Batch& batch, LookUp look_up, Finish finish);

  // The loops handle the usual packets of a datagram wire and pass every other packet, with its
  // index in the batch, to the functions ...Slow, which implement every rule.
  //
  // Pod to wire. `remote` is the destination's.
  void Encapsulate(Batch& batch, Batch& replies);
  void ResolveSlow(Packet& packet, std::size_t i);
  Verdict Resolve(Packet& packet, const Remote*& remote) const;
  void StampSlow(Packet& packet, std::size_t i, Timestamp now, Batch& replies);
  void Stamp(Packet& packet, const Remote& remote, Timestamp now, Batch& replies);
  Verdict AnswerTooBig(const Packet& packet, std::uint32_t limit, Timestamp now, Batch& replies);

  // Wire to pod. `remote` is the inner source's, or `no_remote`. Inspecting leaves the inner
  // packet.
  void Decapsulate(Batch& batch);
  void InspectSlow(Packet& packet, std::size_t i);
  Verdict Inspect(Packet& packet, const Remote*& remote) const;
  Verdict StripOuter(Packet& packet) const;
  bool AdmitSlow(Packet& packet, const Remote& remote);  // false: the packet is dropped
  Verdict JudgeSender(const Packet& packet, const Remote& remote);
  bool IsPodAddress(const IpAddress& address) const;
  PeerTable::Slot& SlotOf(const Remote& remote) const { return remote.slots[config.worker]; }
  bool MergeEcn(Packet& packet) const;  // false: the packet is dropped
  void CountReceived(const Packet& packet, PeerTable::Slot& slot) const;

  const ForwarderConfig config;
  const OwnSubnets own;
  // Whether the loops take packets: for a datagram wire and at most one own IPv4 subnet.
  const bool quick;
  const UsualHeaders usual_headers;
  const RemoteTable& remotes;
  Counters& counters;
  // By size of a remote's template: the fewest bytes that do not fit the link. 0 for an empty one.
  std::array<std::uint32_t, EncapsulationTemplate::kMaxSize + 1> too_big{};

  std::shared_ptr<const RemoteSnapshot> snapshot;
  IcmpBudget icmp_budget;
  // In place of null: its template is empty, its VTEP is no sender's, its slot is kNoPeer's.
  Remote no_remote;
  // By index of the packet in the batch.
  std::array<const Remote*, kMaxBatch> found;
  std::array<const Remote*, kMaxBatch> found_slow;  // encapsulation, where found is no_remote
};

// Always inline, like look_up and finish: calls would move their local variables to memory.
template <typename LookUp, typename Finish>
[[gnu::always_inline]] inline void Forwarder::Impl::Walk(Batch& batch, LookUp look_up,
                                                         Finish finish) {
  constexpr std::size_t kHalf = kStride / 2;
  const std::size_t size = batch.size();
  const std::size_t lead = std::min(size, kStride);
  const Remote* const* const remotes_found = found.data();
  const std::size_t worker = config.worker;

  for (std::size_t i = 0; i < lead; ++i) look_up(i);
  for (std::size_t i = 0; i < std::min(size, kHalf); ++i)
    Prefetch(&remotes_found[i]->slots[worker]);
  for (std::size_t i = lead; i < size; ++i) {
    look_up(i);
    Prefetch(&remotes_found[i - kHalf]->slots[worker]);
    finish(i - kStride);
  }
  for (std::size_t i = size - std::min(size, kHalf); i < size; ++i)
    Prefetch(&remotes_found[i]->slots[worker]);
  for (std::size_t i = size - lead; i < size; ++i) finish(i);
}

}  // namespace weft::dataplane
