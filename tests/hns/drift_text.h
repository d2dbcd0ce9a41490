// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "hns/overlay_drift.h"

namespace weft::hns {

// A line for each call that would be made, or why none may be.
inline std::string CallsText(const Drift& drift) {
  if (!drift.refused.empty()) return "refused: " + drift.refused;
  std::string text;
  for (const PlannedCall& call : drift.calls) text += call.what + "\n";
  return text;
}

}  // namespace weft::hns
