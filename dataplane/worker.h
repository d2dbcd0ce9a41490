// SPDX-License-Identifier: Apache-2.0
// One thread that moves packets between a pod port and a wire port through the forwarder, each
// batch to completion.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>

#include "absl/status/status.h"
#include "dataplane/counters.h"
#include "dataplane/forwarder.h"
#include "dataplane/packet_port.h"
#include "dataplane/segment_sizes.h"

namespace weft::dataplane {

// How long after a packet the thread looks for the next before it sleeps. A wake-up costs more than
// the look, but bulk traffic and its programs need the core more: polling for 50 us after each
// packet costs a fifth of the throughput of TCP on two cores.
struct BusyPoll {
  std::chrono::microseconds time{50};
  // Of one core, at most; what is used up refills within 30 ms. 100: no limit.
  int percent = 3;
  friend bool operator==(const BusyPoll&, const BusyPoll&) = default;
};

// Ports, forwarder and counters outlive the worker; ports and forwarder belong to its thread during
// Run. What a port cannot do (segment, aggregate, coalesce) is done here through dataplane/offload.
class Worker {
 public:
  // `segment_sizes`: shared with the tunnel's other workers; null: there are none.
  Worker(PacketPort& pods, PacketPort& wire, Forwarder& forwarder, Counters& counters,
         BusyPoll busy_poll = {}, std::shared_ptr<SegmentSizes> segment_sizes = nullptr);
  ~Worker();

  // One round in each direction, without waiting; called by tests and Run. Returns how much the
  // ports have read (PacketPort::Receive).
  std::size_t Step(Timestamp now);

  // Until `stop` is requested: steps; when idle polls, then sleeps until a port's
  // wait handle is ready. Reads the steady clock once a round. Fails only before the first packet.
  // The worker outlives every thread that may request the stop.
  absl::Status Run(std::stop_token stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::dataplane
