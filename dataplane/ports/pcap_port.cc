// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/pcap_port.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/counters.h"
#include "dataplane/ports/port_rules.h"

namespace weft::dataplane {
namespace {

constexpr unsigned kQueueBytes = 1 << 20;
constexpr Timestamp kCountInterval = std::chrono::milliseconds(100);
// Where each frame has room for 64 KiB and Linux gives it twice that, a buffer of 2 MiB.
constexpr std::size_t kFewestInFullBuffer = 16;

}  // namespace

absl::StatusOr<std::unique_ptr<PcapPort>> PcapPort::Open(const PcapLibrary& library,
                                                         const PcapPortOptions& options) {
  PcapDeviceOptions device_options;
  device_options.adapter = options.adapter;
  device_options.buffer = options.buffer;
  device_options.only_ethernet = true;
  const std::string mac = options.mac.ToString();
  device_options.filter =
      absl::StrCat(options.family == IpFamily::kV4 ? "(ip or arp)" : "ip6", " and not ether src ",
                   mac, " and (ether dst ", mac, " or ether multicast)");
  absl::StatusOr<std::unique_ptr<PcapDevice>> device = PcapDevice::Open(library, device_options);
  if (!device.ok()) return device.status();
  return std::unique_ptr<PcapPort>(new PcapPort(*std::move(device)));
}

PcapPort::PcapPort(std::unique_ptr<PcapDevice> device) : device_(std::move(device)) {
  const PcapLibrary& library = device_->library();
  if (library.sendqueue_alloc && library.sendqueue_destroy && library.sendqueue_queue &&
      library.sendqueue_transmit)
    queue_ = library.sendqueue_alloc(kQueueBytes);
  handles_[0] = device_->wait_handle().value_or(0);
}

PcapPort::~PcapPort() {
  if (queue_) device_->library().sendqueue_destroy(queue_);
}

std::span<const WaitHandle> PcapPort::wait_handles() const {
  return std::span(handles_).first(device_->wait_handle() ? 1 : 0);
}

std::size_t PcapPort::Receive(Batch& batch) {
  batch.clear();
  if (batch.now - counted_at_ >= kCountInterval) {
    counted_at_ = batch.now;
    ReadDrops();
  }
  std::size_t bytes = 0, taken = 0;
  while (!batch.full() && bytes < kBatchBytes) {
    CaptureRecord frame;
    const PcapDevice::Read read = device_->Next(frame);
    if (read == PcapDevice::Read::kNothing) break;
    if (read == PcapDevice::Read::kFailed) {
      Add(read_errors_, 1);
      break;
    }
    ++taken;
    if (frame.bytes.empty() || frame.bytes.size() < frame.original_length ||
        frame.bytes.size() > kMaxPacket) {
      Add(cut_, 1);
      bytes += frame.bytes.size();
      continue;
    }
    Packet packet = slab_.Lend(batch.size());
    std::memcpy(packet.data, frame.bytes.data(), frame.bytes.size());
    packet.length = static_cast<std::uint32_t>(frame.bytes.size());
    packet.tailroom -= packet.length;
    bytes += packet.length;
    batch.Add(packet);
  }
  // A full buffer is emptied before the worker waits, perhaps for long: what it dropped is counted
  // then. Not after each packet, because the library reads files for it.
  burst_ += taken;
  if (taken == 0 && std::exchange(burst_, 0) >= kFewestInFullBuffer) ReadDrops();
  return taken;
}

void PcapPort::Send(Batch& batch) {
  for (Packet& packet : batch) {
    if (packet.verdict == Verdict::kForward && !Accepts(features_, packet))
      packet.verdict = Verdict::kPodError;
  }
  if (queue_) return SendQueued(batch);
  for (Packet& packet : batch) {
    if (packet.verdict == Verdict::kForward && !device_->Send(packet.bytes()))
      packet.verdict = Verdict::kPodFull;
  }
}

void PcapPort::SendQueued(Batch& batch) {
  const PcapLibrary& library = device_->library();
  std::size_t first = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].verdict != Verdict::kForward) continue;
    const PcapRecord record{0, 0, batch[i].length, batch[i].length};
    if (library.sendqueue_queue(queue_, &record, batch[i].data) == 0) continue;
    Transmit(batch, first, i);
    first = i;
    if (library.sendqueue_queue(queue_, &record, batch[i].data) != 0)
      batch[i].verdict = Verdict::kPodError;
  }
  Transmit(batch, first, batch.size());
}

void PcapPort::Transmit(Batch& batch, std::size_t first, std::size_t end) {
  if (queue_->used == 0) return;
  // Counts the bytes of whole records.
  const unsigned sent = device_->library().sendqueue_transmit(device_->handle(), queue_, 0);
  const bool complete = sent >= queue_->used;
  queue_->used = 0;
  unsigned at = 0;
  for (std::size_t i = first; i < end && !complete; ++i) {
    if (batch[i].verdict != Verdict::kForward) continue;
    at += static_cast<unsigned>(sizeof(PcapRecord)) + batch[i].length;
    if (at > sent) batch[i].verdict = Verdict::kPodFull;
  }
}

void PcapPort::ReadDrops() {
  PcapStatistics statistics;
  if (!device_->ReadStatistics(statistics)) return;
  dropped_.store(statistics.dropped, std::memory_order_relaxed);
  adapter_dropped_.store(statistics.dropped_by_adapter, std::memory_order_relaxed);
}

std::vector<NamedCount> PcapPort::Counts() const {
  return {{"pcap-dropped", dropped_.load(std::memory_order_relaxed)},
          {"pcap-adapter-dropped", adapter_dropped_.load(std::memory_order_relaxed)},
          {"pcap-cut", cut_.load(std::memory_order_relaxed)},
          {"pcap-read-error", read_errors_.load(std::memory_order_relaxed)}};
}

}  // namespace weft::dataplane
