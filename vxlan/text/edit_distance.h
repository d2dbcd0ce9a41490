// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace weft {

// The fewest insertions, removals, replacements and swaps of neighbours that make `b` of `a`
// (optimal string alignment).
std::size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace weft
