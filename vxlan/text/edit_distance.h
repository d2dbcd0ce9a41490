// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace weft {

// The least number of insertions, removals, replacements and swaps of neighbours that turn `a` into
// `b` (optimal string alignment).
std::size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace weft
