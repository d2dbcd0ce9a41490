// SPDX-License-Identifier: Apache-2.0
// The contract, for the ports that need no kernel: memory, capture file, decorators, edge.
#include <filesystem>
#include <string>

#include "dataplane/edge/edge.h"
#include "dataplane/ports/capture_port.h"
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
  TraceOptions options;
  options.describe = [](TraceDirection, std::string_view text) { EXPECT_FALSE(text.empty()); };
  return std::make_unique<TracePort>(std::move(inner), std::move(options));
}

std::unique_ptr<PacketPort> Faultless(std::unique_ptr<PacketPort> inner) {
  return std::make_unique<FaultPort>(std::move(inner), FaultOptions{});
}

template <typename Decorator>
std::unique_ptr<PortHarness> Decorated(PortKind kind, Decorator decorate) {
  return std::make_unique<LinkHarness>(kind, decorate);
}

// The far end writes a file that the port reads, and reads the file that the port writes.
class CaptureHarness : public PortHarness {
 public:
  explicit CaptureHarness(PortKind kind) : kind_(kind) {
    const std::string base = weft::testing::TestPath().string();
    read_path_ = base + ".in.pcap";
    write_path_ = base + ".out.pcap";
    Open();
  }
  ~CaptureHarness() override {
    port_.reset();
    std::filesystem::remove(read_path_);
    std::filesystem::remove(write_path_);
  }

  PacketPort& port() override {
    if (!injected_.empty()) Open();
    return *port_;
  }
  ByteVector Make(std::uint32_t number, std::size_t size) const override {
    return MakePacket(kind_, number, size);
  }
  std::size_t header_size() const override { return HeaderSize(kind_); }
  std::size_t max_size() const override { return 60'000; }
  void Inject(const ByteVector& packet) override { injected_.push_back(packet); }
  std::vector<ByteVector> TakeSent() override {
    EXPECT_TRUE(port_->Flush().ok());
    std::vector<ByteVector> result;
    auto reader = CaptureReader::Open(write_path_);
    EXPECT_TRUE(reader.ok()) << reader.status();
    while (true) {
      auto record = reader->Next();
      EXPECT_TRUE(record.ok()) << record.status();
      if (!record.ok() || !*record) break;
      result.emplace_back((*record)->bytes.begin(), (*record)->bytes.end());
    }
    result.erase(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ += result.size();
    return result;
  }

 private:
  void Open() {
    {
      auto writer = CaptureWriter::Open(
          read_path_, kind_ == PortKind::kPodL2 ? LinkType::kEthernet : LinkType::kRaw);
      ASSERT_TRUE(writer.ok()) << writer.status();
      for (const ByteVector& packet : injected_) ASSERT_TRUE(writer->Write({}, packet).ok());
    }
    injected_.clear();
    auto port =
        CapturePort::Open({.kind = kind_, .read_path = read_path_, .write_path = write_path_});
    ASSERT_TRUE(port.ok()) << port.status();
    port_ = *std::move(port);
    taken_ = 0;
  }

  PortKind kind_;
  std::string read_path_;
  std::string write_path_;
  std::unique_ptr<CapturePort> port_;
  std::vector<ByteVector> injected_;
  std::size_t taken_ = 0;
};

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

const PortCase kCaptures[] = {
    {"capture_l3", [] { return std::make_unique<CaptureHarness>(PortKind::kPodL3); }},
    {"capture_l2", [] { return std::make_unique<CaptureHarness>(PortKind::kPodL2); }},
    {"capture_packet", [] { return std::make_unique<CaptureHarness>(PortKind::kWirePacket); }}};

INSTANTIATE_TEST_SUITE_P(Ports, PacketPortContract, ::testing::ValuesIn(LiveCases()), PortCaseName);
INSTANTIATE_TEST_SUITE_P(Ports, LivePortContract, ::testing::ValuesIn(LiveCases()), PortCaseName);
INSTANTIATE_TEST_SUITE_P(Ports, BoundedPortContract, ::testing::ValuesIn(LiveCases()),
                         PortCaseName);
// A file is written before and read after: its port is not live.
INSTANTIATE_TEST_SUITE_P(Files, PacketPortContract, ::testing::ValuesIn(kCaptures), PortCaseName);
// Nothing here has a handle to wait for.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PollablePortContract);

}  // namespace
}  // namespace weft::dataplane
