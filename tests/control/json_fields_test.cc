// SPDX-License-Identifier: Apache-2.0
#include "control/json_fields.h"

#include <gtest/gtest.h>

namespace weft::control {
namespace {

struct Kept {
  std::optional<std::int64_t> since{};
};

void Fields(auto& visit, Is<Kept> auto& kept) { visit.OptionalTime("since", kept.since); }

struct List {
  std::vector<Kept> all;
  Kept last;
};

void Fields(auto& visit, Is<List> auto& list) {
  visit.Required("all", list.all);
  visit.Required("last", list.last);
}

TEST(JsonFieldsTest, AnAbsentTimeIsNone) {
  Kept kept{1'795'046'000};
  const Json json = Json::object();
  JsonReader reader(json, "");
  Fields(reader, kept);
  EXPECT_TRUE(reader.status().ok()) << reader.status();
  EXPECT_FALSE(kept.since.has_value());
}

TEST(JsonFieldsTest, TheFirstErrorStays) {
  for (const char* const text :
       {R"({"all":[{"since":1},{}],"last":{}})", R"({"all":1,"last":{}})"}) {
    List list;
    const Json json = Json::parse(text);
    JsonReader reader(json, "");
    Fields(reader, list);
    EXPECT_EQ(std::string(reader.status().message()),
              json["all"].is_array() ? "all[0].since is not a string" : "all is not an array");
  }
}

}  // namespace
}  // namespace weft::control
