// SPDX-License-Identifier: Apache-2.0
// The known word that is nearest to a mistyped one.
#pragma once

#include <span>
#include <string_view>

namespace weft::cli {

// The word that the fewest insertions, removals, replacements and swaps of neighbours make of
// `typed`, the first of equals; empty when even that needs more than a third of its letters, or
// more than one of a short word's.
std::string_view Nearest(std::string_view typed, std::span<const std::string_view> words);

}  // namespace weft::cli
