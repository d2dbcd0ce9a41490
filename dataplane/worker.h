// SPDX-License-Identifier: Apache-2.0
// One thread that moves packets between a pod port and a wire port through the forwarder, run to
// completion.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>

#include "absl/status/status.h"
#include "dataplane/counters.h"
#include "dataplane/forwarder.h"
#include "dataplane/packet_port.h"

namespace weft::dataplane {

// Ports, forwarder and counters outlive the worker. All of it belongs to the worker's thread while
// Run runs. What a port cannot do (segment, aggregate, coalesce) is done here through
// dataplane/offload.
class Worker {
 public:
  Worker(PacketPort& pods, PacketPort& wire, Forwarder& forwarder, Counters& counters);
  ~Worker();

  // One round in each direction, without waiting: what tests and Run call. Returns how much the
  // ports have taken (PacketPort::Receive).
  std::size_t Step(Timestamp now);

  // Until `stop` is requested: steps, spins a bounded time when idle, then sleeps until a port's
  // wait handle fires. Reads the steady clock once a round. Fails only before the first packet.
  // The worker outlives whoever requests it.
  absl::Status Run(std::stop_token stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::dataplane
