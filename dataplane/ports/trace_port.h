// SPDX-License-Identifier: Apache-2.0
// A decorator that records every packet of a port, as text and in a capture file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/packet_port.h"
#include "dataplane/ports/capture_file.h"

namespace weft::dataplane {

enum class TraceDirection : std::uint8_t { kReceived, kSent };

struct TraceOptions {
  // Called with a description: "received 98 bytes:" or "sent 98 bytes (wire-full):", then one line
  // for each layer, each ended by '\n'. May be empty.
  std::function<void(TraceDirection, std::string_view)> describe;
  // The packets of both directions, without those that were not sent. Its link type must be
  // TraceLinkType.
  std::optional<CaptureWriter> capture;
  // Added to batch.now to make the capture's time stamps, which count from 1970.
  Timestamp epoch{};
};

// Ethernet for kPodL2, else raw IP. Datagrams get an IP header in a capture, with zero as local
// address, so that Wireshark shows VXLAN.
LinkType TraceLinkType(PortKind kind);

// Allocates, unlike the ports that it wraps: for diagnosis, not for speed. Aggregates and
// superframes are shown as one packet.
class TracePort final : public PacketPort {
 public:
  TracePort(std::unique_ptr<PacketPort> inner, TraceOptions options);

  PortKind kind() const override { return inner_->kind(); }
  const PortFeatures& features() const override { return inner_->features(); }
  std::size_t Receive(Batch& batch) override;
  void Send(Batch& batch) override;
  std::size_t DrainPathMtuNotices(std::span<PathMtuNotice> out) override {
    return inner_->DrainPathMtuNotices(out);
  }
  std::span<const WaitHandle> wait_handles() const override { return inner_->wait_handles(); }
  std::vector<NamedCount> Counts() const override { return inner_->Counts(); }

  // Flushes the capture. The first write error ends the capture and is returned here.
  absl::Status Flush();

 private:
  void Show(TraceDirection direction, const Packet& packet, Bytes bytes);
  void Write(TraceDirection direction, const Packet& packet, Bytes bytes, Timestamp now);

  std::unique_ptr<PacketPort> inner_;
  TraceOptions options_;
  std::vector<bool> offered_;  // by index in the batch: was to be sent
  absl::Status capture_status_;
};

}  // namespace weft::dataplane
