// SPDX-License-Identifier: Apache-2.0
#include "dataplane/counters.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/dataplane/support.h"

namespace weft::dataplane {
namespace {

std::uint64_t Of(const DirectionCounts& counts, Verdict verdict) {
  return counts.packets[static_cast<std::size_t>(verdict)];
}

TEST(Counters, CountsByVerdictAndInnerBytes) {
  Buffers buffers;
  auto batch = std::make_unique<Batch>();
  Packet stamped = buffers.Make(ByteVector(150));
  stamped.inner_offset = 50;
  batch->Add(stamped);
  batch->Add(stamped);
  batch->Add(stamped).verdict = Verdict::kWireFull;
  Counters counters;
  counters.to_wire.Count(*batch);
  const CounterValues values = counters.Read();
  EXPECT_EQ(Of(values.to_wire, Verdict::kForward), 2u);
  EXPECT_EQ(Of(values.to_wire, Verdict::kWireFull), 1u);
  EXPECT_EQ(values.to_wire.bytes, 200u);
  EXPECT_EQ(Of(values.to_pods, Verdict::kForward), 0u);
}

TEST(Counters, AnAggregateCountsAsItsDatagrams) {
  Buffers buffers;
  auto batch = std::make_unique<Batch>();
  Packet& aggregate = batch->Add(buffers.Make(ByteVector(250)));  // 100 + 100 + 50
  aggregate.segmentation = Segmentation::kDatagrams;
  aggregate.segment_size = 100;
  aggregate.inner_offset = 22;
  Counters counters;
  counters.to_wire.Count(*batch);
  EXPECT_EQ(Of(counters.Read().to_wire, Verdict::kForward), 3u);
  EXPECT_EQ(counters.Read().to_wire.bytes, 250u - 3 * 22);
}

TEST(Counters, PartsOfAHalfSentAggregateAreCountedSeparately) {
  Buffers buffers;
  auto batch = std::make_unique<Batch>();
  Packet& aggregate = batch->Add(buffers.Make(ByteVector(450)));  // four of 100, one of 50
  aggregate.segmentation = Segmentation::kDatagrams;
  aggregate.segment_size = 100;
  aggregate.inner_offset = 22;
  aggregate.left = 2;
  aggregate.verdict = Verdict::kWireFull;
  Counters counters;
  counters.to_wire.Count(*batch);
  EXPECT_EQ(Of(counters.Read().to_wire, Verdict::kForward), 2u);
  EXPECT_EQ(Of(counters.Read().to_wire, Verdict::kWireFull), 3u);
  EXPECT_EQ(counters.Read().to_wire.bytes, 2u * 78);
}

TEST(Counters, ASuperframeCountsAsItsSegments) {
  Buffers buffers;
  auto batch = std::make_unique<Batch>();
  // 20 + 20 + 2500 bytes in segments of 1000: 1040 + 1040 + 540.
  batch->Add(buffers.MakeSuperframe(
      PacketBuilder("10.244.1.2", "10.244.2.3").Tcp(1, 2).Payload(2500).Build(), Segmentation::kTcp,
      1000));
  batch->Add((*batch)[0]).verdict = Verdict::kPodFull;
  Counters counters;
  counters.to_pods.Count(*batch);
  EXPECT_EQ(Of(counters.Read().to_pods, Verdict::kForward), 3u);
  EXPECT_EQ(Of(counters.Read().to_pods, Verdict::kPodFull), 3u);
  EXPECT_EQ(counters.Read().to_pods.bytes, 1040u + 1040 + 540);
}

}  // namespace
}  // namespace weft::dataplane
