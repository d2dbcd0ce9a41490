// SPDX-License-Identifier: Apache-2.0
// What a verdict's explanation names of a frame. Says nothing about right or wrong: that is the
// forwarder's.
#pragma once

#include <cstdint>
#include <optional>

#include "vxlan/bytes.h"
#include "vxlan/describe.h"
#include "vxlan/ip_address.h"
#include "vxlan/mac_address.h"

namespace weft::cli {

// Absent: the frame has no such layer, or it could not be read.
struct FrameFacts {
  std::optional<IpAddress> outer_source;
  std::optional<std::uint16_t> outer_port;  // UDP destination
  std::optional<std::uint32_t> vni;
  std::optional<MacAddress> inner_destination_mac;
  std::optional<MacAddress> inner_source_mac;
  std::optional<IpAddress> inner_source;
  std::optional<IpAddress> inner_destination;
  std::uint32_t inner_length = 0;  // octets of the inner IP packet; zero: unknown
};

// `start` is kOuterIp, kVxlan or kInnerIp.
FrameFacts CollectFacts(Bytes frame, FrameStart start);

}  // namespace weft::cli
