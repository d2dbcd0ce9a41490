// SPDX-License-Identifier: Apache-2.0
#include "vxlan/flow_hash.h"

namespace weft {
namespace {

// 16 bytes to 64 bits.
std::uint64_t MixAddress(const std::byte* at) {
  const std::uint64_t mixed =
      (LoadBe64(at) * detail::kMultiplierA ^ LoadBe64(at + 8)) * detail::kMultiplierB;
  return mixed ^ mixed >> 29;
}

}  // namespace

FlowHash detail::HashInnerIpv6Flow(const InnerPacket& packet) {
  // Without the rotation equal source and destination would cancel out.
  const std::uint64_t addresses =
      std::rotl(MixAddress(packet.source_bytes()), 31) ^ MixAddress(packet.destination_bytes());
  return FinishFlowHash(addresses, packet);
}

}  // namespace weft
