// SPDX-License-Identifier: Apache-2.0
// Foreign text inside our messages: bounded, and without line breaks and terminal escapes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// Default limit of Quoted in bytes, before escaping.
inline constexpr std::size_t kMaxQuoted = 80;

// `text` in double quotes. Control characters, quotes, backslashes and everything outside ASCII
// become \n, \", \x1b, ...; text longer than `limit` bytes is cut, and its length appended.
std::string Quoted(std::string_view text, std::size_t limit = kMaxQuoted);

// `text`, in UTF-8, as one line: control characters become blanks, bytes that are not UTF-8
// question marks; blanks at both ends are removed. Text longer than `limit` bytes is cut between
// two characters and ends in "...".
std::string OneLine(std::string_view text, std::size_t limit);

// Bytes of the UTF-8 character at the beginning of `text`, which is not empty; zero: it is not
// valid UTF-8.
std::size_t CharacterSize(std::string_view text);

// The position of byte `at` of `text`: "line 3, column 17", both from 1; columns count bytes.
std::string LineAndColumn(std::string_view text, std::size_t at);

}  // namespace weft
