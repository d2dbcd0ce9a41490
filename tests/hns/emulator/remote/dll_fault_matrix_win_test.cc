// SPDX-License-Identifier: Apache-2.0
// The overlay's keeper among faults, through everything that a Windows program goes through: a
// sample, because a call takes a hundred times as long as in process.
#include "tests/hns/emulator/remote/through_dlls_win.h"
#include "tests/hns/overlay_fault_matrix.h"

namespace weft::hns {
namespace {

constexpr std::size_t kEvery = 17;

INSTANTIATE_TEST_SUITE_P(BehindTheDlls, OverlayFaultMatrixTest,
                         ::testing::Values(MatrixRun{0, &testing::ThroughDlls, kEvery},
                                           MatrixRun{1, &testing::ThroughDlls, kEvery},
                                           MatrixRun{2, &testing::ThroughDlls, kEvery}));

}  // namespace
}  // namespace weft::hns
