// SPDX-License-Identifier: Apache-2.0
// A Windows node in memory: a host, and the HNS that changes it. Text in one document.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "control/emulator/host_side.h"
#include "control/host/emulator.h"
#include "hns/emulator/clock.h"
#include "hns/emulator/emulator.h"
#include "hns/emulator/settings.h"

namespace weft::emulator {

// Any thread, each part by itself. `clock` outlives it.
class World {
 public:
  explicit World(hns::emulator::Clock& clock, hns::emulator::Settings settings = {});

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
  EmulatedHostSide side_;
  hns::emulator::Emulator hns_;
};

// "Ethernet" with `address` (the prefix length with it), MTU 1500, and the default route by
// `gateway`: what most tests and a first `hns emulate` begin with.
void AddEthernet(host::EmulatedHost& host, const host::AssignedAddress& address,
                 const IpAddress& gateway);

}  // namespace weft::emulator
