// SPDX-License-Identifier: Apache-2.0
#include "control/cli/help_text.h"

#include <algorithm>
#include <sstream>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "CLI/Validators.hpp"
#include "gtest/gtest.h"

namespace weft::cli {
namespace {

struct Parser {
  Parser() { app.set_help_flag(); }
  CLI::App app{"What it does", "flannelctl try"};
  std::string text;
  int number = 7;
  bool flag = false;
};

TEST(HelpTextTest, WithoutOptions) {
  Parser parser;
  parser.app.footer("Examples:\n  flannelctl try");
  EXPECT_EQ(HelpText(parser.app),
            "What it does\n\nUsage: flannelctl try [OPTION...]\n\nOptions:\n\n"
            "Examples:\n  flannelctl try\n");
}

TEST(HelpTextTest, EveryKindOfOption) {
  Parser parser;
  parser.app.add_option("-s,--size", parser.number, "How many")
      ->type_name("N")
      ->capture_default_str();
  parser.app.add_flag("--quick", parser.flag, "Do not wait");
  parser.app.add_option("--form", parser.text, "Which form")
      ->type_name("FORM")
      ->check(CLI::IsMember({"long", "short"}));
  parser.app.footer("End");
  EXPECT_EQ(HelpText(parser.app),
            "What it does\n\nUsage: flannelctl try [OPTION...]\n\nOptions:\n"
            "  -s, --size N\n      How many (default: 7)\n"
            "  --quick\n      Do not wait\n"
            "  --form FORM\n      Which form: long, short\n"
            "\nEnd\n");
}

TEST(HelpTextTest, PositionalsAreInTheUsage) {
  Parser parser;
  std::string second;
  parser.app.add_option("first", parser.text, "Must be there")->type_name("FIRST")->required();
  parser.app.add_option("second", second, "May be left out")->type_name("SECOND");
  parser.app.footer("End");
  EXPECT_EQ(HelpText(parser.app),
            "What it does\n\nUsage: flannelctl try FIRST [SECOND] [OPTION...]\n"
            "\nArguments:\n  FIRST\n      Must be there\n  SECOND\n      May be left out\n"
            "\nOptions:\n\nEnd\n");
}

TEST(HelpTextTest, LongDescriptionsAreWrappedAtWordsWhateverTheirLength) {
  for (std::size_t first = 1; first < 80; ++first) {
    Parser parser;
    std::string description(first, 'x');
    for (int i = 0; i < 40; ++i) description += " word" + std::to_string(i);
    parser.app.add_flag("--flag", parser.flag, description);
    std::istringstream lines(HelpText(parser.app));
    std::string words;
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), std::max<std::size_t>(80, first + 6)) << line;
      if (line.starts_with("      ")) words += (words.empty() ? "" : " ") + line.substr(6);
    }
    EXPECT_EQ(words, description);
  }
}

}  // namespace
}  // namespace weft::cli
