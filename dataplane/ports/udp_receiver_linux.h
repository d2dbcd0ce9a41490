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

#include "dataplane/packet.h"
#include "dataplane/ports/file_descriptor_linux.h"

namespace weft::dataplane {

// Worker's thread, but for the counts.
class UdpReceiver {
 public:
  explicit UdpReceiver(FileDescriptor socket);

  // As PacketPort::Receive.
  std::size_t Receive(Batch& batch);

  int descriptor() const { return socket_.get(); }
  // Datagrams the kernel dropped at this socket: no room, or wrong checksum. Any thread.
  std::uint64_t KernelDrops() const;
  std::uint64_t empty() const { return empty_.load(std::memory_order_relaxed); }
  std::uint64_t errors() const { return errors_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kMessages = 64;  // most for one recvmmsg

  // Room for segment size and traffic class.
  struct alignas(cmsghdr) Control {
    std::array<char, 2 * CMSG_SPACE(sizeof(int))> bytes;
  };

  void Prepare(std::size_t first_slot, std::size_t count);
  // Fills the descriptor of a datagram or aggregate that lies in `slot`. False: nothing to deliver.
  bool Read(const mmsghdr& message, const sockaddr_storage& sender, std::size_t slot,
            Packet& packet);

  FileDescriptor socket_;
  PacketSlab slab_;
  // Bytes that a message of the next call may well have: the largest of late, for what has sent
  // aggregates sends them again after a call that saw none.
  std::size_t typical_ = kMaxPacket;
  std::array<mmsghdr, kMessages> headers_{};
  std::array<iovec, kMessages> pieces_{};
  std::array<sockaddr_storage, kMessages> senders_{};
  std::array<Control, kMessages> controls_{};
  std::atomic<std::uint64_t> errors_{0};
  std::atomic<std::uint64_t> empty_{0};
  mutable std::atomic<std::uint64_t> drops_{0};  // what KernelDrops returned last
};

// A count of which the kernel keeps the low 32 bits, when it was `before` and they are `low` now.
constexpr std::uint64_t Widen(std::uint64_t before, std::uint32_t low) {
  const auto gone = static_cast<std::uint32_t>(low - static_cast<std::uint32_t>(before));
  return before + gone;
}

}  // namespace weft::dataplane
