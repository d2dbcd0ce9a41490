// SPDX-License-Identifier: Apache-2.0
// A capture file as a port: what it holds is received, what is sent is written to another.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/packet_port.h"
#include "dataplane/ports/capture_file.h"

namespace weft::dataplane {

struct CaptureOptions {
  // kPodL3, kPodL2 or kWirePacket; kWireDatagram has no form in a file.
  PortKind kind = PortKind::kWirePacket;
  std::string read_path{};   // empty: nothing to receive
  std::string write_path{};  // empty: what is sent vanishes
  // Added to batch.now to make time stamps, which count from 1970.
  Timestamp epoch{};
};

// IP kinds read raw and Ethernet captures alike (the frame's header is stripped, one VLAN tag
// looked through, frames that are not IP are skipped) and write raw ones; kPodL2 reads and writes
// Ethernet. The whole file is there at once: no waiting for time stamps.
class CapturePort final : public PacketPort {
 public:
  static absl::StatusOr<std::unique_ptr<CapturePort>> Open(const CaptureOptions& options);

  PortKind kind() const override { return kind_; }
  const PortFeatures& features() const override { return features_; }
  std::size_t Receive(Batch& batch) override;
  void Send(Batch& batch) override;
  // "capture-skipped": records cut short, empty, or not of the port's kind. "capture-damaged": 1
  // when the file broke off. "capture-write-error".
  std::vector<NamedCount> Counts() const override;

  // Why reading ended before the file did; OK when it did not.
  const absl::Status& read_status() const { return read_status_; }
  // Writes out what is buffered.
  absl::Status Flush();

 private:
  explicit CapturePort(const CaptureOptions& options)
      : kind_(options.kind), epoch_(options.epoch) {}
  // The record's bytes as the port delivers them; empty for a record to be skipped.
  Bytes Deliverable(const CaptureRecord& record) const;

  const PortKind kind_;
  const Timestamp epoch_;
  const PortFeatures features_;
  std::optional<CaptureReader> reader_;
  std::optional<CaptureWriter> writer_;
  PacketSlab slab_;
  absl::Status read_status_;
  std::atomic<std::uint64_t> skipped_{0};
  std::atomic<std::uint64_t> damaged_{0};
  std::atomic<std::uint64_t> write_errors_{0};
};

}  // namespace weft::dataplane
