// SPDX-License-Identifier: Apache-2.0
#include "control/host/watch_linux.h"

#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "control/host/netlink_linux.h"

namespace weft::host {
namespace {

constexpr std::array kGroups = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
                                RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE};

bool Counts(const nlmsghdr& message) {
  if (message.nlmsg_type != RTM_NEWROUTE && message.nlmsg_type != RTM_DELROUTE) return true;
  const auto* route = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&message));
  return route->rtm_dst_len == 0 && route->rtm_type == RTN_UNICAST;
}

// Reads all that is there. Whether something of it counts; what was lost does.
bool Drain(int socket, std::vector<char>& buffer) {
  bool counts = false;
  for (;;) {
    const ssize_t received = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (received < 0) {
      if (errno == EINTR) continue;
      if (errno != ENOBUFS) return counts;
      counts = true;
      continue;
    }
    int left = static_cast<int>(received);
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer.data()); mnl_nlmsg_ok(message, left);
         message = mnl_nlmsg_next(message, &left))
      counts = counts || Counts(*message);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Watch>> NetlinkWatch::Open(std::function<void()> changed) {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (socket < 0) return absl::ErrnoToStatus(errno, "cannot open a netlink socket for changes");
  const int stop = ::eventfd(0, EFD_CLOEXEC);
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  int error = stop < 0 || ::bind(socket, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0
                  ? errno
                  : 0;
  for (const int group : kGroups) {
    if (error == 0 &&
        ::setsockopt(socket, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0)
      error = errno;
  }
  if (error != 0) {
    ::close(socket);
    if (stop >= 0) ::close(stop);
    return absl::ErrnoToStatus(error, "cannot listen to the kernel's changes over netlink");
  }
  return std::unique_ptr<Watch>(new NetlinkWatch(socket, stop, std::move(changed)));
}

NetlinkWatch::NetlinkWatch(int socket, int stop, std::function<void()> changed)
    : socket_(socket), stop_(stop), changed_(std::move(changed)), thread_([this] { Run(); }) {}

NetlinkWatch::~NetlinkWatch() {
  ::eventfd_write(stop_, 1);
  thread_.join();
  ::close(socket_);
  ::close(stop_);
}

void NetlinkWatch::Run() const {
  std::vector<char> buffer(64 * 1024);
  for (;;) {
    std::array<pollfd, 2> ready = {pollfd{socket_, POLLIN, 0}, pollfd{stop_, POLLIN, 0}};
    if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
    if (ready[1].revents != 0) return;
    if (Drain(socket_, buffer)) changed_();
  }
}

}  // namespace weft::host
