// SPDX-License-Identifier: Apache-2.0
#include "dataplane/worker.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "dataplane/offload.h"
#include "dataplane/virtual_underlay.h"
#include "dataplane/wait_set.h"

namespace weft::dataplane {
namespace {

// Empty rounds before sleeping: a wake-up costs some 4 us, an empty round less than 1
// (measured on a 2-core VM).
constexpr int kIdleRounds = 20;
// Wake-ups without a packet before the ports' handles are ignored for a while: a device that was
// taken away stays "ready".
constexpr int kFruitlessWakes = 64;
constexpr std::chrono::milliseconds kFruitlessPause{10};
// Ports without handles can only be asked again.
constexpr std::chrono::milliseconds kAskAgain{1};
// Buffers for cut superframes: what one pod batch (256 KiB) can become, and some.
constexpr std::size_t kCutBuffers = 16;

bool PortTakes(Segmentation segmentation, const PortFeatures& features) {
  switch (segmentation) {
    case Segmentation::kNone:
      return true;
    case Segmentation::kTcp:
      return features.tcp_segmentation;
    case Segmentation::kUdp:
      return features.udp_segmentation;
    case Segmentation::kDatagrams:
      return features.datagram_aggregation;
  }
  return false;
}

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
  Batch received{};
  Batch made{};     // segments of superframes, or datagrams of aggregates
  Batch replies{};  // ICMP errors to pods
  PacketSlab cut_buffers{kCutBuffers};
  std::size_t next_buffer = 0;

  // Of the last Run, and kept: where libstdc++ 12 has no futexes (Windows), the destructor of a
  // stop_callback that is just being called may wait for ever.
  std::unique_ptr<WaitSet> waits{};
  std::optional<std::stop_callback<Waker>> wake{};

  std::size_t PodsToWire(Timestamp now);
  std::size_t WireToPods(Timestamp now);
  void Cut(const Packet& superframe);
  void FlushMade();
  void SendToWire(Batch& batch);
  void SendToPods(Batch& batch);
  void TakePathMtus(Timestamp now);
};

Worker::Worker(PacketPort& pods, PacketPort& wire, Forwarder& forwarder, Counters& counters)
    : impl_(new Impl{pods, wire, forwarder, counters}) {}

Worker::~Worker() = default;

std::size_t Worker::Step(Timestamp now) {
  impl_->forwarder.Refresh();
  const std::size_t packets = impl_->WireToPods(now) + impl_->PodsToWire(now);
  impl_->TakePathMtus(now);
  return packets;
}

std::size_t Worker::Impl::PodsToWire(Timestamp now) {
  received.now = made.now = replies.now = now;
  const std::size_t packets = pods.Receive(received);
  if (packets == 0) return 0;
  replies.clear();
  forwarder.Encapsulate(received, replies);
  const PortFeatures& features = wire.features();
  const bool all_pass = std::all_of(received.begin(), received.end(), [&](const Packet& packet) {
    return packet.verdict != Verdict::kForward || PortTakes(packet.segmentation, features);
  });
  if (all_pass) {
    SendToWire(received);
  } else {
    for (const Packet& packet : received) {
      if (packet.verdict == Verdict::kForward && !PortTakes(packet.segmentation, features)) {
        Cut(packet);
      } else {
        if (made.full()) FlushMade();
        made.Add(packet);
      }
    }
    FlushMade();
  }
  // The answered packets' octets are free now: dropped ones are never sent.
  if (!replies.empty()) pods.Send(replies);
  return packets;
}

// Appends the segments to `made`, sending it whenever it or the buffers run out.
void Worker::Impl::Cut(const Packet& superframe) {
  SuperframeCutter cutter(superframe, wire.kind(), wire.features());
  while (!cutter.done()) {
    if (made.full() || next_buffer == cut_buffers.count()) FlushMade();
    cutter.Cut(cut_buffers.Lend(next_buffer++), made);
  }
}

void Worker::Impl::FlushMade() {
  SendToWire(made);
  made.clear();
  next_buffer = 0;
}

std::size_t Worker::Impl::WireToPods(Timestamp now) {
  received.now = made.now = now;
  const std::size_t packets = wire.Receive(received);
  if (packets == 0) return 0;
  if (wire.kind() == PortKind::kWireDatagram) {
    for (Packet& packet : received) TellSuperframeFromAggregate(packet);
  }
  const bool has_aggregates = std::any_of(
      received.begin(), received.end(),
      [](const Packet& packet) { return packet.segmentation == Segmentation::kDatagrams; });
  if (!has_aggregates) {
    SendToPods(received);
    return packets;
  }
  made.clear();
  for (const Packet& packet : received) {
    std::uint32_t offset = 0;
    do {
      if (made.full()) {
        SendToPods(made);
        made.clear();
      }
      offset = SplitAggregate(packet, offset, made);
    } while (offset < packet.length);
  }
  SendToPods(made);
  made.clear();
  return packets;
}

void Worker::Impl::SendToWire(Batch& batch) {
  wire.Send(batch);
  counters.to_wire.Count(batch);
}

void Worker::Impl::SendToPods(Batch& batch) {
  forwarder.Decapsulate(batch);
  Coalesce(batch, pods.features());
  if (pods.features().partial_checksum) AcceptUnfinished(batch, forwarder.pod_mtu());
  pods.Send(batch);
  counters.to_pods.Count(batch);
}

void Worker::Impl::TakePathMtus(Timestamp now) {
  std::array<PathMtuNotice, 16> notices;
  const std::size_t count = wire.TakePathMtuNotices(notices);
  for (std::size_t i = 0; i < count; ++i) forwarder.LearnPathMtu(notices[i], now);
}

absl::Status Worker::Run(std::stop_token stop) {
  std::vector<WaitHandle> handles;
  bool all_have_handles = true;
  for (const PacketPort* port : {&impl_->pods, &impl_->wire}) {
    const auto port_handles = port->wait_handles();
    handles.insert(handles.end(), port_handles.begin(), port_handles.end());
    all_have_handles = all_have_handles && !port_handles.empty();
  }
  absl::StatusOr<std::unique_ptr<WaitSet>> waits = WaitSet::Make(handles);
  if (!waits.ok()) return waits.status();
  impl_->wake.reset();
  impl_->waits = *std::move(waits);
  impl_->wake.emplace(stop, Waker{impl_->waits.get()});

  const std::chrono::milliseconds sleep =
      all_have_handles ? std::chrono::milliseconds(-1) : kAskAgain;
  int idle_rounds = 0;
  int fruitless_wakes = 0;
  while (!stop.stop_requested()) {
    const Timestamp now = std::chrono::steady_clock::now().time_since_epoch();
    if (Step(now) != 0) {
      idle_rounds = 0;
      fruitless_wakes = 0;
    } else if (++idle_rounds > kIdleRounds) {
      idle_rounds = 0;
      if (fruitless_wakes == kFruitlessWakes) {
        impl_->waits->WaitForWake(kFruitlessPause);
        fruitless_wakes = 0;
      } else if (impl_->waits->Wait(sleep)) {
        ++fruitless_wakes;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace weft::dataplane
