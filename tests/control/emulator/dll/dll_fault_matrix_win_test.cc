// SPDX-License-Identifier: Apache-2.0
// The overlay's keeper under faults, through the layers of a Windows program: a sample, because a
// call takes a hundred times as long as in process.
#include "tests/control/emulator/dll/through_dlls_win.h"
#include "tests/hns/overlay_fault_matrix.h"

namespace weft::hns {
namespace {

constexpr std::size_t kEvery = 31;

std::vector<MatrixRun> EveryKind() {
  std::vector<MatrixRun> runs;
  for (std::size_t hns = 0; hns < std::size(kHns); ++hns) {
    runs.push_back({hns, &testing::ThroughDlls, kEvery});
  }
  return runs;
}

INSTANTIATE_TEST_SUITE_P(BehindTheDlls, OverlayFaultMatrixTest, ::testing::ValuesIn(EveryKind()));

}  // namespace
}  // namespace weft::hns
