// SPDX-License-Identifier: Apache-2.0
// Lists and watches of Nodes: one suite, every case in both encodings.
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/control/kube/codec/answer_recorder.h"
#include "tests/support/seed.h"

namespace weft::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::NodeFacts;
using testing::StatusFacts;

class AnswerContract : public ::testing::TestWithParam<Encoding> {
 protected:
  using Lines = std::vector<std::string>;

  const testing::Answers answers{GetParam()};
  const NodeFacts a = NodeFacts("a").Version("3").Leased("10.244.1.0/24", "192.0.2.1").Large();
  const NodeFacts b = NodeFacts("b").Version("4").Leased("10.244.2.0/24", "192.0.2.2");
  const NodeFacts other = NodeFacts("other").Version("5").PodCidr("10.244.3.0/24");

  Lines List(std::string_view answer, std::size_t piece = std::string_view::npos) const {
    return LinesOf(GetParam(), AnswerKind::kList, answer, piece);
  }
  Lines Watch(std::string_view answer, std::size_t piece = std::string_view::npos) const {
    return LinesOf(GetParam(), AnswerKind::kWatch, answer, piece);
  }
};

TEST_P(AnswerContract, AListReportsItsNodesAndThenItsVersion) {
  EXPECT_THAT(List(answers.List({a, other, b}, "17")),
              ElementsAre("LISTED a@3 lease", "LISTED other@5 not managed", "LISTED b@4 lease",
                          "END 17 ", "OK"));
}

TEST_P(AnswerContract, AnEmptyListIsValid) {
  EXPECT_THAT(List(answers.List({}, "17")), ElementsAre("END 17 ", "OK"));
}

TEST_P(AnswerContract, APageReportsItsContinueToken) {
  EXPECT_THAT(List(answers.List({a}, "17", "token")),
              ElementsAre("LISTED a@3 lease", "END 17 token", "OK"));
}

TEST_P(AnswerContract, AWatchReportsItsEvents) {
  const std::string events = answers.Event("ADDED", a) + answers.Bookmark("16") +
                             answers.Bookmark("17", true) + answers.Event("MODIFIED", b) +
                             answers.Event("DELETED", a) + answers.Event("ADDED", other);
  EXPECT_THAT(Watch(events),
              ElementsAre("ADDED a@3 lease", "BOOKMARK 16", "BOOKMARK 17 end", "MODIFIED b@4 lease",
                          "DELETED a@3 lease", "ADDED other@5 not managed", "OK"));
}

TEST_P(AnswerContract, AWatchWithoutEventsIsAWatch) { EXPECT_THAT(Watch(""), ElementsAre("OK")); }

TEST_P(AnswerContract, AnErrorEventReportsItsStatus) {
  const StatusFacts gone{410, "Expired", "too old resource version: 1 (2)", 0, "", ""};
  EXPECT_THAT(
      Watch(answers.Event("ADDED", a) + answers.ErrorEvent(gone)),
      ElementsAre("ADDED a@3 lease", "ERROR 410 Expired: too old resource version: 1 (2)", "OK"));
}

// ---- cut anywhere

TEST_P(AnswerContract, AListCutAtEveryByteIsTheSameList) {
  const std::string list = answers.List({a, other, b}, "17", "token");
  const Lines whole = List(list);
  ASSERT_EQ(whole.back(), "OK");
  for (std::size_t cut = 1; cut < list.size(); ++cut) {
    const AnnotationKeys keys;
    AnswerRecorder recorder;
    const auto reader = MakeAnswerReader(GetParam(), AnswerKind::kList, keys, "us", recorder);
    ASSERT_TRUE(reader->Read(std::string(list, 0, cut)).ok()) << cut;
    ASSERT_TRUE(reader->Read(std::string(list, cut)).ok()) << cut;
    ASSERT_TRUE(reader->Finish().ok()) << cut;
    recorder.lines.push_back("OK");
    ASSERT_EQ(recorder.lines, whole) << cut;
  }
}

TEST_P(AnswerContract, PiecesOfAnySizeAreTheSameAnswer) {
  const std::string list = answers.List({a, other, b, a}, "17");
  const std::string watch = answers.Event("ADDED", a) + answers.Bookmark("16", true) +
                            answers.Event("DELETED", b) + answers.Event("MODIFIED", a);
  const Lines whole_list = List(list), whole_watch = Watch(watch);
  for (const std::size_t piece : {1, 2, 3, 5, 7, 63, 64, 65, 1000, 8191}) {
    EXPECT_EQ(List(list, piece), whole_list) << piece;
    EXPECT_EQ(Watch(watch, piece), whole_watch) << piece;
  }
}

// Earlier reports stay valid; that the list is incomplete is an error.
TEST_P(AnswerContract, AListThatEndsEarlyIsAnErrorWhereverItEnds) {
  const std::string list = answers.List({a, b}, "17");
  const std::size_t end = list.find_last_not_of('\n') + 1;
  for (std::size_t size = 0; size < end; ++size) {
    const Lines lines = List(list.substr(0, size));
    // In protobuf the envelope has two empty fields after the list.
    if (lines.back() == "OK") {
      ASSERT_EQ(lines, List(list)) << size;
      continue;
    }
    ASSERT_THAT(lines.back(), HasSubstr("it ends before the list does")) << size;
    ASSERT_THAT(lines.back(), HasSubstr(absl::StrCat("byte ", size, ":")));
  }
}

TEST_P(AnswerContract, AWatchThatEndsWithinAnEventIsAnErrorAndBetweenEventsNot) {
  const std::string first = answers.Event("ADDED", b);
  const std::string watch = first + answers.Bookmark("9");
  for (std::size_t size = 0; size < watch.size(); ++size) {
    const Lines lines = Watch(watch.substr(0, size));
    // A JSON event is whole without its line break.
    const std::size_t newline = GetParam() == Encoding::kJson ? 1 : 0;
    const bool between = size == 0 || (size >= first.size() - newline && size <= first.size()) ||
                         size >= watch.size() - newline;
    if (between) {
      ASSERT_EQ(lines.back(), "OK") << size;
    } else {
      ASSERT_THAT(lines.back(), HasSubstr("it ends within the ")) << size;
      ASSERT_THAT(lines.back(), HasSubstr(absl::StrCat("byte ", size, ":")));
    }
  }
}

// Single bytes changed: read or refused, and the same however it is cut.
TEST_P(AnswerContract, ChangedBytesAreReadOrRefusedTheSameHoweverTheyAreCut) {
  const std::uint32_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::pair<AnswerKind, std::string> wholes[] = {
      {AnswerKind::kList, answers.List({b, other}, "17")},
      {AnswerKind::kWatch, answers.Event("ADDED", b) + answers.Bookmark("9", true) +
                               answers.ErrorEvent({410, "Expired", "gone", 1, "x", "y"})}};
  for (const auto& [kind, whole] : wholes) {
    for (int round = 0; round < 2000; ++round) {
      std::string text = whole;
      for (int changes = 0; changes < 1 + round % 3; ++changes) {
        text[random() % text.size()] = static_cast<char>(random() & 0xff);
      }
      ASSERT_EQ(LinesOf(GetParam(), kind, text, 1 + random() % 70), LinesOf(GetParam(), kind, text))
          << testing::JsonString(text);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, AnswerContract, ::testing::ValuesIn(kEncodings), EncodingName);

}  // namespace
}  // namespace weft::kube
