// SPDX-License-Identifier: Apache-2.0
// The emulated host passes its contract behind a socket too.
#include "control/emulator/emulated_node.h"
#include "control/emulator/remote/remote_server.h"
#include "control/emulator/remote/served_host.h"
#include "tests/emulated_host/remote_host.h"
#include "tests/support/emulated_host_rig.h"
#include "tests/support/emulator_clock.h"
#include "tests/support/test_path.h"

namespace weft::testing {
namespace {

class RemoteRig final : public EmulatorRig {
 public:
  host::Host& host() override { return client_; }

 private:
  EmulatorClock clock_;
  emulator::EmulatedNode node_{clock_};  // its HNS alone
  emulator::ServedHost served_{emulated()};
  std::unique_ptr<hns::emulator::RemoteServer> server_ =
      hns::emulator::RemoteServer::Start(weft::testing::TestSocket(), node_.hns(), nullptr,
                                         &served_)
          .value();
  emulator::RemoteHost client_{server_->path()};
};

INSTANTIATE_TEST_SUITE_P(Hosts, HostContract,
                         ::testing::Values(HostCase{"behind a socket",
                                                    [] { return std::make_unique<RemoteRig>(); }}),
                         [](const auto&) { return "BehindASocket"; });

}  // namespace
}  // namespace weft::testing
