// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/command_line.h"

namespace weft::control {
namespace {

TEST(CommandLineTest, ArgumentsAreThoseAfterTheName) {
  char name[] = "flanneld", word[] = "-v=1";
  char* words[] = {name, word, nullptr};
  EXPECT_THAT(Arguments(2, words), ::testing::ElementsAre("-v=1"));
  EXPECT_THAT(Arguments(1, words), ::testing::IsEmpty());
  EXPECT_THAT(Arguments(0, words + 2), ::testing::IsEmpty());
}

TEST(CommandLineTest, AnUnsetVariableIsAbsentAndAnEmptyOneIsEmpty) {
  EXPECT_EQ(Variable("WEFT_NO_SUCH_VARIABLE"), std::nullopt);
  ::setenv("WEFT_VARIABLE", "", 1);
  EXPECT_EQ(Variable("WEFT_VARIABLE"), "");
  ::setenv("WEFT_VARIABLE", "\u00e9", 1);
  EXPECT_EQ(Variable("WEFT_VARIABLE"), "\u00e9");
}

}  // namespace
}  // namespace weft::control
