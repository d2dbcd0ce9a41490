// SPDX-License-Identifier: Apache-2.0
// The contract, for the ports that need no kernel: memory, decorators, edge.
#include <filesystem>
#include <string>

#include "dataplane/edge/edge.h"
#include "dataplane/ports/trace_port.h"
#include "tests/contract/packet_port_contract.h"
#include "tests/dataplane/ports/port_harnesses.h"
#include "tests/support/fault_port.h"
#include "tests/support/packet_builder.h"
#include "tests/support/test_path.h"

namespace weft::dataplane {
namespace {

std::unique_ptr<PortHarness> Plain(PortKind kind) { return std::make_unique<LinkHarness>(kind); }

std::unique_ptr<PacketPort> Traced(std::unique_ptr<PacketPort> inner) {
  const auto file = OpenTrace(weft::testing::TestPath().string());
  EXPECT_TRUE(file.ok()) << file.status();
  MemoryLink other = MemoryLink::Make(inner->kind());
  return Trace({std::move(inner), std::move(other.first)}, *file, "pods", "wire", {}).pods;
}

std::unique_ptr<PacketPort> Faultless(std::unique_ptr<PacketPort> inner) {
  return std::make_unique<FaultPort>(std::move(inner), FaultOptions{});
}

template <typename Decorator>
std::unique_ptr<PortHarness> Decorated(PortKind kind, Decorator decorate) {
  return std::make_unique<LinkHarness>(kind, decorate);
}

// The far end sends Ethernet frames to the edge, which is the port.
class EdgeHarness : public LinkHarness {
 public:
  EdgeHarness() : LinkHarness(PortKind::kPodL2, MakeEdge) {
    // The pod announces its MAC; its address is the destination of Make's packets.
    SendBytes(*far_, MakeArp());
    Batch batch;
    port_->Receive(batch);
    TakeSent();
  }
  static std::unique_ptr<PacketPort> MakeEdge(std::unique_ptr<PacketPort> frames) {
    EdgeOptions options;
    options.mac = Mac("02:00:00:00:01:01");
    options.gateways = {Ip("10.244.1.1")};
    options.pod_subnets = {*IpPrefix::Parse("10.244.1.0/24")};
    return std::make_unique<Edge>(std::move(frames), options);
  }
  static ByteVector MakeArp() {
    ByteVector frame(EthernetHeader::kSize + ArpPacket::kSize);
    const MacAddress pod = Mac("02:00:00:00:01:03");
    EthernetHeader{Mac("ff:ff:ff:ff:ff:ff"), pod, EtherType::kArp}.Emit(
        MutableBytes(frame).first<EthernetHeader::kSize>());
    ArpPacket{ArpPacket::Operation::kReply, pod, Ip("10.244.1.3").v4(), pod, Ip("10.244.1.3").v4()}
        .Emit(MutableBytes(frame).subspan<EthernetHeader::kSize, ArpPacket::kSize>());
    return frame;
  }

  ByteVector Make(std::uint32_t number, std::size_t size) const override {
    return MakePacket(PortKind::kPodL3, number, size);
  }
  std::size_t header_size() const override { return HeaderSize(PortKind::kPodL3); }
  std::size_t max_size() const override { return kMaxSize - EthernetHeader::kSize; }
  std::optional<std::size_t> oversize() const override { return max_size() + 1; }
  void Inject(const ByteVector& packet) override {
    ByteVector frame(EthernetHeader::kSize);
    EthernetHeader{Mac("02:00:00:00:01:01"), Mac("02:00:00:00:01:02"), EtherType::kIpv4}.Emit(
        MutableBytes(frame).first<EthernetHeader::kSize>());
    SendBytes(*far_, Concatenate(frame, packet));
  }
  std::vector<ByteVector> TakeSent() override {
    std::vector<ByteVector> packets;
    for (const ByteVector& frame : ReceiveBytes(*far_)) {
      packets.emplace_back(frame.begin() + EthernetHeader::kSize, frame.end());
    }
    return packets;
  }
};

std::vector<PortCase> LiveCases() {
  std::vector<PortCase> cases;
  const std::vector<std::pair<std::string, PortKind>> kinds = {
      {"l3", PortKind::kPodL3},
      {"l2", PortKind::kPodL2},
      {"packet", PortKind::kWirePacket},
      {"datagram", PortKind::kWireDatagram}};
  for (const auto& [name, kind] : kinds) {
    cases.push_back({"memory_" + name, [kind = kind] { return Plain(kind); }});
    cases.push_back({"trace_" + name, [kind = kind] { return Decorated(kind, Traced); }});
    cases.push_back({"fault_" + name, [kind = kind] { return Decorated(kind, Faultless); }});
  }
  cases.push_back({"edge", [] { return std::make_unique<EdgeHarness>(); }});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Ports, PacketPortContract, ::testing::ValuesIn(LiveCases()), PortCaseName);
INSTANTIATE_TEST_SUITE_P(Ports, LivePortContract, ::testing::ValuesIn(LiveCases()), PortCaseName);
INSTANTIATE_TEST_SUITE_P(Ports, BoundedPortContract, ::testing::ValuesIn(LiveCases()),
                         PortCaseName);
// Nothing here has a handle to wait for.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PollablePortContract);

}  // namespace
}  // namespace weft::dataplane
