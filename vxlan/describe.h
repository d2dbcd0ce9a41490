// SPDX-License-Identifier: Apache-2.0
// A frame in words, one line a layer: for `flannelctl explain`, traces and failing tests.
#pragma once

#include <cstdint>
#include <string>

#include "vxlan/bytes.h"

namespace weft {

// The layer that a frame begins with.
enum class FrameStart : std::uint8_t { kOuterEthernet, kOuterIp, kVxlan, kInnerEthernet, kInnerIp };

// Lines end with '\n'; there is at least one for any bytes. A malformed layer is named with the
// reason and its offset in `frame`, and ends the description. Outer UDP is read as VXLAN when its
// destination port is 4789 or 8472, or its payload looks like it. Allocates: not for every packet.
[[nodiscard]] std::string Describe(Bytes frame, FrameStart start);

}  // namespace weft
