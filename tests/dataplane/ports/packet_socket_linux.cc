// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>

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

void WhereRefused(const std::vector<Refusal>& refusals, const std::function<void()>& body) {
  std::vector<sock_filter> code;
  const auto add = [&](int operation, std::uint32_t value, std::uint8_t otherwise = 0) {
    code.push_back({static_cast<std::uint16_t>(operation), 0, otherwise, value});
  };
  for (const Refusal& refusal : refusals) {
    // Each comparison that fails leads to the next refusal, over two instructions for each of the
    // later comparisons, and one that returns.
    const int later = (refusal.second ? 2 : 0) + (refusal.third ? 2 : 0);
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(refusal.call),
        static_cast<std::uint8_t>(later + 1));
    if (refusal.second) {
      add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1]));
      add(BPF_JMP | BPF_JEQ | BPF_K, *refusal.second, refusal.third ? 3 : 1);
    }
    if (refusal.third) {
      add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2]));
      add(BPF_JMP | BPF_JEQ | BPF_K, *refusal.third, 1);
    }
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(refusal.error));
  }
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  std::thread thread([&] {
    const sock_fprog program = {static_cast<unsigned short>(code.size()), code.data()};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0) << std::strerror(errno);
    body();
  });
  thread.join();
}

}  // namespace weft
