// SPDX-License-Identifier: Apache-2.0
// The receiving half of the UDP port: recvmmsg over one socket, aggregates by UDP_GRO.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dataplane/file_descriptor_linux.h"
#include "dataplane/packet.h"

namespace weft::dataplane {

// Worker's thread, except the counters.
class UdpReceiver {
 public:
  explicit UdpReceiver(FileDescriptor socket);

  // As PacketPort::Receive.
  std::size_t Receive(Batch& batch);

  int descriptor() const { return socket_.get(); }
  // Datagrams that the kernel dropped at this socket: no room, or wrong checksum. Any thread.
  std::uint64_t KernelDrops() const;
  std::uint64_t empty() const { return empty_.load(std::memory_order_relaxed); }
  std::uint64_t errors() const { return errors_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kMessages = 64;  // maximum of one recvmmsg

  // Room for segment size and traffic class.
  struct alignas(cmsghdr) Control {
    std::array<char, 2 * CMSG_SPACE(sizeof(int))> bytes;
  };

  void Prepare(std::size_t first_slot, std::size_t count);
  // Fills the descriptor of the datagram or aggregate in `slot`. False: nothing to deliver.
  bool Read(const mmsghdr& message, const sockaddr_storage& sender, std::size_t slot,
            Packet& packet);

  FileDescriptor socket_;
  PacketSlab slab_;
  // Expected bytes of the next messages: the largest recent one, decaying, because a sender of
  // aggregates sends them again after a call without any.
  std::size_t typical_ = kMaxPacket;
  std::array<mmsghdr, kMessages> headers_{};
  std::array<iovec, kMessages> pieces_{};
  std::array<sockaddr_storage, kMessages> senders_{};
  std::array<Control, kMessages> controls_{};
  std::atomic<std::uint64_t> errors_{0};
  std::atomic<std::uint64_t> empty_{0};
  mutable std::atomic<std::uint64_t> drops_{0};  // last result of KernelDrops
};

// Extends a 32-bit kernel counter to 64 bits: it was `before`, and its low 32 bits are now `low`.
constexpr std::uint64_t Widen(std::uint64_t before, std::uint32_t low) {
  const auto delta = static_cast<std::uint32_t>(low - static_cast<std::uint32_t>(before));
  return before + delta;
}

}  // namespace weft::dataplane
