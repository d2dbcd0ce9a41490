// SPDX-License-Identifier: Apache-2.0
// Octets in tests: written as hexadecimal text, shown as a dump.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "vxlan/bytes.h"
#include "vxlan/describe.h"

namespace weft {

using Octets = std::vector<std::byte>;

// "45 00 0054" -> four octets. Blanks and newlines separate; anything else, or an odd digit,
// aborts.
Octets Hex(std::string_view text);

// Pieces one after the other.
Octets Concatenate(const Octets& a, const Octets& b);

// 16 octets a line with offset, as `xxd`.
std::string Dump(Bytes octets);

// Description and dump. EXPECT_EQ(Show(want, start), Show(got, start)) compares frames and, when
// they differ, prints both decoded.
std::string Show(Bytes frame, FrameStart start);

}  // namespace weft
