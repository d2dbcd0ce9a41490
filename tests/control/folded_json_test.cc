// SPDX-License-Identifier: Apache-2.0
#include "control/folded_json.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::control {
namespace {

using ::testing::HasSubstr;

TEST(ParseFolded, KeysInLowerCaseAndTheLastDuplicateWins) {
  const struct {
    const char* text;
    const char* folded;
  } rows[] = {
      {R"({"Network":"a"})", R"({"network":"a"})"},
      {R"({"NETWORK":"a","network":"b"})", R"({"network":"b"})"},
      {R"({"Network":"a","network":"b","Network":"c"})", R"({"network":"c"})"},
      {R"({"A":{"B":1},"a":{"C":2}})", R"({"a":{"c":2}})"},
      {R"({"A":[{"B":null},true,-1,1.5,"X"],"Z":{}})",
       R"({"a":[{"b":null},true,-1,1.5,"X"],"z":{}})"},
      {"\xef\xbb\xbf{}", "{}"},
      {" 7 ", "7"},
  };
  for (const auto& row : rows) {
    const auto document = ParseFolded(row.text);
    ASSERT_TRUE(document.ok()) << row.text;
    EXPECT_EQ(document->dump(), row.folded);
  }
}

TEST(ParseFolded, Errors) {
  const std::pair<std::string, const char*> rows[] = {
      {"", "it is empty"},
      {" \n", "it is empty"},
      {"\xef\xbb\xbf", "it is empty"},
      {"{\n  \"a\": 1,\n}", "line 3, column 1: not JSON"},
      {"{} {}", "line 1, column 4: not JSON"},
      {"// comment\n{}", "line 1, column 1: not JSON"},
      {"{\"a\":1e999}", "not JSON"},
      {std::string("\xff\xfe{\0", 4), "UTF-16"},
      {std::string("\xfe\xff\0{", 4), "UTF-16"},
  };
  for (const auto& [text, message] : rows) {
    const auto document = ParseFolded(text);
    ASSERT_FALSE(document.ok()) << text;
    EXPECT_THAT(std::string(document.status().message()), HasSubstr(message)) << text;
  }
}

TEST(ParseAsGo, KeysStayAndTheLastOfEqualOnesCounts) {
  EXPECT_EQ(ParseAsGo(R"({"Name":"a","name":"b","Name":"c"})")->dump(),
            R"({"Name":"c","name":"b"})");
}

TEST(ParseAsGo, WhatIsNotUtf8IsReplaced) {
  const std::pair<const char*, const char*> rows[] = {
      {"caf\xc3\xa9", "caf\xc3\xa9"},
      {"caf\xe9", "caf\xef\xbf\xbd"},
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // a surrogate
      {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},                  // too long
      {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
      {"\\ud83d", "\xef\xbf\xbd"},
      {"\\ud83dA",
       "\xef\xbf\xbd"
       "A"},
      {"\\ud83d\\u0041",
       "\xef\xbf\xbd"
       "A"},
      {"\\ud83d\\ue000", "\xef\xbf\xbd\xee\x80\x80"},
      {"\\ude00\\ud83d", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"a-d83d", "a-d83d"},
      {"\\\\ud83d", "\\ud83d"},
  };
  for (const auto& [text, read] : rows) {
    const auto document = ParseAsGo(std::string("\"") + text + "\"");
    ASSERT_TRUE(document.ok()) << text << ": " << document.status();
    EXPECT_EQ(document->get<std::string>(), read) << text;
  }
}

TEST(ParseAsGo, RefusesWhatGoRefuses) {
  EXPECT_TRUE(ParseAsGo(std::string(10'000, '[') + std::string(10'000, ']')).ok());
  const std::pair<std::string, const char*> rows[] = {
      {"\xef\xbb\xbf{}", "byte order mark"},
      {std::string(10'001, '[') + std::string(10'001, ']'), "more than 10,000 levels"},
      {"{\"a\":\"\\x\"}", "not JSON"},
      {"{\"a\":\"\t\"}", "not JSON"},
      {"{'a':1}", "not JSON"},
      {"{\"a\":01}", "not JSON"},
      {"\"\\", "not JSON"},
  };
  for (const auto& [text, message] : rows)
    EXPECT_THAT(std::string(ParseAsGo(text).status().message()), HasSubstr(message));
}

TEST(ParseFolded, DepthCostsNoStack) {
  EXPECT_FALSE(ParseFolded(std::string(200'000, '[')).ok());
  EXPECT_TRUE(ParseFolded(std::string(200'000, '[') + std::string(200'000, ']')).ok());
}

}  // namespace
}  // namespace weft::control
