// SPDX-License-Identifier: Apache-2.0
// The device through which pods reach a userspace tunnel, where the system has such devices, and
// what the kernel counts there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/packet_port.h"
#include "vxlan/vni.h"

namespace weft::backend {

// Unavailable while the kernel has a device of this name: upstream flannel leaves its vxlan device.
// With `replace` a vxlan device of this VNI is deleted, and the result is true.
absl::StatusOr<bool> ClearName(const std::string& name, Vni vni, bool replace);
// "device flannel.1 of the kernel (VNI 1)": the vxlan devices that use this UDP port; empty: none.
std::string PortHolders(std::uint16_t port);

using PodPorts = std::vector<std::unique_ptr<dataplane::PacketPort>>;
// A TUN device with a port for each worker. Created down and without address; removed when the last
// port ends.
absl::StatusOr<PodPorts> OpenTunDevice(const std::string& name, int workers);
// A TAP device, likewise.
absl::StatusOr<std::unique_ptr<dataplane::PacketPort>> OpenTapDevice(const std::string& name);

// "device-rx-dropped" and so on: packets that the kernel dropped on their way to or from `name`;
// and, for the whole host and outer packets of `family`, "udp-checksum-errors". Unreadable counts
// are omitted. Any thread.
std::vector<dataplane::NamedCount> KernelCounts(const std::string& name, IpFamily family);
// Datagrams that the whole host had no room for at their sockets; empty: unreadable. Any thread.
std::optional<std::uint64_t> HostOverflows(IpFamily family);

}  // namespace weft::backend
