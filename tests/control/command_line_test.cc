// SPDX-License-Identifier: Apache-2.0
#include "control/command_line.h"

#include <gtest/gtest.h>

namespace weft::control {
namespace {

struct Row {
  const char* argument;
  const char* quoted;
};

// The rules of CommandLineToArgvW: 2n backslashes and a quote are n and the end of the quotation,
// 2n+1 are n and a quote; other backslashes are themselves.
constexpr Row kRows[] = {
    {"--ip-masq", "--ip-masq"},
    {"", R"("")"},
    {"a b", R"("a b")"},
    {"a\tb", "\"a\tb\""},
    {R"(C:\k)", R"(C:\k)"},
    {R"(C:\k\)", R"(C:\k\)"},
    {R"(C:\Program Files\)", R"("C:\Program Files\\")"},
    {R"(a b\\)", R"("a b\\\\")"},
    {R"(say "hi")", R"("say \"hi\"")"},
    {R"(a\"b)", R"("a\\\"b")"},
    {R"(a\\"b)", R"("a\\\\\"b")"},
    {R"(")", R"("\"")"},
    {R"(\\server\share\x y)", R"("\\server\share\x y")"},
    {"--iface=Ethernet é 2", "\"--iface=Ethernet é 2\""},
    {"--iface-regex=^10\\.", "--iface-regex=^10\\."},
    {"'a", "'a"},
    {"%PATH%", "%PATH%"},
};

TEST(QuotedCommandLineTest, QuotesWhatWindowsWouldSplit) {
  std::vector<std::string> all;
  std::string line;
  for (const Row& row : kRows) {
    EXPECT_EQ(QuotedCommandLine({row.argument}), row.quoted);
    all.emplace_back(row.argument);
    line += (line.empty() ? "" : " ") + std::string(row.quoted);
  }
  EXPECT_EQ(QuotedCommandLine(all), line);
  EXPECT_EQ(QuotedCommandLine({}), "");
}

}  // namespace
}  // namespace weft::control
