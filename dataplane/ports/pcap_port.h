// SPDX-License-Identifier: Apache-2.0
// An existing adapter as a pod port of Ethernet frames (kPodL2), through libpcap or Npcap. For
// function, not for speed: each frame is copied, and sent by a call of its own or, with Npcap, in
// queues.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/packet_port.h"
#include "dataplane/ports/pcap_device.h"
#include "vxlan/ip_address.h"
#include "vxlan/mac_address.h"

namespace weft::dataplane {

struct PcapPortOptions {
  std::string adapter;
  MacAddress mac;                   // the source of what is sent; frames from it are not received
  IpFamily family = IpFamily::kV4;  // of the received packets
  int buffer = 16 << 20;
};

// The adapter receives promiscuously, as `mac` is not its own. Received are `family`'s frames
// to `mac` and to groups. They may be superframes or have unfinished checksums, which libpcap does
// not mark: EdgeOptions::unmarked_offloads. The host's own stack does not get what is sent.
class PcapPort final : public PacketPort {
 public:
  static absl::StatusOr<std::unique_ptr<PcapPort>> Open(const PcapLibrary& library,
                                                        const PcapPortOptions& options);
  ~PcapPort() override;

  PortKind kind() const override { return PortKind::kPodL2; }
  const PortFeatures& features() const override { return features_; }
  std::size_t Receive(Batch& batch) override;
  void Send(Batch& batch) override;
  std::span<const WaitHandle> wait_handles() const override;
  // "pcap-dropped": frames that the library's buffer had no room for; "pcap-adapter-dropped": that
  // the adapter dropped; "pcap-cut": longer than a packet may be; "pcap-read-error". The first two
  // are at most 100 ms old.
  std::vector<NamedCount> Counts() const override;

 private:
  explicit PcapPort(std::unique_ptr<PcapDevice> device);
  void SendQueued(Batch& batch);
  // Sends the queue; `first` is the index of the first packet in it.
  void Transmit(Batch& batch, std::size_t first, std::size_t end);
  void ReadDrops();

  const PortFeatures features_;
  std::unique_ptr<PcapDevice> device_;
  std::array<WaitHandle, 1> handles_{};
  PacketSlab slab_;
  PcapSendQueue* queue_ = nullptr;  // null: no send queues
  Timestamp counted_at_{};
  std::size_t burst_ = 0;  // frames since a Receive found none
  std::atomic<std::uint64_t> dropped_{0}, adapter_dropped_{0}, cut_{0}, read_errors_{0};
};

}  // namespace weft::dataplane
