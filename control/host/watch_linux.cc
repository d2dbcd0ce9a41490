// SPDX-License-Identifier: Apache-2.0
#include "control/host/watch_linux.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "control/host/netlink_linux.h"
#include "control/host/route_message_linux.h"

namespace weft::host {
namespace {

constexpr std::array kGroups = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
                                RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE};

// With more changes, reading all routes is cheaper than keeping the changes in memory.
constexpr std::size_t kMostChanges = 65'536;

constexpr auto kFailurePause = std::chrono::seconds(1);

bool Counts(const nlmsghdr& message) {
  if (message.nlmsg_type != RTM_NEWROUTE && message.nlmsg_type != RTM_DELROUTE) return true;
  const auto* route = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&message));
  return route->rtm_dst_len == 0 && route->rtm_type == RTN_UNICAST;
}

// The adapter whose routes may have been removed with a link or an address, or may be put again;
// zero: none.
std::uint32_t AdapterWithChangedRoutes(const nlmsghdr& message) {
  const void* const body = mnl_nlmsg_get_payload(&message);
  if (message.nlmsg_type == RTM_NEWADDR || message.nlmsg_type == RTM_DELADDR)
    return static_cast<const ifaddrmsg*>(body)->ifa_index;
  if (message.nlmsg_type != RTM_NEWLINK && message.nlmsg_type != RTM_DELLINK) return 0;
  return static_cast<std::uint32_t>(static_cast<const ifinfomsg*>(body)->ifi_index);
}

void Append(const nlmsghdr& message, RouteChanges& changes) {
  if (message.nlmsg_type == RTM_NEWROUTE || message.nlmsg_type == RTM_DELROUTE) {
    if (!IsOfMainTable(message)) return;
    for (const Route& route : RoutesOf(message))
      changes.push_back({route, message.nlmsg_type == RTM_DELROUTE, false});
  } else if (const std::uint32_t adapter = AdapterWithChangedRoutes(message)) {
    changes.push_back({{}, false, true});
    changes.back().route.adapter_index = adapter;
  }
}

// Reads all pending messages. True if some were lost.
bool Drain(int socket, std::vector<char>& buffer,
           const std::function<void(const nlmsghdr&)>& each) {
  bool lost = false;
  for (;;) {
    const ssize_t received = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (received < 0) {
      if (errno != ENOBUFS) return lost;
      lost = true;
      continue;
    }
    int left = static_cast<int>(received);
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer.data()); mnl_nlmsg_ok(message, left);
         message = mnl_nlmsg_next(message, &left))
      each(*message);
  }
}

// Drops changes made through the socket of `port` before they fill the buffer, which has room for
// some ten thousand foreign routes.
void SpareOwn(int socket, std::uint32_t port) {
  std::array<sock_filter, 4> code = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(nlmsghdr, nlmsg_pid)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(port), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, ~std::uint32_t{0}),
  }};
  const sock_fprog program{code.size(), code.data()};
  ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
  const int room = 16 << 20;  // bytes; after a loss everything is read
  ::setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Watch>> NetlinkWatch::Open(std::function<void()> changed,
                                                          std::uint32_t own_port) {
  const auto counts = std::make_shared<bool>(false);
  return OpenWith({[counts](const nlmsghdr& message) { *counts = *counts || Counts(message); },
                   [counts, changed = std::move(changed)](bool lost) {
                     if (std::exchange(*counts, false) || lost) changed();
                   }},
                  own_port);
}

absl::StatusOr<std::unique_ptr<Watch>> NetlinkWatch::OpenRoutes(
    std::function<void(const RouteChanges&)> changed, std::uint32_t own_port) {
  struct Seen {
    RouteChanges changes;
    bool too_many = false;
  };
  const auto seen = std::make_shared<Seen>();
  return OpenWith({[seen](const nlmsghdr& message) {
                     if (!seen->too_many) Append(message, seen->changes);
                     if (seen->changes.size() > kMostChanges) *seen = {{}, true};
                   },
                   [seen, changed = std::move(changed)](bool lost) {
                     const Seen all = std::exchange(*seen, {});
                     if (lost || all.too_many)
                       changed({});
                     else if (!all.changes.empty())
                       changed(all.changes);
                   }},
                  own_port);
}

absl::StatusOr<std::unique_ptr<Watch>> NetlinkWatch::OpenWith(Handler handler,
                                                              std::uint32_t own_port) {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (socket < 0) return absl::ErrnoToStatus(errno, "cannot open a netlink socket for changes");
  const int stop = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
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
  SpareOwn(socket, own_port);
  return std::unique_ptr<Watch>(new NetlinkWatch(socket, stop, std::move(handler)));
}

NetlinkWatch::NetlinkWatch(int socket, int stop, Handler handler)
    : socket_(socket), stop_(stop), handler_(std::move(handler)), thread_([this] { Run(); }) {}

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
    const bool failed = ::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR;
    if (ready[1].revents != 0) return;
    if (failed) {
      // The limit of open files was lowered, say. Until poll works again, anything may have
      // changed.
      std::this_thread::sleep_for(kFailurePause);
      if (eventfd_t stopped = 0; ::eventfd_read(stop_, &stopped) == 0) return;
    }
    handler_.done(Drain(socket_, buffer, handler_.each) || failed);
  }
}

}  // namespace weft::host
