// SPDX-License-Identifier: Apache-2.0
// The host contract against the kernel, in its own network namespace.
#include "tests/contract/host_contract.h"
#include "tests/support/netns.h"

namespace weft::testing {
namespace {

class LinuxRig final : public HostRig {
 public:
  LinuxRig() {
    EXPECT_EQ(EnterPrivateNetns(), "");
    for (const char* command :
         {"link add u0 address 02:00:00:00:09:01 mtu 1400 type veth peer name p0",
          "address add 10.9.0.1/24 dev u0", "address add fd09::1/64 dev u0 nodad", "link set p0 up",
          "link set u0 up"})
      EXPECT_EQ(RunIp(command), "") << command;
    absl::StatusOr<std::unique_ptr<host::Host>> host = host::OpenHost();
    EXPECT_TRUE(host.ok()) << host.status();
    host_ = *std::move(host);
  }
  host::Host& host() override { return *host_; }
  std::string adapter() override { return "u0"; }
  void GiveAddress(std::string_view assigned) override { Ip("address add ", assigned, " dev u0"); }
  void TakeAddress(std::string_view assigned) override {
    // A later address of the prefix is removed with the first, unless promoted.
    EXPECT_TRUE(SetNetSysctl("ipv4/conf/all/promote_secondaries", "1"));
    Ip("address del ", assigned, " dev u0");
  }
  void SetUp(bool up) override { Ip("link set u0 ", up ? "up" : "down", ""); }
  void PutDefaultRoute(std::string_view gateway) override {
    Ip("route add default via ", gateway, " dev u0");
  }

 private:
  static void Ip(std::string_view before, std::string_view what, std::string_view after) {
    EXPECT_EQ(RunIp(std::string(before) + std::string(what) + std::string(after)), "");
  }
  std::unique_ptr<host::Host> host_;
};

INSTANTIATE_TEST_SUITE_P(Hosts, HostContract,
                         ::testing::Values(HostCase{"linux",
                                                    [] { return std::make_unique<LinuxRig>(); }}),
                         HostCaseName);

}  // namespace
}  // namespace weft::testing
