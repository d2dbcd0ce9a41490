// SPDX-License-Identifier: Apache-2.0
// All of it.
#include "tests/hns/overlay_fault_matrix.h"

namespace weft::hns {
namespace {

INSTANTIATE_TEST_SUITE_P(Hns, OverlayFaultMatrixTest,
                         ::testing::Values(MatrixRun{0}, MatrixRun{1}, MatrixRun{2}));

}  // namespace
}  // namespace weft::hns
