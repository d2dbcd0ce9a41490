// SPDX-License-Identifier: Apache-2.0
// Text of a foreign program inside our messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::hns {

// `text`, UTF-8 in any language, as one line: control characters become blanks, octets that are no
// UTF-8 question marks, blanks at the ends go. What is longer than `limit` octets is cut between
// two characters and ends in "...".
std::string OneLine(std::string_view text, std::size_t limit);

}  // namespace weft::hns
