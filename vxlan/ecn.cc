// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ecn.h"

namespace weft {

std::string_view Name(Ecn ecn) {
  constexpr std::array<std::string_view, 4> kNames = {"Not-ECT", "ECT(1)", "ECT(0)", "CE"};
  return kNames[static_cast<std::size_t>(ecn) & 3];
}

}  // namespace weft
