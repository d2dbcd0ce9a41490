// SPDX-License-Identifier: Apache-2.0
// Selects the queue of a TUN device for each packet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dataplane/file_descriptor_linux.h"
#include "dataplane/packet.h"

namespace weft::dataplane {

// Selects by source address: a pod has one queue, however many flows it sends. Half of the queues
// are shared, by the address modulo their number; the others are assigned to sources that fill a
// shared one, so that they do not block other pods' packets. Only the last 12 bits of an address
// are used. A pod that forges sources can select its queues.
//
// Of several workers each has the queues whose index modulo their number is its own, and its own
// TunSteering on its thread: a source stays with its worker, which keeps its packets in order.
class TunSteering {
 public:
  static constexpr std::size_t kQueues = 16;
  static constexpr std::size_t kMostWorkers = kQueues / 2;

  // One for each of `workers` (a power of two, at most kMostWorkers). `tun` is any queue of the
  // device, whose queues were attached in the order of their indices.
  // Empty if the kernel does not permit it (CAP_BPF); then the flow's hash selects the queue.
  static std::vector<TunSteering> Load(int tun, std::size_t workers);

  // Reports that `queue`, one of this worker's, has packets. False: earlier packets of its source
  // may still be in a shared queue; do not read it yet.
  bool MayRead(std::size_t queue, Timestamp now);

  // Reports that `packets` packets were read from `queue`, the last of them being `last` (null if
  // none was valid), and whether it has more. If a shared queue is not empty for 2 ms, the source
  // of `last` gets a queue of its own, if one has been empty for a second.
  void Observe(std::size_t queue, std::size_t packets, const Packet* last, bool more,
               Timestamp now);

 private:
  static constexpr std::size_t kShared = kQueues / 2;  // the first queues

  struct Own {
    std::uint32_t source = 0;
    std::optional<Timestamp> used;  // when it last had packets; empty: never assigned
    std::size_t shared = 0;         // the queue that its source had before,
    std::size_t earlier = 0;        // and how many packets to read from that first, at most
  };

  TunSteering(std::shared_ptr<const FileDescriptor> map, std::size_t worker, std::size_t workers)
      : map_(std::move(map)), worker_(worker), workers_(workers) {}
  void Set(std::uint32_t source, std::uint32_t queue) const;

  std::shared_ptr<const FileDescriptor> map_;  // queue of each source; 0: a shared one
  std::size_t worker_, workers_;
  std::array<std::optional<Timestamp>, kShared> since_{};  // since when it is not empty
  std::array<Own, kQueues - kShared> own_{};               // every workers_th is used
};

}  // namespace weft::dataplane
