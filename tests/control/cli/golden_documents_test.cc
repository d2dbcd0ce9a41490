// SPDX-License-Identifier: Apache-2.0
// Every document of tests/golden that bears our apiVersion, JSON or YAML, is read by the schema and
// comes back as it is.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "control/admin/schema.h"
#include "control/cli/json_to_yaml.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/source_dir.h"
#include "yaml-cpp/yaml.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

Json JsonOf(const YAML::Node& node) {
  if (node.IsScalar()) {
    const Json plain = Json::parse(node.Scalar(), nullptr, /*allow_exceptions=*/false);
    const bool is_text = node.Tag() == "!" || plain.is_discarded();
    return is_text ? Json(node.Scalar()) : plain;
  }
  Json json = node.IsMap() ? Json::object() : Json::array();
  for (const auto& each : node) {
    if (node.IsMap())
      json[each.first.Scalar()] = JsonOf(each.second);
    else
      json.push_back(JsonOf(each));
  }
  return json;
}

template <class T>
Json BackOf(const absl::StatusOr<T>& read) {
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? admin::ToJson(*read) : Json();
}

TEST(GoldenDocuments, AreReadByTheSchemaAndComeBack) {
  std::map<std::string, int> seen;
  const std::filesystem::path golden =
      std::filesystem::path(weft::testing::kSourceDir) / "tests" / "golden";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(golden)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const bool is_json = text.starts_with("{\n  \"apiVersion\": \"weft/");
    if (!is_json && !text.starts_with("apiVersion: weft/")) continue;
    SCOPED_TRACE(entry.path());
    const Json document = is_json ? Json::parse(text) : JsonOf(YAML::Load(text));
    const std::string kind = document.value("kind", "");
    ++seen[kind + (is_json ? "" : " in YAML")];
    const std::string json = document.dump();
    const Json back = kind == "LeaseList" ? BackOf(admin::ParseLeaseList(json))
                      : kind == "Status"  ? BackOf(admin::ParseStatus(json))
                                          : BackOf(admin::ParsePlan(json));
    EXPECT_EQ(is_json ? back.dump(2) + "\n" : ToYaml(back), text);
  }
  EXPECT_EQ(seen, (std::map<std::string, int>{{"LeaseList", 2},
                                              {"LeaseList in YAML", 1},
                                              {"Plan", 1},
                                              {"Status", 2},
                                              {"Status in YAML", 1}}));
}

}  // namespace
}  // namespace weft::cli
