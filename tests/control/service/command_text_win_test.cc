// SPDX-License-Identifier: Apache-2.0
// Windows itself splits what control/service/command_text.h joins.
#include <gtest/gtest.h>
#include <winsock2.h>

#include <windows.h>

#include <shellapi.h>

#include <random>
#include <vector>

#include "control/service/command_text.h"
#include "tests/support/seed.h"
#include "vxlan/text/utf16_win.h"

namespace weft::service {
namespace {

std::vector<std::string> Split(const std::string& command) {
  int count = 0;
  wchar_t** const words = ::CommandLineToArgvW(Utf16(command).c_str(), &count);
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(Utf8(words[i]));
  ::LocalFree(words);
  return out;
}

TEST(CommandTextWin, CommandLineToArgvWGivesTheWordsBack) {
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
    const std::string command = CommandText(R"(C:\Program Files\weft\flanneld.exe)", words);
    std::vector<std::string> expected = words;
    expected.insert(expected.begin(), R"(C:\Program Files\weft\flanneld.exe)");
    ASSERT_EQ(Split(command), expected) << command;
  }
}

}  // namespace
}  // namespace weft::service
