// SPDX-License-Identifier: Apache-2.0
// The environment; words are flannelctl_win_test's.
#include <windows.h>

#include <gtest/gtest.h>

#include <string>

#include "control/command_line.h"

namespace weft::control {
namespace {

TEST(CommandLineTest, AVariableIsUtf8HoweverLong) {
  EXPECT_EQ(Variable("WEFT_NO_SUCH_VARIABLE"), std::nullopt);
  ASSERT_TRUE(::SetEnvironmentVariableW(L"WEFT_VARIABLE", L"\u043b\u0430\u043d"));
  EXPECT_EQ(Variable("WEFT_VARIABLE"), "\u043b\u0430\u043d");
  for (const std::size_t size : {255, 256, 257, 5000}) {
    ASSERT_TRUE(::SetEnvironmentVariableW(L"WEFT_VARIABLE", std::wstring(size, L'x').c_str()));
    EXPECT_EQ(Variable("WEFT_VARIABLE"), std::string(size, 'x'));
  }
}

}  // namespace
}  // namespace weft::control
