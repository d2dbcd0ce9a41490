// SPDX-License-Identifier: Apache-2.0
#include "tests/control/admin/golden.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/source_dir.h"

namespace weft {
namespace {

// The first line that differs, in both.
std::string FirstDifference(std::string_view got, std::string_view desired) {
  const auto mismatch = std::mismatch(got.begin(), got.end(), desired.begin(), desired.end());
  const auto line_at = [](std::string_view text, std::size_t at) {
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return std::string(text.substr(begin, text.find('\n', at) - begin));
  };
  const auto at = static_cast<std::size_t>(mismatch.first - got.begin());
  const auto line = std::count(got.begin(), mismatch.first, '\n') + 1;
  return "line " + std::to_string(line) + "\n  got    |" + line_at(got, at) + "|\n  golden |" +
         line_at(desired, at) + "|";
}

}  // namespace

::testing::AssertionResult MatchesGolden(std::string_view text, const std::string& name) {
  const std::filesystem::path path =
      std::filesystem::path(weft::testing::kSourceDir) / "tests" / "golden" / name;
  if (const char* update = std::getenv("UPDATE_GOLDEN"); update != nullptr && update[0] == '1') {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return ::testing::AssertionSuccess();
  }
  std::ifstream file(path, std::ios::binary);
  const std::string desired((std::istreambuf_iterator<char>(file)), {});
  if (text == desired) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << path << " differs at " << FirstDifference(text, desired)
         << "\nIf this is meant: UPDATE_GOLDEN=1, and read the difference. Got:\n"
         << text;
}

}  // namespace weft
