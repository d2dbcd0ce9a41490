// SPDX-License-Identifier: Apache-2.0
// The kernel's virtual devices by kind, to find the device that upstream flannel left under the
// name of weft's tunnel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::host {

struct KernelDevice {
  std::uint32_t index = 0;
  std::string name;
  std::string kind;        // "vxlan", "tun", "dummy"; empty for hardware
  std::uint32_t vni = 0;   // of a vxlan device
  std::uint16_t port = 0;  // the same
};

absl::StatusOr<std::vector<KernelDevice>> KernelDevices();
// Succeeds if the device does not exist.
absl::Status DeleteKernelDevice(const KernelDevice& device);

}  // namespace weft::host
