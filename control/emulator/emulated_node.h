// SPDX-License-Identifier: Apache-2.0
// A Windows node in memory, for development and tests: a host, and the HNS that changes it.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "control/emulator/hns/emulator.h"
#include "control/emulator/hns/model/clock.h"
#include "control/emulator/hns/model/settings.h"
#include "control/emulator/host/emulated_host.h"

namespace weft::emulator {

// Any thread; host and HNS are locked separately. `clock` outlives it.
class EmulatedNode {
 public:
  explicit EmulatedNode(hns::emulator::Clock& clock, hns::emulator::Settings settings = {});

  host::EmulatedHost& host() { return host_; }
  hns::emulator::Emulator& hns() { return hns_; }

  // {"host": ..., "hns": ...}.
  std::string Text() const;
  // Reads all or nothing; empty text or an absent member means a new node or part. InvalidArgument
  // names the value that cannot be read.
  absl::Status Read(std::string_view text);
  // Reboots the machine: host and HNS.
  void Reboot(const hns::emulator::Restart& restart = hns::emulator::kReboot);

 private:
  host::EmulatedHost host_;
  hns::emulator::Emulator hns_;
};

// The file that keeps a node's state beyond the emulating process. Any thread.
class NodeFile {
 public:
  // `node` outlives it; `path` is UTF-8.
  NodeFile(EmulatedNode& node, std::string path) : node_(node), path_(std::move(path)) {}

  // Reads the file, or creates it.
  absl::Status Open();
  // Writes the file if the node has changed since.
  absl::Status Save();

 private:
  EmulatedNode& node_;
  const std::string path_;
  std::mutex mutex_;
  std::uint64_t hns_ = 0;  // the HNS version that was written
  host::HostState host_;   // the host state that was written
};

}  // namespace weft::emulator
