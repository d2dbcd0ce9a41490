// SPDX-License-Identifier: Apache-2.0
// What the two directions of the forwarder share. Private to dataplane/forwarder*.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "dataplane/forwarder.h"
#include "dataplane/icmp_budget.h"
#include "dataplane/remote_snapshot.h"
#include "vxlan/bytes.h"
#include "vxlan/ecn.h"
#include "vxlan/encapsulation.h"
#include "vxlan/inner_frame.h"

namespace weft::dataplane {

// A packet is finished so many packets after it was looked up: enough that what the look asked for
// is there, few enough that descriptors, headers and remotes stay in the first cache.
inline constexpr std::size_t kStride = 16;

// As the least length of what a loop takes.
inline constexpr std::uint32_t kNeverTaken = ~std::uint32_t{0};

inline constexpr auto kPayloadSize =
    static_cast<std::uint32_t>(EncapsulationTemplate::kPayloadSize);

// Always inline: GCC takes a call of a function that only prefetches for one without effect.
[[gnu::always_inline]] inline void Prefetch(const void* at) { __builtin_prefetch(at); }

// Built where it stands: assigned, it would be loaded whole from where it was just stored in parts,
// and wait for that.
[[gnu::always_inline]] inline void SetV4(IpAddress& address, std::uint32_t host_order) {
  ::new (static_cast<void*>(&address)) IpAddress(IpAddress::V4(host_order));
}

// What the outer header of an IPv4 packet says about congestion.
inline std::uint8_t OuterEcnV4(const Packet& packet) {
  return static_cast<std::uint8_t>(EncapsulationEcn(EcnOf(Load8(packet.data + 1))));
}

// 48 bits of a MAC address.
inline std::uint64_t LoadBe48(const std::byte* at) {
  return std::uint64_t{LoadBe16(at)} << 32 | LoadBe32(at + 2);
}

struct V4Subnet {
  std::uint32_t base = 1;  // holds nothing: base and mask disagree
  std::uint32_t mask = 0;
  bool Contains(std::uint32_t address) const { return (address & mask) == base; }
};

// The subnets of this node, ready for comparison.
class OwnSubnets {
 public:
  explicit OwnSubnets(const std::vector<IpPrefix>& subnets);

  bool ContainV4(std::uint32_t address) const {
    return first_v4_.Contains(address) || MoreContainV4(address);
  }
  bool ContainV6(const AddressKey& address) const;

  // A node has one of IPv4, as good as always.
  V4Subnet first_v4() const { return first_v4_; }
  bool has_more_v4() const { return !more_v4_.empty(); }
  bool MoreContainV4(std::uint32_t address) const;  // that is, the others

 private:
  struct V6 {
    AddressKey base;
    int length;
  };
  V4Subnet first_v4_;
  std::vector<V4Subnet> more_v4_;
  std::vector<V6> v6_;
};

struct Forwarder::Impl {
  Impl(const ForwarderConfig& desired, const RemoteTable& table, PeerTable& peer_table,
       Counters& counts);

  // Calls look(i) and, a stride later, finish(i) for every packet. look leaves in found[i] a
  // remote, never null: it is asked for, and half a stride later its peer's slot.
  template <typename Look, typename Finish>
  void Walk(Batch& batch, Look look, Finish finish);

  // The loops take the usual packets of a datagram wire and leave each of the others, by its place
  // in the batch, to the functions ...Slow. Those know every rule.
  //
  // Pod to wire. `remote` is of the destination.
  void Encapsulate(Batch& batch, Batch& replies);
  void ResolveSlow(Packet& packet, std::size_t i);
  Verdict Resolve(Packet& packet, const Remote*& remote) const;
  void StampSlow(Packet& packet, std::size_t i, Timestamp now, Batch& replies);
  void Stamp(Packet& packet, const Remote& remote, Timestamp now, Batch& replies);
  Verdict AnswerTooBig(const Packet& packet, std::uint32_t limit, Timestamp now, Batch& replies);

  // Wire to pod. `remote` is of the inner source, or `nobody`. Inspecting leaves the inner packet.
  void Decapsulate(Batch& batch);
  void InspectSlow(Packet& packet, std::size_t i);
  Verdict Inspect(Packet& packet, const Remote*& remote) const;
  Verdict StripOuter(Packet& packet) const;
  bool AdmitSlow(Packet& packet, const Remote& remote);  // false: it is dropped
  bool MayComeFrom(const Packet& packet, const Remote& remote);
  bool MergeEcn(Packet& packet) const;  // false: it is dropped
  void CountReceived(const Packet& packet, PeerTable::Slot& slot) const;

  const ForwarderConfig config;
  const OwnSubnets own;
  const std::uint64_t local_mac;  // 48 bits
  const std::uint32_t local_vni;
  const RemoteTable& remotes;
  PeerTable& peers;
  Counters& counters;
  std::array<std::uint32_t, 2>
      inner_limit{};  // bytes, by outer family, where no path MTU is learnt

  std::shared_ptr<const RemoteSnapshot> snapshot;
  IcmpBudget icmp_budget;
  Remote nobody;  // stands for "none": its template is empty, its slot is kNoPeer's
  // Of each packet of the batch.
  std::array<const Remote*, kMaxBatch> found;
  std::array<const Remote*, kMaxBatch> found_slow;  // encapsulation, where found says nobody
};

// Always inline, like look and finish: next to the calls, what these hold would be in memory again.
template <typename Look, typename Finish>
[[gnu::always_inline]] inline void Forwarder::Impl::Walk(Batch& batch, Look look, Finish finish) {
  constexpr std::size_t kHalf = kStride / 2;
  static_assert(kHalf <= Batch::kReadAhead);
  const std::size_t size = batch.size();
  const std::size_t lead = std::min(size, kStride);
  const Packet* const packets = batch.begin();
  const Remote* const* const remotes_found = found.data();

  for (std::size_t i = 0; i < lead; ++i) Prefetch(packets[i].data);
  for (std::size_t i = 0; i < lead; ++i) look(i);
  for (std::size_t i = 0; i < std::min(size, kHalf); ++i) Prefetch(remotes_found[i]->peer);
  for (std::size_t i = lead; i < size; ++i) {
    Prefetch(packets[i + kHalf].data);
    look(i);
    Prefetch(remotes_found[i - kHalf]->peer);
    finish(i - kStride);
  }
  for (std::size_t i = size - std::min(size, kHalf); i < size; ++i)
    Prefetch(remotes_found[i]->peer);
  for (std::size_t i = size - lead; i < size; ++i) finish(i);
}

}  // namespace weft::dataplane
