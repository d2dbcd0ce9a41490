// SPDX-License-Identifier: Apache-2.0
#include "control/cli/json_to_yaml.h"

#include <algorithm>

#include "nlohmann/json.hpp"
#include "yaml-cpp/yaml.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

// Whether a YAML reader reads the plain text as a string. Plain is kept for words; anything
// with a digit first (numbers, addresses, times), with signs or of YAML 1.1's boolean words is not.
bool IsPlain(const std::string& text) {
  if (text.empty() || text.find_first_of(":#{}[],&*!|>'\"%@`\\~") != std::string::npos)
    return false;
  // Control characters and what may not be UTF-8: only quoted text has a form for them.
  if (std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte >= 0x7f;
      }))
    return false;
  const char first = text.front();
  if ((first >= '0' && first <= '9') || first == '-' || first == '+' || first == '.' ||
      first == '?' || first == ' ' || first == '=' || first == '<' || text.back() == ' ') {
    return false;
  }
  static constexpr const char* kWords[] = {"y",   "n",    "yes",   "no",  "on",
                                           "off", "true", "false", "null"};
  for (const char* word : kWords) {
    if (std::equal(text.begin(), text.end(), word, word + std::char_traits<char>::length(word),
                   [](char a, char b) { return (a | 0x20) == b; })) {
      return false;
    }
  }
  return true;
}

void Emit(YAML::Emitter& yaml, const Json& json) {
  switch (json.type()) {
    case Json::value_t::object:
      yaml << (json.empty() ? YAML::Flow : YAML::Block) << YAML::BeginMap;
      for (const auto& [key, value] : json.items()) {
        yaml << YAML::Key << key << YAML::Value;
        Emit(yaml, value);
      }
      yaml << YAML::EndMap;
      break;
    case Json::value_t::array:
      yaml << (json.empty() ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
      for (const Json& value : json) Emit(yaml, value);
      yaml << YAML::EndSeq;
      break;
    case Json::value_t::string: {
      const auto& text = json.get_ref<const std::string&>();
      if (!IsPlain(text)) yaml << YAML::DoubleQuoted;
      yaml << text;
      break;
    }
    case Json::value_t::null:
      yaml << YAML::Null;
      break;
    default:
      yaml << json.dump();  // numbers, true, false: the same in both
  }
}

}  // namespace

std::string ToYaml(const Json& json) {
  YAML::Emitter yaml;
  Emit(yaml, json);
  return std::string(yaml.c_str(), yaml.size()) + "\n";
}

}  // namespace weft::cli
