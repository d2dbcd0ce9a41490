// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/udp_receiver_linux.h"

#include <linux/sock_diag.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "dataplane/counters.h"
#include "dataplane/ports/port_rules.h"
#include "dataplane/ports/udp_socket_linux.h"

namespace weft::dataplane {
namespace {

constexpr int kSoMemInfo = 55;                 // SO_MEMINFO, <asm-generic/socket.h>
constexpr std::size_t kSmallestTypical = 512;  // bytes
constexpr std::size_t kForgotten = 16;         // the typical size decays by 1/16 a call

template <typename T>
T Value(const cmsghdr& header) {
  T value;
  std::memcpy(&value, CMSG_DATA(&header), sizeof value);
  return value;
}

}  // namespace

UdpReceiver::UdpReceiver(FileDescriptor socket) : socket_(std::move(socket)) {}

void UdpReceiver::Prepare(std::size_t first_slot, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    pieces_[i] = {slab_.Lend(first_slot + i).data, kMaxPacket};
    msghdr& header = headers_[i].msg_hdr;
    header.msg_name = &senders_[i];
    header.msg_namelen = sizeof senders_[i];
    header.msg_iov = &pieces_[i];
    header.msg_iovlen = 1;
    header.msg_control = controls_[i].bytes.data();
    header.msg_controllen = controls_[i].bytes.size();
    header.msg_flags = 0;
  }
}

bool UdpReceiver::Read(const mmsghdr& message, const sockaddr_storage& sender, std::size_t slot,
                       Packet& packet) {
  if (message.msg_len == 0) {
    Add(empty_, 1);
    return false;
  }
  if ((message.msg_hdr.msg_flags & MSG_TRUNC) != 0) {
    Add(errors_, 1);
    return false;
  }
  packet = slab_.Lend(slot);
  packet.length = message.msg_len;
  packet.tailroom = kMaxPacket - message.msg_len;
  packet.outer_address = AddressOf(sender);
  packet.outer_port = PortOf(sender);
  // The macros require a mutable header but do not write to it.
  auto* header = const_cast<msghdr*>(&message.msg_hdr);
  for (cmsghdr* control = CMSG_FIRSTHDR(header); control != nullptr;
       control = CMSG_NXTHDR(header, control)) {
    if (control->cmsg_level == IPPROTO_UDP && control->cmsg_type == UDP_GRO) {
      const int size = Value<int>(*control);
      if (size > 0 && static_cast<std::uint32_t>(size) < packet.length) {
        packet.segmentation = Segmentation::kDatagrams;
        packet.segment_size = static_cast<std::uint16_t>(size);
      }
    } else if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_TOS) {
      packet.outer_ecn = Value<std::uint8_t>(*control) & 3;
    } else if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_TCLASS) {
      packet.outer_ecn = static_cast<std::uint8_t>(Value<int>(*control) & 3);
    }
  }
  return true;
}

std::size_t UdpReceiver::Receive(Batch& batch) {
  batch.clear();
  std::size_t bytes = 0;
  std::size_t slot = 0;
  while (slot < kMaxBatch && bytes < kBatchBytes) {
    const std::size_t room = std::max<std::size_t>((kBatchBytes - bytes) / typical_, 1);
    const std::size_t desired = std::min({room, kMessages, kMaxBatch - slot});
    Prepare(slot, desired);
    const int got = ::recvmmsg(socket_.get(), headers_.data(), static_cast<unsigned>(desired),
                               MSG_DONTWAIT, nullptr);
    if (got < 0) {
      if (errno != EAGAIN) Add(errors_, 1);
      break;
    }
    std::size_t largest = kSmallestTypical;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
      Packet packet;
      if (!Read(headers_[i], senders_[i], slot + i, packet)) continue;
      bytes += packet.length;
      largest = std::max<std::size_t>(largest, packet.length);
      batch.Add(packet);
    }
    typical_ = std::max(largest, typical_ - typical_ / kForgotten);
    slot += static_cast<std::size_t>(got);
    if (static_cast<std::size_t>(got) < desired) break;
  }
  return slot;
}

std::uint64_t UdpReceiver::KernelDrops() const {
  std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
  socklen_t length = sizeof info;
  if (::getsockopt(socket_.get(), SOL_SOCKET, kSoMemInfo, info.data(), &length) != 0) return 0;
  std::uint64_t before = drops_.load(std::memory_order_relaxed);
  while (!drops_.compare_exchange_weak(before, Widen(before, info[SK_MEMINFO_DROPS]),
                                       std::memory_order_relaxed)) {
  }
  return drops_.load(std::memory_order_relaxed);
}

}  // namespace weft::dataplane
