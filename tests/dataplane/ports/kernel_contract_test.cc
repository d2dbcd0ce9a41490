// SPDX-License-Identifier: Apache-2.0
// The contract, for ports that need a network namespace: TUN, TAP, libpcap on a veth, and UDP
// between two addresses.
#include "dataplane/ports/pcap_port.h"
#include "dataplane/ports/tun_port.h"
#include "dataplane/ports/udp_port.h"
#include "tests/contract/packet_port_contract.h"
#include "tests/dataplane/ports/packet_socket.h"
#include "tests/dataplane/ports/port_harnesses.h"
#include "tests/dataplane/ports/udp_harness.h"
#include "tests/support/netns.h"
#include "tests/support/packet_builder.h"

namespace weft::dataplane {
namespace {

// The far end is a packet socket on the device: it receives what the kernel gets from the port, and
// sends as the kernel would.
template <typename Port>
class DeviceHarness : public PortHarness {
 public:
  explicit DeviceHarness(std::unique_ptr<Port> port)
      : port_(std::move(port)), far_(port_->name()) {}

  static std::unique_ptr<PortHarness> Open(const char* name) {
    const std::string entered = EnterPrivateNetns();
    EXPECT_EQ(entered, "");
    if (!entered.empty()) return nullptr;
    auto port = Port::Open({.name = name});
    EXPECT_TRUE(port.ok()) << port.status();
    if (!port.ok()) return nullptr;
    // The kernel itself must not send on the device.
    EXPECT_TRUE(SetNetSysctl(std::string("ipv6/conf/") + name + "/disable_ipv6", "1"));
    EXPECT_EQ(RunIp(std::string("link set ") + name + " mtu 65000 txqueuelen 1000 up"), "");
    return std::make_unique<DeviceHarness>(*std::move(port));
  }

  PacketPort& port() override { return *port_; }
  ByteVector Make(std::uint32_t number, std::size_t size) const override {
    return MakePacket(port_->kind(), number, size);
  }
  std::size_t header_size() const override { return HeaderSize(port_->kind()); }
  std::size_t max_size() const override { return 60'000; }
  void Inject(const ByteVector& packet) override { EXPECT_EQ(far_.Send(packet), ""); }
  std::vector<ByteVector> TakeSent() override { return far_.Receive(); }

 private:
  std::unique_ptr<Port> port_;
  PacketSocket far_;
};

// The far end is a packet socket on the other end of the veth.
class PcapHarness : public PortHarness {
 public:
  explicit PcapHarness(std::unique_ptr<PcapPort> port) : port_(std::move(port)), far_("far") {}

  static std::unique_ptr<PortHarness> Open() {
    const std::string entered = EnterPrivateNetns();
    EXPECT_EQ(entered, "");
    if (!entered.empty()) return nullptr;
    EXPECT_EQ(AddQuietVeth(65'000), "");
    const auto library = PcapLibrary::Load();
    EXPECT_TRUE(library.ok()) << library.status();
    if (!library.ok()) return nullptr;
    auto port = PcapPort::Open(
        **library, {.adapter = "near", .mac = Mac("02:00:00:00:01:01"), .buffer = 64 << 20});
    EXPECT_TRUE(port.ok()) << port.status();
    return port.ok() ? std::make_unique<PcapHarness>(*std::move(port)) : nullptr;
  }

  PacketPort& port() override { return *port_; }
  ByteVector Make(std::uint32_t number, std::size_t size) const override {
    return MakePacket(PortKind::kPodL2, number, size);
  }
  std::size_t header_size() const override { return HeaderSize(PortKind::kPodL2); }
  std::size_t max_size() const override { return 60'000; }
  std::optional<std::size_t> oversize() const override { return 65'100; }
  void Inject(const ByteVector& packet) override { EXPECT_EQ(far_.Send(packet), ""); }
  std::vector<ByteVector> TakeSent() override { return far_.Receive(); }

 private:
  std::unique_ptr<PcapPort> port_;
  PacketSocket far_;
};

std::unique_ptr<PortHarness> OpenUdp(std::string_view near, std::string_view far, bool checksum) {
  const std::string entered = EnterPrivateNetns();
  EXPECT_EQ(entered, "");
  if (!entered.empty()) return nullptr;
  // IPv6 has one loopback address only.
  EXPECT_EQ(AddIp6("2001:db8::2/128", "lo"), "");
  return UdpHarness::Make(Ip(near), Ip(far), checksum);
}

std::unique_ptr<PortHarness> OpenUdpV4(bool checksum) {
  return OpenUdp("127.0.0.1", "127.0.0.2", checksum);
}
std::unique_ptr<PortHarness> OpenUdpV6(bool checksum) {
  return OpenUdp("::1", "2001:db8::2", checksum);
}

const PortCase kDevices[] = {{"tun", [] { return DeviceHarness<TunPort>::Open("weft-tun"); }},
                             {"tap", [] { return DeviceHarness<TapPort>::Open("weft-tap"); }},
                             {"pcap", [] { return PcapHarness::Open(); }}};
const PortCase kUdp[] = {{"udp_v4", [] { return OpenUdpV4(true); }},
                         {"udp_v4_without_checksum", [] { return OpenUdpV4(false); }},
                         {"udp_v6", [] { return OpenUdpV6(true); }},
                         {"udp_v6_without_checksum", [] { return OpenUdpV6(false); }}};

INSTANTIATE_TEST_SUITE_P(Device, PacketPortContract, ::testing::ValuesIn(kDevices), PortCaseName);
INSTANTIATE_TEST_SUITE_P(Device, LivePortContract, ::testing::ValuesIn(kDevices), PortCaseName);
INSTANTIATE_TEST_SUITE_P(Device, PollablePortContract, ::testing::ValuesIn(kDevices), PortCaseName);
INSTANTIATE_TEST_SUITE_P(Udp, PacketPortContract, ::testing::ValuesIn(kUdp), PortCaseName);
INSTANTIATE_TEST_SUITE_P(Udp, LivePortContract, ::testing::ValuesIn(kUdp), PortCaseName);
INSTANTIATE_TEST_SUITE_P(Udp, PollablePortContract, ::testing::ValuesIn(kUdp), PortCaseName);
INSTANTIATE_TEST_SUITE_P(Udp, BoundedPortContract, ::testing::ValuesIn(kUdp), PortCaseName);

}  // namespace
}  // namespace weft::dataplane
