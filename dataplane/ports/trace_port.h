// SPDX-License-Identifier: Apache-2.0
// A decorator that shows every packet going through a port: in words, and in a capture file.
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
  // Called with a description: "received 98 bytes:" or "sent 98 bytes (wire-full):", then a line
  // a layer, '\n' at each end. Empty: none.
  std::function<void(TraceDirection, std::string_view)> describe;
  // The packets, both directions, sent ones only if they were. Its link type must be the one that
  // TraceLinkType names.
  std::optional<CaptureWriter> capture;
  // Added to batch.now to make the capture's time stamps, which count from 1970.
  Timestamp epoch{};
};

// Ethernet for kPodL2, else raw IP. Datagrams have no IP header of their own; in a capture they are
// given one, with zero for the local address, so that Wireshark shows VXLAN.
LinkType TraceLinkType(PortKind kind);

// Unlike the ports it wraps it allocates: for looking, not for speed. Aggregates and superframes
// are shown as the one packet they are.
class TracePort final : public PacketPort {
 public:
  TracePort(std::unique_ptr<PacketPort> inner, TraceOptions options);

  PortKind kind() const override { return inner_->kind(); }
  const PortFeatures& features() const override { return inner_->features(); }
  std::size_t Receive(Batch& batch) override;
  void Send(Batch& batch) override;
  std::size_t TakePathMtuNotices(std::span<PathMtuNotice> out) override {
    return inner_->TakePathMtuNotices(out);
  }
  std::span<const WaitHandle> wait_handles() const override { return inner_->wait_handles(); }
  std::vector<NamedCount> Counts() const override { return inner_->Counts(); }

  // Writes the capture out. The first failure to write ends the capture and is told here.
  absl::Status Flush();

 private:
  void Show(TraceDirection direction, const Packet& packet, Bytes bytes);
  void Write(TraceDirection direction, const Packet& packet, Bytes bytes, Timestamp now);

  std::unique_ptr<PacketPort> inner_;
  TraceOptions options_;
  std::vector<bool> offered_;  // by place in the batch: was to be sent
  absl::Status capture_status_;
};

}  // namespace weft::dataplane
