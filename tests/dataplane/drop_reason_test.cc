// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "dataplane/verdict.h"

namespace weft::dataplane {
namespace {

constexpr std::string_view kIdentifiers[] = {
#define WEFT_DROP(identifier, name, sentence) #identifier,
#include "dataplane/drop_reason.def"
#undef WEFT_DROP
};

TEST(DropReason, NamesAreDistinctAndSentencesArePresent) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kVerdictCount; ++i) {
    const auto verdict = static_cast<Verdict>(i);
    EXPECT_TRUE(names.insert(Name(verdict)).second) << Name(verdict);
    EXPECT_EQ(Name(verdict).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
              std::string_view::npos);
    EXPECT_GT(Sentence(verdict).size(), 10u) << Name(verdict);
  }
  EXPECT_EQ(names.size(), std::size(kIdentifiers) + 1);
  EXPECT_EQ(Name(Verdict::kForward), "forward");
  EXPECT_EQ(Name(Verdict::kNoRoute), "no-route");
}

TEST(DropReason, EveryReasonIsExpectedBySomeTest) {
  std::string tests;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(WEFT_SOURCE_DIR "/tests/dataplane")) {
    if (!entry.is_regular_file() || entry.path().filename() == "drop_reason_test.cc") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    tests += text.str();
  }
  for (const std::string_view identifier : kIdentifiers) {
    EXPECT_NE(tests.find("Verdict::" + std::string(identifier)), std::string::npos)
        << identifier << " is in drop_reason.def, but no test under tests/dataplane provokes it";
  }
}

}  // namespace
}  // namespace weft::dataplane
