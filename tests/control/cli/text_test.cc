// SPDX-License-Identifier: Apache-2.0
// Small text functions: tables, YAML, the nearest word.
#include <array>

#include "control/cli/hns/hns_option.h"
#include "control/cli/json_to_yaml.h"
#include "control/cli/text_table.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "vxlan/text/edit_distance.h"
#include "yaml-cpp/yaml.h"

namespace weft::cli {
namespace {

TEST(TextTableTest, AlignsWithoutBlanksAtTheEnd) {
  TextTable table({"A", "LONGER", "C"});
  table.Add({"wide cell", "x", ""});
  table.Add({"y", "", "last one may have blanks"});
  EXPECT_EQ(table.TakeText(true),
            "A           LONGER   C\n"
            "wide_cell   x        -\n"
            "y           -        last one may have blanks\n");
}

TEST(TextTableTest, CountsCharactersNotBytes) {
  TextTable table({"N", "X"});
  table.Add({"\xc3\xa9\xc3\xa9", "1"});
  table.Add({"abc", "2"});
  EXPECT_EQ(table.TakeText(false), "\xc3\xa9\xc3\xa9    1\nabc   2\n");
}

TEST(TextTableTest, ControlCharactersAreReplaced) {
  TextTable table({"N", "X"});
  table.Add({"a\x1b[31m\nb", "c\nd\x7f"});
  table.Add({"tab\there", ""});
  EXPECT_EQ(table.TakeText(false), "a?[31m_b   c?d?\ntab_here   -\n");
}

TEST(TextTableTest, LaterRowsKeepTheWidthsOfEarlierOnes) {
  TextTable table({"N", "X"});
  table.Add({"a-long-name", "1"});
  EXPECT_EQ(table.TakeText(true), "N             X\na-long-name   1\n");
  table.Add({"b", "2"});
  EXPECT_EQ(table.TakeText(false), "b             2\n");
}

TEST(NearestTest, Words) {
  constexpr std::array<std::string_view, 5> kWords{"status", "leases", "explain", "version",
                                                   "help"};
  struct Row {
    const char* typed;
    const char* nearest;
  };
  const Row rows[] = {
      {"status", "status"},
      {"stauts", "status"},
      {"stat", "status"},
      {"lease", "leases"},
      {"hlep", "help"},
      {"hel", "help"},
      {"hlpp", ""},
      {"hpep", ""},
      {"he", ""},
      {"explian", "explain"},
      {"foo", ""},
      {"", ""},
      {"versions", "version"},
      {"a-very-long-word-that-is-none", ""},
  };
  for (const Row& row : rows) EXPECT_EQ(Nearest(row.typed, kWords), row.nearest) << row.typed;
  constexpr std::array<std::string_view, 2> kAlike{"lease", "leases"};
  EXPECT_EQ(Nearest("leas", kAlike), "lease");
}

TEST(JsonFieldsTest, JsonValuesAreKeptAndTheRestIsText) {
  const struct {
    const char* word;
    const char* json;
  } rows[] = {
      {"a=true", R"({"a":true})"}, {"a=-7", R"({"a":-7})"},     {"a={\"b\":1}", R"({"a":{"b":1}})"},
      {"a=[1]", R"({"a":[1]})"},   {"a=9.5", R"({"a":"9.5"})"}, {"a=null", R"({"a":"null"})"},
      {"a=", R"({"a":""})"},       {"a=b=c", R"({"a":"b=c"})"},
  };
  for (const auto& [word, json] : rows) {
    const auto fields = JsonFields(std::vector<std::string>{word});
    ASSERT_TRUE(fields.ok()) << fields.status();
    EXPECT_EQ(fields->dump(), json) << word;
  }
  for (const char* word : {"", "a", "=a"})
    EXPECT_FALSE(JsonFields(std::vector<std::string>{"b=1", word}).ok()) << word;
}

TEST(YamlTest, KeepsOrderAndNesting) {
  const auto json = nlohmann::ordered_json::parse(
      R"({"z": 1, "a": {"list": [{"x": true, "y": null}, "word"], "none": [], "empty": {}}})");
  EXPECT_EQ(ToYaml(json),
            "z: 1\n"
            "a:\n"
            "  list:\n"
            "    - x: true\n"
            "      y: ~\n"
            "    - word\n"
            "  none: []\n"
            "  empty: {}\n");
}

TEST(YamlTest, OnlyTextThatYaml11MayMisreadIsQuoted) {
  for (const char* text : {"=", "<<", "?x", "+1", "-1", "-x", ".5", " x", "x ", "a:b", "\xc3\xa9",
                           "tab\there", "\x7f"}) {
    const std::string yaml = ToYaml(nlohmann::ordered_json{{"key", text}});
    EXPECT_EQ(yaml.substr(0, 6), "key: \"") << yaml;
  }
  for (const std::string text : {"word", "two words", "/etc/cni", "a-b", "online"})
    EXPECT_EQ(ToYaml(nlohmann::ordered_json{{"key", text}}), "key: " + text + "\n");
}

TEST(YamlTest, StringsReadBackAsStrings) {
  for (const char* text : {"",
                           "word",
                           "two words",
                           "true",
                           "No",
                           "ON",
                           "null",
                           "~",
                           "1",
                           "-1",
                           "1.5",
                           "1e3",
                           "0x10",
                           "12:30:00",
                           "2026-01-01",
                           "10.244.1.0/24",
                           "00:15:5d:00:00:04",
                           "fd00::/64",
                           "a: b",
                           "# c",
                           "- x",
                           "*a",
                           "&a",
                           "!t",
                           "%d",
                           "@x",
                           "`x`",
                           "\"q\"",
                           "'q'",
                           "a\nb",
                           "tab\there",
                           " lead",
                           "trail ",
                           "back\\slash",
                           "\xc3\xa9",
                           "{x}",
                           "[x]",
                           "?",
                           "=",
                           "<<",
                           ".inf",
                           ".5",
                           "a\rb",
                           "\x1b[31mred",
                           "bell\x07",
                           "y"}) {
    const std::string yaml = ToYaml(nlohmann::ordered_json{{"key", text}});
    const YAML::Node node = YAML::Load(yaml)["key"];
    ASSERT_TRUE(node.IsScalar()) << yaml;
    EXPECT_EQ(node.Scalar(), text) << yaml;
    // yaml-cpp marks quoted scalars; plain ones must not parse as another type.
    bool truth = false;
    double number = 0;
    EXPECT_TRUE(node.Tag() == "!" || (!YAML::convert<bool>::decode(node, truth) &&
                                      !YAML::convert<double>::decode(node, number)))
        << yaml;
  }
}

}  // namespace
}  // namespace weft::cli
