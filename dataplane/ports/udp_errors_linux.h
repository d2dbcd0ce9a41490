// SPDX-License-Identifier: Apache-2.0
// What comes back to sending sockets: ICMP errors and the kernel's own refusals, read from the
// sockets' error queues (ip(7), IP_RECVERR).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/packet_port.h"
#include "dataplane/ports/file_descriptor_linux.h"
#include "dataplane/ports/udp_paths_linux.h"

namespace weft::dataplane {

// Worker's thread, but for the counts. What comes as an ICMP error is believed only where `paths`
// knows a packet that it may answer: whoever sends one need not even be on the path.
class UdpErrors {
 public:
  // `paths` outlives this object. `destination_port` is what all packets went to.
  UdpErrors(const UdpPaths& paths, std::uint16_t destination_port)
      : paths_(paths), destination_port_(destination_port) {}

  // Makes what wait_descriptor returns.
  absl::Status Open();
  // From now on an error at `socket` makes wait_descriptor readable. `socket` outlives this object.
  absl::Status Watch(int socket);
  // Readable while any watched socket has an error.
  int wait_descriptor() const { return epoll_.get(); }

  // Empties the error queues of watched sockets that have something; a bounded number of errors.
  // How many there were.
  std::size_t DrainAll(Timestamp now);
  // Empties one socket's error queue and its pending error, which otherwise the next send would
  // return in place of its own result. How many errors there were.
  std::size_t Drain(int socket, Timestamp now);

  // A path MTU found elsewhere. Of several for one destination the least is kept until it is taken.
  void Note(const PathMtuNotice& notice);

  std::size_t TakeNotices(std::span<PathMtuNotice> out);
  void AppendCounts(std::vector<NamedCount>& out) const;

 private:
  const UdpPaths& paths_;
  const std::uint16_t destination_port_;
  FileDescriptor epoll_;
  std::array<PathMtuNotice, 64> notices_;  // one a destination, in order of arrival
  std::size_t notice_count_ = 0;
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> unreachable_{0};
  std::atomic<std::uint64_t> other_{0};
  std::atomic<std::uint64_t> unexpected_{0};
  std::atomic<std::uint64_t> notice_overflow_{0};
};

}  // namespace weft::dataplane
