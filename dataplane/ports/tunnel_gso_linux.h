// SPDX-License-Identifier: Apache-2.0
// Sends whole TCP and UDP superframes with their outer headers: the kernel or the network card cuts
// them, after encapsulation, as it does for its own VXLAN devices (tunnel GSO).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "dataplane/file_descriptor_linux.h"
#include "dataplane/packet.h"
#include "vxlan/ip_address.h"

namespace weft::dataplane {

struct TunnelGsoOptions {
  std::string name;                // of our TAP device; at most 15 bytes
  std::uint32_t egress_index = 0;  // interface index of the Ethernet device that packets leave by
  // For tests: further bits of TUNSETOFFLOAD. An unknown one is refused, as all of tunnel GSO is by
  // kernels before 6.17.
  unsigned more_offloads = 0;
};

// A TAP device of our own. A program on its ingress (TCX, BPF) passes what is written to it to the
// egress device, whose queueing discipline and neighbours apply as to every packet; nothing is ever
// read from it. Packets sent so are not seen by the host's OUTPUT, POSTROUTING and netdev egress
// chains, IPsec policies and routing rules. Device and program are deleted with the object or the
// process.
//
// The descriptor of a packet is that of PacketPort::Send for kWireDatagram. Send is the worker's
// thread's; Permit, Obstacle and RoutesChanged may be called by any other thread.
class TunnelGso {
 public:
  // Bytes written before a packet: virtio-net header with tunnel fields (virtio 1.4 section
  // 5.1.6.1), Ethernet, outer IP, outer UDP.
  static constexpr std::uint32_t kVirtioHeader = 24;

  struct Outer {
    IpAddress source, destination;  // of one family
    std::uint16_t source_port = 0, destination_port = 0;
    std::uint8_t ttl = 64;
    bool udp_checksum = true;  // over IPv6 always
  };

  // Needs Linux 6.17, CAP_NET_ADMIN and CAP_BPF. Errors name what is missing.
  static absl::StatusOr<std::unique_ptr<TunnelGso>> Open(const TunnelGsoOptions& options);

  std::uint32_t egress_index() const { return egress_index_; }
  const std::string& name() const { return name_; }

  // Not permitted at first, nor after a Send that failed because the device is down or deleted.
  void Permit(bool permitted) { permitted_.store(permitted, std::memory_order_release); }
  bool permitted() const { return permitted_.load(std::memory_order_acquire); }
  // Why packets would be lost, or lose their order, on this way now, and the next step; empty: they
  // would not. Reads the device's state, which other programs may change at any time.
  std::string Obstacle() const;

  // After a change of routes, links or addresses: what was found out about a destination before is
  // out of date.
  void RoutesChanged() { generation_.fetch_add(1, std::memory_order_release); }
  std::uint32_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Whether the outer packet's length and the headroom permit it.
  static bool Fits(const Packet& superframe, IpFamily outer);
  // The packet Fits. 0 or an errno. Writes into the packet's headroom.
  int Send(const Packet& superframe, const Outer& outer);
  // Superframes sent. Any thread.
  std::uint64_t sent() const { return sent_.load(std::memory_order_relaxed); }

 private:
  TunnelGso(FileDescriptor tap, FileDescriptor link, const TunnelGsoOptions& options)
      : tap_(std::move(tap)),
        link_(std::move(link)),
        name_(options.name),
        egress_index_(options.egress_index) {}

  const FileDescriptor tap_;
  const FileDescriptor link_;  // of the program to the device
  const std::string name_;
  const std::uint32_t egress_index_;
  std::atomic<bool> permitted_{false};
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint32_t> generation_{0};
};

// Writes what Send writes before `superframe`, in its headroom; returns its first byte. The bytes
// from there to the packet's end are what the device receives.
std::byte* WriteTunnelGsoHeaders(const Packet& superframe, const TunnelGso::Outer& outer);

}  // namespace weft::dataplane
