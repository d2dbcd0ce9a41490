// SPDX-License-Identifier: Apache-2.0
// Harnesses of tests/contract/packet_port_contract.h whose far end is another port in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dataplane/ports/trace_port.h"
#include "tests/contract/port_harness.h"
#include "tests/support/bytes.h"
#include "tests/support/memory_port.h"

namespace weft::dataplane {

// A packet of `kind`: VXLAN-less bytes for kWireDatagram, UDP in IPv4 from 10.244.1.2 to 10.244.1.3
// otherwise, in an Ethernet frame for kPodL2. The payload distinguishes packets of different
// numbers.
ByteVector MakePacket(PortKind kind, std::uint32_t number, std::size_t size);
// Bytes before the payload: 0, 28 or 42.
std::size_t HeaderSize(PortKind kind);

// A batch sent by one port, and all that another has received.
void SendBytes(PacketPort& port, const ByteVector& bytes, const IpAddress& destination = {});
std::vector<ByteVector> ReceiveBytes(PacketPort& port);

// A trace into a new file.
inline absl::StatusOr<std::shared_ptr<TraceFile>> OpenTrace(
    const std::string& path, std::uint64_t max_bytes = TraceFile::kMaxBytes) {
  return TraceFile::Open({std::fopen(path.c_str(), "wb"), std::fclose}, path, "flanneld",
                         max_bytes);
}

// A wire without packets that has learnt one path MTU.
class NoticingPort final : public PacketPort {
 public:
  static constexpr IpAddress kDestination = IpAddress::V4(0xc000'0201);
  static constexpr std::uint32_t kMtu = 1400;

  PortKind kind() const override { return PortKind::kWireDatagram; }
  const PortFeatures& features() const override { return features_; }
  std::size_t Receive(Batch& batch) override {
    batch.clear();
    return 0;
  }
  void Send(Batch&) override {}
  std::size_t DrainPathMtuNotices(std::span<PathMtuNotice> out) override {
    out[0] = {kDestination, kMtu};
    return 1;
  }

 private:
  PortFeatures features_;
};

// The port is one end of a memory link, decorated by `decorate`; the far end is the other.
class LinkHarness : public PortHarness {
 public:
  using Decorate = std::function<std::unique_ptr<PacketPort>(std::unique_ptr<PacketPort>)>;
  static constexpr std::uint32_t kMaxSize = 9000;

  explicit LinkHarness(PortKind kind, const Decorate& decorate = {});

  PacketPort& port() override { return *port_; }
  ByteVector Make(std::uint32_t number, std::size_t size) const override {
    return MakePacket(kind_, number, size);
  }
  std::size_t header_size() const override { return HeaderSize(kind_); }
  std::size_t max_size() const override { return kMaxSize; }
  std::optional<std::size_t> oversize() const override { return kMaxSize + 1; }
  void Inject(const ByteVector& packet) override { SendBytes(*far_, packet); }
  std::vector<ByteVector> TakeSent() override { return ReceiveBytes(*far_); }

 protected:
  PortKind kind_;
  std::unique_ptr<PacketPort> far_;
  std::unique_ptr<PacketPort> port_;
};

}  // namespace weft::dataplane
