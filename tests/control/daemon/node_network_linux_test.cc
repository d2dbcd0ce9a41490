// SPDX-License-Identifier: Apache-2.0
// Tunnels that come and go, round by round, in a network namespace of its own: u0 10.9.0.1/24 is
// the underlay.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/control/daemon/node_network_fixture.h"
#include "tests/support/netns.h"

namespace weft::daemon {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class NodeNetworkLinuxTest : public NodeNetworkFixture {
 protected:
  void SetUp() override {
    ASSERT_EQ(EnterPrivateNetns(), "");
    for (const char* command :
         {"link add u0 type veth peer name p0", "address add 10.9.0.1/24 dev u0", "link set p0 up",
          "link set u0 up"})
      ASSERT_EQ(RunIp(command), "") << command;
    NodeNetworkFixture::SetUp();
    options_.dataplane = "userspace";
    absl::StatusOr<std::unique_ptr<host::Host>> host = host::OpenHost();
    ASSERT_TRUE(host.ok()) << host.status();
    Make(*std::move(host));
    Lease("10.244.1.0/24", "10.9.0.1");
  }

  std::size_t Tunnels() const {
    admin::Status status;
    network_->FillStatus(status);
    return status.tunnels.size();
  }
  // As the kernel has it now.
  static std::optional<host::Adapter> Device() {
    const auto host = host::OpenHost();
    EXPECT_TRUE(host.ok()) << host.status();
    const auto adapters = (*host)->Adapters();
    EXPECT_TRUE(adapters.ok()) << adapters.status();
    for (const host::Adapter& adapter : *adapters) {
      if (adapter.name == "flannel.4096") return adapter;
    }
    return std::nullopt;
  }
};

// A socket on 10.9.0.1:4789 while it lives.
class TakenPort {
 public:
  TakenPort() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(kVxlanPort);
    address.sin_addr.s_addr = htonl(0x0A090001);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~TakenPort() { ::close(socket_); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;

 private:
  int socket_;
};

TEST_F(NodeNetworkLinuxTest, ATunnelBringsItsSinksAndTakesThemAway) {
  ASSERT_EQ(Round(), "");
  EXPECT_EQ(Tunnels(), 1u);
  EXPECT_EQ(reconciler_.report().sinks.size(), 2u);
  EXPECT_NE(Env(), "");
  network_->Close();
  EXPECT_EQ(reconciler_.report().sinks.size(), 0u);
  EXPECT_NE(RunIp("link show flannel.4096"), "");
}

TEST_F(NodeNetworkLinuxTest, ABrokenTunnelIsOpenedAgainByTheNextRound) {
  ASSERT_EQ(Round(), "");
  network_->CloseBroken("flannel.4096", absl::UnavailableError("the device is gone"));
  EXPECT_EQ(Tunnels(), 0u);
  EXPECT_FALSE(CheckNamed("tunnels").ok);
  ASSERT_EQ(Round(), "");
  EXPECT_TRUE(CheckNamed("tunnels").ok);
  EXPECT_EQ(reconciler_.report().sinks.size(), 2u);
}

TEST_F(NodeNetworkLinuxTest, ABrokenTunnelOfAnotherNameIsNone) {
  ASSERT_EQ(Round(), "");
  network_->CloseBroken("flannel.1", absl::UnavailableError("the device is gone"));
  EXPECT_EQ(Tunnels(), 1u);
}

// Nothing is fatal once it stood: what cannot be opened is told, the file stays, and a later round
// opens it.
TEST_F(NodeNetworkLinuxTest, ATakenPortIsAnErrorFirstAndLaterACheckThatFails) {
  auto taken = std::make_unique<TakenPort>();
  EXPECT_THAT(Round(), HasSubstr("4789"));
  EXPECT_EQ(Env(), "");
  taken.reset();
  ASSERT_EQ(Round(), "");
  const std::string env = Env();

  network_->CloseBroken("flannel.4096", absl::UnavailableError("the device is gone"));
  taken = std::make_unique<TakenPort>();
  EXPECT_EQ(Round(), "");
  EXPECT_THAT(CheckNamed("tunnels").text, HasSubstr("4789"));
  EXPECT_EQ(Env(), env);
  taken.reset();
  EXPECT_EQ(Round(), "");
  EXPECT_TRUE(CheckNamed("tunnels").ok) << CheckNamed("tunnels").text;
}

TEST_F(NodeNetworkLinuxTest, AnAlteredDeviceIsMadeAnew) {
  ASSERT_EQ(Round(), "");
  for (const char* change : {"link set flannel.4096 mtu 1400", "link set flannel.4096 down",
                             "address flush dev flannel.4096", "link delete flannel.4096"}) {
    ASSERT_EQ(RunIp(change), "");
    EXPECT_EQ(Round(), "") << change;
    EXPECT_TRUE(CheckNamed("tunnels").ok) << change;
    EXPECT_EQ(RunIp("route get 10.244.2.5"), "") << change;
    const std::optional<host::Adapter> device = Device();
    ASSERT_TRUE(device) << change;
    EXPECT_TRUE(device->up) << change;
    EXPECT_EQ(device->mtu, 1450u) << change;
    EXPECT_THAT(device->addresses,
                Contains(host::AssignedAddress{*IpAddress::Parse("10.244.1.0"), 32}))
        << change;
  }
}

}  // namespace
}  // namespace weft::daemon
