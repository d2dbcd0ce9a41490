// SPDX-License-Identifier: Apache-2.0
// Where a JSON text is broken: simdjson's DOM says only that it is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weft::kube {

// Octet at which `text` stops being the beginning of one JSON value (RFC 8259), its size when it
// ends too early. Empty when the grammar holds; what simdjson refuses beyond grammar (invalid
// UTF-8, numbers out of range, depth) is not looked at.
std::optional<std::size_t> FindJsonError(std::string_view text);

// "line 3, column 17", both from 1; columns count octets.
std::string LineAndColumn(std::string_view text, std::size_t octet);

}  // namespace weft::kube
