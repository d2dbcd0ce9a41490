// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/json_end_finder.h"

#include <optional>
#include <random>
#include <string>

#include "control/kube/codec/json_masks.h"
#include "gtest/gtest.h"
#include "tests/support/seed.h"

namespace weft::kube {
namespace {

// How much of `text` its first value takes, when it is given in pieces of `piece`; none when its
// end is not in it.
std::optional<std::size_t> EndOf(const std::string& text, std::size_t piece = std::string::npos) {
  JsonEndFinder finder;
  finder.Begin(text.at(0));
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    const std::string part = text.substr(at, piece);
    end += finder.Take(part);
    if (finder.ended()) return end;
    if (piece == std::string::npos) break;
  }
  return std::nullopt;
}

// The same octet by octet, as one would write it first.
std::optional<std::size_t> SlowEndOf(const std::string& text) {
  bool in_string = false, escaped = false;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' && !escaped) in_string = !in_string;
    escaped = c == '\\' && !escaped;
    if (in_string) continue;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at + 1;
  }
  return std::nullopt;
}

TEST(JsonEndFinder, Values) {
  const struct {
    const char* value;
    const char* behind;
  } rows[] = {
      {"{}", ""},
      {"[]", "]"},
      {R"({"a":[1,{"b":"}"}]})", R"(,{"c":1}])"},
      {R"({"a":"\"}"})", "}"},
      {R"({"a":"\\"})", "}"},
      {R"(["\\\"]"])", "]"},
      {R"("")", ","},
      {R"("a\"b")", "\""},
      {R"("a\\")", ":"},
      {"true", ","},
      {"-1.5e3", "}"},
      {"null", " "},
      {"0", "\n"},
  };
  for (const auto& row : rows) {
    const std::string value = row.value, text = value + row.behind;
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
      EXPECT_EQ(EndOf(text, piece), value.size()) << text << " in pieces of " << piece;
    }
  }
}

TEST(JsonEndFinder, ValuesThatGoOn) {
  for (const char* text : {"{", "[[]", R"({"a":"})", R"({"a":"}\")", R"("a)", R"("a\")", "12"}) {
    EXPECT_EQ(EndOf(text), std::nullopt) << text;
  }
}

// Marks at every place of a block, and backslashes over its edge.
TEST(JsonEndFinder, EveryOffsetWithinABlock) {
  for (std::size_t fill = 0; fill < 200; ++fill) {
    for (const char* tail : {R"(\"}"})", R"(\\"})", R"(\\\"}"})", R"(\\\\"})", R"("})"}) {
      const std::string text = R"({"a":")" + std::string(fill, 'x') + tail;
      EXPECT_EQ(EndOf(text + "}"), text.size()) << fill << tail;
    }
    const std::string nested(fill + 1, '[');
    EXPECT_EQ(EndOf(nested + std::string(fill + 1, ']') + "]"), 2 * fill + 2);
    EXPECT_EQ(EndOf(nested + std::string(fill, ']')), std::nullopt);
  }
}

// Anything at all: no JSON, but the same for every cut.
TEST(JsonEndFinder, AgreesWithTheSlowOneHoweverItIsCut) {
  const std::uint32_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr char kOctets[] = {'"', '\\', '{',  '}',    '[',    ']',
                              'a', ' ',  '\n', '\x7f', '\xdb', '\x02'};
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 2 == 0 ? "{" : "[");
    const std::size_t size = random() % 300;
    const auto favourite = random() % sizeof kOctets;  // long runs of one
    while (text.size() < size) {
      text += kOctets[random() % 3 == 0 ? favourite : random() % sizeof kOctets];
    }
    const auto end = SlowEndOf(text);
    ASSERT_EQ(EndOf(text), end) << text;
    ASSERT_EQ(EndOf(text, 1 + random() % 130), end) << text;
  }
}

TEST(JsonMasks, AreTheSameOnAnyProcessor) {
  std::mt19937 random(TestSeed());
  for (int round = 0; round < 20'000; ++round) {
    char block[kJsonBlock];
    constexpr char kMarks[] = {'"', '\\', '{', '}', '[', ']', '"' ^ 0x20, '"' ^ '\x80', '{' ^ 1};
    for (char& octet : block) {
      octet =
          random() % 2 == 0 ? static_cast<char>(random() & 0xff) : kMarks[random() % sizeof kMarks];
    }
    ASSERT_EQ(JsonMasksOf(block), JsonMasksOfAny(block));
  }
}

}  // namespace
}  // namespace weft::kube
