// SPDX-License-Identifier: Apache-2.0
// Serves a host to other processes, which use RemoteHost.
#pragma once

#include "control/emulator/remote/remote_server.h"
#include "control/host/host.h"

namespace weft::emulator {

// Any thread, as `host`, which outlives it.
class ServedHost final : public hns::emulator::HostFace {
 public:
  explicit ServedHost(host::Host& host) : host_(host) {}

  hns::Reply Answer(const std::string& call) override;
  std::shared_ptr<void> Watch(std::function<void()> changed) override;

 private:
  host::Host& host_;
};

}  // namespace weft::emulator
