// SPDX-License-Identifier: Apache-2.0
// With which layer a frame begins: by name, and by looking at it.
#pragma once

#include <optional>
#include <string_view>

#include "vxlan/bytes.h"
#include "vxlan/describe.h"

namespace weft::cli {

// "outer-ethernet", "outer-ip", "vxlan", "inner-ethernet", "inner-ip".
std::string_view Name(FrameStart start);
std::optional<FrameStart> ParseFrameStart(std::string_view name);

// A guess that is right for whole frames: what holds VXLAN (UDP to port 4789 or 8472) is outer, and
// whatever else begins as Ethernet or IP is inner.
FrameStart GuessFrameStart(Bytes frame);

}  // namespace weft::cli
