// SPDX-License-Identifier: Apache-2.0
// Bytes in tests: written as hexadecimal text, shown as a dump.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "vxlan/bytes.h"
#include "vxlan/describe.h"

namespace weft {

using ByteVector = std::vector<std::byte>;

// "45 00 0054" -> four bytes. Blanks and newlines separate; anything else, or an odd digit,
// aborts.
ByteVector Hex(std::string_view text);

// Concatenated pieces.
ByteVector Concatenate(const ByteVector& a, const ByteVector& b);

// The first `size` bytes; zeros after the last one.
ByteVector Cut(ByteVector bytes, std::size_t size);

// 16 bytes a line with offset, as `xxd`.
std::string Dump(Bytes bytes);

// Description and dump. EXPECT_EQ(Show(want, start), Show(got, start)) compares frames and, when
// they differ, prints both decoded.
std::string Show(Bytes frame, FrameStart start);

}  // namespace weft
