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

// Any thread, each part by itself. `clock` outlives it.
class EmulatedNode {
 public:
  explicit EmulatedNode(hns::emulator::Clock& clock, hns::emulator::Settings settings = {});

  host::EmulatedHost& host() { return host_; }
  hns::emulator::Emulator& hns() { return hns_; }

  // {"host": ..., "hns": ...}.
  std::string Text() const;
  // All or nothing; empty text and absent members are a new one. InvalidArgument names what cannot
  // be read.
  absl::Status Read(std::string_view text);
  // Of the machine: both.
  void Reboot(const hns::emulator::Restart& restart = hns::emulator::kReboot);

 private:
  host::EmulatedHost host_;
  hns::emulator::Emulator hns_;
};

// The file in which a node outlives the process that emulates it. Any thread.
class NodeFile {
 public:
  // `node` outlives it; `path` is UTF-8.
  NodeFile(EmulatedNode& node, std::string path) : node_(node), path_(std::move(path)) {}

  // Reads the file, or makes it where there is none.
  absl::Status Open();
  // Writes it where the node has changed since.
  absl::Status Save();

 private:
  EmulatedNode& node_;
  const std::string path_;
  std::mutex mutex_;
  std::uint64_t hns_ = 0;  // version of what was written
  host::HostState host_;   // what was written
};

// "Ethernet" with `address` (the prefix length with it), MTU 1500, and the default route by
// `gateway`: what most tests and `hns emulate` begin with.
void AddEthernet(host::EmulatedHost& host, const host::AssignedAddress& address,
                 const IpAddress& gateway);

}  // namespace weft::emulator
