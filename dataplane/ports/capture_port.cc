// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/capture_port.h"

#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "dataplane/counters.h"
#include "dataplane/ports/port_rules.h"
#include "vxlan/ethernet.h"

namespace weft::dataplane {

absl::StatusOr<std::unique_ptr<CapturePort>> CapturePort::Open(const CaptureOptions& options) {
  if (options.kind == PortKind::kWireDatagram) {
    return absl::InvalidArgumentError(
        "capture port: UDP payloads alone have no capture format; use kind kWirePacket");
  }
  std::unique_ptr<CapturePort> port(new CapturePort(options));
  if (!options.read_path.empty()) {
    auto reader = CaptureReader::Open(options.read_path);
    if (!reader.ok()) return reader.status();
    port->reader_ = *std::move(reader);
  }
  if (!options.write_path.empty()) {
    const bool frames = options.kind == PortKind::kPodL2;
    auto writer =
        CaptureWriter::Open(options.write_path, frames ? LinkType::kEthernet : LinkType::kRaw);
    if (!writer.ok()) return writer.status();
    port->writer_ = *std::move(writer);
  }
  return port;
}

Bytes CapturePort::Deliverable(const CaptureRecord& record) const {
  // A record cut by a snap length is not a whole packet.
  if (record.bytes.size() < record.original_length || record.bytes.size() > kMaxPacket) return {};
  if (kind_ == PortKind::kPodL2)
    return record.link_type == LinkType::kEthernet ? record.bytes : Bytes();
  if (record.link_type == LinkType::kRaw) return record.bytes;
  if (record.link_type != LinkType::kEthernet) return {};
  const auto frame = EthernetFrame::Parse(record.bytes);
  if (!frame || (frame->ether_type != EtherType::kIpv4 && frame->ether_type != EtherType::kIpv6))
    return {};
  return record.bytes.subspan(frame->payload_offset);
}

std::size_t CapturePort::Receive(Batch& batch) {
  batch.clear();
  std::size_t bytes = 0;
  while (reader_ && !batch.full() && bytes < kBatchBytes) {
    const auto record = reader_->Next();
    if (!record.ok()) {
      read_status_ = record.status();
      Add(damaged_, 1);
    }
    if (!record.ok() || !*record) {
      reader_.reset();
      break;
    }
    const Bytes source = Deliverable(**record);
    if (source.empty()) {
      Add(skipped_, 1);
      continue;
    }
    Packet packet = slab_.Lend(batch.size());
    std::memcpy(packet.data, source.data(), source.size());
    packet.length = static_cast<std::uint32_t>(source.size());
    packet.tailroom -= packet.length;
    bytes += packet.length;
    batch.Add(packet);
  }
  return batch.size();
}

void CapturePort::Send(Batch& batch) {
  for (Packet& packet : batch) {
    if (packet.verdict != Verdict::kForward) continue;
    if (!Accepts(features_, packet)) {
      packet.verdict = ErrorVerdict(kind_);
    } else if (writer_ && !writer_->Write(epoch_ + batch.now, packet.bytes()).ok()) {
      packet.verdict = ErrorVerdict(kind_);
      Add(write_errors_, 1);
    }
  }
}

std::vector<NamedCount> CapturePort::Counts() const {
  return {{"capture-skipped", skipped_.load(std::memory_order_relaxed)},
          {"capture-damaged", damaged_.load(std::memory_order_relaxed)},
          {"capture-write-error", write_errors_.load(std::memory_order_relaxed)}};
}

absl::Status CapturePort::Flush() { return writer_ ? writer_->Flush() : absl::OkStatus(); }

}  // namespace weft::dataplane
