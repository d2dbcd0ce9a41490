// SPDX-License-Identifier: Apache-2.0
#include "control/backend/userspace/pod_device.h"

namespace weft::backend {

absl::StatusOr<bool> ClearName(const std::string&, Vni, bool) { return false; }
std::string PortHolders(std::uint16_t) { return ""; }

// options.h refuses both.
absl::StatusOr<PodPorts> OpenTunDevice(const std::string&, int) {
  return absl::UnimplementedError("Windows has no TUN devices");
}
absl::StatusOr<std::unique_ptr<dataplane::PacketPort>> OpenTapDevice(const std::string&) {
  return absl::UnimplementedError("Windows has no TAP devices");
}

std::vector<dataplane::NamedCount> KernelCounts(const std::string&, IpFamily) { return {}; }
std::optional<std::uint64_t> HostOverflows(IpFamily) { return std::nullopt; }

}  // namespace weft::backend
