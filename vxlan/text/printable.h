// SPDX-License-Identifier: Apache-2.0
// Foreign text inside our messages: bounded, and without what writes log lines or terminal codes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// Bytes of `text` that Quoted shows at most, before escaping.
inline constexpr std::size_t kMaxQuoted = 80;

// "text" in double quotes. Control characters, quotes, backslashes and everything outside ASCII
// become \n, \", \x1b, ...; what is longer than `limit` bytes is cut and its length named.
std::string Quoted(std::string_view text, std::size_t limit = kMaxQuoted);

// `text`, UTF-8 in any language, as one line: control characters become blanks, bytes that are no
// UTF-8 question marks, blanks at the ends go. What is longer than `limit` bytes is cut between two
// characters and ends in "...".
std::string OneLine(std::string_view text, std::size_t limit);

// Of the byte `at` of `text`: "line 3, column 17", both from 1; columns count bytes.
std::string LineAndColumn(std::string_view text, std::size_t at);

}  // namespace weft
