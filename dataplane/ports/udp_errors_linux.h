// SPDX-License-Identifier: Apache-2.0
// Errors of sending sockets: ICMP errors and the kernel's own, read from the sockets' error queues
// (ip(7), IP_RECVERR).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/file_descriptor_linux.h"
#include "dataplane/packet_port.h"
#include "dataplane/ports/udp_paths_linux.h"

namespace weft::dataplane {

// Worker's thread, except AppendCounts and Errors. An ICMP error is accepted only if `paths` has a
// packet that it may answer, because its sender need not be on the path.
class UdpErrors {
 public:
  // `paths` outlives this object. `destination_port`: of all packets.
  UdpErrors(const UdpPaths& paths, std::uint16_t destination_port)
      : paths_(paths), destination_port_(destination_port) {}

  // Creates the descriptor that wait_descriptor returns.
  absl::Status Open();
  // Adds a socket; its errors make wait_descriptor readable. `socket` outlives this object.
  absl::Status Watch(int socket);
  // Readable while any watched socket has an error.
  int wait_descriptor() const { return epoll_.get(); }

  // Empties the error queues of all watched sockets, up to a bounded number of errors. Returns the
  // number of errors.
  std::size_t DrainAll(Timestamp now);
  // Empties one socket's error queue and clears its pending error, which otherwise the next send
  // would return in place of its own result. Returns the number of errors.
  std::size_t Drain(int socket, Timestamp now);

  // Adds a path MTU found elsewhere. Of several for one destination the lowest is kept until it is
  // drained.
  void Note(const PathMtuNotice& notice);

  std::size_t TakeNotices(std::span<PathMtuNotice> out);
  void AppendCounts(std::vector<NamedCount>& out) const;
  // Adds one ICMP error, with count 1.
  void Record(const IcmpErrors& error);
  std::vector<IcmpErrors> Errors() const;

 private:
  const UdpPaths& paths_;
  const std::uint16_t destination_port_;
  FileDescriptor epoll_;
  std::array<PathMtuNotice, 64> notices_;  // one for each destination, in order of arrival
  std::size_t notice_count_ = 0;
  mutable std::mutex mutex_;
  std::array<IcmpErrors, 64> errors_{};  // guarded; those with a count
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> unreachable_{0};
  std::atomic<std::uint64_t> other_{0};
  std::atomic<std::uint64_t> unexpected_{0};
  std::atomic<std::uint64_t> notice_overflow_{0};
};

}  // namespace weft::dataplane
