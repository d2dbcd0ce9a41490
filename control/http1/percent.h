// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::http1 {

// For one segment of a path or a query's value: all but unreserved characters (RFC 3986 2.3).
std::string EscapePercent(std::string_view text);
// Of a path, a query's name or value, or a URL's user (RFC 3986 2.1); nothing when an escape is
// broken or is a NUL.
std::optional<std::string> DecodePercent(std::string_view text, bool plus_is_space = false);

}  // namespace weft::http1
