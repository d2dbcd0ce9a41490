// SPDX-License-Identifier: Apache-2.0
// Texts that people and scripts read, kept as files: a changed text is a reviewed difference.
#pragma once

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace weft {

// Compares with tests/golden/NAME. With UPDATE_GOLDEN=1 in the environment, writes it instead.
::testing::AssertionResult MatchesGolden(std::string_view text, const std::string& name);

}  // namespace weft
