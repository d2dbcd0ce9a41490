// SPDX-License-Identifier: Apache-2.0
// Per-peer state of the packet path, a slot for each worker: counters and path MTU. A slot does not
// move while its peer exists.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
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

// Index of a peer's slots. kNoPeer's count packets that belong to no known peer.
using PeerId = std::uint32_t;
inline constexpr PeerId kNoPeer = 0;

struct PeerCounts {
  std::uint64_t sent_packets = 0;  // wire packets: a superframe counts as its segments
  std::uint64_t sent_bytes = 0;    // inner IP bytes
  std::uint64_t received_packets = 0;
  std::uint64_t received_bytes = 0;
  std::uint32_t path_mtu = 0;  // outer bytes; zero: not learnt, the link's MTU applies
  // Sent without DF, over IPv6 in fragments, because the path MTU is lower than pods can follow.
  std::uint64_t fragmentable_packets = 0;
  // Received with the peer's inner MAC and address, but not from its outer address.
  std::uint64_t other_source_packets = 0;
  std::optional<IpAddress> other_source;  // the last such
  friend bool operator==(const PeerCounts&, const PeerCounts&) = default;
};

// The control thread adds slots; a worker writes its own of each peer (relaxed atomics, one writer)
// and finds them through the records of its snapshot; any thread may read counts.
class PeerTable {
 public:
  static constexpr std::size_t kMaxPeers = std::size_t{1} << 20;  // kNoPeer included

  explicit PeerTable(std::size_t workers = 1);
  ~PeerTable();
  PeerTable(const PeerTable&) = delete;
  PeerTable& operator=(const PeerTable&) = delete;

  // The slots of `name`, created if new; kNoPeer if the table is full. Control thread.
  PeerId Acquire(std::string_view name);
  // The slots may be reused for another name, starting from zero: release them only once no
  // snapshot refers to them. Control thread.
  void Release(std::string_view name);

  // A cache line of its own.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> sent_packets{0}, sent_bytes{0}, received_packets{0},
        received_bytes{0};
    // Each worker learns it from its own packets. Outer bytes; zero: none learnt.
    std::atomic<std::uint32_t> path_mtu{0};
    std::atomic<std::int64_t> path_mtu_expiry{0};  // Timestamp count
    std::atomic<std::uint64_t> fragmentable_packets{0}, other_source_packets{0};
  };
  static_assert(sizeof(Slot) == 64);
  // An array with a slot for each worker, whose address never changes. Control thread, and tests.
  Slot* slots(PeerId id) { return &ChunkOf(id).slots[id % kChunk * workers_]; }
  // Likewise; separate, because usual packets do not access it.
  SharedAddress* other_sources(PeerId id) {
    return &ChunkOf(id).other_sources[id % kChunk * workers_];
  }

  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kHeardPeriod{60};
  // Compares the counts with those of the last call: a peer with more was heard between the two. Of
  // more than 4096 peers it reads a part, all of them in eight calls at most. Control thread; the
  // reading costs each worker a cache miss for each of the peers.
  void NoteReceived(Clock::time_point now);

  struct Row {
    std::string name;  // empty: kNoPeer
    PeerCounts counts;
    bool heard = false;  // in the kHeardPeriod before the last NoteReceived
  };
  // kNoPeer first, then by name. Sums of all workers, and their smallest path MTU. Any thread.
  std::vector<Row> Read() const;

 private:
  struct Names;
  static constexpr std::size_t kChunk = 1024;  // peers
  // Never moved or freed while the table lives.
  struct Chunk {
    explicit Chunk(std::size_t workers)
        : slots(kChunk * workers), other_sources(kChunk * workers) {}
    std::vector<Slot, HugePageAllocator<Slot>> slots;
    std::vector<SharedAddress> other_sources;
  };
  Chunk& ChunkOf(PeerId id) const { return *chunks_[id / kChunk].load(std::memory_order_acquire); }
  PeerCounts CountsOf(PeerId id) const;
  Row RowOf(const std::string& name, PeerId id) const;

  const std::size_t workers_;
  std::array<std::atomic<Chunk*>, kMaxPeers / kChunk> chunks_{};
  std::unique_ptr<Names> names_;
};

}  // namespace weft::dataplane
