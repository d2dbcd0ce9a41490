// SPDX-License-Identifier: Apache-2.0
// The kernel's virtual devices as pod ports: TUN (bare IP packets) and TAP (Ethernet frames), with
// TCP and UDP superframes where the kernel gives them. Linux only.
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
  // At most 15 bytes. "%d" is replaced by the kernel with the first free number; empty leaves the
  // whole name to the kernel.
  std::string name{};
  // Superframes, and partial checksums on receipt. Off: every packet is one that could be on a
  // wire.
  bool offloads = true;
  // A packet's queue goes by its source address, where the kernel lets us; false: by its flow.
  bool by_source = true;
};

// What TUN and TAP share. The device is made by Open, is down and without address, and is gone when
// the port is destroyed or the process dies; address, MTU and routes are set by control/host. Every
// packet is one system call, preceded by a virtio-net header (10 bytes, virtio 1.2 section 5.1.6)
// that lives in the packet's headroom. Send without that much headroom works and costs a little
// more.
//
// The device has several queues, because the kernel drops what finds its queue full: what one
// sender makes fills one of them, and Receive serves all in turn, a bounded amount each. A TUN
// device's packets are spread over them by their source address where the kernel lets this process
// load that rule (CAP_BPF; ports/tun_steering_linux.h), else by the flow's hash.
class TunTapPort : public PacketPort {
 public:
  ~TunTapPort() override;

  PortKind kind() const final;
  const PortFeatures& features() const final;
  std::size_t Receive(Batch& batch) final;
  void Send(Batch& batch) final;
  std::span<const WaitHandle> wait_handles() const final;
  // "device-read-error": the device was deleted or lost; "device-oversize": a frame longer than
  // kMaxPacket, or one whose virtio-net header contradicts itself.
  std::vector<NamedCount> Counts() const final;

  // The kernel's name of the device.
  const std::string& name() const;
  // Whether the source address chooses the queue; else the flow does.
  bool steers_by_source() const;

 protected:
  struct Device;
  explicit TunTapPort(std::unique_ptr<Device> device);
  static absl::StatusOr<std::unique_ptr<Device>> OpenDevice(PortKind kind,
                                                            const TunOptions& options);

 private:
  std::unique_ptr<Device> device_;
};

// kPodL3.
class TunPort final : public TunTapPort {
 public:
  // Needs /dev/net/tun and CAP_NET_ADMIN; refuses a name that is taken.
  static absl::StatusOr<std::unique_ptr<TunPort>> Open(const TunOptions& options);

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
