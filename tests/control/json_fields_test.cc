// SPDX-License-Identifier: Apache-2.0
#include "control/json_fields.h"

#include <gtest/gtest.h>

namespace weft::control {
namespace {

struct Kept {
  std::optional<std::int64_t> since{};
};

void Fields(auto& visit, Is<Kept> auto& kept) { visit.OptionalTime("since", kept.since); }

TEST(JsonFieldsTest, AnAbsentTimeIsNone) {
  Kept kept{1'795'046'000};
  const Json json = Json::object();
  JsonReader reader(json, "");
  Fields(reader, kept);
  EXPECT_TRUE(reader.status().ok()) << reader.status();
  EXPECT_FALSE(kept.since.has_value());
}

}  // namespace
}  // namespace weft::control
