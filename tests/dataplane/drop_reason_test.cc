// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "dataplane/verdict.h"
#include "tests/support/source_dir.h"

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

// The verdicts that C++ source names outside of comments, except those assigned to a packet
// (`verdict = Verdict::kNoRoute`), which are no expectation.
std::set<std::string> ExpectedIn(std::string source) {
  static const std::regex kComment(R"(//[^\n]*|/\*[^*]*\*+([^/*][^*]*\*+)*/)");
  static const std::regex kGiven(R"(verdict = Verdict::\w+)");
  static const std::regex kVerdict(R"(Verdict::(\w+))");
  source = std::regex_replace(source, kComment, "");
  source = std::regex_replace(source, kGiven, "");
  std::set<std::string> names;
  for (std::sregex_iterator at(source.begin(), source.end(), kVerdict), end; at != end; ++at)
    names.insert((*at)[1].str());
  return names;
}

TEST(DropReason, ACommentOrAGivenVerdictExpectsNothing) {
  EXPECT_THAT(ExpectedIn("EXPECT_EQ(v, Verdict::kNoRoute);  // not Verdict::kNotIp\n"
                         "{\"row\", Verdict::kTooBigSilent}, /* Verdict::kTooBig */\n"
                         "packet.verdict = Verdict::kOwnFrame;\n"),
              ::testing::ElementsAre("kNoRoute", "kTooBigSilent"));
}

TEST(DropReason, EveryReasonIsExpectedBySomeTest) {
  std::set<std::string> expected;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(weft::testing::kSourceDir) / "tests/dataplane")) {
    if (!entry.is_regular_file() || entry.path().filename() == "drop_reason_test.cc") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    expected.merge(ExpectedIn(text.str()));
  }
  for (const std::string_view identifier : kIdentifiers) {
    EXPECT_TRUE(expected.contains(std::string(identifier)))
        << identifier << " is in drop_reason.def, but no test under tests/dataplane provokes it";
  }
}

}  // namespace
}  // namespace weft::dataplane
