// SPDX-License-Identifier: Apache-2.0
// The emulator behind a socket keeps the contract that it keeps in process.
#include "hns/emulator/remote/remote_api.h"
#include "hns/emulator/remote/remote_server.h"
#include "tests/contract/hns_api_contract.h"

namespace weft::testing {
namespace {

class BehindASocket final : public HnsRig {
 public:
  hns::Api& api() override { return client_; }

 private:
  std::unique_ptr<hns::emulator::RemoteServer> server_ =
      hns::emulator::RemoteServer::Start("tcp:127.0.0.1:0", emulator, nullptr).value();
  hns::emulator::RemoteApi client_{server_->address()};
};

INSTANTIATE_TEST_SUITE_P(BehindASocket, HnsApiContract,
                         ::testing::Values(HnsCase{
                             "BehindASocket", [] { return std::make_unique<BehindASocket>(); }}));

}  // namespace
}  // namespace weft::testing
