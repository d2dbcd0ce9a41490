// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fault_port.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/counters.h"

namespace weft::dataplane {

FaultPort::FaultPort(std::unique_ptr<PacketPort> inner, const FaultOptions& options)
    : inner_(std::move(inner)),
      receive_(options.receive, options.seed),
      send_(options.send, options.seed ^ 0x9e37'79b9'7f4a'7c15) {}

bool FaultPort::Happens(Stage& stage, double probability) {
  // The comparison is explicit: std::bernoulli_distribution may differ between standard libraries.
  // No random number is drawn for a fault that is off, so that switching it off does not change the
  // other faults.
  if (probability <= 0) return false;
  return static_cast<double>(stage.random() >> 11) * 0x1p-53 < probability;
}

void FaultPort::CopyBytes(Stage& stage, std::size_t place) {
  Packet& packet = stage.result[place];
  const Packet copy = stage.slab.Lend(place);
  std::memcpy(copy.data, packet.data, packet.length);
  packet.data = copy.data;
  packet.headroom = copy.headroom;
  packet.tailroom = copy.tailroom - packet.length;
}

void FaultPort::Damage(Stage& stage, std::size_t place) {
  Packet& packet = stage.result[place];
  const bool corrupt = Happens(stage, stage.rates.corruption);
  const bool cut = packet.length > 1 && Happens(stage, stage.rates.truncation);
  if (!corrupt && !cut) return;
  CopyBytes(stage, place);
  if (corrupt) {
    const std::uint64_t bit = stage.random() % (std::uint64_t{packet.length} * 8);
    packet.data[bit / 8] ^= std::byte{1} << (bit % 8);
    Add(corrupted_, 1);
  }
  if (cut) {
    const auto kept = static_cast<std::uint32_t>(1 + stage.random() % (packet.length - 1));
    packet.tailroom += packet.length - kept;
    packet.length = kept;
    Add(truncated_, 1);
  }
}

void FaultPort::Distort(Stage& stage, const Batch& batch) {
  Batch& result = stage.result;
  result.clear();
  result.now = batch.now;
  std::size_t swap_at = kMaxBatch;  // the place of a packet that the next one is to overtake
  for (std::size_t i = 0; i < batch.size() && !result.full(); ++i) {
    if (batch[i].verdict != Verdict::kForward) {
      stage.origin[result.size()] = i;
      result.Add(batch[i]);
      continue;
    }
    if (Happens(stage, stage.rates.loss)) {
      Add(lost_, 1);
      continue;
    }
    std::size_t place = result.size();
    result.Add(batch[i]);
    stage.origin[place] = i;
    Damage(stage, place);
    if (swap_at + 1 == place) {
      std::swap(result[swap_at], result[place]);
      std::swap(stage.origin[swap_at], stage.origin[place]);
      Add(reordered_, 1);
      std::swap(place, swap_at);
      swap_at = kMaxBatch;
    } else if (Happens(stage, stage.rates.reorder)) {
      swap_at = place;
    }
    // The rest of the batch has precedence over repeats.
    if (Happens(stage, stage.rates.duplication) &&
        result.size() + (batch.size() - i - 1) < kMaxBatch) {
      const std::size_t repeat = result.size();
      stage.origin[repeat] = i;
      result.Add(result[place]);
      CopyBytes(stage, repeat);  // the receiver of both rewrites each in place
      Add(duplicated_, 1);
    }
  }
}

std::size_t FaultPort::Receive(Batch& batch) {
  received_.now = batch.now;
  const std::size_t taken = inner_->Receive(received_);
  Distort(receive_, received_);
  batch.clear();
  for (const Packet& packet : receive_.result) batch.Add(packet);
  return std::max(taken, batch.size());  // also where all was lost it was work
}

void FaultPort::Send(Batch& batch) {
  Distort(send_, batch);
  inner_->Send(send_.result);
  for (std::size_t i = 0; i < send_.result.size(); ++i) {
    const Verdict verdict = send_.result[i].verdict;
    if (verdict != Verdict::kForward) batch[send_.origin[i]].verdict = verdict;
  }
}

std::vector<NamedCount> FaultPort::Counts() const {
  std::vector<NamedCount> counts = inner_->Counts();
  counts.push_back({"fault-lost", lost_.load(std::memory_order_relaxed)});
  counts.push_back({"fault-duplicated", duplicated_.load(std::memory_order_relaxed)});
  counts.push_back({"fault-reordered", reordered_.load(std::memory_order_relaxed)});
  counts.push_back({"fault-corrupted", corrupted_.load(std::memory_order_relaxed)});
  counts.push_back({"fault-truncated", truncated_.load(std::memory_order_relaxed)});
  return counts;
}

}  // namespace weft::dataplane
