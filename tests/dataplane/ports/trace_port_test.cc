// SPDX-License-Identifier: Apache-2.0
// What --trace writes, read back by libpcap; tests/netns/trace_test.py has tshark read it.
#include "dataplane/ports/trace_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "dataplane/ports/capture_reader.h"
#include "tests/dataplane/ports/port_harnesses.h"
#include "tests/support/fault_port.h"
#include "tests/support/memory_port.h"
#include "tests/support/packet_builder.h"
#include "tests/support/test_path.h"
#include "vxlan/describe.h"

namespace weft::dataplane {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const ByteVector kInner =
    PacketBuilder("10.244.1.2", "10.244.2.3").Tcp(40000, 443).Payload(10).Build();

class TracePortTest : public ::testing::Test {
 protected:
  TracePortTest() : path_(weft::testing::TestPath().string() + ".pcapng") {}
  ~TracePortTest() override {
    ports_ = {};  // Windows removes no open file
    file_.reset();
    std::filesystem::remove(path_);
  }

  // A worker's two ports over memory; the other ends are far_pods_ and far_wire_.
  void Open(PortKind pods = PortKind::kPodL3, std::size_t capacity = 16,
            std::uint64_t max_bytes = TraceFile::kMaxBytes, double reorder = 0) {
    MemoryOptions memory;
    memory.kind = pods;
    memory.capacity = capacity;
    MemoryLink pod_link = MemoryLink::Make(memory);
    memory.kind = PortKind::kWireDatagram;
    memory.first_address = Ip("192.0.2.1");
    memory.second_address = Ip("192.0.2.2");
    MemoryLink wire_link = MemoryLink::Make(memory);
    auto file = OpenTrace(path_, max_bytes);
    ASSERT_TRUE(file.ok()) << file.status();
    file_ = *file;
    far_pods_ = std::move(pod_link.second);
    far_wire_ = std::move(wire_link.second);
    FaultOptions faults;
    faults.receive.reorder = reorder;
    auto near_pods = std::make_unique<FaultPort>(std::move(pod_link.first), faults);
    ports_ = Trace({std::move(near_pods), std::move(wire_link.first)}, file_, "flannel.1",
                   "UDP port 4789", std::chrono::seconds(1000));
  }
  // The file's text, for comments, which libpcap does not show.
  std::string Text() {
    file_->Flush();
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::string Text(const ByteVector& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  static Packet View(ByteVector& bytes) {
    Packet packet;
    packet.data = bytes.data();
    packet.length = static_cast<std::uint32_t>(bytes.size());
    packet.outer_address = Ip("192.0.2.2");
    return packet;
  }

  const std::string path_;
  std::shared_ptr<TraceFile> file_;
  std::unique_ptr<PacketPort> far_pods_, far_wire_;
  TracedPorts ports_;
  Batch batch_;
};

// A packet's record is complete only once the other port has decided about it.
TEST_F(TracePortTest, ADropHasItsReason) {
  for (const double reorder : {0.0, 1.0}) {  // the second packet's bytes may precede the first's
    Open(PortKind::kPodL3, 16, TraceFile::kMaxBytes, reorder);
    SendBytes(*far_pods_, kInner);
    SendBytes(*far_pods_, kInner);
    ASSERT_EQ(ports_.pods->Receive(batch_), 2u);
    EXPECT_THAT(Text(), Not(HasSubstr("443")));
    batch_[1].verdict = Verdict::kNoRoute;
    batch_[1].Pull(20);  // as decapsulation leaves it
    ports_.wire->Send(batch_);
    ports_.pods->Receive(batch_);
    const std::string text = Text();
    const std::string comment = "dropped, no-route: no lease covers the destination";
    ASSERT_THAT(text, HasSubstr(comment));
    EXPECT_EQ(text.find(comment), text.rfind(comment));
    EXPECT_GT(text.find(comment), text.rfind(Text(kInner))) << "the second's";
    EXPECT_THAT(text, Not(HasSubstr("; dropped")));
  }
}

TEST_F(TracePortTest, WhatThePortRefusedWasNotSent) {
  Open(PortKind::kPodL3, 1);
  ByteVector bytes = kInner;
  batch_.Add(View(bytes));
  batch_.Add(View(bytes));
  ports_.pods->Send(batch_);
  EXPECT_THAT(Text(), HasSubstr("dropped, pod-full: the pod side's queue is full"));
}

TEST_F(TracePortTest, SuperframesAreNamed) {
  for (const Segmentation segmentation : {Segmentation::kTcp, Segmentation::kUdp}) {
    Open();
    ByteVector bytes = kInner;
    Packet packet = View(bytes);
    packet.segmentation = segmentation;
    packet.segment_size = 20;
    batch_.clear();
    batch_.Add(packet);
    ports_.pods->Send(batch_);
    const std::string text = Text(), comment = "superframe, to be cut every 20 bytes";
    ASSERT_THAT(text, HasSubstr(comment));
    EXPECT_EQ(text.find(comment), text.rfind(comment)) << "one record";
  }
}

TEST_F(TracePortTest, PathMtusOfTheInnerPortPassThrough) {
  Open();
  TracedPorts ports =
      Trace({std::move(ports_.pods), std::make_unique<NoticingPort>()}, file_, "a", "b", {});
  std::array<PathMtuNotice, 4> notices;
  ASSERT_EQ(ports.wire->DrainPathMtuNotices(notices), 1u);
  EXPECT_EQ(notices[0].destination, NoticingPort::kDestination);
}

TEST_F(TracePortTest, DatagramsHaveOuterHeaders) {
  const auto library = PcapLibrary::Load();
  if (!library.ok() || !(*library)->open_offline) GTEST_SKIP() << "no libpcap that reads files";
  for (const bool v4 : {true, false}) {
    Open();
    ByteVector datagram = VxlanBuilder(kInner).BuildPayload();
    const ByteVector two = Concatenate(datagram, datagram);
    ByteVector aggregate = two;
    Packet packet = View(aggregate);
    packet.segmentation = Segmentation::kDatagrams;
    packet.segment_size = static_cast<std::uint16_t>(datagram.size());
    packet.outer_address = v4 ? Ip("192.0.2.2") : Ip("2001:db8::2");
    packet.outer_port = 50'000;
    batch_.clear();
    batch_.now = std::chrono::seconds(1);
    batch_.Add(packet);
    ports_.wire->Send(batch_);
    file_->Flush();
    const auto reader = CaptureReader::Open(**library, path_);
    ASSERT_TRUE(reader.ok()) << reader.status();
    for (int i = 0; i < 2; ++i) {
      const auto record = (*reader)->Next();
      ASSERT_TRUE(record.ok() && *record) << record.status();
      EXPECT_EQ((*record)->link_type, LinkType::kEthernet);
      EXPECT_EQ((*record)->time, std::chrono::seconds(1001));
      const std::string text = Describe((*record)->bytes, FrameStart::kOuterEthernet);
      EXPECT_THAT(text, HasSubstr(v4 ? "192.0.2.2" : "2001:db8::2"));
      EXPECT_THAT(text, HasSubstr("10.244.2.3"));
      const std::size_t headers = 14 + (v4 ? 20 : 40) + 8;
      ASSERT_EQ((*record)->bytes.size(), headers + datagram.size()) << "each datagram of its own";
    }
    EXPECT_FALSE((*reader)->Next()->has_value());
  }
}

TEST_F(TracePortTest, ItEndsAtItsLimitAndPacketsContinue) {
  Open(PortKind::kPodL3, 1000, 1000);
  ByteVector bytes = kInner;
  for (int i = 0; i < 50; ++i) SendBytes(*ports_.pods, bytes);
  EXPECT_EQ(ReceiveBytes(*far_pods_).size(), 50u);
  EXPECT_THAT(std::string(file_->status().message()), HasSubstr(path_ + " has "));
  EXPECT_LE(std::filesystem::file_size(path_), 1000u);
}

}  // namespace
}  // namespace weft::dataplane
