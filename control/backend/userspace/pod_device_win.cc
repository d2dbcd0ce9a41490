// SPDX-License-Identifier: Apache-2.0
#include "control/backend/userspace/pod_device.h"

namespace weft::backend {

absl::StatusOr<bool> ClearName(const std::string&, Vni, bool) { return false; }
std::string PortHolders(std::uint16_t) { return ""; }

absl::StatusOr<std::unique_ptr<dataplane::PacketPort>> OpenPodDevice(const std::string&,
                                                                     dataplane::PortKind) {
  return absl::UnimplementedError("Windows has no TUN and TAP devices");  // options.h refuses them
}

std::vector<dataplane::NamedCount> KernelCounts(const std::string&) { return {}; }

}  // namespace weft::backend
