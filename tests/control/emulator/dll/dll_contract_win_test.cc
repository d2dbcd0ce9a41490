// SPDX-License-Identifier: Apache-2.0
// The contract through the layers of a Windows program.
#include "tests/contract/hns_api_contract.h"
#include "tests/control/emulator/dll/through_dlls_win.h"

namespace weft::testing {
namespace {

class BehindTheDlls final : public HnsRig {
 public:
  hns::Api& api() override { return ThroughDlls(emulator); }
};

INSTANTIATE_TEST_SUITE_P(BehindTheDlls, HnsApiContract,
                         ::testing::Values(HnsCase{
                             "BehindTheDlls", [] { return std::make_unique<BehindTheDlls>(); }}));

}  // namespace
}  // namespace weft::testing
