// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/pod_device.h"

namespace weft::daemon {

absl::Status PodDeviceSupport() {
  return absl::UnimplementedError(
      "--dataplane=userspace needs Npcap on Windows, and that part is not built yet; "
      "--dataplane=none takes the lease and "
      "writes subnet.env only");
}

absl::StatusOr<bool> ClearPlace(const std::string&, Vni, bool) { return false; }
std::string PortHolders(std::uint16_t) { return ""; }

absl::StatusOr<std::unique_ptr<dataplane::PacketPort>> OpenPodDevice(const std::string&) {
  return PodDeviceSupport();
}

std::vector<dataplane::NamedCount> KernelCounts(const std::string&) { return {}; }

}  // namespace weft::daemon
