// SPDX-License-Identifier: Apache-2.0
// The emulator behind a socket passes the contract that it passes in process.
#include "control/emulator/remote/remote_api.h"
#include "control/emulator/remote/remote_server.h"
#include "tests/contract/hns_api_contract.h"
#include "tests/support/test_path.h"

namespace weft::testing {
namespace {

class BehindASocket final : public HnsRig {
 public:
  hns::Api& api() override { return client_; }

 private:
  static inline int made_ = 0;  // a test may have several
  std::unique_ptr<hns::emulator::RemoteServer> server_ =
      hns::emulator::RemoteServer::Start(weft::testing::TestSocket(std::to_string(++made_)),
                                         emulator, nullptr)
          .value();
  hns::emulator::RemoteApi client_{server_->path()};
};

INSTANTIATE_TEST_SUITE_P(BehindASocket, HnsApiContract,
                         ::testing::Values(HnsCase{
                             "BehindASocket", [] { return std::make_unique<BehindASocket>(); }}));

}  // namespace
}  // namespace weft::testing
