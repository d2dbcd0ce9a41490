// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/dataplane/ports/packet_socket.h"

namespace weft {
namespace {

sockaddr_ll AddressOf(int index, std::uint16_t protocol) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(protocol);
  address.sll_ifindex = index;
  return address;
}

}  // namespace

PacketSocket::PacketSocket(const std::string& device) {
  index_ = static_cast<int>(::if_nametoindex(device.c_str()));
  EXPECT_NE(index_, 0) << "no device " << device;
  descriptor_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL));
  EXPECT_GE(descriptor_, 0) << "packet socket: " << std::strerror(errno)
                            << "; run this test as root";
  const int room = 64 << 20;
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
  const sockaddr_ll address = AddressOf(index_, ETH_P_ALL);
  EXPECT_EQ(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
      << std::strerror(errno);
}

PacketSocket::~PacketSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string PacketSocket::Send(const ByteVector& frame) {
  const sockaddr_ll address = AddressOf(index_, ETH_P_IP);
  const ssize_t sent = ::sendto(descriptor_, frame.data(), frame.size(), 0,
                                reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (sent == static_cast<ssize_t>(frame.size())) return "";
  return std::string("cannot send: ") + std::strerror(errno);
}

std::vector<ByteVector> PacketSocket::Receive() { return Read(false); }
std::vector<ByteVector> PacketSocket::ReceiveOutgoing() { return Read(true); }

std::vector<ByteVector> PacketSocket::Read(bool outgoing) {
  std::vector<ByteVector> frames;
  static ByteVector buffer(256 * 1024);
  while (true) {
    sockaddr_ll from{};
    socklen_t length = sizeof from;
    const ssize_t got = ::recvfrom(descriptor_, buffer.data(), buffer.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &length);
    if (got < 0) return frames;
    if ((from.sll_pkttype == PACKET_OUTGOING) != outgoing) continue;
    frames.emplace_back(buffer.begin(), buffer.begin() + got);
  }
}

}  // namespace weft
