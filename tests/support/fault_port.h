// SPDX-License-Identifier: Apache-2.0
// A decorator that does to packets what networks do: loses, repeats, reorders, damages and cuts
// them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "dataplane/packet_port.h"

namespace weft::dataplane {

// Probabilities, 0 to 1, each drawn for each packet.
struct FaultRates {
  double loss = 0;
  double duplication = 0;  // is duplicated
  double reorder = 0;      // changes places with the packet after it, in the same batch
  double corruption = 0;   // one bit is flipped
  double truncation = 0;   // loses at least one byte at its end; never all
};

struct FaultOptions {
  std::uint64_t seed = 1;  // the same seed and packets give the same faults
  FaultRates receive{};
  FaultRates send{};
};

// A lost packet looks sent. The caller's bytes are never changed: damage is done to a copy.
// Batches that duplication would overfill lose the surplus duplicates.
class FaultPort final : public PacketPort {
 public:
  FaultPort(std::unique_ptr<PacketPort> inner, const FaultOptions& options);

  PortKind kind() const override { return inner_->kind(); }
  const PortFeatures& features() const override { return inner_->features(); }
  bool Takes(const Packet& packet, Timestamp now) override { return inner_->Takes(packet, now); }
  std::size_t Receive(Batch& batch) override;
  void Send(Batch& batch) override;
  std::size_t DrainPathMtuNotices(std::span<PathMtuNotice> out) override {
    return inner_->DrainPathMtuNotices(out);
  }
  std::span<const WaitHandle> wait_handles() const override { return inner_->wait_handles(); }
  // The inner port's, and "fault-lost", "fault-duplicated", "fault-reordered", "fault-corrupted",
  // "fault-truncated" of both directions together.
  std::vector<NamedCount> Counts() const override;
  std::vector<IcmpErrors> Errors() const override { return inner_->Errors(); }

 private:
  // One direction's dice and buffers.
  struct Stage {
    Stage(const FaultRates& stage_rates, std::uint64_t seed) : rates(stage_rates), random(seed) {}
    FaultRates rates;
    std::mt19937_64 random;
    PacketSlab slab;  // damaged packets and repeats, by place in `result`
    Batch result;
    std::vector<std::size_t> origin =
        std::vector<std::size_t>(kMaxBatch);  // of each result: place in the input
  };

  bool Happens(Stage& stage, double probability);
  // Fills stage.result; packets with a drop verdict are unchanged.
  void Distort(Stage& stage, const Batch& batch);
  void CopyBytes(Stage& stage, std::size_t place);
  void Damage(Stage& stage, std::size_t place);

  std::unique_ptr<PacketPort> inner_;
  Batch received_;
  Stage receive_;
  Stage send_;
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<std::uint64_t> duplicated_{0};
  std::atomic<std::uint64_t> reordered_{0};
  std::atomic<std::uint64_t> corrupted_{0};
  std::atomic<std::uint64_t> truncated_{0};
};

}  // namespace weft::dataplane
