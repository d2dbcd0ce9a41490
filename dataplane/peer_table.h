// SPDX-License-Identifier: Apache-2.0
// What is kept for each peer while packets flow: counters and path MTU. Slots are stable for a
// peer's life.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/huge_pages.h"
#include "dataplane/packet.h"
#include "dataplane/shared_address.h"

namespace weft::dataplane {

// Index of a slot. kNoPeer is the slot that nobody owns: it counts what could not be attributed.
using PeerId = std::uint32_t;
inline constexpr PeerId kNoPeer = 0;

struct PeerCounts {
  std::uint64_t sent_packets = 0;  // wire packets: a superframe counts as what it becomes
  std::uint64_t sent_bytes = 0;    // inner IP bytes
  std::uint64_t received_packets = 0;
  std::uint64_t received_bytes = 0;
  std::uint32_t path_mtu = 0;  // outer bytes; zero: not learnt, the link's MTU counts
  // Sent without DF, over IPv6 in fragments, because the path is narrower than pods can follow.
  std::uint64_t fragmentable_packets = 0;
  // Received with the peer's inner MAC and address, but from another outer address than its own.
  std::uint64_t other_source_packets = 0;
  std::optional<IpAddress> other_source;  // the last such
};

// Slots are added by the control thread and written by the worker (relaxed atomics, one writer),
// which finds them in the records of a snapshot that it holds; any thread may read counts.
class PeerTable {
 public:
  static constexpr std::size_t kMaxPeers = std::size_t{1} << 20;  // kNoPeer included

  PeerTable();
  ~PeerTable();
  PeerTable(const PeerTable&) = delete;
  PeerTable& operator=(const PeerTable&) = delete;

  // The slot of `name`, made if new; kNoPeer when kMaxPeers have one. Control thread.
  PeerId Acquire(std::string_view name);
  // The slot may be given to another name, which then starts from zero: release only once no
  // snapshot names it. Control thread.
  void Release(std::string_view name);

  // A cache line of its own.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> sent_packets{0}, sent_bytes{0}, received_packets{0},
        received_bytes{0};
    std::atomic<std::uint32_t> path_mtu{0};        // outer bytes; zero: none learnt
    std::atomic<std::int64_t> path_mtu_expiry{0};  // Timestamp count
    std::atomic<std::uint64_t> fragmentable_packets{0}, other_source_packets{0};
  };
  static_assert(sizeof(Slot) == 64);
  // Where it is for good. Control thread, and tests.
  Slot& slot(PeerId id) {
    return chunks_[id / kChunk].load(std::memory_order_acquire)->slots[id % kChunk];
  }

  // Likewise; apart, because usual packets do not touch it.
  SharedAddress& other_source(PeerId id) {
    return chunks_[id / kChunk].load(std::memory_order_acquire)->other_sources[id % kChunk];
  }

  struct Row {
    std::string name;  // empty: kNoPeer
    PeerCounts counts;
  };
  // kNoPeer first, then by name. Any thread.
  std::vector<Row> Read() const;

 private:
  struct Names;
  static constexpr std::size_t kChunk = 1024;  // slots
  // Never moved or freed while the table lives.
  struct Chunk : OnHugePages {
    std::array<Slot, kChunk> slots;
    std::array<SharedAddress, kChunk> other_sources;
  };

  std::array<std::atomic<Chunk*>, kMaxPeers / kChunk> chunks_{};
  std::unique_ptr<Names> names_;
};

}  // namespace weft::dataplane
