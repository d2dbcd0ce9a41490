// SPDX-License-Identifier: Apache-2.0
#include "control/cli/nearest.h"

#include <algorithm>

#include "vxlan/text/edit_distance.h"

namespace weft::cli {

std::string_view Nearest(std::string_view typed, std::span<const std::string_view> words) {
  std::string_view nearest;
  std::size_t least = typed.size() + 1;
  for (const std::string_view word : words) {
    const std::size_t distance = EditDistance(typed, word);
    if (distance < least && distance <= std::max<std::size_t>(1, word.size() / 3)) {
      least = distance;
      nearest = word;
    }
  }
  return nearest;
}

}  // namespace weft::cli
