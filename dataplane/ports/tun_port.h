// SPDX-License-Identifier: Apache-2.0
// The kernel's virtual devices as pod ports: TUN (bare IP packets) and TAP (Ethernet frames), with
// TCP and UDP superframes if the kernel supports them. Linux only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/packet_port.h"

namespace weft::dataplane {

struct TunOptions {
  // At most 15 bytes. The kernel replaces "%d" by the first free number, and chooses the name if
  // this is empty.
  std::string name{};
  // Superframes, and partial checksums on receipt. False: every packet is complete, as on a wire.
  bool offloads = true;
  // Choose a packet's queue by its source address if the kernel permits it; false: by its flow.
  bool by_source = true;
};

// Common part of TUN and TAP. Open creates the device, down and without address; it is deleted when
// the port is destroyed or the process ends. control/host sets address, MTU and routes. Every
// packet is one system call, preceded by a virtio-net header (10 bytes, virtio 1.2 section 5.1.6)
// in the packet's headroom. Send works without that headroom, but is slower.
//
// The device has several queues, because the kernel drops packets for a full queue: one sender
// fills only one of them, and Receive serves all in turn, a bounded amount each. A TUN device's
// packets are spread over them by source address if the kernel lets this process load that program
// (CAP_BPF; ports/tun_steering_linux.h), else by the flow's hash.
class TunTapPort : public PacketPort {
 public:
  ~TunTapPort() override;

  PortKind kind() const final;
  const PortFeatures& features() const final;
  std::size_t Receive(Batch& batch) final;
  void Send(Batch& batch) final;
  std::span<const WaitHandle> wait_handles() const final;
  // "device-read-error": the device was deleted or lost; "device-oversize": a frame longer than
  // kMaxPacket, or one with an inconsistent virtio-net header.
  std::vector<NamedCount> Counts() const final;

  // The kernel's name of the device.
  const std::string& name() const;
  // Whether the source address selects the queue; else the flow does.
  bool steers_by_source() const;

 protected:
  struct Device;
  explicit TunTapPort(std::unique_ptr<Device> device);
  static absl::StatusOr<std::vector<std::unique_ptr<Device>>> OpenDevice(PortKind kind,
                                                                         const TunOptions& options,
                                                                         std::size_t workers);

 private:
  std::unique_ptr<Device> device_;
};

// kPodL3.
class TunPort final : public TunTapPort {
 public:
  // Needs /dev/net/tun and CAP_NET_ADMIN; fails if the name is taken.
  static absl::StatusOr<std::unique_ptr<TunPort>> Open(const TunOptions& options);
  // One for each of `workers` threads (1, 2, 4 or 8), which divide the device's queues.
  static absl::StatusOr<std::vector<std::unique_ptr<TunPort>>> OpenAll(const TunOptions& options,
                                                                       std::size_t workers);

 private:
  using TunTapPort::TunTapPort;
};

// kPodL2.
class TapPort final : public TunTapPort {
 public:
  static absl::StatusOr<std::unique_ptr<TapPort>> Open(const TunOptions& options);

 private:
  using TunTapPort::TunTapPort;
};

}  // namespace weft::dataplane
