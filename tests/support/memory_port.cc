// SPDX-License-Identifier: Apache-2.0
#include "tests/support/memory_port.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "dataplane/ports/port_rules.h"

namespace weft::dataplane {

// One producer, one consumer. Slots [released, taken) are lent to the consumer, [taken, written)
// wait.
class MemoryPort::Queue {
 public:
  Queue(std::size_t capacity, std::uint32_t max_packet)
      : capacity_(capacity),
        stride_(kHeadroom + max_packet),
        descriptors_(capacity),
        bytes_(std::make_unique_for_overwrite<std::byte[]>(capacity * stride_)) {}

  // Producer. False: full.
  bool Push(const Packet& packet, const IpAddress& source) {
    const std::uint64_t written = written_.load(std::memory_order_relaxed);
    if (written - released_.load(std::memory_order_acquire) == capacity_) return false;
    const std::size_t slot = written % capacity_;
    Packet& copy = descriptors_[slot];
    copy = packet;
    copy.data = bytes_.get() + slot * stride_ + kHeadroom;
    copy.headroom = kHeadroom;
    copy.tailroom = static_cast<std::uint32_t>(stride_ - kHeadroom) - packet.length;
    copy.verdict = Verdict::kForward;
    copy.outer_address = source;
    std::memcpy(copy.data, packet.data, packet.length);
    written_.store(written + 1, std::memory_order_release);
    return true;
  }

  // Consumer. What was lent before returns to the producer.
  void Lend(Batch& batch) {
    released_.store(taken_, std::memory_order_release);
    const std::uint64_t written = written_.load(std::memory_order_acquire);
    for (std::size_t bytes = 0; taken_ != written && !batch.full() && bytes < kBatchBytes;
         ++taken_) {
      bytes += batch.Add(descriptors_[taken_ % capacity_]).length;
    }
  }

  std::uint64_t waiting() const {
    return written_.load(std::memory_order_relaxed) - released_.load(std::memory_order_relaxed);
  }

 private:
  const std::size_t capacity_;
  const std::size_t stride_;  // bytes
  std::vector<Packet> descriptors_;
  std::unique_ptr<std::byte[]> bytes_;
  std::uint64_t taken_ = 0;  // consumer only
  std::atomic<std::uint64_t> released_{0};
  std::atomic<std::uint64_t> written_{0};
};

MemoryPort::MemoryPort(const MemoryOptions& options, IpAddress address, std::shared_ptr<Queue> in,
                       std::shared_ptr<Queue> out)
    : options_(options), address_(address), in_(std::move(in)), out_(std::move(out)) {}

MemoryPort::~MemoryPort() = default;

PortKind MemoryPort::kind() const { return options_.kind; }
const PortFeatures& MemoryPort::features() const { return options_.features; }

std::size_t MemoryPort::Receive(Batch& batch) {
  batch.clear();
  in_->Lend(batch);
  return batch.size();
}

void MemoryPort::Send(Batch& batch) {
  for (Packet& packet : batch) {
    if (packet.verdict != Verdict::kForward) continue;
    if (!Accepts(options_.features, packet)) {
      packet.verdict = ErrorVerdict(options_.kind);
    } else if (packet.length > options_.max_packet) {
      packet.verdict = IsWire(options_.kind) ? Verdict::kTooBigSilent : Verdict::kPodError;
    } else if (!out_->Push(packet, options_.kind == PortKind::kWireDatagram
                                       ? address_
                                       : packet.outer_address)) {
      packet.verdict = FullVerdict(options_.kind);
    }
  }
}

std::vector<NamedCount> MemoryPort::Counts() const { return {{"queued", in_->waiting()}}; }

MemoryLink MemoryLink::Make(const MemoryOptions& options) {
  using Queue = MemoryPort::Queue;
  auto forth = std::make_shared<Queue>(options.capacity, options.max_packet);
  auto back = std::make_shared<Queue>(options.capacity, options.max_packet);
  MemoryLink link;
  link.first.reset(new MemoryPort(options, options.first_address, back, forth));
  link.second.reset(new MemoryPort(options, options.second_address, forth, back));
  return link;
}

MemoryLink MemoryLink::Make(PortKind kind, const PortFeatures& features) {
  MemoryOptions options;
  options.kind = kind;
  options.features = features;
  return Make(options);
}

}  // namespace weft::dataplane
