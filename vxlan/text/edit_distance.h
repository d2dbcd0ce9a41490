// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace weft {

// The least number of insertions, removals, replacements and swaps of neighbours that turn `a` into
// `b` (optimal string alignment).
std::size_t EditDistance(std::string_view a, std::string_view b);

// The word that the fewest insertions, removals, replacements and swaps of neighbours make of
// `typed`, the first of equals; empty when even that needs more than a third of its letters, or
// more than one of a short word's.
std::string_view Nearest(std::string_view typed, std::span<const std::string_view> words);

}  // namespace weft
