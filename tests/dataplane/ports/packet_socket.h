// SPDX-License-Identifier: Apache-2.0
// The kernel's side of a network device, for tests: what it receives from the device and what it
// sends. Linux only; needs CAP_NET_RAW. And a kernel that refuses.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/bytes.h"

namespace weft {

// Raw: frames as the device has them, with link-layer header if it has one.
class PacketSocket {
 public:
  // The device is up. A failure is recorded in the test.
  explicit PacketSocket(const std::string& device);
  ~PacketSocket();
  PacketSocket(const PacketSocket&) = delete;
  PacketSocket& operator=(const PacketSocket&) = delete;

  // Sends a frame (or, on TUN, an IP packet) out of the device. Returns the error, or empty.
  std::string Send(const ByteVector& frame);
  // Frames that came in through the device since the last call; none of those sent.
  std::vector<ByteVector> Receive();
  // The same for outgoing packets.
  std::vector<ByteVector> ReceiveOutgoing();

 private:
  std::vector<ByteVector> Read(bool outgoing);

  int descriptor_ = -1;
  int index_ = 0;
};

// A system call, with these second and third arguments if they are given, and its errno.
struct Refusal {
  long call = 0;
  int error = 0;
  std::optional<std::uint32_t> second{}, third{};
};
// Runs `body` in a thread of its own, where the kernel refuses these.
void WhereRefused(const std::vector<Refusal>& refusals, const std::function<void()>& body);

}  // namespace weft
