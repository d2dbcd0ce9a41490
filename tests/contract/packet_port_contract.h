// SPDX-License-Identifier: Apache-2.0
// The contract of dataplane/packet_port.h, which every port must pass. A port joins by a harness:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, PacketPortContract, ::testing::Values(PortCase{"l3",
//   MakeMemory}));
//
// Features of some ports have their own suites, which such a port joins too: LivePortContract,
// BoundedPortContract, PollablePortContract. A file that instantiates one of them for no port needs
// GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "dataplane/packet_port.h"
#include "dataplane/ports/port_rules.h"
#include "dataplane/wait_set.h"
#include "tests/contract/port_harness.h"
#include "tests/support/bytes.h"
#include "tests/support/memory_port.h"
#include "tests/support/wait.h"

namespace weft::dataplane {

class PacketPortContract : public ::testing::TestWithParam<PortCase> {
 protected:
  static constexpr std::chrono::seconds kLimit{10};

  void SetUp() override {
    harness_ = GetParam().make();
    ASSERT_NE(harness_, nullptr) << "the port " << GetParam().name << " cannot be made here";
  }

  PacketPort& port() { return harness_->port(); }

  ByteVector Make(std::uint32_t number, std::size_t size = 0) const {
    return harness_->Make(number, std::max(size, harness_->min_size()));
  }
  // The bytes that must arrive unchanged.
  ByteVector Payload(Bytes packet) const {
    packet = packet.subspan(std::min(harness_->header_size(), packet.size()));
    return {packet.begin(), packet.end()};
  }
  std::vector<ByteVector> Payloads(const std::vector<ByteVector>& packets) const {
    std::vector<ByteVector> result;
    for (const ByteVector& packet : packets) result.push_back(Payload(packet));
    return result;
  }

  bool IsReadable(std::chrono::milliseconds timeout) {
    if (port().wait_handles().empty()) return false;
    auto set = WaitSet::Make(port().wait_handles());
    EXPECT_TRUE(set.ok()) << set.status();
    return set.ok() && (*set)->Wait(timeout);
  }

  // Batches until `count` packets have come; `seen` gets each batch.
  void ReceiveBatches(std::size_t count, const std::function<void()>& seen,
                      std::source_location where = std::source_location::current()) {
    std::size_t received = 0;
    EXPECT_TRUE(testing::Await(
        {kLimit, where}, [&] { return received >= count; },
        [&] {
          if (port().Receive(batch_) == 0) IsReadable(std::chrono::milliseconds(10));
          received += static_cast<std::size_t>(
              std::ranges::count(batch_, Verdict::kForward, &Packet::verdict));
          seen();
        }));
  }
  std::vector<ByteVector> Receive(std::size_t count,
                                  std::source_location where = std::source_location::current()) {
    std::vector<ByteVector> received;
    ReceiveBatches(
        count,
        [&] {
          for (const Packet& packet : batch_) {
            if (packet.verdict == Verdict::kForward)
              received.emplace_back(packet.data, packet.data + packet.length);
          }
        },
        where);
    return received;
  }

  // Fills batch_ with one packet.
  void ReceiveOne(std::source_location where = std::source_location::current()) {
    ReceiveBatches(
        1, [] {}, where);
    ASSERT_EQ(batch_.size(), 1u);
  }

  std::vector<ByteVector> TakeSent(std::size_t count,
                                   std::source_location where = std::source_location::current()) {
    std::vector<ByteVector> sent;
    EXPECT_TRUE(testing::Await({kLimit, where}, [&] {
      for (ByteVector& packet : harness_->TakeSent()) sent.push_back(std::move(packet));
      return sent.size() >= count;
    }));
    return sent;
  }

  Packet& Add(Batch& batch, const ByteVector& bytes) {
    Packet packet = slab_.Lend(batch.size());
    std::copy(bytes.begin(), bytes.end(), packet.data);
    packet.length = static_cast<std::uint32_t>(bytes.size());
    packet.tailroom -= packet.length;
    harness_->Address(packet);
    return batch.Add(packet);
  }

  std::unique_ptr<PortHarness> harness_;
  PacketSlab slab_;
  Batch batch_;
  Batch out_;
};

TEST_P(PacketPortContract, ReceivesNothingWhenThereIsNothing) {
  batch_.now = std::chrono::seconds(5);
  Add(batch_, Make(1));
  EXPECT_EQ(port().Receive(batch_), 0u);
  EXPECT_TRUE(batch_.empty());
  EXPECT_EQ(batch_.now, std::chrono::seconds(5));
}

TEST_P(PacketPortContract, ReceivesInOrderWholeAndWithHeadroom) {
  std::vector<ByteVector> expected;
  for (std::uint32_t i = 0; i < 5; ++i) expected.push_back(Make(i, 100 + 300 * (i % 3)));
  for (const ByteVector& packet : expected) harness_->Inject(packet);
  EXPECT_EQ(Payloads(Receive(5)), Payloads(expected));
  for (const Packet& packet : batch_) {
    EXPECT_EQ(packet.verdict, Verdict::kForward);
    EXPECT_EQ(packet.segmentation, Segmentation::kNone);
    EXPECT_EQ(packet.checksum, ChecksumState::kOnWire);
    EXPECT_GE(packet.headroom, 96u)
        << "outer Ethernet, IPv6, UDP, VXLAN, inner Ethernet and virtio header";
  }
}

// For ports that stay open while packets arrive.
class LivePortContract : public PacketPortContract {};

TEST_P(LivePortContract, BytesStayUntilTheNextReceive) {
  harness_->Inject(Make(1, 200));
  ReceiveOne();
  const PacketPort* before = &port();
  harness_->Inject(Make(2, 200));
  ASSERT_EQ(&port(), before);
  EXPECT_EQ(Payload(batch_[0].bytes()), Payload(Make(1, 200)));
  EXPECT_EQ(Payloads(Receive(1)), Payloads({Make(2, 200)}));
}

TEST_P(PacketPortContract, HeadroomAndTailroomAreThePacketsOwn) {
  std::vector<ByteVector> expected;
  for (std::uint32_t i = 0; i < 4; ++i) expected.push_back(Make(i, 200));
  for (const ByteVector& packet : expected) harness_->Inject(packet);
  std::vector<ByteVector> got;
  ReceiveBatches(expected.size(), [&] {
    for (Packet& packet : batch_) {
      std::fill_n(packet.data - packet.headroom, packet.headroom, std::byte{0xee});
      std::fill_n(packet.data + packet.length, packet.tailroom, std::byte{0xee});
    }
    for (Packet& packet : batch_) got.push_back(Payload(packet.bytes()));
  });
  EXPECT_EQ(got, Payloads(expected));
}

TEST_P(PacketPortContract, DeliversMoreThanABatchInOrder) {
  constexpr std::uint32_t kCount = 300;
  std::vector<ByteVector> expected;
  for (std::uint32_t i = 0; i < kCount; ++i) expected.push_back(Make(i));
  for (const ByteVector& packet : expected) harness_->Inject(packet);
  EXPECT_EQ(Payloads(Receive(kCount)), Payloads(expected));
  EXPECT_EQ(port().Receive(batch_), 0u);
}

TEST_P(PacketPortContract, DeliversTheLargestAndStopsAtSome256KiB) {
  const std::size_t size = harness_->max_size();
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(600'000 / size, 250));
  std::vector<ByteVector> expected;
  for (std::uint32_t i = 0; i < count; ++i) expected.push_back(Make(i, size));
  for (const ByteVector& packet : expected) harness_->Inject(packet);
  std::vector<ByteVector> got;
  ReceiveBatches(expected.size(), [&] {
    std::size_t bytes = 0;
    for (const Packet& packet : batch_) {
      bytes += packet.length;
      got.push_back(Payload(packet.bytes()));
    }
    EXPECT_LE(bytes, kBatchBytes + kMaxPacket);
  });
  EXPECT_EQ(got, Payloads(expected));
}

TEST_P(PacketPortContract, SendsInOrderAndLeavesTheCallersBytes) {
  std::vector<ByteVector> expected;
  for (std::uint32_t i = 0; i < 5; ++i) expected.push_back(Make(i, 100 + 300 * (i % 3)));
  for (const ByteVector& packet : expected) Add(out_, packet);
  const Batch before = out_;
  port().Send(out_);
  for (std::size_t i = 0; i < out_.size(); ++i) {
    EXPECT_EQ(out_[i].verdict, Verdict::kForward) << Name(out_[i].verdict);
    EXPECT_EQ(out_[i].data, before[i].data);
    EXPECT_EQ(out_[i].length, before[i].length);
    EXPECT_EQ(Payload(out_[i].bytes()), Payload(expected[i]));
  }
  // The bytes are the caller's again: changes to them now are not sent.
  for (Packet& packet : out_) std::fill_n(packet.data, packet.length, std::byte{0xee});
  EXPECT_EQ(Payloads(TakeSent(5)), Payloads(expected));
}

TEST_P(PacketPortContract, SendsAFullBatch) {
  std::vector<ByteVector> expected;
  for (std::uint32_t i = 0; i < kMaxBatch; ++i) expected.push_back(Make(i));
  for (const ByteVector& packet : expected) Add(out_, packet);
  port().Send(out_);
  EXPECT_EQ(Payloads(TakeSent(kMaxBatch)), Payloads(expected));
}

TEST_P(PacketPortContract, SendsAnEmptyBatch) {
  port().Send(out_);
  EXPECT_TRUE(out_.empty());
  EXPECT_TRUE(harness_->TakeSent().empty());
}

TEST_P(PacketPortContract, SkipsDroppedPacketsAndKeepsTheirVerdicts) {
  for (std::uint32_t i = 0; i < 4; ++i) Add(out_, Make(i));
  out_[0].verdict = Verdict::kNoRoute;
  out_[2].verdict = Verdict::kTtlExpired;
  port().Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kNoRoute);
  EXPECT_EQ(out_[1].verdict, Verdict::kForward);
  EXPECT_EQ(out_[2].verdict, Verdict::kTtlExpired);
  EXPECT_EQ(out_[3].verdict, Verdict::kForward);
  EXPECT_EQ(Payloads(TakeSent(2)), Payloads({Make(1), Make(3)}));
}

TEST_P(PacketPortContract, RefusesAPacketWithoutBytes) {
  Add(out_, {});
  Add(out_, Make(1));
  port().Send(out_);
  EXPECT_NE(out_[0].verdict, Verdict::kForward);
  EXPECT_EQ(out_[1].verdict, Verdict::kForward);
  EXPECT_EQ(Payloads(TakeSent(1)), Payloads({Make(1)}));
}

// For ports that have a limit of their own; for other ports the kernel decides.
class BoundedPortContract : public PacketPortContract {};

TEST_P(BoundedPortContract, RefusesTooLongPacketsAndSendsTheRest) {
  ASSERT_TRUE(harness_->oversize());
  Add(out_, Make(1));
  Add(out_, Make(2, *harness_->oversize()));
  Add(out_, Make(3));
  port().Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kForward);
  EXPECT_EQ(out_[1].verdict, IsWire(port().kind()) ? Verdict::kTooBigSilent : Verdict::kPodError);
  EXPECT_EQ(out_[2].verdict, Verdict::kForward);
  EXPECT_EQ(Payloads(TakeSent(2)), Payloads({Make(1), Make(3)}));
}

TEST_P(PacketPortContract, RefusesPacketsBeyondItsFeatures) {
  const PortFeatures features = port().features();
  const Verdict error = ErrorVerdict(port().kind());
  int refused = 0;
  const auto verdict_of = [&](Segmentation segmentation, ChecksumState checksum) {
    ++refused;
    out_.clear();
    Packet& packet = Add(out_, Make(1, 200));
    packet.segmentation = segmentation;
    packet.segment_size = 50;
    packet.checksum = checksum;
    packet.checksum_start = 100;
    packet.checksum_offset = 6;
    port().Send(out_);
    return out_[0].verdict;
  };
  if (!features.tcp_segmentation) {
    EXPECT_EQ(verdict_of(Segmentation::kTcp, ChecksumState::kPartial), error);
  }
  if (!features.udp_segmentation) {
    EXPECT_EQ(verdict_of(Segmentation::kUdp, ChecksumState::kPartial), error);
  }
  // Datagrams of UDP ports are an exception, described in udp_port.h.
  if (!features.datagram_aggregation && port().kind() != PortKind::kWireDatagram) {
    EXPECT_EQ(verdict_of(Segmentation::kDatagrams, ChecksumState::kOnWire), error);
  }
  if (!features.partial_checksum) {
    EXPECT_EQ(verdict_of(Segmentation::kNone, ChecksumState::kPartial), error);
  }
  EXPECT_GT(refused, 0) << "no port has everything";
  EXPECT_TRUE(harness_->TakeSent().empty());
}

// For ports with handles; without them only tests can drive a port.
class PollablePortContract : public PacketPortContract {};

TEST_P(PollablePortContract, WaitHandlesBecomeReadable) {
  const std::vector<WaitHandle> handles(port().wait_handles().begin(), port().wait_handles().end());
  ASSERT_FALSE(handles.empty());
  while (port().Receive(batch_) != 0) {
  }
  EXPECT_FALSE(IsReadable(std::chrono::milliseconds(0)));
  harness_->Inject(Make(1));
  EXPECT_TRUE(testing::Await(kLimit, [&] { return IsReadable(std::chrono::milliseconds(10)); }));
  EXPECT_EQ(Receive(1).size(), 1u);
  EXPECT_EQ(port().Receive(batch_), 0u);
  EXPECT_FALSE(IsReadable(std::chrono::milliseconds(0)));
  EXPECT_TRUE(std::ranges::equal(handles, port().wait_handles())) << "they are stable";
}

TEST_P(PacketPortContract, CountsMayBeReadByAnotherThread) {
  const auto names = [](const std::vector<NamedCount>& counts) {
    std::vector<std::string_view> result;
    for (const NamedCount& count : counts) result.push_back(count.name);
    return result;
  };
  const std::vector<NamedCount> before = port().Counts();
  std::vector<NamedCount> counts;
  std::jthread asker([&, &asked = port()] { counts = asked.Counts(); });
  for (std::uint32_t i = 0; i < 20; ++i) Add(out_, Make(i));
  port().Send(out_);
  port().Receive(batch_);
  asker.join();
  EXPECT_EQ(names(counts), names(before)) << "they are always the same, in one order";
  for (const NamedCount& count : counts) EXPECT_FALSE(count.name.empty());
}

TEST_P(PacketPortContract, DestructionCloses) {
  harness_->Inject(Make(1));
  harness_.reset();
  // The same name, address or file again; the second port receives nothing of the first.
  harness_ = GetParam().make();
  ASSERT_NE(harness_, nullptr);
  EXPECT_EQ(port().Receive(batch_), 0u);
  harness_->Inject(Make(2));
  EXPECT_EQ(Payloads(Receive(1)), Payloads({Make(2)}));
}

// Names in the test list: "memory_l3".
inline std::string PortCaseName(const ::testing::TestParamInfo<PortCase>& info) {
  return info.param.name;
}

}  // namespace weft::dataplane
