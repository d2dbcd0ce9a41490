// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/json_value.h"

#include "gtest/gtest.h"
#include "simdjson.h"

namespace weft::kube {
namespace {

TEST(FindJsonError, ValidTextHasNone) {
  for (const char* text : {"{}", "[]", "null", " true ", "-0", "0.5e+10", "1E5", "\"\\u00e9\\n\"",
                           "[[],{\"a\":[1,2]},\"\"]", "{\"a\":{\"b\":[]},\"c\":false}\n"}) {
    EXPECT_EQ(FindJsonError(text), std::nullopt) << text;
  }
}

TEST(FindJsonError, WhereItBreaks) {
  const struct {
    const char* text;
    std::size_t byte;
  } rows[] = {
      {"", 0},         {"{", 1},       {"[1,]", 3}, {"{\"a\":1,}", 7}, {"{\"a\" 1}", 5},
      {"[1 2]", 3},    {"nul", 3},     {"nulL", 3}, {"01", 1},         {"-", 1},
      {"1.", 2},       {"1e", 2},      {"\"a", 2},  {"\"\\x\"", 2},    {"\"\\u12g4\"", 5},
      {"\"a\nb\"", 2}, {"{} {}", 3},   {"[1}", 2},  {"{\"a\":1]", 6},  {"{a:1}", 1},
      {"'a'", 0},      {"[//x\n]", 1},
  };
  for (const auto& row : rows) EXPECT_EQ(FindJsonError(row.text), row.byte) << row.text;
}

TEST(FindJsonError, AgreesWithSimdjsonOnCutText) {
  const std::string whole =
      R"({"items":[{"metadata":{"name":"a","n":-1.5e3}},null,true,"x\u0041"]})";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    simdjson::dom::parser parser;
    EXPECT_NE(parser.parse(cut).error(), simdjson::SUCCESS) << cut;
    EXPECT_EQ(FindJsonError(cut), size) << cut;
  }
  EXPECT_EQ(FindJsonError(whole), std::nullopt);
}

TEST(FindJsonError, DepthCostsNoStack) {
  EXPECT_EQ(FindJsonError(std::string(5'000'000, '[')), 5'000'000u);
}

}  // namespace
}  // namespace weft::kube
