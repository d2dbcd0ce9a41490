// SPDX-License-Identifier: Apache-2.0
// What is kept for each peer while packets flow: counters and path MTU. Slots are stable for a peer's life.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/packet.h"

namespace weft::dataplane {

// Index of a slot. kNoPeer is the slot that nobody owns: it counts what could not be attributed.
using PeerId = std::uint32_t;
inline constexpr PeerId kNoPeer = 0;

struct PeerCounts {
  std::uint64_t sent_packets = 0;      // wire packets: a superframe counts as what it becomes
  std::uint64_t sent_octets = 0;       // inner IP octets
  std::uint64_t received_packets = 0;
  std::uint64_t received_octets = 0;
  std::uint32_t path_mtu = 0;          // outer octets; zero: not learnt, the link's MTU counts
};

// Slots are added by the control thread and written by the worker (relaxed atomics, one writer); any thread may read counts.
class PeerTable {
 public:
  PeerTable();
  ~PeerTable();

  // The slot of `name`, made if new. Control thread. A slot released and taken again starts from zero.
  PeerId Acquire(std::string_view name);
  void Release(std::string_view name);

  struct Slot {
    std::atomic<std::uint64_t> sent_packets{0}, sent_octets{0}, received_packets{0}, received_octets{0};
    std::atomic<std::uint32_t> path_mtu{0};      // outer octets; zero: none learnt
    std::atomic<std::int64_t> path_mtu_expiry{0};  // Timestamp count
  };
  // Worker; `id` came from a snapshot that is still held.
  Slot& slot(PeerId id);

  struct Row {
    std::string name;
    PeerCounts counts;
  };
  std::vector<Row> Read() const;  // any thread

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::dataplane
