// SPDX-License-Identifier: Apache-2.0
// A frame: the layer that it begins with, and the values by which the forwarder judges it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "vxlan/bytes.h"
#include "vxlan/describe.h"
#include "vxlan/ip_address.h"
#include "vxlan/mac_address.h"

namespace weft::cli {

// "outer-ethernet", "outer-ip", "vxlan", "inner-ethernet", "inner-ip".
std::string_view Name(FrameStart start);
std::optional<FrameStart> ParseFrameStart(std::string_view name);

// Right for whole frames: what CarriesVxlan is outer; other Ethernet or IP is inner.
FrameStart GuessFrameStart(Bytes frame);

// Empty: the frame has no such layer, or the layer cannot be parsed.
struct FrameFacts {
  std::optional<IpAddress> outer_source;
  std::optional<std::uint16_t> outer_port;  // UDP destination
  std::optional<std::uint32_t> vni;
  std::optional<MacAddress> inner_destination_mac;
  std::optional<MacAddress> inner_source_mac;
  std::optional<IpAddress> inner_source;
  std::optional<IpAddress> inner_destination;
  std::uint32_t inner_length = 0;  // bytes of the inner IP packet; zero: unknown
};

// `start` is kOuterIp, kVxlan or kInnerIp.
FrameFacts CollectFacts(Bytes frame, FrameStart start);

}  // namespace weft::cli
