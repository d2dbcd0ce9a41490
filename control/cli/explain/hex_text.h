// SPDX-License-Identifier: Apache-2.0
// Hexadecimal text, as pasted, to bytes.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace weft::cli {

// Frames in hexadecimal text, at least one. Accepted forms:
//   - digits in pairs, in any groups of pairs, apart or not: "45000054", "45 00", "45:00", "45-00",
//     "0x45, 0x00", "\x45\x00"; '#' begins a comment; all of it is one frame;
//   - dumps with offsets: xxd, tcpdump -x and -X, hexdump -C, PowerShell's Format-Hex, Wireshark's
//     "copy as hex dump". Their text column is skipped, and so are lines without an offset. Offset
//     0 begins a new frame.
// The error names the line and what is wrong with it.
absl::StatusOr<std::vector<std::vector<std::byte>>> ParseHexText(std::string_view text);

}  // namespace weft::cli
