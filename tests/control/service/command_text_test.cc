// SPDX-License-Identifier: Apache-2.0
#include "control/service/command_text.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft::service {
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

TEST(CommandText, QuotesWhatWindowsWouldSplit) {
  for (const Row& row : kRows) EXPECT_EQ(QuotedArgument(row.argument), row.quoted);
}

TEST(CommandText, TheProgramIsAlwaysQuoted) {
  const std::vector<std::string> arguments = {"-v=1", "a b"};
  EXPECT_EQ(CommandText(R"(C:\k\flanneld.exe)", arguments), R"("C:\k\flanneld.exe" -v=1 "a b")");
}

}  // namespace
}  // namespace weft::service
