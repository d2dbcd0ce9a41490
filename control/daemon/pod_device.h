// SPDX-License-Identifier: Apache-2.0
// The device through which pods reach a userspace tunnel, where the system has such devices, and
// what the kernel counts there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/packet_port.h"

namespace weft::daemon {

// Unimplemented, with what to do instead, where this system has no such device.
absl::Status PodDeviceSupport();

// Made down and without address; gone when the port is.
absl::StatusOr<std::unique_ptr<dataplane::PacketPort>> OpenPodDevice(const std::string& name);

// "device-rx-dropped" and so on: packets that the kernel dropped on their way to or from `name`;
// and, for the whole host, "udp-checksum-errors". What cannot be read is left out. Any thread.
std::vector<dataplane::NamedCount> KernelCounts(const std::string& name);

}  // namespace weft::daemon
