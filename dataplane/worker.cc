// SPDX-License-Identifier: Apache-2.0
#include "dataplane/worker.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "dataplane/offload.h"
#include "dataplane/virtual_underlay.h"
#include "dataplane/wait_set.h"

namespace weft::dataplane {
namespace {

// Wake-ups in which no port reads anything before the ports' handles are ignored for a while: a
// deleted device stays "ready". What a port consumes without delivering it counts as read.
constexpr int kFruitlessWakes = 64;
constexpr std::chrono::milliseconds kFruitlessPause{10};
// For ports without wait handles.
constexpr std::chrono::milliseconds kPollInterval{1};
// Buffers for cut superframes, each of at most 64 segments; they are sent once all are full.
constexpr std::size_t kCutBuffers = 4;

// Of packets that are not cut: SuperframeCutter finishes the others.
void FinishChecksums(Batch& batch) {
  for (Packet& packet : batch) {
    if (packet.verdict == Verdict::kForward && packet.segmentation == Segmentation::kNone &&
        packet.checksum == ChecksumState::kPartial && !CompleteChecksum(packet))
      packet.verdict = Verdict::kPodError;
  }
}

// Bounds the time spent on polling.
class PollCredit {
 public:
  explicit PollCredit(int percent) : percent_(percent) {}

  Timestamp Left(Timestamp now) {
    if (percent_ >= 100) return Timestamp::max();
    left_ = std::min(left_ + (now - updated_) * percent_ / 100, kMost);
    updated_ = now;
    return left_;
  }
  void Spend(Timestamp time) { left_ -= time; }

 private:
  static constexpr Timestamp kMost = std::chrono::milliseconds(1);

  const int percent_;
  Timestamp left_ = kMost;
  Timestamp updated_{};
};

Timestamp Now() { return std::chrono::steady_clock::now().time_since_epoch(); }

struct Waker {
  WaitSet* waits;
  void operator()() const { waits->Wake(); }
};

}  // namespace

struct Worker::Impl {
  PacketPort& pods;
  PacketPort& wire;
  Forwarder& forwarder;
  Counters& counters;
  BusyPoll busy_poll;
  const std::shared_ptr<SegmentSizes> segment_sizes;
  PollCredit poll_credit{busy_poll.percent};
  Batch from_pods{};
  Batch from_wire{};
  Batch split{};    // datagrams of aggregates
  Batch pieces{};   // a batch with its superframes cut
  Batch replies{};  // ICMP errors to pods
  PacketSlab cut_buffers{kCutBuffers};
  std::size_t next_buffer = 0;

  // Of the last Run; kept, because without futexes (Windows) libstdc++ 12's destructor of a
  // stop_callback that is being called may wait forever.
  std::unique_ptr<WaitSet> waits{};
  bool waits_for_packets = false;  // every port has wait handles
  std::optional<std::stop_callback<Waker>> wake{};

  std::size_t PodsToWire(Timestamp now);
  std::size_t WireToPods(Timestamp now);
  void SendToPods(Batch& batch);
  void Send(Batch& batch, PacketPort& port, Counters::Direction& counts);
  void SendPieces(PacketPort& port, Counters::Direction& counts);
  void TakePathMtus(Timestamp now);
  bool WaitUntilReady(const std::stop_token& stop);
  bool PollUntil(Timestamp end, const std::stop_token& stop);
};

Worker::Worker(PacketPort& pods, PacketPort& wire, Forwarder& forwarder, Counters& counters,
               BusyPoll busy_poll, std::shared_ptr<SegmentSizes> segment_sizes)
    : impl_(new Impl{pods, wire, forwarder, counters, busy_poll,
                     segment_sizes ? std::move(segment_sizes) : std::make_shared<SegmentSizes>()}) {
}

Worker::~Worker() = default;

std::size_t Worker::Step(Timestamp now) {
  impl_->forwarder.Refresh();
  const std::size_t taken = impl_->WireToPods(now) + impl_->PodsToWire(now);
  impl_->TakePathMtus(now);
  return taken;
}

std::size_t Worker::Impl::PodsToWire(Timestamp now) {
  from_pods.now = replies.now = now;
  const std::size_t taken = pods.Receive(from_pods);
  if (from_pods.empty()) return taken;
  for (const Packet& packet : from_pods) segment_sizes->Learn(packet);
  replies.clear();
  forwarder.Encapsulate(from_pods, replies);
  Send(from_pods, wire, counters.to_wire);
  // The replies are in the buffers of dropped packets, which are never sent.
  if (!replies.empty()) pods.Send(replies);
  return taken;
}

std::size_t Worker::Impl::WireToPods(Timestamp now) {
  from_wire.now = split.now = now;
  const std::size_t taken = wire.Receive(from_wire);
  if (from_wire.empty()) return taken;
  if (wire.kind() == PortKind::kWireDatagram)
    for (Packet& packet : from_wire) DetectSuperframe(packet);
  const bool has_aggregates = std::any_of(
      from_wire.begin(), from_wire.end(),
      [](const Packet& packet) { return packet.segmentation == Segmentation::kDatagrams; });
  if (!has_aggregates) {
    SendToPods(from_wire);
    return taken;
  }
  split.clear();
  for (const Packet& packet : from_wire) {
    std::uint32_t offset = 0;
    do {
      if (split.full()) {
        SendToPods(split);
        split.clear();
      }
      offset = SplitAggregate(packet, offset, split);
    } while (offset < packet.length);
  }
  SendToPods(split);
  split.clear();
  return taken;
}

void Worker::Impl::SendToPods(Batch& batch) {
  forwarder.Decapsulate(batch);
  Coalesce(batch, pods.features());
  AcceptUnfinished(batch, forwarder.pod_mtu(), *segment_sizes);
  if (!pods.features().partial_checksum) FinishChecksums(batch);
  Send(batch, pods, counters.to_pods);
}

// Also counts them. Superframes that `port` does not accept are cut.
void Worker::Impl::Send(Batch& batch, PacketPort& port, Counters::Direction& counts) {
  const auto passes = [&](const Packet& packet) {
    return packet.verdict != Verdict::kForward || packet.segmentation == Segmentation::kNone ||
           port.Takes(packet, batch.now);
  };
  if (std::all_of(batch.begin(), batch.end(), passes)) {
    port.Send(batch);
    counts.Count(batch);
    return;
  }
  pieces.now = batch.now;
  for (const Packet& packet : batch) {
    if (passes(packet)) {
      if (pieces.full()) SendPieces(port, counts);
      pieces.Add(packet);
      continue;
    }
    SuperframeCutter cutter(packet, port.kind(), port.features());
    while (!cutter.done()) {
      if (pieces.full() || next_buffer == cut_buffers.count()) {
        SendPieces(port, counts);
        // One superframe may take a millisecond; packets that arrived meanwhile go first.
        if (&port == &wire) WireToPods(batch.now);
      }
      cutter.Cut(cut_buffers.Lend(next_buffer++), pieces);
    }
  }
  SendPieces(port, counts);
}

void Worker::Impl::SendPieces(PacketPort& port, Counters::Direction& counts) {
  port.Send(pieces);
  counts.Count(pieces);
  pieces.clear();
  next_buffer = 0;
}

void Worker::Impl::TakePathMtus(Timestamp now) {
  std::array<PathMtuNotice, 16> notices;
  const std::size_t count = wire.DrainPathMtuNotices(notices);
  for (std::size_t i = 0; i < count; ++i) forwarder.LearnPathMtu(notices[i], now);
}

// True: a port is ready.
bool Worker::Impl::WaitUntilReady(const std::stop_token& stop) {
  const Timestamp began = Now();
  const Timestamp time = std::min<Timestamp>(busy_poll.time, poll_credit.Left(began));
  if (waits_for_packets && time > Timestamp::zero()) {
    const bool ready = PollUntil(began + time, stop);
    poll_credit.Spend(Now() - began);
    if (ready || stop.stop_requested()) return ready;
  }
  forwarder.Rest();
  return waits->Wait(waits_for_packets ? std::chrono::milliseconds(-1) : kPollInterval);
}

bool Worker::Impl::PollUntil(Timestamp end, const std::stop_token& stop) {
  while (Now() < end && !stop.stop_requested()) {
    if (waits->Wait(std::chrono::milliseconds(0))) return true;
    // The packet's next hop may wait for this very core.
    std::this_thread::yield();
  }
  return false;
}

absl::Status Worker::Run(std::stop_token stop) {
  std::vector<WaitHandle> handles;
  impl_->waits_for_packets = true;
  for (const PacketPort* port : {&impl_->pods, &impl_->wire}) {
    const auto port_handles = port->wait_handles();
    handles.insert(handles.end(), port_handles.begin(), port_handles.end());
    if (port_handles.empty()) impl_->waits_for_packets = false;
  }
  absl::StatusOr<std::unique_ptr<WaitSet>> waits = WaitSet::Make(handles);
  if (!waits.ok()) return waits.status();
  impl_->wake.reset();
  impl_->waits = *std::move(waits);
  impl_->wake.emplace(stop, Waker{impl_->waits.get()});

  int fruitless_wakes = 0;
  while (!stop.stop_requested()) {
    if (Step(Now()) != 0) {
      fruitless_wakes = 0;
    } else if (fruitless_wakes == kFruitlessWakes) {
      impl_->forwarder.Rest();
      impl_->waits->WaitForWake(kFruitlessPause);
      fruitless_wakes = 0;
    } else if (impl_->WaitUntilReady(stop)) {
      ++fruitless_wakes;
    }
  }
  return absl::OkStatus();
}

}  // namespace weft::dataplane
