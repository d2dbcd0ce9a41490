// SPDX-License-Identifier: Apache-2.0
// Foreign text inside our messages: quoted, escaped and bounded, so that nobody writes log lines or
// terminal codes through us.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::lease {

// Octets of `text` shown at most, before escaping.
inline constexpr std::size_t kMaxQuoted = 80;

// "text" in double quotes. Control octets, quotes, backslashes and everything outside ASCII become
// \n, \", \x1b, ...; what is longer than `limit` octets is cut and its whole length told.
std::string Quoted(std::string_view text, std::size_t limit = kMaxQuoted);

}  // namespace weft::lease
