// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/udp_errors_linux.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "dataplane/counters.h"
#include "dataplane/ports/udp_socket_linux.h"

namespace weft::dataplane {
namespace {

// Maximum number of errors read at a time, so that a flood of ICMP does not block the worker.
constexpr std::size_t kMaxErrorsPerDrain = 256;

struct QueuedError : sock_extended_err {
  IpAddress from;  // of an ICMP error, its sender
};

std::optional<QueuedError> ExtendedError(msghdr& header) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
       control = CMSG_NXTHDR(&header, control)) {
    const bool v4 = control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_RECVERR;
    const bool v6 = control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_RECVERR;
    if (!v4 && !v6) continue;
    QueuedError error{};
    std::memcpy(static_cast<sock_extended_err*>(&error), CMSG_DATA(control),
                sizeof(sock_extended_err));
    // SO_EE_OFFENDER
    sockaddr_storage from{};
    const std::size_t length = v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (control->cmsg_len >= CMSG_LEN(sizeof(sock_extended_err) + length)) {
      std::memcpy(&from, CMSG_DATA(control) + sizeof(sock_extended_err), length);
      error.from = AddressOf(from);
    }
    return error;
  }
  return std::nullopt;
}

}  // namespace

absl::Status UdpErrors::Open() {
  epoll_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (epoll_.valid()) return absl::OkStatus();
  return absl::ErrnoToStatus(errno,
                             "UDP error queue: epoll_create1; raise the limit of open files");
}

absl::Status UdpErrors::Watch(int socket) {
  epoll_event event{};  // no events requested: EPOLLERR is always reported
  event.data.fd = socket;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "UDP error queue: epoll_ctl; raise fs.epoll.max_user_watches");
}

std::size_t UdpErrors::DrainAll(Timestamp now) {
  std::array<epoll_event, 64> events;
  const int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  std::size_t drained = 0;
  for (int i = 0; i < ready && drained < kMaxErrorsPerDrain; ++i)
    drained += Drain(events[static_cast<std::size_t>(i)].data.fd, now);
  return drained;
}

std::size_t UdpErrors::Drain(int socket, Timestamp now) {
  int pending = 0;
  socklen_t length = sizeof pending;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &pending, &length);
  std::size_t drained = pending != 0 ? 1 : 0;
  for (std::size_t i = 0; i < kMaxErrorsPerDrain; ++i) {
    sockaddr_storage destination{};
    // Room for the error and the address of the router that sent it.
    alignas(cmsghdr) std::array<char, 256> control;
    std::array<std::byte, 1> start_of_packet;
    iovec piece = {start_of_packet.data(), start_of_packet.size()};
    msghdr header{};
    header.msg_name = &destination;
    header.msg_namelen = sizeof destination;
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    if (::recvmsg(socket, &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) break;
    ++drained;
    const auto error = ExtendedError(header);
    if (!error) continue;
    const IpAddress to = AddressOf(destination);
    const bool answers_a_packet =
        PortOf(destination) == destination_port_ && paths_.WasSentLately(socket, to, now);
    if (error->ee_origin != SO_EE_ORIGIN_LOCAL && !answers_a_packet) {
      Add(unexpected_, 1);
      continue;
    }
    if (error->ee_origin != SO_EE_ORIGIN_LOCAL)
      Record({to, 1, error->ee_type, error->ee_code, error->from, now});
    switch (error->ee_errno) {
      case EMSGSIZE:
        Note({to, error->ee_info});
        break;
      case ECONNREFUSED:
        Add(refused_, 1);
        break;
      case EHOSTUNREACH:
      case ENETUNREACH:
      case EACCES:
        Add(unreachable_, 1);
        break;
      default:
        Add(other_, 1);
    }
  }
  return drained;
}

void UdpErrors::Record(const IcmpErrors& error) {
  // The worker waits for no reader: this one is then missing in its peer's count.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  // The destination's, or else the one that was used last the longest ago.
  IcmpErrors* place = errors_.data();
  for (IcmpErrors& each : errors_) {
    if (each.count > 0 && each.destination == error.destination) {
      place = &each;
      break;
    }
    if (each.at < place->at) place = &each;
  }
  const std::uint64_t before = place->destination == error.destination ? place->count : 0;
  *place = error;
  place->count += before;
}

std::vector<IcmpErrors> UdpErrors::Errors() const {
  const std::lock_guard lock(mutex_);
  std::vector<IcmpErrors> errors;
  for (const IcmpErrors& each : errors_)
    if (each.count > 0) errors.push_back(each);
  return errors;
}

void UdpErrors::Note(const PathMtuNotice& notice) {
  if (notice.outer_mtu == 0) return;  // from a router that does not implement RFC 1191
  const auto end = notices_.begin() + static_cast<std::ptrdiff_t>(notice_count_);
  const auto known = std::find_if(notices_.begin(), end, [&](const PathMtuNotice& n) {
    return n.destination == notice.destination;
  });
  if (known != end) {
    known->outer_mtu = std::min(known->outer_mtu, notice.outer_mtu);
  } else if (notice_count_ < notices_.size()) {
    notices_[notice_count_++] = notice;
  } else {
    Add(notice_overflow_, 1);
  }
}

std::size_t UdpErrors::TakeNotices(std::span<PathMtuNotice> out) {
  const std::size_t taken = std::min(out.size(), notice_count_);
  std::copy_n(notices_.begin(), taken, out.begin());
  std::copy(notices_.begin() + static_cast<std::ptrdiff_t>(taken),
            notices_.begin() + static_cast<std::ptrdiff_t>(notice_count_), notices_.begin());
  notice_count_ -= taken;
  return taken;
}

void UdpErrors::AppendCounts(std::vector<NamedCount>& out) const {
  out.push_back({"icmp-refused", refused_.load(std::memory_order_relaxed)});
  out.push_back({"icmp-unreachable", unreachable_.load(std::memory_order_relaxed)});
  out.push_back({"icmp-other", other_.load(std::memory_order_relaxed)});
  out.push_back({"icmp-unexpected", unexpected_.load(std::memory_order_relaxed)});
  out.push_back({"notice-overflow", notice_overflow_.load(std::memory_order_relaxed)});
}

}  // namespace weft::dataplane
