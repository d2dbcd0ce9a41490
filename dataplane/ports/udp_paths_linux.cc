// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/udp_paths_linux.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "dataplane/address_index.h"
#include "dataplane/ports/udp_socket_linux.h"

namespace weft::dataplane {
namespace {

std::uint64_t HashOf(const IpAddress& address, std::uint64_t salt) {
  const AddressKey key = AddressKey::From(address);
  std::uint64_t h = (key.high + salt) * 0x9e37'79b9'7f4a'7c15;
  h = (h ^ (h >> 32) ^ key.low) * 0xff51'afd7'ed55'8ccd;
  return h ^ (h >> 32);
}

// RTM_GETROUTE for one address; room for the destination and the source.
struct RouteQuery {
  nlmsghdr header{};
  rtmsg route{};
  std::array<std::byte, 2 * RTA_SPACE(16)> attributes{};

  void Add(unsigned short type, const IpAddress& address) {
    const Bytes bytes = address.bytes();
    rtattr attribute{};
    attribute.rta_type = type;
    attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(bytes.size()));
    const std::size_t used = header.nlmsg_len - NLMSG_LENGTH(sizeof route);
    std::memcpy(attributes.data() + used, &attribute, sizeof attribute);
    std::memcpy(attributes.data() + used + RTA_LENGTH(0), bytes.data(), bytes.size());
    header.nlmsg_len += static_cast<std::uint32_t>(RTA_SPACE(bytes.size()));
  }
};
static_assert(offsetof(RouteQuery, attributes) == NLMSG_LENGTH(sizeof(rtmsg)));

// Expiry of a route from its attribute RTA_CACHEINFO; 0: none. Empty: `answer` does not answer
// query `sequence`.
std::optional<std::uint32_t> ExpiryIn(Bytes answer, std::uint32_t sequence) {
  nlmsghdr header;
  constexpr std::size_t kFirst = NLMSG_LENGTH(sizeof(rtmsg));
  if (answer.size() < kFirst) return std::nullopt;
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_seq != sequence || header.nlmsg_type != RTM_NEWROUTE) return std::nullopt;
  const std::size_t end = std::min<std::size_t>(answer.size(), header.nlmsg_len);
  rtattr attribute;
  for (std::size_t at = kFirst; at + sizeof attribute <= end; at += RTA_ALIGN(attribute.rta_len)) {
    std::memcpy(&attribute, answer.data() + at, sizeof attribute);
    if (attribute.rta_len < RTA_LENGTH(0) || at + attribute.rta_len > end) break;
    rta_cacheinfo info;
    if (attribute.rta_type != RTA_CACHEINFO || attribute.rta_len < RTA_LENGTH(sizeof info))
      continue;
    std::memcpy(&info, answer.data() + at + RTA_LENGTH(0), sizeof info);
    return static_cast<std::uint32_t>(info.rta_expires);
  }
  return 0;
}

}  // namespace

UdpPaths::UdpPaths(std::uint16_t destination_port)
    : destination_port_(destination_port), paths_(kTable), sent_(kTable) {}

absl::Status UdpPaths::Open(const UdpOptions& options) {
  if (options.bind_address.family() == options.family) bind_address_ = options.bind_address;
  auto socket = OpenRouteSocket(options);
  if (!socket.ok()) return socket.status();
  socket_ = *std::move(socket);
  netlink_ =
      FileDescriptor(::socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (netlink_.valid()) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "netlink socket for route MTUs; raise the limit of open files");
}

UdpPaths::Path& UdpPaths::Place(const IpAddress& destination) {
  Path& path = paths_[HashOf(destination, 0) >> (64 - kTableBits)];
  if (path.destination != destination)
    path = {.destination = destination, .queried = Timestamp::min()};
  return path;
}

const UdpPaths::Path& UdpPaths::To(const IpAddress& destination, Timestamp now) {
  Path& path = Place(destination);
  const bool is_due = path.queried == Timestamp::min() || now - path.queried >= kRouteLifetime;
  if (is_due && query_budget_.TryConsume(now)) {
    path.queried = now;
    path.route_mtu = QueryRoute(destination);
  }
  return path;
}

void UdpPaths::RefuseSegments(const IpAddress& destination, Timestamp now) {
  Place(destination).segments_again = now + kSegmentsLifetime;
}

void UdpPaths::NoteSent(int socket, const IpAddress& destination, Timestamp now) {
  const std::uint64_t key = HashOf(destination, static_cast<std::uint64_t>(socket) + 1);
  sent_[key >> (64 - kTableBits)] = {key, now};
}

bool UdpPaths::WasSentLately(int socket, const IpAddress& destination, Timestamp now) const {
  const std::uint64_t key = HashOf(destination, static_cast<std::uint64_t>(socket) + 1);
  const Sent& sent = sent_[key >> (64 - kTableBits)];
  return sent.key == key && now - sent.at <= kAnswerTime;
}

std::uint32_t UdpPaths::QueryRoute(const IpAddress& destination) {
  const SocketAddress to = SocketAddress::From(destination, destination_port_);
  // Clear the source address of an earlier query, which would influence the choice of route.
  const sockaddr unspecified{.sa_family = AF_UNSPEC, .sa_data = {}};
  if (bind_address_.IsUnspecified() &&
      ::connect(socket_.get(), &unspecified, sizeof unspecified) != 0)
    return 0;
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.length) != 0)
    return 0;
  const bool v4 = destination.is_v4();
  int mtu = 0;
  socklen_t length = sizeof mtu;
  if (::getsockopt(socket_.get(), v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MTU : IPV6_MTU, &mtu,
                   &length) != 0 ||
      mtu <= 0 || IsLearnt(destination)) {
    return 0;
  }
  return static_cast<std::uint32_t>(mtu);
}

bool UdpPaths::IsLearnt(const IpAddress& destination) {
  RouteQuery query;
  query.header.nlmsg_len = NLMSG_LENGTH(sizeof query.route);
  query.header.nlmsg_type = RTM_GETROUTE;
  query.header.nlmsg_flags = NLM_F_REQUEST;
  query.header.nlmsg_seq = ++sequence_;
  query.route.rtm_family = destination.is_v4() ? AF_INET : AF_INET6;
  query.route.rtm_dst_len = static_cast<unsigned char>(destination.bits());
  query.Add(RTA_DST, destination);
  if (!bind_address_.IsUnspecified()) {
    query.route.rtm_src_len = static_cast<unsigned char>(bind_address_.bits());
    query.Add(RTA_SRC, bind_address_);
  }
  if (::send(netlink_.get(), &query, query.header.nlmsg_len, 0) < 0) return true;
  // The kernel answers within send. Without an answer the MTU counts as learnt.
  alignas(nlmsghdr) std::array<std::byte, 4096> answer;
  for (;;) {
    const ssize_t got = ::recv(netlink_.get(), answer.data(), answer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    const auto expiry = ExpiryIn(Bytes(answer).first(static_cast<std::size_t>(got)), sequence_);
    if (expiry) return *expiry != 0;
  }
}

}  // namespace weft::dataplane
