// SPDX-License-Identifier: Apache-2.0
// Any bytes as a document of the admin endpoint: an accepted document round-trips through its JSON.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "control/admin/schema.h"
#include "nlohmann/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto list = weft::admin::ParseLeaseList(text); list.ok()) {
    const auto back = weft::admin::ParseLeaseList(weft::admin::ToJson(*list).dump());
    if (!back.ok() || *back != *list) std::abort();
  }
  if (const auto status = weft::admin::ParseStatus(text); status.ok()) {
    const auto back = weft::admin::ParseStatus(weft::admin::ToJson(*status).dump());
    if (!back.ok() || *back != *status) std::abort();
  }
  if (const auto plan = weft::admin::ParsePlan(text); plan.ok()) {
    const auto back = weft::admin::ParsePlan(weft::admin::ToJson(*plan).dump());
    if (!back.ok() || *back != *plan) std::abort();
  }
  return 0;
}
