// SPDX-License-Identifier: Apache-2.0
// flanneld's --trace: a pcapng file of what a worker receives, sends and drops, with the reasons of
// drops as comments.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/packet_port.h"
#include "dataplane/ports/pcapng.h"

namespace weft::dataplane {

// Any thread: several workers write to one file.
class TraceFile {
 public:
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

  // `file` is open and empty; `path` is its name, for errors. `program` is named in it.
  static absl::StatusOr<std::shared_ptr<TraceFile>> Open(std::shared_ptr<std::FILE> file,
                                                         const std::string& path,
                                                         std::string_view program,
                                                         std::uint64_t max_bytes = kMaxBytes);

  // Returns its number for PcapngPacket::interface.
  std::uint32_t AddInterface(LinkType link_type, std::string_view name);
  void Write(const PcapngPacket& packet);
  // Writes what is buffered.
  void Flush();
  // Why it is written no more: a full disk, kMaxBytes. Packets go on without it.
  absl::Status status() const;

 private:
  TraceFile(std::shared_ptr<std::FILE> file, std::string path, std::uint64_t max_bytes)
      : file_(std::move(file)), path_(std::move(path)), max_bytes_(max_bytes) {}
  // The lock is held.
  void Put();  // block_
  void CheckWritten(bool written);

  const std::shared_ptr<std::FILE> file_;
  const std::string path_;
  const std::uint64_t max_bytes_;
  mutable std::mutex mutex_;
  std::string block_;
  std::uint32_t interfaces_ = 0;
  std::uint64_t written_ = 0;
  absl::Status status_;
};

// The two ports of one worker, each traced on an interface of its own. Unlike other ports they
// allocate, lock and copy: for diagnosis, not for speed. Aggregates are traced as their datagrams,
// datagrams with the outer headers that they have on the wire (our own address as zero), IP packets
// with an Ethernet header of zeros.
struct TracedPorts {
  std::unique_ptr<PacketPort> pods, wire;
};
// `epoch` is added to batch.now to make times, which count from 1970.
TracedPorts Trace(TracedPorts ports, std::shared_ptr<TraceFile> file, std::string_view pods_name,
                  std::string_view wire_name, Timestamp epoch);

}  // namespace weft::dataplane
