// SPDX-License-Identifier: Apache-2.0
// All of it.
#include "tests/hns/overlay_fault_matrix.h"

namespace weft::hns {
namespace {

std::vector<MatrixRun> EveryKind() {
  std::vector<MatrixRun> runs;
  for (std::size_t hns = 0; hns < std::size(kHns); ++hns) runs.push_back({hns});
  return runs;
}

TEST(OverlayFaultMatrix, EachExpectedFailureIsOfAKindThatIsRun) {
  ExpectEachRowNamesOneOf(kHns, "one ");
  ExpectEachRowNamesOneOf(kHns, "the usual");
}

INSTANTIATE_TEST_SUITE_P(Hns, OverlayFaultMatrixTest, ::testing::ValuesIn(EveryKind()));

}  // namespace
}  // namespace weft::hns
