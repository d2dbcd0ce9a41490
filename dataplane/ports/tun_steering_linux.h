// SPDX-License-Identifier: Apache-2.0
// Which queue of a TUN device a packet goes into.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "dataplane/packet.h"
#include "dataplane/ports/file_descriptor_linux.h"

namespace weft::dataplane {

// The source address chooses: a pod has one queue, however many flows it sends. Half of the queues
// are shared, by the address modulo their number; the others are given to sources that fill a
// shared one, so that they stop nobody else's packets. Addresses are told apart by their last 12
// bits. Who may forge sources chooses for itself. Thread: the port's.
class TunSteering {
 public:
  static constexpr std::size_t kQueues = 16;

  // `tun` is any queue of the device, whose queues were attached in the order of their indices.
  // Empty where the kernel does not let this process (CAP_BPF): the flow's hash chooses then.
  static std::optional<TunSteering> Load(int tun);

  // `last` was read from `queue`, and there is more, or not. The source of what keeps a shared
  // queue from being empty for 2 ms gets one of its own, if there is one that has carried nothing
  // for a second.
  void Saw(std::size_t queue, const Packet& last, bool more, Timestamp now);

 private:
  static constexpr std::size_t kShared = kQueues / 2;  // the first ones

  struct Own {
    std::uint32_t source = 0;
    std::optional<Timestamp> used;  // last; empty: never given
  };

  explicit TunSteering(FileDescriptor map) : map_(std::move(map)) {}
  void Set(std::uint32_t source, std::uint32_t queue) const;

  FileDescriptor map_;                                     // queue of each source; 0: a shared one
  std::array<std::optional<Timestamp>, kShared> since_{};  // when it began to have more
  std::array<Own, kQueues - kShared> own_{};
};

}  // namespace weft::dataplane
