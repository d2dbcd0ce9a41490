// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/udp_paths_linux.h"

#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dataplane/address_index.h"
#include "dataplane/ports/tunnel_gso_linux.h"
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

// Attributes of a route message, by type; the others are ignored.
struct RouteAnswer {
  rtmsg route{};
  std::uint32_t egress = 0;  // RTA_OIF; 0: none
  std::uint32_t expiry = 0;  // RTA_CACHEINFO
  bool is_plain = true;      // neither several next hops nor an encapsulation

  // `message` is a whole RTM_NEWROUTE.
  static RouteAnswer From(Bytes message) {
    RouteAnswer answer;
    std::memcpy(&answer.route, message.data() + NLMSG_LENGTH(0), sizeof answer.route);
    rtattr attribute;
    for (std::size_t at = NLMSG_LENGTH(sizeof answer.route);
         at + sizeof attribute <= message.size(); at += RTA_ALIGN(attribute.rta_len)) {
      std::memcpy(&attribute, message.data() + at, sizeof attribute);
      if (attribute.rta_len < RTA_LENGTH(0) || at + attribute.rta_len > message.size()) break;
      answer.Read(attribute.rta_type,
                  message.subspan(at + RTA_LENGTH(0), attribute.rta_len - RTA_LENGTH(0)));
    }
    return answer;
  }

 private:
  void Read(unsigned type, Bytes value) {
    if (type == RTA_OIF && value.size() >= sizeof egress) {
      std::memcpy(&egress, value.data(), sizeof egress);
    } else if (type == RTA_CACHEINFO && value.size() >= sizeof(rta_cacheinfo)) {
      rta_cacheinfo info;
      std::memcpy(&info, value.data(), sizeof info);
      expiry = static_cast<std::uint32_t>(info.rta_expires);
    } else if (type == RTA_MULTIPATH || type == RTA_ENCAP || type == RTA_ENCAP_TYPE) {
      is_plain = false;
    }
  }
};

// 0: it has none.
std::uint32_t MtuOf(std::uint32_t device, int any_socket) {
  ifreq request{};
  request.ifr_ifindex = static_cast<int>(device);
  if (::ioctl(any_socket, SIOCGIFNAME, &request) != 0 ||
      ::ioctl(any_socket, SIOCGIFMTU, &request) != 0)
    return 0;
  return static_cast<std::uint32_t>(request.ifr_mtu);
}

}  // namespace

UdpPaths::UdpPaths(std::uint16_t destination_port)
    : destination_port_(destination_port), paths_(kTable), sent_(kTable) {}

absl::Status UdpPaths::Open(const UdpOptions& options) {
  if (options.bind_address.family() == options.family) bind_address_ = options.bind_address;
  tunnel_gso_ = options.tunnel_gso;
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
  if (path.destination != destination) {
    path = {};
    path.destination = destination;
    path.queried = Timestamp::min();
  }
  return path;
}

const UdpPaths::Path& UdpPaths::To(const IpAddress& destination, Timestamp now) {
  Path& path = Place(destination);
  const std::uint32_t generation = tunnel_gso_ ? tunnel_gso_->generation() : 0;
  const bool is_due = path.queried == Timestamp::min() || now - path.queried >= kRouteLifetime ||
                      path.generation != generation;
  if (is_due && query_budget_.TryConsume(now)) {
    path.queried = now;
    path.generation = generation;
    path.route_mtu = QueryRoute(destination);
    if (tunnel_gso_) QueryWhole(path);
  }
  return path;
}

void UdpPaths::RefuseWhole(const IpAddress& destination, Timestamp now) {
  Place(destination).whole_again = now + kSegmentsLifetime;
}

void UdpPaths::RefuseSegments(const IpAddress& destination, Timestamp now) {
  Place(destination).segments_again = now + kSegmentsLifetime;
}

std::uint64_t UdpPaths::SentKey(int socket, const IpAddress& destination) {
  return HashOf(destination, static_cast<std::uint64_t>(socket) + 1);
}

void UdpPaths::NoteSent(int socket, const IpAddress& destination, Timestamp now) {
  const std::uint64_t key = SentKey(socket, destination);
  sent_[key >> (64 - kTableBits)] = {key, now, now};
}

void UdpPaths::NoteSentWhole(int socket, const IpAddress& destination, Timestamp now) {
  const std::uint64_t key = SentKey(socket, destination);
  Sent& sent = sent_[key >> (64 - kTableBits)];
  if (sent.key != key) sent = {key, now, Timestamp::min()};
  sent.at = now;
}

bool UdpPaths::IsTracked(int socket, const IpAddress& destination, Timestamp now) const {
  const std::uint64_t key = SentKey(socket, destination);
  const Sent& sent = sent_[key >> (64 - kTableBits)];
  return sent.key == key && sent.by_socket != Timestamp::min() &&
         now - sent.by_socket <= kTrackedTime;
}

bool UdpPaths::WasSentLately(int socket, const IpAddress& destination, Timestamp now) const {
  const std::uint64_t key = SentKey(socket, destination);
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

Bytes UdpPaths::AskRoute(const IpAddress& destination, std::uint32_t flags, MutableBytes answer) {
  RouteQuery query;
  query.header.nlmsg_len = NLMSG_LENGTH(sizeof query.route);
  query.header.nlmsg_type = RTM_GETROUTE;
  query.header.nlmsg_flags = NLM_F_REQUEST;
  query.header.nlmsg_seq = ++sequence_;
  query.route.rtm_family = destination.is_v4() ? AF_INET : AF_INET6;
  query.route.rtm_dst_len = static_cast<unsigned char>(destination.bits());
  query.route.rtm_flags = flags;
  query.Add(RTA_DST, destination);
  if (!bind_address_.IsUnspecified()) {
    query.route.rtm_src_len = static_cast<unsigned char>(bind_address_.bits());
    query.Add(RTA_SRC, bind_address_);
  }
  if (::send(netlink_.get(), &query, query.header.nlmsg_len, 0) < 0) return {};
  // The kernel answers within send.
  for (;;) {
    const ssize_t got = ::recv(netlink_.get(), answer.data(), answer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    nlmsghdr header;
    if (static_cast<std::size_t>(got) < NLMSG_LENGTH(sizeof(rtmsg))) continue;
    std::memcpy(&header, answer.data(), sizeof header);
    if (header.nlmsg_seq != sequence_) continue;
    if (header.nlmsg_type != RTM_NEWROUTE) return {};
    return Bytes(answer).first(
        std::min<std::size_t>(static_cast<std::size_t>(got), header.nlmsg_len));
  }
}

bool UdpPaths::IsLearnt(const IpAddress& destination) {
  alignas(nlmsghdr) std::array<std::byte, 4096> buffer;
  const Bytes answer = AskRoute(destination, 0, buffer);
  return answer.empty() || RouteAnswer::From(answer).expiry != 0;
}

void UdpPaths::QueryWhole(Path& path) {
  path.whole_limit = 0;
  path.source = bind_address_;
  if (bind_address_.IsUnspecified()) {
    sockaddr_storage local{};
    socklen_t length = sizeof local;
    if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&local), &length) != 0) return;
    path.source = AddressOf(local);
  }
  // The table's entry: the answer about one packet has only one of several next hops.
  alignas(nlmsghdr) std::array<std::byte, 4096> buffer;
  const Bytes message = AskRoute(path.destination, RTM_F_FIB_MATCH, buffer);
  if (message.empty() || path.source.IsUnspecified()) return;
  const RouteAnswer answer = RouteAnswer::From(message);
  if (answer.route.rtm_type != RTN_UNICAST || answer.egress != tunnel_gso_->egress_index() ||
      !answer.is_plain)
    return;
  const std::uint32_t mtu = MtuOf(answer.egress, socket_.get());
  path.whole_limit = path.route_mtu == 0 ? mtu : std::min(mtu, path.route_mtu);
}

}  // namespace weft::dataplane
