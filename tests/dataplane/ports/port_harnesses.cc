// SPDX-License-Identifier: Apache-2.0
#include "tests/dataplane/ports/port_harnesses.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/packet_builder.h"

namespace weft::dataplane {

std::size_t HeaderSize(PortKind kind) {
  switch (kind) {
    case PortKind::kWireDatagram:
      return 0;
    case PortKind::kPodL2:
      return 14 + 20 + 8;
    case PortKind::kPodL3:
    case PortKind::kWirePacket:
      return 20 + 8;
  }
  return 0;
}

ByteVector MakePacket(PortKind kind, std::uint32_t number, std::size_t size) {
  ByteVector payload(size - HeaderSize(kind));
  for (std::size_t i = 0; i < payload.size(); ++i)
    payload[i] = static_cast<std::byte>(number + i * 7);
  StoreBe32(payload.data(), number);
  if (kind == PortKind::kWireDatagram) return payload;
  PacketBuilder builder("10.244.1.2", "10.244.1.3");
  builder.Payload(std::move(payload));
  if (kind == PortKind::kPodL2)
    return builder.BuildFrame(Mac("02:00:00:00:01:02"), Mac("02:00:00:00:01:01"));
  return builder.Build();
}

void SendBytes(PacketPort& port, const ByteVector& bytes, const IpAddress& destination) {
  std::vector<std::byte> buffer(kHeadroom + bytes.size());
  std::copy(bytes.begin(), bytes.end(), buffer.begin() + kHeadroom);
  Packet packet;
  packet.data = buffer.data() + kHeadroom;
  packet.headroom = kHeadroom;
  packet.length = static_cast<std::uint32_t>(bytes.size());
  packet.outer_address = destination;
  static Batch batch;
  batch.clear();
  batch.Add(packet);
  port.Send(batch);
  EXPECT_EQ(batch[0].verdict, Verdict::kForward) << Name(batch[0].verdict);
}

std::vector<ByteVector> ReceiveBytes(PacketPort& port) {
  static Batch batch;
  port.Receive(batch);
  std::vector<ByteVector> result;
  for (const Packet& packet : batch) {
    if (packet.verdict == Verdict::kForward)
      result.emplace_back(packet.data, packet.data + packet.length);
  }
  return result;
}

LinkHarness::LinkHarness(PortKind kind, const Decorate& decorate) : kind_(kind) {
  MemoryOptions options;
  options.kind = kind;
  options.max_packet = kMaxSize;
  MemoryLink link = MemoryLink::Make(options);
  far_ = std::move(link.second);
  port_ = decorate ? decorate(std::move(link.first)) : std::move(link.first);
}

}  // namespace weft::dataplane
