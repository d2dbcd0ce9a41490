// SPDX-License-Identifier: Apache-2.0
// Two UDP ports on loopback addresses, one under test, one its far end; or one that sends to
// itself, where a system (Wine) binds a port number to one address only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dataplane/ports/udp_port.h"
#include "tests/contract/port_harness.h"
#include "tests/dataplane/ports/port_harnesses.h"

namespace weft::dataplane {

class UdpHarness : public PortHarness {
 public:
  UdpHarness(std::unique_ptr<UdpPort> port, std::unique_ptr<UdpPort> far, IpAddress port_address,
             IpAddress far_address)
      : port_(std::move(port)),
        far_(std::move(far)),
        port_address_(port_address),
        far_address_(far_address) {}

  static std::unique_ptr<PortHarness> Make(IpAddress port_address, IpAddress far_address,
                                           bool udp_checksum) {
    UdpOptions options;
    options.family = port_address.family();
    options.bind_address = port_address;
    options.port = 0;
    options.udp_checksum = udp_checksum;
    options.sending_sockets = 16;
    auto port = UdpPort::Open(options);
    EXPECT_TRUE(port.ok()) << port.status();
    if (!port.ok()) return nullptr;
    if (port_address == far_address) {
      return std::make_unique<UdpHarness>(*std::move(port), nullptr, port_address, far_address);
    }
    options.bind_address = far_address;
    options.port = (*port)->port();
    auto far = UdpPort::Open(options);
    EXPECT_TRUE(far.ok()) << far.status();
    if (!far.ok()) return nullptr;
    return std::make_unique<UdpHarness>(*std::move(port), *std::move(far), port_address,
                                        far_address);
  }

  PacketPort& port() override { return *port_; }
  ByteVector Make(std::uint32_t number, std::size_t size) const override {
    return MakePacket(PortKind::kWireDatagram, number, size);
  }
  std::size_t header_size() const override { return 0; }
  std::size_t max_size() const override { return 60'000; }
  std::optional<std::size_t> oversize() const override { return 65'508; }
  void Address(Packet& packet) const override { packet.outer_address = far_address_; }
  void Inject(const ByteVector& packet) override { SendBytes(far(), packet, port_address_); }
  std::vector<ByteVector> TakeSent() override {
    // Aggregates are the sender's joining of single packets.
    far().Receive(batch_);
    std::vector<ByteVector> result;
    for (const Packet& packet : batch_) {
      EXPECT_EQ(packet.outer_address, port_address_);
      const bool aggregate = packet.segmentation == Segmentation::kDatagrams;
      const std::uint32_t size = aggregate ? packet.segment_size : packet.length;
      for (std::uint32_t at = 0; at < packet.length; at += size) {
        result.emplace_back(packet.data + at, packet.data + std::min(at + size, packet.length));
      }
    }
    return result;
  }

 private:
  PacketPort& far() { return far_ ? *far_ : *port_; }

  std::unique_ptr<UdpPort> port_;
  std::unique_ptr<UdpPort> far_;  // null: the port itself
  IpAddress port_address_;
  IpAddress far_address_;
  Batch batch_;
};

}  // namespace weft::dataplane
