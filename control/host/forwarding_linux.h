// SPDX-License-Identifier: Apache-2.0
// net.ipv4.conf.DEVICE.forwarding and its IPv6 counterpart, in the calling thread's network
// namespace.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vxlan/ip_address.h"

namespace weft::host {

absl::Status SetForwarding(std::uint32_t adapter_index, IpFamily family, bool on);
absl::StatusOr<bool> Forwarding(std::uint32_t adapter_index, IpFamily family);

}  // namespace weft::host
