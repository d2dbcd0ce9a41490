// SPDX-License-Identifier: Apache-2.0
// Two ports of any kind, joined in memory: each receives what the other sends.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "dataplane/packet_port.h"
#include "vxlan/ip_address.h"

namespace weft::dataplane {

struct MemoryOptions {
  PortKind kind = PortKind::kWirePacket;
  PortFeatures features{};
  std::size_t capacity = 1024;            // packets in flight in each direction
  std::uint32_t max_packet = kMaxPacket;  // bytes; longer: kTooBigSilent (wire), kPodError
  // kWireDatagram: what each end's packets carry as outer source.
  IpAddress first_address{};
  IpAddress second_address{};
};

constexpr bool IsWire(PortKind kind) {
  return kind == PortKind::kWirePacket || kind == PortKind::kWireDatagram;
}
// Send's verdict for a packet that can never be sent.
constexpr Verdict ErrorVerdict(PortKind kind) {
  return IsWire(kind) ? Verdict::kWireError : Verdict::kPodError;
}
// For Send: try again later.
constexpr Verdict FullVerdict(PortKind kind) {
  return IsWire(kind) ? Verdict::kWireFull : Verdict::kPodFull;
}

class MemoryLink;

// One end. The two ends may be used by two threads. Everything is allocated at once, but pages only
// when a packet first uses them.
class MemoryPort final : public PacketPort {
 public:
  ~MemoryPort() override;

  PortKind kind() const override;
  const PortFeatures& features() const override;
  // Descriptors arrive as they were sent, but the verdict is kForward, and outer_address is the
  // sender's.
  std::size_t Receive(Batch& batch) override;
  // kPodFull or kWireFull when `capacity` packets wait; kPodError or kWireError for what features()
  // does not name.
  void Send(Batch& batch) override;
  // "queued": packets waiting to be received here, and those of the last batch. Any thread.
  std::vector<NamedCount> Counts() const override;

 private:
  friend class MemoryLink;
  class Queue;
  MemoryPort(const MemoryOptions& options, IpAddress address, std::shared_ptr<Queue> in,
             std::shared_ptr<Queue> out);

  const MemoryOptions options_;
  const IpAddress address_;
  std::shared_ptr<Queue> in_;
  std::shared_ptr<Queue> out_;  // stays alive when the other end is destroyed
};

// A factory's result.
class MemoryLink {
 public:
  static MemoryLink Make(const MemoryOptions& options);
  static MemoryLink Make(PortKind kind, const PortFeatures& features = {});

  std::unique_ptr<MemoryPort> first;
  std::unique_ptr<MemoryPort> second;
};

}  // namespace weft::dataplane
