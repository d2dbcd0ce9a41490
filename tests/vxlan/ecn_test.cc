// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ecn.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr Ecn kAll[] = {Ecn::kNotEct, Ecn::kEct0, Ecn::kEct1, Ecn::kCe};

// RFC 6040 section 4.1, figure 3, normal mode.
TEST(Ecn, EncapsulationCopies) {
  for (const Ecn inner : kAll) EXPECT_EQ(EncapsulationEcn(inner), inner) << Name(inner);
}

// RFC 6040 section 4.2, figure 4: rows are the arriving inner field, columns the arriving outer
// field, both in the order Not-ECT, ECT(0), ECT(1), CE.
TEST(Ecn, DecapsulationIsFigure4) {
  constexpr const char* kFigure4[4][4] = {
      {"Not-ECT", "Not-ECT", "Not-ECT", "drop"},
      {"ECT(0)", "ECT(0)", "ECT(1)", "CE"},
      {"ECT(1)", "ECT(1)", "ECT(1)", "CE"},
      {"CE", "CE", "CE", "CE"},
  };
  for (std::size_t inner = 0; inner < 4; ++inner) {
    for (std::size_t outer = 0; outer < 4; ++outer) {
      const auto result = DecapsulationEcn(kAll[inner], kAll[outer]);
      EXPECT_EQ(result ? Name(*result) : "drop", kFigure4[inner][outer])
          << "inner " << Name(kAll[inner]) << ", outer " << Name(kAll[outer]);
    }
  }
}

TEST(Ecn, IsTheTwoLowBitsOfTheTrafficClass) {
  EXPECT_EQ(EcnOf(0xfc), Ecn::kNotEct);
  EXPECT_EQ(EcnOf(0xb9), Ecn::kEct1);
  EXPECT_EQ(EcnOf(0xba), Ecn::kEct0);
  EXPECT_EQ(EcnOf(0x03), Ecn::kCe);
}

static_assert(DecapsulationEcn(Ecn::kEct0, Ecn::kCe) == Ecn::kCe);
static_assert(!DecapsulationEcn(Ecn::kNotEct, Ecn::kCe));

}  // namespace
}  // namespace weft
