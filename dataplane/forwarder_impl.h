// SPDX-License-Identifier: Apache-2.0
// What the two directions of the forwarder share. Private to dataplane/forwarder*.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/forwarder.h"
#include "dataplane/icmp_budget.h"
#include "dataplane/remote_snapshot.h"
#include "vxlan/bytes.h"
#include "vxlan/ecn.h"
#include "vxlan/encapsulation.h"
#include "vxlan/inner_frame.h"

namespace weft::dataplane {

// A batch is worked off in strides of so many packets: enough that what one pass asks for is there
// when the next one needs it, few enough that descriptors, headers and remotes stay in the first
// cache (64 have 28 KiB of them).
inline constexpr std::size_t kStride = 32;

inline constexpr auto kPayloadSize =
    static_cast<std::uint32_t>(EncapsulationTemplate::kPayloadSize);

inline void Prefetch(const void* at) { __builtin_prefetch(at); }

// 48 bits of a MAC address.
inline std::uint64_t LoadBe48(const std::byte* at) {
  return std::uint64_t{LoadBe16(at)} << 32 | LoadBe32(at + 2);
}

// The subnets of this node, ready for comparison.
class OwnSubnets {
 public:
  explicit OwnSubnets(const std::vector<IpPrefix>& subnets);

  bool ContainV4(std::uint32_t address) const {
    for (const V4& subnet : v4_) {
      if ((address & subnet.mask) == subnet.base) return true;
    }
    return false;
  }
  bool ContainV6(const AddressKey& address) const {
    for (const V6& subnet : v6_) {
      if (address.First(subnet.length) == subnet.base) return true;
    }
    return false;
  }

 private:
  struct V4 {
    std::uint32_t base;
    std::uint32_t mask;
  };
  struct V6 {
    AddressKey base;
    int length;
  };
  std::vector<V4> v4_;
  std::vector<V6> v6_;
};

struct Forwarder::Impl {
  // What the first pass over a batch found out about a packet. The second pass comes when the cache
  // lines asked for are there.
  struct Found {
    const Remote* remote = nullptr;  // of the destination (to the wire; null unless the packet goes
                                     // on) or the inner source
    std::uint32_t total_length = 0;  // of the inner IP packet
    IpFamily family = IpFamily::kV4;  // of the inner packet
    Ecn ecn = Ecn::kNotEct;           // of the inner packet
  };

  Impl(const ForwarderConfig& wanted, const RemoteTable& table, PeerTable& peer_table,
       Counters& counts);

  // Calls look(i) for every packet, and asks for packets ahead; then for the peers' slots of what
  // was found; then calls finish(i). All in strides.
  template <typename Look, typename Finish>
  void Walk(const Batch& batch, Look look, Finish finish) const {
    const std::size_t size = batch.size();
    for (std::size_t i = 0; i < std::min(size, kStride); ++i) Prefetch(batch[i].data);
    for (std::size_t begin = 0; begin < size; begin += kStride) {
      const std::size_t end = std::min(size, begin + kStride);
      for (std::size_t i = begin; i < end; ++i) {
        if (i + kStride < size) Prefetch(batch[i + kStride].data);
        look(i);
      }
      for (std::size_t i = begin; i < end; ++i) PrefetchSlot(i);
      for (std::size_t i = begin; i < end; ++i) finish(i);
    }
  }
  void PrefetchSlot(std::size_t i) const {
    if (results[i].remote != nullptr) Prefetch(&peers.slot(results[i].remote->peer));
  }

  // Pod to wire.
  Verdict Resolve(Packet& packet, Found& found) const;
  Verdict ResolveAny(Packet& packet, Found& found) const;
  void Stamp(Packet& packet, const Found& found, Timestamp now, Batch& replies);
  std::uint32_t InnerLimit(PeerTable::Slot& slot, IpFamily outer, Timestamp now) const;
  Verdict AnswerTooBig(const Packet& packet, std::uint32_t limit, Timestamp now, Batch& replies);

  // Wire to pod.
  bool InspectUsual(Packet& packet, Found& found) const;
  Verdict InspectAny(Packet& packet, Found& found) const;
  Verdict StripOuter(Packet& packet) const;
  void Strip(Packet& packet, const Found& found);
  bool PeerIsRight(const Packet& packet, const Remote* remote) const;

  const ForwarderConfig config;
  const OwnSubnets own;
  const std::uint64_t local_mac;  // 48 bits
  const std::uint32_t local_vni;
  const RemoteTable& remotes;
  PeerTable& peers;
  Counters& counters;
  std::array<std::uint32_t, 2>
      inner_limit{};  // octets, by outer family, where no path MTU is learnt

  std::shared_ptr<const RemoteSnapshot> snapshot;
  IcmpBudget icmp_budget;
  std::array<Found, kMaxBatch> results;
};

}  // namespace weft::dataplane
