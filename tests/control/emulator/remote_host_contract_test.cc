// SPDX-License-Identifier: Apache-2.0
// The emulated host keeps its contract behind a socket too.
#include "control/emulator/remote_host.h"
#include "control/emulator/served_host.h"
#include "control/emulator/world.h"
#include "hns/emulator/remote/remote_server.h"
#include "tests/support/emulated_host_rig.h"
#include "tests/support/emulator_clock.h"

namespace weft::testing {
namespace {

class RemoteRig final : public EmulatorRig {
 public:
  host::Host& host() override { return client_; }

 private:
  EmulatorClock clock_;
  emulator::World world_{clock_};  // its HNS alone
  emulator::ServedHost served_{emulated()};
  std::unique_ptr<hns::emulator::RemoteServer> server_ =
      hns::emulator::RemoteServer::Start("tcp:127.0.0.1:0", world_.hns(), nullptr, &served_)
          .value();
  emulator::RemoteHost client_{server_->address()};
};

INSTANTIATE_TEST_SUITE_P(Hosts, HostContract,
                         ::testing::Values(HostCase{"behind a socket",
                                                    [] { return std::make_unique<RemoteRig>(); }}),
                         [](const auto&) { return "BehindASocket"; });

}  // namespace
}  // namespace weft::testing
