// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/udp_socket_linux.h"

#include <linux/filter.h>
#include <netinet/udp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weft::dataplane {
namespace {

constexpr int kOuterTtl = 64;
// <linux/udp.h> clashes with <netinet/udp.h>, which lacks this one.
constexpr int kUdpNoCheck6Rx = 102;  // UDP_NO_CHECK6_RX
constexpr int kAutoFlowLabel = 70;  // IPV6_AUTOFLOWLABEL; <linux/in6.h> clashes with <netinet/in.h>

bool Set(int fd, int level, int option, int value) {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

// SO_*BUFFORCE ignores net.core.[rw]mem_max and needs CAP_NET_ADMIN; without it that limit applies.
void SetBuffer(int fd, int forced, int limited, int bytes) {
  if (!Set(fd, SOL_SOCKET, forced, bytes)) Set(fd, SOL_SOCKET, limited, bytes);
}

IpAddress BindAddress(const UdpOptions& options) {
  if (options.bind_address.family() == options.family) return options.bind_address;
  return options.family == IpFamily::kV4 ? IpAddress() : *IpAddress::Parse("::");
}

std::string Named(const UdpOptions& options, std::uint16_t port) {
  const std::string address = BindAddress(options).ToString();
  return options.family == IpFamily::kV4 ? absl::StrCat("UDP socket ", address, ":", port, ": ")
                                         : absl::StrCat("UDP socket [", address, "]:", port, ": ");
}

absl::Status SocketError(const UdpOptions& options, std::uint16_t port, int error) {
  const std::string socket = Named(options, port);
  switch (error) {
    case EADDRINUSE:
      return absl::AlreadyExistsError(absl::StrCat(
          socket,
          "the port is taken; a kernel VXLAN device or another flanneld uses it (ss -ulnp, "
          "ip -d link show type vxlan): remove that, or set Backend.Port"));
    case EADDRNOTAVAIL:
      return absl::NotFoundError(
          absl::StrCat(socket, "no interface has this address; check --iface and --public-ip"));
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(
          absl::StrCat(socket, "too many open files; raise the limit (LimitNOFILE=, ulimit -n)"));
    case EAFNOSUPPORT:
      return absl::UnimplementedError(
          absl::StrCat(socket, "the kernel has no IPv6; use an IPv4 public address"));
    default:
      return absl::ErrnoToStatus(error, absl::StrCat(socket, "the kernel refused it"));
  }
}

absl::StatusOr<FileDescriptor> MakeSocket(const UdpOptions& options, std::uint16_t port) {
  const int domain = options.family == IpFamily::kV4 ? AF_INET : AF_INET6;
  FileDescriptor socket(::socket(domain, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return SocketError(options, port, errno);
  if (domain == AF_INET6) Set(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  return socket;
}

// Drops all received datagrams, which would otherwise fill the room that the error queue needs.
bool RefuseAll(int fd) {
  sock_filter refuse_all = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program = {1, &refuse_all};
  return ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

// PROBE sets DF and uses the device's MTU: a route's is queried (UdpPaths), and one that the kernel
// has learnt from ICMP may be forged. OMIT does not set DF and lets routers fragment. IPv6 routers
// do not fragment, so there the kernel must use the MTU from ICMP: DONT.
bool Fragment(int fd, IpFamily family, Fragmentation fragmentation) {
  const bool never = fragmentation == Fragmentation::kNever;
  if (family == IpFamily::kV4)
    return Set(fd, IPPROTO_IP, IP_MTU_DISCOVER, never ? IP_PMTUDISC_PROBE : IP_PMTUDISC_OMIT);
  return Set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER,
             never ? IPV6_PMTUDISC_PROBE : IPV6_PMTUDISC_DONT) &&
         Set(fd, IPPROTO_IPV6, IPV6_DONTFRAG, never ? 1 : 0);
}

bool Bind(int fd, const UdpOptions& options, std::uint16_t port) {
  const SocketAddress address = SocketAddress::From(BindAddress(options), port);
  return ::bind(fd, reinterpret_cast<const sockaddr*>(&address.storage), address.length) == 0;
}

}  // namespace

SocketAddress SocketAddress::From(const IpAddress& address, std::uint16_t port) {
  SocketAddress result;
  if (address.is_v4()) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    std::memcpy(&in.sin_addr, address.bytes().data(), sizeof in.sin_addr);
    std::memcpy(&result.storage, &in, sizeof in);
    result.length = sizeof in;
  } else {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(port);
    std::memcpy(&in6.sin6_addr, address.bytes().data(), sizeof in6.sin6_addr);
    std::memcpy(&result.storage, &in6, sizeof in6);
    result.length = sizeof in6;
  }
  return result;
}

IpAddress AddressOf(const sockaddr_storage& storage) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&storage);
  if (storage.ss_family == AF_INET)
    return IpAddress::FromBytes(IpFamily::kV4, bytes + offsetof(sockaddr_in, sin_addr));
  if (storage.ss_family == AF_INET6)
    return IpAddress::FromBytes(IpFamily::kV6, bytes + offsetof(sockaddr_in6, sin6_addr));
  return {};
}

std::uint16_t PortOf(const sockaddr_storage& storage) {
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  if (storage.ss_family != AF_INET && storage.ss_family != AF_INET6) return 0;
  return LoadBe16(reinterpret_cast<const std::byte*>(&storage) + offsetof(sockaddr_in, sin_port));
}

void ShareReceivingPort(const FileDescriptor& socket) {
  Set(socket.get(), SOL_SOCKET, SO_REUSEPORT, 1);
}

absl::StatusOr<FileDescriptor> OpenReceivingSocket(const UdpOptions& options, bool beside) {
  auto socket = MakeSocket(options, options.port);
  if (!socket.ok()) return socket;
  const int fd = socket->get();
  SetBuffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, options.receive_buffer);
  if (options.family == IpFamily::kV4) {
    Set(fd, IPPROTO_IP, IP_RECVTOS, 1);
  } else {
    Set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
    Set(fd, IPPROTO_UDP, kUdpNoCheck6Rx, 1);
  }
  if (beside) ShareReceivingPort(*socket);
  Set(fd, IPPROTO_UDP, UDP_GRO, 1);  // since Linux 5.0; without it datagrams arrive one by one
  if (!Bind(fd, options, options.port)) return SocketError(options, options.port, errno);
  return socket;
}

absl::StatusOr<FileDescriptor> OpenSendingSocket(const UdpOptions& options,
                                                 std::uint16_t first_port,
                                                 std::uint16_t last_port) {
  auto socket = MakeSocket(options, first_port);
  if (!socket.ok()) return socket;
  const int fd = socket->get();
  SetBuffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, options.send_buffer);

  // Peers send to the VXLAN port, never to a source port.
  bool ok = RefuseAll(fd) && Fragment(fd, options.family, Fragmentation::kNever);
  if (options.family == IpFamily::kV4) {
    ok = ok && Set(fd, IPPROTO_IP, IP_RECVERR, 1) && Set(fd, IPPROTO_IP, IP_TTL, kOuterTtl);
    if (!options.udp_checksum) ok = ok && Set(fd, SOL_SOCKET, SO_NO_CHECK, 1);
  } else {
    // Flow label 0, as the kernel's VXLAN devices send and TunnelGso does: packets of one flow must
    // not take different paths.
    ok = ok && Set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1) &&
         Set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, kOuterTtl) &&
         Set(fd, IPPROTO_IPV6, kAutoFlowLabel, 0);
  }
  if (!ok) return SocketError(options, first_port, errno);

  for (std::uint32_t port = first_port; port <= last_port; ++port) {
    if (Bind(fd, options, static_cast<std::uint16_t>(port))) return socket;
    if (errno != EADDRINUSE) return SocketError(options, static_cast<std::uint16_t>(port), errno);
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(Named(options, first_port), "all source ports up to ", last_port,
                   " are taken; stop the program that uses them (ss -uanp)"));
}

absl::StatusOr<FileDescriptor> OpenRouteSocket(const UdpOptions& options) {
  auto socket = MakeSocket(options, 0);
  if (!socket.ok()) return socket;
  if (!RefuseAll(socket->get()) || !Bind(socket->get(), options, 0))
    return SocketError(options, 0, errno);
  return socket;
}

void SetFragmentation(const FileDescriptor& socket, IpFamily family, Fragmentation fragmentation) {
  (void)Fragment(socket.get(), family, fragmentation);  // cannot fail: the mode was set before
}

std::uint32_t FindMaxUdpSegments() {
  constexpr std::uint32_t kLeast = 64;   // since UDP_SEGMENT exists, Linux 4.18
  constexpr std::uint32_t kMost = 1024;  // no kernel supports more yet
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const SocketAddress loopback = SocketAddress::From(IpAddress::V4(0x7f00'0001), 0);
  if (!socket.valid() || !RefuseAll(socket.get()) ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&loopback.storage), loopback.length) !=
          0) {
    return kLeast;
  }
  // The socket sends to itself; its filter drops everything.
  const SocketAddress self = SocketAddress::From(IpAddress::V4(0x7f00'0001), BoundPort(socket));
  if (!Set(socket.get(), IPPROTO_UDP, UDP_SEGMENT, 1)) return kLeast;
  const std::array<std::byte, kMost> bytes{};
  for (std::uint32_t segments = kMost; segments > kLeast; segments /= 2) {
    if (::sendto(socket.get(), bytes.data(), segments, 0,
                 reinterpret_cast<const sockaddr*>(&self.storage), self.length) >= 0) {
      return segments;
    }
  }
  return kLeast;
}

std::uint16_t BoundPort(const FileDescriptor& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage), &length);
  return PortOf(storage);
}

}  // namespace weft::dataplane
