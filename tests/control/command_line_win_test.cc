// SPDX-License-Identifier: Apache-2.0
// The environment, and what Windows itself splits; words are flannelctl_win_test's.
#include <windows.h>

#include <gtest/gtest.h>
#include <shellapi.h>

#include <random>
#include <string>
#include <vector>

#include "control/command_line.h"
#include "tests/support/seed.h"
#include "vxlan/text/utf16_win.h"

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

std::vector<std::string> Split(const std::string& command) {
  int count = 0;
  wchar_t** const words = ::CommandLineToArgvW(Utf16(command).c_str(), &count);
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(Utf8(words[i]));
  ::LocalFree(words);
  return out;
}

TEST(QuotedCommandLineTest, CommandLineToArgvWGivesTheWordsBack) {
  const std::uint32_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr char kCharacters[] = "\\\\\\\" \tab='";
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string> words(random() % 4);
    for (std::string& word : words) {
      word.resize(random() % 8);
      for (char& c : word) c = kCharacters[random() % (sizeof kCharacters - 1)];
    }
    words.insert(words.begin(), R"(C:\Program Files\weft\flanneld.exe)");
    const std::string command = QuotedCommandLine(words);
    ASSERT_EQ(Split(command), words) << command;
  }
}

}  // namespace
}  // namespace weft::control
