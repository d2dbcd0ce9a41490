// SPDX-License-Identifier: Apache-2.0
// Any JSON as YAML (names of networks and nodes are foreign text): a YAML reader gets the same
// values.
#include <cstdint>
#include <string>
#include <string_view>

#include "control/cli/json_to_yaml.h"
#include "nlohmann/json.hpp"
#include "tests/fuzz/input.h"
#include "yaml-cpp/yaml.h"

namespace {

using Json = nlohmann::ordered_json;
using weft::fuzz::Require;

// A reader of YAML recognizes a string by its tag: quoted is "!", plain is "?".
void RequireSame(const Json& json, const YAML::Node& yaml) {
  switch (json.type()) {
    case Json::value_t::object: {
      Require(yaml.IsMap() && yaml.size() == json.size(), "a map");
      auto at = yaml.begin();
      for (const auto& [key, value] : json.items()) {
        Require(at->first.Scalar() == key, "its keys, in order");
        RequireSame(value, (at++)->second);
      }
      return;
    }
    case Json::value_t::array:
      Require(yaml.IsSequence() && yaml.size() == json.size(), "a sequence");
      for (std::size_t i = 0; i < json.size(); ++i) RequireSame(json[i], yaml[i]);
      return;
    case Json::value_t::null:
      return Require(yaml.IsNull(), "null");
    case Json::value_t::string: {
      Require(yaml.IsScalar() && yaml.Scalar() == json.get<std::string>(), "a string");
      bool truth = false;
      double number = 0;
      const bool quoted = yaml.Tag() == "!";
      Require(quoted || (!YAML::convert<bool>::decode(yaml, truth) &&
                         !YAML::convert<double>::decode(yaml, number)),
              "a string that nothing takes for something else");
      return;
    }
    default:
      Require(yaml.IsScalar() && yaml.Tag() == "?" && yaml.Scalar() == json.dump(), "a number");
  }
}

std::size_t Depth(const Json& json) {
  std::size_t deepest = 0;
  if (json.is_structured())
    for (const Json& each : json) deepest = std::max(deepest, Depth(each));
  return deepest + 1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || Depth(json) > 50) return 0;
  const std::string yaml = weft::cli::ToYaml(json);
  Require(yaml.ends_with('\n'), "a line end at the end");
  RequireSame(json, YAML::Load(yaml));
  return 0;
}
