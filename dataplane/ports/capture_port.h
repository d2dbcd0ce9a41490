// SPDX-License-Identifier: Apache-2.0
// A capture file as a port: receives the file's records, writes sent packets to another file.
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
  std::string write_path{};  // empty: sent packets are discarded
  // Added to batch.now to make time stamps, which count from 1970.
  Timestamp epoch{};
};

// IP kinds read raw and Ethernet captures (the Ethernet header and one VLAN tag are removed, frames
// that are not IP are skipped) and write raw ones; kPodL2 reads and writes Ethernet. Does not wait
// for time stamps: the whole file is available at once.
class CapturePort final : public PacketPort {
 public:
  static absl::StatusOr<std::unique_ptr<CapturePort>> Open(const CaptureOptions& options);

  PortKind kind() const override { return kind_; }
  const PortFeatures& features() const override { return features_; }
  std::size_t Receive(Batch& batch) override;
  void Send(Batch& batch) override;
  // "capture-skipped": records that are truncated, empty, or not of the port's kind.
  // "capture-damaged": 1 if reading failed. "capture-write-error".
  std::vector<NamedCount> Counts() const override;

  // Why reading ended before the file's end; ok if it did not.
  const absl::Status& read_status() const { return read_status_; }
  // Writes buffered records.
  absl::Status Flush();

 private:
  explicit CapturePort(const CaptureOptions& options)
      : kind_(options.kind), epoch_(options.epoch) {}
  // The record's bytes as the port delivers them; empty: skip the record.
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
