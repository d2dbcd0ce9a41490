// SPDX-License-Identifier: Apache-2.0
// Tunnels that are opened and closed, round by round, in a separate network namespace: u0
// 10.9.0.1/24 is the underlay.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "control/backend/userspace/pod_device.h"
#include "control/daemon/process.h"
#include "control/log.h"
#include "tests/control/node/node_network_fixture.h"
#include "tests/support/host_view.h"
#include "tests/support/netns.h"

namespace weft::node {
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
    options_.data_plane = config::DataPlane::kUserspace;
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

// As in a container that has CAP_NET_ADMIN: this thread, while it lives.
class WithoutBpf {
 public:
  WithoutBpf() {
    EXPECT_EQ(::syscall(SYS_capget, &header_, former_.data()), 0);
    std::array<__user_cap_data_struct, 2> fewer = former_;
    for (const unsigned right : {CAP_SYS_ADMIN, CAP_BPF})
      fewer[right / 32].effective &= ~(1u << right % 32);
    EXPECT_EQ(::syscall(SYS_capset, &header_, fewer.data()), 0);
  }
  ~WithoutBpf() { EXPECT_EQ(::syscall(SYS_capset, &header_, former_.data()), 0); }
  WithoutBpf(const WithoutBpf&) = delete;
  WithoutBpf& operator=(const WithoutBpf&) = delete;

 private:
  __user_cap_header_struct header_{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> former_{};
};

TEST_F(NodeNetworkLinuxTest, QueuesByFlowAreReported) {
  std::ifstream setting("/proc/sys/kernel/unprivileged_bpf_disabled");
  if (setting.get() == '0') GTEST_SKIP() << "this kernel lets everybody load such a program";
  control::StartLog(control::LogFormat::kKlog, 0);
  const auto log_of = [](const std::string& name) {
    ::testing::internal::CaptureStderr();
    const auto device = backend::OpenTunDevice(name, 1);
    EXPECT_TRUE(device.ok()) << device.status();
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(log_of("by-source"), "");
  const WithoutBpf without;
  EXPECT_THAT(log_of("by-flow"), HasSubstr("by-flow: the kernel refuses BPF (CAP_BPF)"));
}

// As Windows: it has a firewall.
class WindowsView : public weft::testing::HostView {
 public:
  explicit WindowsView(std::unique_ptr<host::Host> host)
      : HostView(*host), host_(std::move(host)) {}
  bool is_windows() const override { return true; }
  absl::StatusOr<std::string> AllowUdpIn(const host::FirewallRule& rule) override {
    rules.push_back(absl::StrCat(rule.name, " ", rule.port));
    return std::string();
  }
  absl::StatusOr<host::RuleOwner> FindFirewallRule(const std::string&) override {
    return host::RuleOwner::kNone;
  }
  std::vector<std::string> rules;

 private:
  std::unique_ptr<host::Host> host_;
};

TEST_F(NodeNetworkLinuxTest, OnWindowsTheFirewallLetsPacketsInAndKubeProxyIsSaidToFail) {
  for (const bool manage : {true, false}) {
    options_.manage_firewall = manage;
    auto host = std::make_unique<WindowsView>(*host::OpenHost());
    WindowsView& windows = *host;
    Make(std::move(host));
    Lease("10.244.1.0/24", "10.9.0.1");
    ASSERT_EQ(Round(), "");
    network_->Poll(clock_.Now());
    using Rules = std::vector<std::string>;
    EXPECT_EQ(windows.rules, manage ? Rules{"OverlayTraffic4789UDP 4789"} : Rules());
    EXPECT_TRUE(CheckNamed("hns").ok);
    EXPECT_THAT(CheckNamed("hns").text, HasSubstr("kube-proxy and the CNI plugins"));
    EXPECT_EQ(Condition("firewall").text(), "");
  }
}

TEST_F(NodeNetworkLinuxTest, ATunnelAddsAndRemovesItsSinks) {
  ASSERT_EQ(Round(), "");
  EXPECT_EQ(Tunnels(), 1u);
  EXPECT_EQ(reconciler_.report().sinks.size(), 2u);
  EXPECT_NE(Env(), "");
  const std::uint32_t index = Device()->index;
  ASSERT_EQ(Round(), "");
  EXPECT_EQ(Device()->index, index) << "what is right is not touched";
  network_->Close();
  EXPECT_EQ(reconciler_.report().sinks.size(), 0u);
  EXPECT_NE(RunIp("link show flannel.4096"), "");
}

TEST_F(NodeNetworkLinuxTest, ABrokenTunnelIsOpenedAgainByTheNextRound) {
  ASSERT_EQ(Round(), "");
  network_->CloseBroken("flannel.4096", absl::UnavailableError("the device is gone"));
  EXPECT_EQ(Tunnels(), 0u);
  EXPECT_FALSE(CheckNamed("tunnels").ok);
  std::filesystem::remove(options_.subnet_file);
  network_->Settle(true);
  EXPECT_EQ(Env(), "") << "not put back before there is a tunnel";
  ASSERT_EQ(Round(), "");
  EXPECT_NE(Env(), "");
  EXPECT_TRUE(CheckNamed("tunnels").ok);
  EXPECT_EQ(reconciler_.report().sinks.size(), 2u);
}

TEST_F(NodeNetworkLinuxTest, ABrokenTunnelOfAnotherNameIsNone) {
  ASSERT_EQ(Round(), "");
  network_->CloseBroken("flannel.1", absl::UnavailableError("the device is gone"));
  EXPECT_EQ(Tunnels(), 1u);
}

// No error is fatal once it was in sync: a failure to open is reported, the file stays, and a later
// round retries.
TEST_F(NodeNetworkLinuxTest, APortInUseIsWaitedForAtTheStartAndLater) {
  auto taken = std::make_unique<TakenPort>();
  EXPECT_THAT(Round(), HasSubstr("4789"));
  EXPECT_EQ(Env(), "");
  taken.reset();
  ASSERT_EQ(Round(), "");
  const std::string env = Env();

  network_->CloseBroken("flannel.4096", absl::UnavailableError("the device is gone"));
  taken = std::make_unique<TakenPort>();
  EXPECT_THAT(Round(), HasSubstr("4789"));
  EXPECT_EQ(Env(), env);
  taken.reset();
  EXPECT_EQ(Round(), "");
  EXPECT_TRUE(CheckNamed("tunnels").ok) << CheckNamed("tunnels").text;
}

// A host whose calls fail in turn; Adapters fails only for a tunnel's device.
class FailingHost final : public weft::testing::HostView {
 public:
  FailingHost(host::Host& host, const std::string& fails) : HostView(host), fails_(fails) {}
  absl::StatusOr<std::vector<host::Adapter>> Adapters() override {
    auto adapters = HostView::Adapters();
    const auto is_device = [](const host::Adapter& each) { return each.name == "flannel.4096"; };
    if (!std::any_of(adapters->begin(), adapters->end(), is_device)) return adapters;
    if (fails_ == "adapters") return absl::UnavailableError("adapters: no answer");
    if (fails_ == "gone") std::erase_if(*adapters, is_device);
    return adapters;
  }
  absl::Status SetLinkUp(std::uint32_t index, std::uint32_t mtu) override {
    if (fails_ == "link") return absl::UnavailableError("link: no answer");
    return HostView::SetLinkUp(index, mtu);
  }
  absl::Status AddAddress(std::uint32_t index, const host::AssignedAddress& address) override {
    if (fails_ == "address") return absl::UnavailableError("address: no answer");
    return HostView::AddAddress(index, address);
  }

 private:
  const std::string& fails_;
};

TEST_F(NodeNetworkLinuxTest, ADeviceThatCannotBePreparedIsWaitedForAndLeavesNone) {
  const auto host = host::OpenHost();
  ASSERT_TRUE(host.ok()) << host.status();
  std::string fails;
  Make(std::make_unique<FailingHost>(**host, fails));
  const struct {
    const char *fails, *message;
  } rows[] = {{"adapters", "adapters: no answer"},
              {"gone", "device flannel.4096 disappeared after it was created"},
              {"link", "link: no answer"},
              {"address", "address: no answer"}};
  for (const auto& row : rows) {
    fails = row.fails;
    EXPECT_THAT(Round(), HasSubstr(row.message));
    EXPECT_FALSE(Device()) << row.fails;
    EXPECT_EQ(Env(), "") << row.fails;
  }
  // A device of another kind that has the name.
  fails.clear();
  ASSERT_EQ(RunIp("link add flannel.4096 type veth peer name other"), "");
  EXPECT_THAT(Round(), HasSubstr("flannel.4096"));
  EXPECT_EQ(Env(), "");
  ASSERT_EQ(RunIp("link delete flannel.4096"), "");
  EXPECT_EQ(Round(), "");
  EXPECT_NE(Env(), "");
}

// A peer on the link is routed directly, any other through the tunnel.
TEST_F(NodeNetworkLinuxTest, WithDirectRoutingAnotherAddressMovesAPeer) {
  conf_.direct_routing = true;
  lease::Lease far = weft::testing::MakeLease("far", "10.244.3.0/24", "10.99.0.3");
  weft::testing::ReportSnapshot(
      reconciler_, {weft::testing::MakeLease("a", "10.244.1.0/24", "10.9.0.1"), far}, {});
  const auto way = [] {
    const auto host = host::OpenHost();
    const auto routes = (*host)->Routes(IpFamily::kV4, 0);
    for (const host::Route& route : *routes) {
      if (route.destination == *IpPrefix::Parse("10.244.3.0/24"))
        return route.gateway ? route.gateway->ToString() : "the tunnel";
    }
    return std::string("none");
  };
  ASSERT_EQ(Round(), "");
  EXPECT_EQ(way(), "the tunnel");
  ASSERT_EQ(RunIp("address add 10.99.0.1/24 dev u0"), "");
  ASSERT_EQ(Round(), "");
  EXPECT_EQ(way(), "10.99.0.3");
}

// The kernel's counters in `flannelctl status`.
TEST_F(NodeNetworkLinuxTest, TheKernelsCountersAreThoseOfTheDeviceAndOfUdp) {
  const int tun = ::open("/dev/net/tun", O_RDWR | O_CLOEXEC);
  ASSERT_GE(tun, 0);
  ifreq request{};
  std::string_view("weft0").copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  ASSERT_EQ(::ioctl(tun, TUNSETIFF, &request), 0);
  ASSERT_EQ(RunIp("link set weft0 up"), "");
  const char no_packet = 0;
  EXPECT_EQ(::write(tun, &no_packet, 1), -1);

  // A datagram whose checksum is wrong, to the loopback.
  const int raw = ::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_UDP);
  ASSERT_GE(raw, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const unsigned char datagram[] = {0x80, 0, 0x80, 1, 0, 9, 0x12, 0x34, 'x'};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(::sendto(raw, datagram, sizeof datagram, 0, reinterpret_cast<const sockaddr*>(&to),
                       sizeof to),
              static_cast<ssize_t>(sizeof datagram));
  }
  using Counts = std::vector<std::pair<std::string, std::uint64_t>>;
  const auto counts = [](const char* device) {
    Counts found;
    for (const dataplane::NamedCount& each : backend::KernelCounts(device, IpFamily::kV4))
      found.emplace_back(each.name, each.value);
    return found;
  };
  const auto none = [](std::uint64_t dropped) {
    return Counts{{"device-rx-errors", 0},
                  {"device-rx-dropped", dropped},
                  {"device-tx-errors", 0},
                  {"device-tx-dropped", 0},
                  {"udp-checksum-errors", 3}};
  };
  EXPECT_EQ(counts("weft0"), none(1));
  EXPECT_EQ(counts("lo"), none(0)) << "it carried three packets";
  EXPECT_EQ(counts("l"), (Counts{{"udp-checksum-errors", 3}})) << "no device has this name";
  ::close(raw);
  ::close(tun);
}

// A socket in its place, which cannot be opened.
TEST(NodeLedgerTest, AnUnreadableLedgerIsRetried) {
  const std::filesystem::path folder = weft::testing::TestPath(), path = folder / "ledger.json";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ledger::NodeLedger ledger(folder.string());
  ledger.Open();
  EXPECT_THAT(ledger.condition(), HasSubstr("ledger.json cannot be read"));
  std::filesystem::remove(path);
  ledger.Open();
  EXPECT_EQ(ledger.condition(), "");
  ::close(socket);
  std::filesystem::remove_all(folder);
}

TEST_F(NodeNetworkLinuxTest, AnAlteredDeviceIsRecreated) {
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
}  // namespace weft::node
