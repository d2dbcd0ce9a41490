// SPDX-License-Identifier: Apache-2.0
// The emulator in process passes the contract that its remote forms pass.
#include "tests/contract/hns_api_contract.h"

namespace weft::testing {
namespace {

class InProcess final : public HnsRig {
 public:
  hns::Api& api() override { return emulator; }
};

INSTANTIATE_TEST_SUITE_P(InProcess, HnsApiContract,
                         ::testing::Values(HnsCase{"InProcess",
                                                   [] { return std::make_unique<InProcess>(); }}));

}  // namespace
}  // namespace weft::testing
