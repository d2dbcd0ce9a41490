// SPDX-License-Identifier: Apache-2.0
#include "vxlan/text/edit_distance.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weft {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> last(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, std::move(row));
  }
  return last[b.size()];
}

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

}  // namespace weft
