// SPDX-License-Identifier: Apache-2.0
// A 64 KiB TCP superframe in the software offload: cut for a UDP_SEGMENT wire, and coalesced again
// on the other side.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>

#include "bench/allocation_counter.h"
#include "dataplane/offload.h"
#include "tests/support/packet_builder.h"

namespace weft::dataplane {
namespace {

constexpr std::uint16_t kSegment = 1410;
constexpr std::size_t kPayload = kSegment * 44;

Packet Superframe(PacketSlab& slab) {
  const ByteVector bytes = PacketBuilder("10.244.2.9", "10.244.1.7")
                               .Tcp(1, 2)
                               .DontFragment()
                               .Payload(kPayload)
                               .PartialTransportChecksum()
                               .Build();
  Packet packet = slab.Lend(0);
  packet.Pull(22);  // as after Forwarder::Encapsulate for a datagram wire
  std::memcpy(packet.data, bytes.data(), bytes.size());
  packet.length = static_cast<std::uint32_t>(bytes.size());
  packet.Push(22);
  packet.segmentation = Segmentation::kTcp;
  packet.segment_size = kSegment;
  packet.inner_offset = 22;
  packet.checksum_start = 42;
  packet.checksum_offset = 16;
  return packet;
}

PortFeatures Wire() {
  PortFeatures features;
  features.datagram_aggregation = true;
  return features;
}

void Cut(benchmark::State& state) {
  PacketSlab slab(8);
  const Packet superframe = Superframe(slab);
  const PortFeatures wire = Wire();
  auto out = std::make_unique<Batch>();
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      out->clear();
      std::size_t buffer = 1;
      SuperframeCutter cutter(superframe, PortKind::kWireDatagram, wire);
      while (!cutter.done()) cutter.Cut(slab.Lend(buffer++), *out);
      benchmark::ClobberMemory();
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kPayload));
}

void Join(benchmark::State& state) {
  PacketSlab slab(8);
  const Packet superframe = Superframe(slab);
  auto out = std::make_unique<Batch>();
  SuperframeCutter cutter(superframe, PortKind::kWireDatagram, Wire());
  while (!cutter.done()) cutter.Cut(slab.Lend(1), *out);
  if (out->size() != 1) state.SkipWithError("more than one aggregate");
  const Packet aggregate = (*out)[0];
  const ByteVector pristine(aggregate.data, aggregate.data + aggregate.length);
  PortFeatures pods;
  pods.tcp_segmentation = pods.partial_checksum = true;
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      // Joining moves the bytes, so each round restores them. The copy is part of the result.
      std::memcpy(aggregate.data, pristine.data(), pristine.size());
      out->clear();
      SplitAggregate(aggregate, 0, *out);
      for (Packet& packet : *out) packet.Pull(22);
      Coalesce(*out, pods);
      benchmark::ClobberMemory();
    }
  }
  if (out->size() != 1) state.SkipWithError("not joined");
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kPayload));
}

BENCHMARK(Cut)->Name("cut/segments:44");
BENCHMARK(Join)->Name("split-and-join/segments:44");

}  // namespace
}  // namespace weft::dataplane
