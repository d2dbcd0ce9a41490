// SPDX-License-Identifier: Apache-2.0
// Where a JSON text is broken: simdjson reports only that it is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weft::kube {

// The octet, from 0, at which `text` stops being the beginning of one JSON value, or the last of
// the word there; its size when it ends too early. Empty when the grammar holds: simdjson also
// refuses numbers out of range and depth.
std::optional<std::size_t> FindJsonError(std::string_view text);

// "line 3, column 17", both from 1; columns count octets.
std::string LineAndColumn(std::string_view text, std::size_t octet);

}  // namespace weft::kube
