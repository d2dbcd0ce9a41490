// SPDX-License-Identifier: Apache-2.0
// Describes a frame as text, one line for each layer; for `flannelctl explain`, traces and tests.
#pragma once

#include <cstdint>
#include <string>

#include "vxlan/bytes.h"

namespace weft {

// The first layer of a frame.
enum class FrameStart : std::uint8_t { kOuterEthernet, kOuterIp, kVxlan, kInnerEthernet, kInnerIp };

// Lines end with '\n'; there is at least one for any bytes. A malformed layer is shown with the
// reason and its offset in `frame`, and ends the description. Outer UDP is parsed as VXLAN if its
// destination port is 4789 or 8472, or its payload resembles VXLAN. Allocates: not for the packet
// path.
[[nodiscard]] std::string Describe(Bytes frame, FrameStart start);

// As Describe decides about an outer UDP datagram.
bool CarriesVxlan(std::uint16_t destination_port, Bytes payload);

}  // namespace weft
