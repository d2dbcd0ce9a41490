// SPDX-License-Identifier: Apache-2.0
// The host contract, on the emulator.
#include "tests/support/emulated_host_rig.h"

namespace weft::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Hosts, HostContract,
                         ::testing::Values(HostCase{
                             "emulator", [] { return std::make_unique<EmulatorRig>(); }}),
                         HostCaseName);

}  // namespace
}  // namespace weft::testing
