// SPDX-License-Identifier: Apache-2.0
// The host contract on the Windows host, over IP Helper and a firewall in memory.
#include "control/host/host_win.h"
#include "tests/contract/host_contract.h"
#include "tests/control/host/fake_firewall_win.h"
#include "tests/control/host/fake_ip_helper_win.h"

namespace weft::testing {
namespace {

class WindowsRig final : public HostRig {
 public:
  WindowsRig() {
    host::FakeIpHelper::Adapter ethernet;
    ethernet.index = kIndex;
    ethernet.name = L"Ethernet";
    ethernet.mtu = 1400;
    ethernet.mac = {0x02, 0x00, 0x00, 0x00, 0x09, 0x01};
    ethernet.addresses = {{Address("10.9.0.1"), 24}, {Address("fd09::1"), 64}};
    helper_.AddAdapter(ethernet);
    helper_.refuses_far_gateways = true;
    host_ = host::MakeWindowsHost(helper_.functions(), firewall_.com());
  }
  host::Host& host() override { return *host_; }
  std::string adapter() override { return "Ethernet"; }
  void GiveAddress(std::string_view assigned) override {
    const std::string_view address = assigned.substr(0, assigned.find('/'));
    helper_.GiveAddress(kIndex, {Address(address), Prefix(assigned).length()});
  }
  void TakeAddress(std::string_view assigned) override {
    helper_.TakeAddress(kIndex, Address(assigned.substr(0, assigned.find('/'))));
  }
  void SetUp(bool up) override { helper_.SetUp(kIndex, up); }
  void PutDefaultRoute(std::string_view gateway) override {
    helper_.PutRow(host::FakeRow(Prefix("0.0.0.0/0"), Address(gateway), kIndex));
  }

 private:
  static constexpr NET_IFINDEX kIndex = 12;
  host::FakeIpHelper helper_;
  host::FakeFirewall firewall_;
  std::unique_ptr<host::Host> host_;
};

INSTANTIATE_TEST_SUITE_P(Hosts, HostContract,
                         ::testing::Values(HostCase{"windows",
                                                    [] { return std::make_unique<WindowsRig>(); },
                                                    /*writes_links=*/false}),
                         HostCaseName);

}  // namespace
}  // namespace weft::testing
